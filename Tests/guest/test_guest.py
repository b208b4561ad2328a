"""A run loop and another event loop in one thread: the adapters, with Debian's libraries, and Python's asyncio.

A program for each host runs the scenarios of matrix.h; another one runs the host as the guest of a run loop. The
examples print the expected output. A loop with nothing to do makes no system call.

RL_BUILD  the build directory with lib/librunloop.so (default: build, in the root of the repository)
"""

import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY = Path(os.environ.get("RL_BUILD", ROOT / "build")).resolve() / "lib"
TIME_LIMIT = 60

IN_HOST = ["timer", "post", "stop", "earlier-timer", "descriptor", "nested-loop", "host", "idle"]
SCENARIOS = {
    "in-poll": [*IN_HOST, "nested"],
    "in-glib": [*IN_HOST, "nested"],
    "in-ev": [*IN_HOST, "nested", "attached-again"],
    "in-uv": [*IN_HOST, "attached-again"],  # the loops of these three cannot be nested
    "in-event": [*IN_HOST, "attached-again"],
    "in-sd-event": [*IN_HOST, "attached-again"],
    "glib": ["timeout", "idle-from-thread", "earlier-timeout-from-thread", "descriptor", "in-callback", "nested", "quiet",
             "closed-duplicate", "systemd-43098"],
    "uv": ["timer", "async-from-thread", "libuv-1565", "timer-in-callback", "nested", "unwatched", "quiet"],
    "sd-event": ["timer", "descriptor", "descriptor-in-callback", "timer-in-callback", "pending", "nested", "nested-in-its-own-run",
                 "exit", "quiet"],
    "dbus": ["many", "nested", "from-thread", "disconnected", "remove", "quiet"],
}
WITH_SERVER = {"curl": ["many", "added-before", "nested", "upload", "refused", "timeout", "remove"]}
#: How to compile and link the library of each adapter.
ADAPTERS = {
    "poll": ["-lm"],
    "glib": ["glib-2.0"],
    "uv": ["libuv"],
    "sd-event": ["libsystemd"],
    "event": ["libevent_core"],
    "curl": ["libcurl"],
    "dbus": ["dbus-1"],
    "ev": ["-lev", "-fno-strict-aliasing"],  # Debian's has no pkg-config file
}
HEADERS = [name for name in ADAPTERS if name != "poll"]
COMPILERS = ["gcc", "clang"]

pytestmark = pytest.mark.timeout(3 * TIME_LIMIT)


def build(compiler, source, adapter, program, *options):
    flags = [flag for flag in ADAPTERS[adapter] if flag.startswith("-")]
    if packages := [name for name in ADAPTERS[adapter] if not name.startswith("-")]:
        known = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], capture_output=True, text=True)
        assert known.returncode == 0, known.stderr
        flags += known.stdout.split()
    done = subprocess.run(
        [compiler, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", *options, f"-I{ROOT / 'include'}", source, "-o", program,
         f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}", "-lrunloop", "-pthread", *flags],
        capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stderr
    return program


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guest")
    return {name: build("clang", HERE / f"{name}.c", name.removeprefix("in-"), folder / name, "-std=gnu11") for name in [*SCENARIOS, *WITH_SERVER]}


@pytest.mark.parametrize("name, scenario", [(name, scenario) for name, scenarios in SCENARIOS.items() for scenario in scenarios])
def test_scenario(programs, name, scenario):
    assert run(programs[name], scenario) == ""


class Handler(http.server.BaseHTTPRequestHandler):
    """A web server for curl.c, which answers as the path requests."""

    protocol_version = "HTTP/1.1"  # connections are reused

    def answer(self, content):
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        if self.path == "/never":
            self.rfile.read()  # until the client leaves
            self.close_connection = True
        else:
            self.answer(b"x" * int(self.path.removeprefix("/length/")))

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        self.answer(b"%d" % len(self.rfile.read(length)))

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("scenario", WITH_SERVER["curl"])
def test_transfers(programs, server, scenario):
    assert run(programs["curl"], scenario, server) == ""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", HEADERS)
def test_example(name, compiler, tmp_path):
    program = build(compiler, ROOT / f"examples/{name}.c", name, tmp_path / name, "-std=gnu11")
    assert run(program) == (ROOT / f"examples/expected/{name}.txt").read_text()


@pytest.mark.parametrize("name", HEADERS)
def test_the_adapter_compiles_as_cpp(name, tmp_path):
    source = tmp_path / "program.cpp"
    source.write_text(f"#include <RunLoop/adapters/{name}.h>\nint main() {{ return 0; }}\n")
    build("g++", source, name, tmp_path / "program", "-std=c++11")


def test_asyncio():
    assert run(sys.executable, ROOT / "examples/guest_asyncio.py", LIBRARY / "librunloop.so") == (
        "a tick of the run loop\n" * 3 + "a function that a thread has posted\nstopped\n")


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name.startswith("in-")])
def test_an_idle_guest_makes_no_system_call(programs, name, tmp_path):
    """Between the last added timer and the end of the host's wait, 0.2 s later, the thread waits and does nothing else."""
    trace = tmp_path / "trace"
    run("strace", "-f", "-o", trace, programs[name], "idle")
    calls = [line.split(maxsplit=1)[1].split("(")[0] for line in trace.read_text().splitlines() if "(" in line]
    assert 1 <= sum(calls.count(wait) for wait in ["poll", "epoll_wait", "epoll_pwait", "epoll_pwait2"]) <= 6
    assert calls.count("timerfd_settime") <= 4
