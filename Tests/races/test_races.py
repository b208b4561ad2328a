"""Race detectors and the library as it is installed. It is not instrumented, so it has to report to them what it
orders.

`handover.c` passes ordinary memory from thread to thread in each way that the library offers. Testing the
instrumented library (`make check-c-thread`) does not show this: there the detector sees everything, including the
order of locks."""

import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("RL_BUILD", ROOT / "build")).resolve()
LIB = BUILD / "lib"
WAYS = ["post", "post-before-run", "perform", "post-with-release", "and-wait", "after-delay", "signal", "signal-awake",
        "source-added", "timer", "observer", "stop", "wake-up", "port", "port-before-run", "message-port",
        "references"]
RACY = ["racy-post", "racy-signal"]
#: Examples in which threads work together.
EXAMPLES = ["perform-on-thread", "loop-thread", "loop-observer", "custom-source", "ports", "message-ports", "notifications"]
SHARED = [f"-L{LIB}", f"-Wl,-rpath,{LIB}", "-lrunloop"]


def dispatch():
    """The Swift toolchain's clang has a ThreadSanitizer that has to be linked with libdispatch."""
    swift = shutil.which("swiftc")
    place = pathlib.Path(swift).resolve().parents[1] / "lib" / "swift" / "linux" if swift else None
    return [f"-L{place}", f"-Wl,-rpath,{place}", "-ldispatch", "-lBlocksRuntime"] if place and place.exists() else []


COMPILERS = {"gcc": SHARED, "clang": SHARED + dispatch(), "gcc-archive": [LIB / "librunloop.a"]}


def build(compiler, sources, program, *flags):
    command = compiler.partition("-")[0]
    if shutil.which(command) is None:
        pytest.skip(f"there is no {command}")
    done = subprocess.run(
        [command, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *flags, f"-I{ROOT / 'include'}", *sources,
         "-o", program, *COMPILERS[compiler], "-pthread", "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Returns handover.c built by each compiler, on demand."""
    directory, built = tmp_path_factory.mktemp("races"), {}
    return lambda compiler: built.get(compiler) or built.setdefault(
        compiler, build(compiler, [HERE / "handover.c"], directory / compiler, "-fsanitize=thread"))


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)


def reports(done):
    return done.stderr.count("WARNING: ThreadSanitizer")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_list_is_complete(programs, compiler):
    assert run(programs(compiler)).stdout.split() == WAYS + RACY


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_handover_is_no_race(programs, compiler, way):
    done = run(programs(compiler), way)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("way", RACY)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_race_is_still_reported(programs, compiler, way):
    assert reports(run(programs(compiler), way)) > 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_race_in_an_example(tmp_path, name):
    source = ROOT / "examples" / name
    sources = sorted(source.glob("*.c")) if source.is_dir() else [source.with_suffix(".c")]
    done = run(build("gcc", sources, tmp_path / name, "-fsanitize=thread"))
    assert (done.returncode, reports(done)) == (0, 0), done.stderr


@pytest.mark.parametrize("order, expected", [("same", 0), ("opposite", 1)])
def test_locks_in_opposite_orders_are_reported(tmp_path, order, expected):
    """`make check-c-thread` relies on this: there, each lock of the library is recorded."""
    linux = ROOT / "Sources/CLinux"
    done = run(build("clang", [HERE / "lock-order.c", linux / "Races.c"], tmp_path / "lock-order", "-fsanitize=thread",
                     "-DLINUX_NOTES_LOCKS", f"-I{linux / 'include'}"), order)
    assert (reports(done), "lock-order-inversion" in done.stderr) == (expected, expected > 0)


def watched_by(tool, tmp_path, *ways):
    """Returns what Valgrind's tool reports about handover.c. It also sees every access of the library: those are suppressed."""
    if shutil.which("valgrind") is None:
        pytest.skip("there is no valgrind")
    program = build("gcc", [HERE / "handover.c"], tmp_path / "handover")
    return run("valgrind", "-q", f"--tool={tool}", "--error-exitcode=66", f"--suppressions={ROOT / 'Sources' / 'valgrind.supp'}",
               program, *ways)


@pytest.mark.parametrize("tool", ["helgrind", "drd"])
def test_a_handover_is_no_race_for_valgrind(tool, tmp_path):
    done = watched_by(tool, tmp_path, *WAYS)
    # The tool may also report that it does not know a system call.
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("tool", ["helgrind", "drd"])
@pytest.mark.parametrize("way", RACY)
def test_a_race_in_a_callback_is_still_reported_by_valgrind(tool, way, tmp_path):
    done = watched_by(tool, tmp_path, way)
    assert done.returncode == 66 and "handover.c" in done.stderr
