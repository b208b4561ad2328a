"""Programs written for macOS's run loops, modeled on Apple's documentation: they compile unchanged, as C and as C++,
and behave as with Apple's library, if that has what they use."""

import pathlib
import re

import pytest

from library import INCLUDE, archive, output
from public_headers import apple_include, clang
from tools import COMPILERS, STRICT, apples, has_apples, ours, run

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.c"))
#: Apple's library for Linux lacks the notification center, CFMessagePort and CFFileDescriptor.
ONLY_HERE = {"newsroom", "speller", "ping-pong"}
LANGUAGES = {"c99": ("gcc", "gnu99"), "c11": ("clang", "gnu11"), "c++": ("g++", "gnu++17"), "clang++": ("clang++", "gnu++20")}

pytestmark = pytest.mark.timeout(120)


def compiler(name):
    return {"g++": "g++", "clang++": clang(cxx=True)}.get(name) or COMPILERS.get(name)


def check(built, program):
    """Names of message ports are files, so this test uses its own directory."""
    run(built, expected=program.with_suffix(".expected").read_text(), RUNLOOP_PORT_DIR=str(built.parent))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("language", LANGUAGES)
def test_program_compiles_unchanged_and_runs(tmp_path, program, language):
    name, standard = LANGUAGES[language]
    source = tmp_path / ("program.cc" if "+" in language else "program.c")
    source.write_text(program.read_text())
    output(compiler(name), *STRICT, f"-std={standard}", f"-I{INCLUDE}", "-pthread", source, "-o", tmp_path / "program",
           *ours())
    check(tmp_path / "program", program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program_leaks_nothing(tmp_path, program):
    output(clang(), "-std=gnu11", "-g", "-fsanitize=address", f"-I{INCLUDE}", "-pthread", program, "-o", tmp_path / "program",
           archive())
    check(tmp_path / "program", program)


@pytest.mark.skipif(not has_apples("Foundation"), reason="Apple's CoreFoundation is not installed")
@pytest.mark.parametrize("program", [path for path in PROGRAMS if path.stem not in ONLY_HERE], ids=lambda path: path.stem)
def test_program_does_the_same_with_apples_library(tmp_path, program):
    output(clang(), "-w", "-std=gnu11", "-D_GNU_SOURCE", "-fblocks", f"-I{apple_include()}", "-pthread", program, "-o",
           tmp_path / "program", *apples("Foundation", "BlocksRuntime", "dispatch"))
    # When Apple's library writes to a closed socket, this occasionally ends the process: difference 12.
    for _ in range(4):
        try:
            return check(tmp_path / "program", program)
        except AssertionError as failure:
            if "ended with -13\n" not in str(failure):
                raise
    check(tmp_path / "program", program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program_knows_no_other_system(program):
    assert not re.search(r"^\s*#\s*(if|ifdef|ifndef|elif|define)\b", program.read_text(), re.MULTILINE)
    assert not re.search(r"\bk?RL[A-Z]", program.read_text())
