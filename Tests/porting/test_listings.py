"""The listings of chapter 3 of Apple's threading guide: those in C as printed, except for the layout, and those in
Objective-C translated to C. They compile against the headers without a warning, and do what the guide says."""

import pathlib
import re

import pytest

from library import INCLUDE, output
from public_headers import apple_include, clang
from tools import COMPILERS, apples, has_apples, ours, run

LISTINGS = sorted((pathlib.Path(__file__).parent / "listings").glob("*.c"))
#: Apple's library for Linux lacks CFMessagePort.
ONLY_HERE = {"registering", "message-ports"}

pytestmark = pytest.mark.timeout(120)


def check(built, listing):
    """Names of message ports are files, so this test uses its own directory."""
    run(built, expected=listing.with_suffix(".expected").read_text(), RUNLOOP_PORT_DIR=str(built.parent))


def test_no_listing_is_missing():
    """3-10 is NSTimer's form of 3-11; 3-12 to 3-15 are NSMachPort's forms of 3-17 to 3-19, and examples/ports.c."""
    named = set()
    for listing in LISTINGS:
        first, last = re.match(r"/\* Listings? 3-(\d+)(?: to 3-(\d+))?\b", listing.read_text()).groups()
        named |= set(range(int(first), int(last or first) + 1))
    assert named == set(range(1, 20)) - {10, 12, 13, 14, 15}


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda path: path.stem)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_listing_compiles_and_runs(tmp_path, compiler, listing):
    output(COMPILERS[compiler], "-Wall", "-Werror", f"-I{INCLUDE}", "-pthread", listing, "-o", tmp_path / "listing", *ours())
    check(tmp_path / "listing", listing)


@pytest.mark.skipif(not has_apples("Foundation"), reason="Apple's CoreFoundation is not installed")
@pytest.mark.parametrize("listing", [path for path in LISTINGS if path.stem not in ONLY_HERE], ids=lambda path: path.stem)
def test_listing_does_the_same_with_apples_library(tmp_path, listing):
    output(clang(), "-w", "-D_GNU_SOURCE", "-fblocks", f"-I{apple_include()}", "-pthread", listing, "-o", tmp_path / "listing",
           *apples("Foundation", "BlocksRuntime", "dispatch"))
    check(tmp_path / "listing", listing)
