"""Programs that were compiled earlier continue to work: types, layouts and values are those of librunloop.so.0.abi."""

import re
import shutil

import pytest

from description import DESCRIPTIONS, committed, describe, differences
from library import BUILD, output
from public_headers import INCLUDE

#: A change of a header that breaks programs: the file, the old and the new text, and the name that is reported.
BREAKING = {
    "a field more": ("RLPort.h", "    void *info;", "    int more;\n    void *info;", "struct RLPortContext"),
    "another type of a parameter": ("RLSocket.h", "RLTimeInterval timeout", "float timeout", "RLSocketCreateConnectedToSocketSignature"),
    "another value": ("RLRunLoop.h", "kRLRunLoopRunStopped = 2", "kRLRunLoopRunStopped = 5", "kRLRunLoopRunStopped"),
    "a field of a struct that is passed as another": ("RLRunLoopSource.h", "    int (*getPort)(void *info);",
                                                      "    long (*getPort)(void *info);", "RLRunLoopSourceContext1"),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_programs_find_what_they_were_compiled_with(tmp_path, name):
    """Whatever abidiff lists breaks programs: CONTRIBUTING.md, "Releases". Additions may be missing until the
    release: `make abi` adds them."""
    describe(tmp_path / name, DESCRIPTIONS[name])
    assert differences(committed(name), tmp_path / name, "--no-added-syms") == ""


@pytest.mark.parametrize("change", BREAKING)
def test_a_change_that_breaks_programs_is_found(tmp_path, change):
    header, before, after, name = BREAKING[change]
    shutil.copytree(INCLUDE, tmp_path / "include")
    path = tmp_path / "include/RunLoop" / header
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after, 1))
    describe(tmp_path / "changed.abi", include=tmp_path / "include")
    assert name in differences(committed("librunloop.so.0.abi"), tmp_path / "changed.abi", "--no-added-syms")


def test_the_companion_exports_what_its_headers_declare():
    described = re.findall(r"<elf-symbol name='(\w+)' type='func-type'", committed("librunloop-trace.so.0.abi").read_text())
    lines = output("nm", "-D", "--defined-only", BUILD / "lib/runloop/librunloop-trace.so").splitlines()
    assert sorted(line.split()[2].partition("@")[0] for line in lines if line.split()[1] == "T") == sorted(described)
