"""Building and running the scenario programs of this folder.

$RL_BUILD names the build directory (default: build/ of this checkout). A library that is not there fails a test."""

import os
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("RL_BUILD", ROOT / "build")).resolve()
CLANG = os.environ.get("CLANG", "clang")
TIME_LIMIT = 120


def build(name, sanitizer=None):
    """Returns the program of NAME.c, linked with the library; with a sanitizer, with the library built with it."""
    library = (BUILD / sanitizer if sanitizer else BUILD) / "lib" / "librunloop.so"
    assert library.exists(), f"no {library.name} in {library.parent}: build it, or set RL_BUILD"
    directory = BUILD / "faults"
    directory.mkdir(parents=True, exist_ok=True)
    program = f"{name}-{sanitizer}" if sanitizer else name
    # Concurrent test processes each build their own program, and the last rename wins.
    new = directory / f"{program}.{os.getpid()}"
    done = subprocess.run(
        [CLANG, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", HERE / f"{name}.c",
         *([f"-fsanitize={sanitizer}"] if sanitizer else []), "-o", new, f"-L{library.parent}",
         f"-Wl,-rpath,{library.parent}", "-lrunloop", "-pthread"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return new.rename(directory / program)


def run(program, *arguments):
    """Returns the finished process. The program ends a hang itself, with an alarm (SIGALRM)."""
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=TIME_LIMIT)


def run_with_faults(program, scenario, *faults, seconds=30):
    """Returns the finished process, and strace's lines for the calls affected by the faults. A fault is an argument
    of strace's `inject`."""
    with tempfile.NamedTemporaryFile("r", suffix=".strace") as trace:
        calls = ",".join(fault.partition(":")[0] for fault in faults)
        injections = [word for fault in faults for word in ("-e", f"inject={fault}")]
        done = run("strace", "-f", "-qq", "-o", trace.name, "-e", "signal=USR1", "-e", f"trace={calls}", *injections,
                   program, scenario, seconds)
        return done, trace.read().splitlines()


def faults_in(trace):
    """Returns how many calls were made to fail, or were interrupted."""
    return sum(1 for line in trace if re.search(r"\(INJECTED\)|--- SIGUSR1", line))
