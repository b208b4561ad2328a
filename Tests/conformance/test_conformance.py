"""Runs the same C program against Apple's CoreFoundation and against this library and compares the output.

Every program *.c of this folder is compiled against both and must print the same. The programs in differences/ show
where this library differs deliberately: each has two expected outputs, and each library is checked against its own.
CoreFoundation is the one inside the Swift toolchain that builds this project. A program is compiled against this
library with cc; one whose name ends in -blocks.c needs clang. (Tests/headers compiles the headers with both.)

    python3 -m pytest -n 2 Tests/conformance

RL_BUILD  the build directory with lib/librunloop.so (default: build, in the root of the repository)
"""

import difflib
import functools
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("RL_BUILD", ROOT / "build")).resolve()
LIBRARY = BUILD / "lib" / "librunloop.so"
OUTPUT = BUILD / "conformance"
RUN_LIMIT = 30  # seconds; the longest deadline in a program is 10
COMPILE_LIMIT = 120
FEWEST_PROGRAMS = 180

PROGRAMS = sorted(HERE.glob("*.c"))
DIFFERENCES = sorted((HERE / "differences").glob("*.c"))
PREFIXES = ("run", "source", "observer", "timer", "perform", "port", "socket", "thread", "value")
FLAGS = ["-g", "-O1", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", "-Wall", "-Wextra", "-Werror",
         "-Wno-missing-field-initializers"]


def require(condition, message):
    """Fails with only the message: where it happened in this file does not matter."""
    if not condition:
        pytest.fail(message, pytrace=False)


def toolchain():
    swift = shutil.which("swift")
    require(swift, "the Swift toolchain, whose CoreFoundation is the reference, is not on PATH")
    return Path(swift).resolve().parent.parent


def uses_blocks(program):
    return program.stem.endswith("-blocks")


def variants(program):
    """Returns the builds of a program: with CoreFoundation and with this library."""
    return ["cf", "rl-clang"] if uses_blocks(program) else ["cf", "rl"]


@functools.lru_cache(maxsize=None)
def command_and_inputs(variant):
    """Returns the command that compiles a program, the options that link it, and the other files on which the result depends."""
    usr = toolchain()
    runtime = usr / "lib/swift/linux"
    clang = str(usr / "bin/clang")
    blocks = ["-lBlocksRuntime", f"-L{runtime}", f"-Wl,-rpath,{runtime}"]
    inputs = [*HERE.glob("*.h"), *(HERE / "random").glob("*.h"), Path(__file__)]
    if variant == "cf":
        inputs.append(runtime / "libFoundation.so")
        return [clang, "-fblocks", *FLAGS, "-isystem", usr / "lib/swift"], ["-lFoundation", "-ldispatch", *blocks], inputs
    require(LIBRARY.exists(), f"{LIBRARY} is missing: build the library first, or set RL_BUILD")
    inputs += [LIBRARY, *(ROOT / "include").rglob("*.h")]
    ours = ["-I", ROOT / "include"]
    linking = [f"-L{LIBRARY.parent}", "-lrunloop", f"-Wl,-rpath,{LIBRARY.parent}"]
    if variant == "rl-clang":
        return [clang, "-fblocks", *FLAGS, *ours], [*linking, *blocks], inputs
    return ["cc", *FLAGS, *ours], linking, inputs


def make(output, command, inputs, what):
    """Runs the compiler unless the existing output is newer than all its inputs. Returns the output."""
    if output.exists() and output.stat().st_mtime > max(path.stat().st_mtime for path in inputs):
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent) as fresh:
        made = Path(fresh) / output.name
        result = subprocess.run([*map(str, command), "-o", str(made)], capture_output=True, text=True,
                                timeout=COMPILE_LIMIT)
        require(result.returncode == 0, f"{what} does not compile\n{result.stderr}")
        made.replace(output)  # atomic: another pytest worker may be building the same file
    return output


@functools.lru_cache(maxsize=None)
def headers(variant):
    """Precompiles the common header. Returns the path to include, next to which the compiler finds the precompiled header."""
    compiling, _, inputs = command_and_inputs(variant)
    command = [*compiling, "-x", "c-header", HERE / "trace.h"]
    return make(OUTPUT / variant / "trace.h.gch", command, inputs, f"{variant}: trace.h").with_suffix("")


def build(program, variant):
    compiling, linking, inputs = command_and_inputs(variant)
    binary = OUTPUT / variant / program.relative_to(HERE).with_suffix("")
    return make(binary, [*compiling, "-include", headers(variant), program, *linking], [program, *inputs], f"{variant}: {program.name}")


