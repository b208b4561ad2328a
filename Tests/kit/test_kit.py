"""The kit's library exports what its headers declare and needs only libc and librunloop's public functions, and its
sources follow the same rules as those of the core."""

import pathlib
import re
import socket
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("abi", "headers")]

from library import BUILD, CALLOUT, INCLUDE, ROOT, dynamic_symbols, existing, output  # noqa: E402
from public_headers import clang, declarations, of_kind  # noqa: E402

#: Without the symbolic links to files of the core, which has its own tests.
SOURCES = sorted(path for path in (ROOT / "Sources/RunLoopKit").rglob("*.swift") if not path.is_symlink())
#: The limit for all parts of the kit together.
SIZE_LIMIT = 145_000
LARGEST, SMALLEST = 350, 10
#: ThreadSanitizer's functions, used if the program has it: weak symbols.
RACE_DETECTORS = {"__tsan_acquire", "__tsan_release"}


def library():
    return existing(BUILD / "lib/librunloop-kit.so")


def symbols(*options):
    """Returns the version of each symbol, by name."""
    lines = [line.split()[-1] for line in output("nm", "-D", *options, library()).splitlines()]
    return {name: version for name, _, version in (line.replace("@@", "@").partition("@") for line in lines)}


def declared():
    nodes = of_kind(declarations("RunLoopKit/RunLoopKit.h"), "FunctionDecl")
    return {node["name"] for node in nodes if node["path"].startswith("RunLoopKit/") and node.get("storageClass") == "extern"}


def test_exports_are_what_the_headers_declare():
    exports = {name: version for name, version in symbols("--defined-only").items() if name.startswith("RL")}
    assert set(exports) == declared() and declared()
    assert set(exports.values()) == {"RUNLOOP_KIT_0.1"}


def test_other_names_are_for_backtraces():
    others = {name: version for name, version in symbols("--defined-only").items() if not name.startswith(("RL", "RUNLOOP_KIT"))}
    assert others and all(name.startswith(CALLOUT) for name in others) and set(others.values()) == {"RUNLOOP_KIT_PRIVATE"}


def test_needs_libc_and_librunloop_alone():
    needed = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-dW", library()))
    assert needed == ["librunloop.so.0", "libc.so.6"]
    undefined = symbols("--undefined-only")
    ours = {name for name, version in undefined.items() if not version.startswith("GLIBC") and name not in ("__tls_get_addr", *RACE_DETECTORS)}
    assert ours and ours <= set(dynamic_symbols())
    assert not [name for name in undefined if name.startswith(("swift_", "_swift", "$s"))]


def test_works_with_old_libc():
    versions = {tuple(map(int, re.findall(r"\d+", version))) for version in symbols("--undefined-only").values() if "GLIBC_" in version}
    assert versions and max(versions) <= (2, 34)


def test_is_small_and_hardened():
    assert library().stat().st_size < SIZE_LIMIT
    text = output("readelf", "-dlW", library())
    assert "BIND_NOW" in text and "NODELETE" in text and "GNU_RELRO" in text and not re.search(r"LOAD .* RWE ", text)


def test_no_path_of_the_machine_that_built_it():
    strings = output("strings", "-n", "6", library())
    assert re.findall(rf".*(?:/(?:home|root|build|ModuleCache)/|{re.escape(str(ROOT))}\b).*", strings) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_source_keeps_the_rules(path):
    text = path.read_text()
    lines = text.splitlines()
    assert SMALLEST <= len(lines) <= LARGEST and max(map(len, lines)) <= 140
    assert set(re.findall(r"^import (\w+)", text, re.MULTILINE)) <= {"CLinux", "CLinuxKit", "CRunLoop", "CRunLoopKit", "Synchronization"}
    assert not re.search(r"^\s*(?:final )?(?:class|actor) \w|\bany [A-Z]|\bas!|\btry!", text, re.MULTILINE)


