"""WakeUp, Stop, IsWaiting, SourceSignal and SourceIsSignalled neither allocate nor lock nor block. RealtimeSanitizer
(realtime.c) shows this: it sees the calls of the ordinary library, since it replaces libc's functions for the whole
process.

$RL_BUILD names the build directory (default: build/ of this checkout). If it has no library, the tests fail."""

import collections
import os
import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("RL_BUILD", ROOT / "build")).resolve()
CLANG = os.environ.get("CLANG", "clang")
REPORT = re.compile(r"unsafe function `(\w+)` in real-time context")

SOURCES = ["one", "hundred", "two-loops"]
STATES = ["stopped", "running", "callback", "asleep", "asleep-descriptor"]
#: The calls that wake a sleeping loop: the only ones that may be reported, exactly as often as the program says.
WAKING_CALLS = {"syscall", "write"}
#: What each control does, and the call that must be reported for it.
CONTROLS = {"malloc": "malloc", "mutex": "pthread_mutex_lock", "library-allocates": "malloc", "library-locks": "syscall",
            "post": "realloc", "wake": "syscall"}


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    library = BUILD / "lib" / "librunloop.so"
    assert library.exists(), f"no {library.name} in {library.parent}: build it, or set RL_BUILD"
    directory = BUILD / "realtime"
    directory.mkdir(parents=True, exist_ok=True)
    # Concurrent test processes each build their own program, and the last rename wins.
    new = directory / f"realtime.{os.getpid()}"
    done = subprocess.run(
        [CLANG, "-std=gnu23", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=realtime", f"-I{ROOT / 'include'}",
         HERE / "realtime.c", "-o", new, f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", "-lrunloop", "-pthread"],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return new.rename(directory / "realtime")


def run(program, *arguments):
    """Returns the exit status, the output, and how often each call was reported."""
    options = "halt_on_error=0:suppress_equal_stacks=0:symbolize=0"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "RTSAN_OPTIONS": options})
    return done, collections.Counter(REPORT.findall(done.stderr))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("sources", SOURCES)
def test_neither_allocates_nor_locks_nor_blocks(program, sources, state):
    done, reports = run(program, sources, state)
    calls = re.fullmatch(r"system calls (\d+)\n", done.stdout)
    assert done.returncode == 0 and calls, done.stderr
    assert (int(calls[1]) > 0) == state.startswith("asleep")
    assert set(reports) <= WAKING_CALLS and reports.total() == int(calls[1]), f"{reports} {done.stderr}"


@pytest.mark.parametrize("name", CONTROLS)
def test_what_is_wrong_is_reported(program, name):
    done, reports = run(program, "control", name)
    assert done.returncode == 0, done.stderr
    assert CONTROLS[name] in reports, f"{reports} {done.stderr}"
