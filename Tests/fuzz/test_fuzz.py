"""Runs libFuzzer for 15 seconds on data received from other processes, and the API fuzzer for 30, or RL_FUZZ_SECONDS: see Makefile."""

import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("RL_BUILD", HERE.parents[1] / "build")).resolve()
SECONDS = int(os.environ.get("RL_FUZZ_SECONDS", "30"))


@pytest.mark.skipif(shutil.which("swiftc") is None, reason="swiftc is not installed")
@pytest.mark.timeout(SECONDS + 240)
def test_frames():
    command = ["make", "-C", HERE, f"BUILD={BUILD}", f"SECONDS={SECONDS // 2}", "run"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]


def first_seed() -> int:
    """Returns different seeds for each commit, but the same ones when the tests of a commit are repeated."""
    commit = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], cwd=HERE, capture_output=True, text=True)
    return int(commit.stdout, 16) * 1000 if commit.returncode == 0 else 1


#: The API fuzzer: plain, with AddressSanitizer, and a few seeds under Valgrind. In this order two processors stay busy until the end.
API = {"VALGRIND=1": SECONDS / 6, "": SECONDS / 2, "SAN=address": SECONDS / 3}
#: Seconds until a process counts as hung; most of it allows for a busy machine.
PATIENCE = {"": 60, "SAN=address": 120, "VALGRIND=1": 400}


@pytest.mark.parametrize("variant", API)
@pytest.mark.timeout(SECONDS + 600)
def test_api(variant):
    if variant.startswith("VALGRIND") and shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    command = ["make", "-s", "-C", HERE, f"BUILD={BUILD}", f"SECONDS={API[variant]:g}", f"SEED={first_seed()}",
               f"OPTIONS=--patience={PATIENCE[variant]}", *variant.split(), "run-api"]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-8000:]