def test_only_callouts_call_clients():
    """Except for context functions, which are called from their own file."""
    text = (ROOT / "Sources/RunLoopKit/Base/Callouts.swift").read_text()
    functions = re.findall(r"^@inline\(never\)\nfunc (\w+)", text, re.MULTILINE)
    assert functions and all(name.startswith(CALLOUT) for name in functions)
    others = "".join(path.read_text() for path in SOURCES if path.name not in ("Callouts.swift", "ClientContext.swift"))
    assert not re.findall(r"\b(?:callout|work|completion)\([^)]*\binfo\b", others)


def test_core_does_not_know_the_kit():
    done = subprocess.run(["grep", "-rlE", "RunLoopKit|RLSignal|RLChild|RLWork|RLStream|RLListener", "Sources/RunLoopCore", "Sources/CLinux", "Sources/CRunLoop"],
                          cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == ""


def compiled(source, directory):
    path = directory / "faults"
    output(clang(), "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", HERE / source, "-o", path,
           f"-L{library().parent}", "-lrunloop-kit", "-lrunloop", f"-Wl,-rpath,{library().parent}")
    return path


def run_with_fault(fault, program, *arguments, directory=None):
    """Runs a program whose system calls fail as strace's `inject` option specifies; with "none", none of them fails."""
    inject = [] if fault == "none" else ["-e", f"trace={fault.partition(':')[0]}", "-e", f"inject={fault}"]
    return subprocess.run(["strace", "-qq", "-o", program.parent / "trace", *inject, program, *arguments],
                          capture_output=True, text=True, timeout=120, cwd=directory)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled("faults.c", tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("fault, said", {
    "none": "spawned ended 2, forked ended 2, left 0",
    "pidfd_open:error=ENOSYS": "spawned ENOSYS, forked ENOSYS, left 0",
    "pidfd_open:error=EMFILE": "spawned EMFILE, forked EMFILE, left 0",
    "pidfd_open:error=ESRCH": "spawned ended 4, forked ESRCH, left 1",
    "waitid:error=EINVAL": "spawned ENOSYS, forked ENOSYS, left 0",
    "waitid:error=EINTR:when=2": "spawned ended 2, forked ended 2, left 0",
    "pipe2:error=ENFILE": "spawned ENFILE, forked ended 2, left 0",
    "pipe2:error=EMFILE:when=2": "spawned EMFILE, forked ended 2, left 0",
    "epoll_create1:error=EMFILE:when=1": "spawned EMFILE, forked ended 2, left 0",
    "fcntl:error=EMFILE:when=1": "spawned EMFILE, forked ended 2, left 0",
}.items())
def test_children_while_system_calls_fail(program, fault, said):
    """A child that was spawned and cannot be watched is killed and reaped; one that has disappeared is reported as
    lost."""
    done = run_with_fault(fault, program)
    assert (done.stdout, done.stderr, done.returncode) == (f"{said}\n", "", 0)


@pytest.fixture(scope="module")
def listening_program(tmp_path_factory):
    return compiled("faults-listener.c", tmp_path_factory.mktemp("listener-faults"))


@pytest.mark.parametrize("fault, said", {
    "none": "2 accepted, no error",
    "accept4:error=ECONNABORTED:when=1": "2 accepted, no error",
    "accept4:error=EINTR:when=1": "2 accepted, no error",
    "accept4:error=ENETUNREACH:when=1": "2 accepted, no error",
    "accept4:error=EMFILE:when=1": "2 accepted, EMFILE",
    "accept4:error=ENFILE:when=1..2": "2 accepted, ENFILE",
    "accept4:error=ENOBUFS:when=2": "2 accepted, ENOBUFS",
    "accept4:error=EPERM:when=1..2": "2 accepted, EPERM",
    "accept4:error=EPERM": "0 accepted, EPERM",
    "accept4:error=ECONNABORTED": "0 accepted, no error",
    "socket:error=EMFILE:when=1": "EMFILE",
    "bind:error=EACCES": "EACCES",
    "listen:error=EADDRINUSE": "EADDRINUSE",
}.items())
def test_listener_while_system_calls_fail(listening_program, fault, said):
    """A failed connection is skipped. A shortage delays the other connections and is reported. A permanent failure stops no timer."""
    done = run_with_fault(fault, listening_program, *(["0.2"] if said.startswith("0 accepted") else []))
    assert (done.stdout, done.stderr, done.returncode) == (f"{said}\n", "", 0)


@pytest.mark.parametrize("is_stale", [False, True])
def test_two_listeners_at_one_path(listening_program, tmp_path, is_stale):
    """A second listener arrives while the first one's socket is bound, but not yet listening: it is not taken for abandoned."""
    path, trace = tmp_path / "s", tmp_path / "trace"
    if is_stale:
        with socket.socket(socket.AF_UNIX) as old:
            old.bind(str(path))
    strace = ["strace", "-qq", "-o", trace, "-e", "trace=bind,listen", "-e", "inject=listen:delay_enter=300000"]
    with subprocess.Popen([*strace, listening_program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        while not (trace.exists() and " = 0" in trace.read_text()):
            assert first.poll() is None
        second = subprocess.run([listening_program, path], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert (second.stdout, first.communicate("")[0]) == ("EADDRINUSE\n", "made\n")
    assert not path.exists()


def test_no_socket_is_left_where_no_listener_was_made(listening_program, tmp_path):
    done = run_with_fault("listen:error=EADDRINUSE", listening_program, tmp_path / "s")
    assert (done.stdout, list(tmp_path.iterdir())) == ("EADDRINUSE\n", [])


@pytest.fixture(scope="module")
def file_program(tmp_path_factory):
    return compiled("faults-files.c", tmp_path_factory.mktemp("file-faults"))


@pytest.mark.parametrize("fault, said", {
    "none": "c, 4 watched",
    "inotify_init1:error=EMFILE": "EMFILE",
    "timerfd_create:error=EMFILE": "EMFILE",
    "inotify_add_watch:error=ENOSPC": "ENOSPC",
    "inotify_add_watch:error=ENOSPC:when=2+": "a ENOSPC, c, c ENOSPC, 1 watched",
    "inotify_add_watch:error=ENOSPC:when=3": "b ENOSPC, c, 3 watched",
    "inotify_add_watch:error=ENOMEM:when=4": "c, c ENOMEM, 3 watched",
    "inotify_add_watch:error=ENOENT:when=1": "c, 4 watched",
}.items())
def test_files_while_system_calls_fail(file_program, fault, said, tmp_path):
    """A directory that cannot be watched is reported once. Without /proc (ENOENT) directories are watched by path."""
    done = run_with_fault(fault, file_program, directory=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == (f"{said}\n", "", 0)


@pytest.mark.parametrize("which, said", {"3": "a scan, 3 watched", "3+": "a scan, a EIO, 1 watched"}.items())
def test_directories_that_cannot_be_read(file_program, which, said, tmp_path):
    """Directories that cannot be read are tried again. If that keeps failing, they are reported as not watched."""
    awaited = said.split(", ")[-2]
    done = run_with_fault(f"getdents64:error=EIO:when={which}", file_program, awaited, directory=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == (f"{said}\n", "", 0)


def test_archive_has_the_same_functions_and_needs_no_shared_library(tmp_path):
    """An example linked with both archives prints the same as with the shared libraries."""
    names = output("nm", "-g", "--defined-only", existing(BUILD / "lib/librunloop-kit.a"))
    assert set(re.findall(r" T (\w+)", names)) == declared()
    program = tmp_path / "signals"
    output(clang(), "-std=c11", f"-I{INCLUDE}", ROOT / "examples/signals.c", BUILD / "lib/librunloop-kit.a", BUILD / "lib/librunloop.a",
           "-pthread", "-o", program)
    assert output(program) == (ROOT / "examples/expected/signals.txt").read_text()
    assert "librunloop" not in output("readelf", "-d", program)
