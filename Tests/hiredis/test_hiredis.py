"""Debian's hiredis has an adapter for CFRunLoop and CFSocket: compiled unchanged, it works on this library.

A redis-server of the test's own (a socket in a temporary directory, nothing saved) answers pipelined commands, and a
connection that is refused is told as such. With gcc and clang, and under AddressSanitizer.

RL_BUILD  the build directory with lib/librunloop.so (default: build, in the root of the repository)
"""

import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("RL_BUILD", ROOT / "build")).resolve()
COMMANDS = 10_000
TIME_LIMIT = 120
#: Name: compiler, sanitizer.
VARIANTS = {"gcc": ("gcc", None), "clang": ("clang", None), "clang-address": ("clang", "address")}

pytestmark = pytest.mark.timeout(3 * TIME_LIMIT)


@pytest.fixture(scope="module", params=VARIANTS)
def client(request, tmp_path_factory):
    compiler, sanitizer = VARIANTS[request.param]
    library = (BUILD / sanitizer if sanitizer else BUILD) / "lib" / "librunloop.so"
    assert library.exists(), f"no {library}: build it, or set RL_BUILD"
    program = tmp_path_factory.mktemp("hiredis") / "client"
    # The adapter uses BSD's __unused, which glibc has not; it is a header of the system, warnings in it are not ours.
    done = subprocess.run(
        [compiler, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-D__unused=__attribute__((unused))",
         *([f"-fsanitize={sanitizer}"] if sanitizer else []), f"-I{ROOT / 'include'}", HERE / "client.c", "-o", program,
         f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", "-lrunloop", "-lhiredis"],
        capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stderr
    return program


def run(client, *arguments):
    done = subprocess.run([client, str(COMMANDS), *map(str, arguments)], capture_output=True, text=True, timeout=TIME_LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def server(tmp_path):
    """The path of the server's socket. It says when it can be connected to."""
    path = tmp_path / "redis.sock"
    process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--dir", tmp_path, "--save", ""],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if re.search("ready to accept connections|server is now ready", line, re.IGNORECASE):
                break
        assert path.exists(), "".join(said)
        yield path
    finally:
        process.kill()
        process.communicate()


def test_the_adapter_is_debians():
    """Of the package, and in no other place where the compiler would look first."""
    owner = subprocess.run(["dpkg", "-S", "/usr/include/hiredis/adapters/macosx.h"], capture_output=True, text=True)
    assert owner.stdout.startswith("libhiredis-dev")
    assert not (ROOT / "include/hiredis").exists()


def test_pipelined_commands(client, server):
    assert run(client, server) == f"connect: yes\ndisconnect: as asked\nanswers: {COMMANDS}, wrong: 0\n"


def test_a_refused_connection_is_told(client):
    """A port that is bound, so that nobody else gets it, and does not listen."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        output = run(client, "127.0.0.1", bound.getsockname()[1])
    # Every command that waits is told, too: without an answer, so it is counted as wrong.
    assert output == f"connect: Connection refused\nanswers: 0, wrong: {COMMANDS}\n"


def test_a_server_that_dies_is_told(client, tmp_path):
    """It accepts, reads a little, and goes: what is under way fails, and the client ends."""
    path = str(tmp_path / "dying.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        process = subprocess.Popen([client, str(COMMANDS), path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        connection, _ = listening.accept()
        connection.recv(1000)
        connection.close()
        output, errors = process.communicate(timeout=TIME_LIMIT)
    assert process.returncode == 0 and errors == ""
    assert re.fullmatch(rf"connect: yes\ndisconnect: .+\nanswers: 0, wrong: {COMMANDS}\n", output), output
    assert "as asked" not in output