def output_of(program, variant, **variables):
    binary = build(program, variant)
    environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no", **variables}
    try:
        result = subprocess.run([str(binary)], capture_output=True, text=True, timeout=RUN_LIMIT, env=environment)
    except subprocess.TimeoutExpired as expired:
        printed = (expired.stdout or b"").decode()
        require(False, f"{variant}: {program.name} did not end within {RUN_LIMIT} s; it had printed\n{printed}")
    require(result.returncode == 0, f"{variant}: {program.name} ended with {result.returncode}; it had printed\n"
                                    f"{result.stdout}{result.stderr}")
    return result.stdout


def purpose(program):
    """Returns the comment at the top of a program."""
    return program.read_text().partition("*/")[0] + "*/"


def compare(program, expected_name, expected, actual_name, actual):
    diff = difflib.unified_diff(expected.splitlines(), actual.splitlines(), expected_name, actual_name, lineterm="")
    require(actual == expected, purpose(program) + "\n" + "\n".join(diff))


@pytest.fixture(scope="session", autouse=True)
def all_built(request):
    """Without xdist, compiles the selected programs in parallel on all processors. (With xdist, each worker compiles
    the programs that it runs.) Errors are left to the test of the program."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
        selected = {each["program"] for each in params if "program" in each}
        jobs = [(program, variant) for program in sorted(selected) for variant in variants(program)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for future in [pool.submit(build, *job) for job in jobs]:
                future.exception()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_same_as_core_foundation(program):
    expected = output_of(program, "cf")
    assert expected, "the program prints nothing"
    for variant in variants(program)[1:]:
        compare(program, "CoreFoundation", expected, variant, output_of(program, variant))


@pytest.mark.parametrize("program", DIFFERENCES, ids=lambda program: program.stem)
@pytest.mark.parametrize("library", ["cf", "rl"])
def test_difference(program, library):
    expected = program.with_suffix(f".{library}.expected").read_text()
    for variant in variants(program):
        if variant.startswith(library):
            compare(program, f"expected of {library}", expected, variant, output_of(program, variant))


#: One of how many programs is also run with tracing on. `make release-check` runs all.
TRACED = int(os.environ.get("RL_TRACED", 9))


@pytest.mark.parametrize("program", [each for each in PROGRAMS if not each.stem.startswith("value-")][::TRACED], ids=lambda program: program.stem)
def test_the_same_when_traced(program, tmp_path):
    """Runs the program with every part of librunloop-trace.so active: records, metrics, and the thread that explains."""
    companion = LIBRARY.parent / "runloop" / "librunloop-trace.so"
    require(companion.exists(), f"{companion} is missing: build it first, or set RL_BUILD")
    variant = variants(program)[-1]
    traced = output_of(program, variant, LD_PRELOAD=str(companion), RUNLOOP_TRACE=str(tmp_path), RUNLOOP_TRACE_RECORDS="1024",
                       RUNLOOP_EXPLAIN="1")
    compare(program, "untraced", output_of(program, variant), "traced", traced)


def loaded_libraries(binary):
    """Returns every library that the program loads, directly or indirectly, with the path at which it is found."""
    return subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("program", PROGRAMS[:1] + DIFFERENCES[:1], ids=lambda program: program.stem)
def test_the_two_builds_load_different_libraries(program):
    """Otherwise every comparison above would compare a library with itself."""
    reference = loaded_libraries(build(program, "cf"))
    assert "libFoundation" in reference and "librunloop" not in reference
    for variant in variants(program)[1:]:
        ours = loaded_libraries(build(program, variant))
        assert str(LIBRARY) in ours and "Foundation" not in ours and "dispatch" not in ours


def test_there_are_enough_programs():
    assert len(PROGRAMS) >= FEWEST_PROGRAMS
    assert {program.stem.split("-")[0] for program in PROGRAMS} == set(PREFIXES)


@pytest.mark.parametrize("program", PROGRAMS + DIFFERENCES, ids=lambda program: program.stem)
def test_program_is_short_and_says_what_it_shows(program):
    lines = program.read_text().splitlines()
    assert len(lines) <= 80
    assert re.match(r"/\* (Semantics [123458]|Values|Difference \d+): ", purpose(program))
    assert not re.search(r"\bk?RL[A-Z][a-z]", "\n".join(lines)), "CF names only"
