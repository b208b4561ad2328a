"""Compiles every program in examples/ with gcc and clang, warnings being errors, runs it, and compares what it prints.

The library is taken from $RL_BUILD/lib (default: build/lib of this checkout). A program that prints something else than
examples/expected/<name>.txt, anything on stderr, or returns anything but 0 has failed. The demo is checked against
Python's own count of the same input.
"""

import ctypes
import os
import re
import resource
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
EXAMPLES = REPO / "examples"
LIBRARY = Path(os.environ.get("RL_BUILD", REPO / "build")).resolve() / "lib"

# A name is a file (hello.c) or a folder whose *.c files are one program (demo/).
PROGRAMS = [
    "calculator",
    "chat",
    "children",
    "collections",
    "custom-source",
    "echo",
    "errors",
    "file-watch",
    "guest",
    "hello",
    "inotify",
    "listener",
    "loop-observer",
    "loop-thread",
    "main-loop",
    "main-queue",
    "message-ports",
    "metrics",
    "modes",
    "notifications",
    "objects",
    "perform-on-thread",
    "pidfd",
    "port-source",
    "ports",
    "probe",
    "relay",
    "resolve",
    "rooms",
    "signalfd",
    "signals",
    "socket-chat",
    "socket-echo",
    "stalls",
    "stream-filter",
    "strings",
    "timeout",
    "timers",
    "tls",
    "upload",
    "users",
    "values",
    "workers",
]
WITH_BLOCKS = ["blocks"]  # clang only
WITH_KIT = ["chat", "children", "echo", "file-watch", "listener", "relay", "resolve", "rooms", "signals", "stream-filter",
            "tls", "upload", "workers"]  # linked with librunloop-kit, too
WITH_TLS = ["tls"]  # linked with OpenSSL, too
WITH_TRACE = ["metrics", "stalls"]  # linked with librunloop-trace, too
WITH_LIBRARY = ["curl", "dbus", "ev", "event", "glib", "sd-event", "uv"]  # with an adapter: Tests/guest compiles and runs them
WITH_DISPLAY = ["gtk"]  # make gtk
DEMO = "demo"
MAKES_MISTAKES = ["errors"]  # on purpose
SPEAKS_ON_STDERR = [*MAKES_MISTAKES, "values"]

COMPILERS = ["gcc", "clang"]
FLAGS = "-std=c11 -O1 -g -Wall -Wextra -Wpedantic -Werror -pthread".split()
TIME_LIMIT = 60  # seconds; all of them need less than one

pytestmark = pytest.mark.timeout(120)


def sources(name):
    folder = EXAMPLES / name
    return sorted(folder.glob("*.c")) if folder.is_dir() else [EXAMPLES / f"{name}.c"]


def compile_program(compiler, name, output, extra=(), libraries=()):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    assert (LIBRARY / "librunloop.so").exists(), f"no librunloop.so in {LIBRARY}: build it, or set RL_BUILD"
    command = [compiler, *FLAGS, *extra, "-I", REPO / "include", *sources(name), "-o", output]
    if name in WITH_TLS:
        libraries = [*libraries, "-lssl", "-lcrypto"]
    if name in WITH_TRACE:
        command += ["-L", LIBRARY / "runloop", f"-Wl,-rpath,{LIBRARY}/runloop", "-lrunloop-trace"]
    command += ["-L", LIBRARY, *(["-lrunloop-kit"] if name in WITH_KIT else []), "-lrunloop", f"-Wl,-rpath,{LIBRARY}", *libraries]
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
    assert result.returncode == 0, result.stderr
    return output


def environment(name, program=None):
    values = {key: value for key, value in os.environ.items() if not key.startswith("RUNLOOP_")}
    if program is not None:  # names of ports are this run's own: the same program may be running elsewhere
        values["RUNLOOP_PORT_DIR"] = str(program.parent / f"{name}.ports")
    if name not in MAKES_MISTAKES:
        values["RUNLOOP_MISUSE"] = "abort"  # an example must not make mistakes
    return values


def check_run(name, program):
    result = subprocess.run([program], capture_output=True, text=True, timeout=TIME_LIMIT, env=environment(name, program),
                            stdin=subprocess.DEVNULL)
    expected = (EXAMPLES / "expected" / f"{name}.txt").read_text()
    assert result.stdout == expected, result.stderr
    if name not in SPEAKS_ON_STDERR:
        assert result.stderr == ""
    assert result.returncode == 0


# ---- All programs ----


def test_every_source_file_is_tested():
    tested = {source for name in [*PROGRAMS, *WITH_BLOCKS, *WITH_LIBRARY, *WITH_DISPLAY, DEMO] for source in sources(name)}
    assert tested == set(EXAMPLES.rglob("*.c"))


def test_every_expected_output_belongs_to_a_program():
    names = {path.stem for path in (EXAMPLES / "expected").iterdir()}
    assert names == {*PROGRAMS, *WITH_BLOCKS, *WITH_LIBRARY, *WITH_DISPLAY}


def declarations():
    """The headers without comments, and the examples that their comments name."""
    headers = "".join(path.read_text() for path in sorted((REPO / "include").glob("RunLoop*/*.h")))
    named = set(re.findall(r"\bexamples/[\w./-]*\w", headers))
    return re.sub(r"/\*.*?\*/", "", headers, flags=re.S), named


def test_examples_named_in_the_headers_exist():
    _, named = declarations()
    assert named and not [path for path in named if not (REPO / path).exists()]


def test_every_function_is_used_in_an_example():
    text, _ = declarations()
    functions = set(re.findall(r"RL_EXPORT[^;(]*?\b(RL\w+)\(", text))
    used = "".join(path.read_text() for path in EXAMPLES.rglob("*.c"))
    assert len(functions) > 60
    assert [name for name in sorted(functions) if not re.search(rf"\b{name}\(", used)] == []


@pytest.mark.parametrize("name", [*PROGRAMS, *WITH_BLOCKS])
def test_is_short(name):
    for source in sources(name):
        assert len(source.read_text().splitlines()) < 150, source.name


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_is_expected(compiler, name, tmp_path):
    check_run(name, compile_program(compiler, name, tmp_path / name))


def blocks_runtime():
    """How to link libBlocksRuntime: the system's (libblocksruntime-dev), or the Swift toolchain's."""
    if Path("/usr/include/Block.h").exists():
        return ["-lBlocksRuntime"]
    swift = shutil.which("swiftc")
    if swift is not None:
        place = Path(swift).resolve().parents[1] / "lib" / "swift" / "linux"
        if (place / "libBlocksRuntime.so").exists():
            return ["-L", place, "-lBlocksRuntime", f"-Wl,-rpath,{place}"]
    pytest.skip("there is no blocks runtime")


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_with_blocks_prints_what_is_expected(name, tmp_path):
    program = compile_program("clang", name, tmp_path / name, ["-fblocks"], blocks_runtime())
    check_run(name, program)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_without_blocks_still_compiles_and_says_so(compiler, name, tmp_path):
    program = compile_program(compiler, name, tmp_path / name)
    assert subprocess.run([program], capture_output=True, timeout=TIME_LIMIT).returncode == 77


# ---- The demo ----


@pytest.fixture(scope="session", params=COMPILERS)
def demo(request, tmp_path_factory):
    return compile_program(request.param, DEMO, tmp_path_factory.mktemp(request.param) / DEMO)


def run_demo(demo, *arguments, preload=None, **keywords):
    return subprocess.run([demo, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIME_LIMIT,
                          env={**environment(DEMO), **({"LD_PRELOAD": str(preload)} if preload else {})}, **keywords)


def printed_word(word):
    return "".join(chr(b) if 0x20 < b < 0x7F and b != 0x5C else f"\\x{b:02X}" for b in word)


def count(data):
    """The same as the demo counts, in Python."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    words = data.split()  # bytes.split() splits at exactly the six bytes that the demo takes for spaces
    ranked = Counter(word for word in words if len(word) <= 32)
    top = sorted(ranked.items(), key=lambda item: (-item[1], item[0]))[:5]
    return {
        "lines": len(lines),
        "words": len(words),
        "bytes": len(data),
        "longest": max(map(len, lines), default=0),
        "different": len(ranked),
        "top": [(number, printed_word(word)) for word, number in top],
    }


def parse(output):
    text = output.decode("ascii")
    total = re.search(r"^total +\d+ +(\d+) +(\d+) +(\d+)$", text, re.M)
    workers = re.findall(r"^worker \d+ +\d+ +(\d+) +(\d+) +(\d+) +\d+ +\d+ +[\d.]+ s$", text, re.M)
    assert [sum(map(int, column)) for column in zip(*workers)] == list(map(int, total.groups()))
    return {
        "lines": int(total[1]),
        "words": int(total[2]),
        "bytes": int(total[3]),
        "longest": int(re.search(r"^longest line: (\d+) bytes$", text, re.M)[1]),
        "different": int(re.search(r"^distinct words: (\d+)", text, re.M)[1]),
        "top": [(int(number), word) for number, word in re.findall(r"^ {2} *(\d+)  (\S+)$", text, re.M)],
    }


def pauses(output):
    return int(re.search(rb"main paused reading (\d+) time", output)[1])


def text(size):
    """Lines of some words, always the same for one size."""
    words = [f"word{n * n % 9973}" for n in range(997)]
    lines, length, n = [], 0, 1
    while length < size:
        line = " ".join(words[(n * k) % 997] for k in range(n % 17))
        lines.append(line)
        length += len(line) + 1
        n += 1
    return "\n".join(lines).encode() + b"\n"


INPUTS = {
    "empty": b"",
    "one-newline": b"\n",
    "one-word": b"word\n",
    "no-newline-at-the-end": b"one two\nthree",
    "spaces-only": b" \t\r\v\f \n  \n ",
    "word-of-32-and-33": b"a" * 32 + b" " + b"b" * 33 + b"\n",
    "backslashes-and-utf8": "a\\b Zürich a\\b\n".encode() * 3,
    "text": text(300_000),
    "exactly-one-batch": b"x" * 65535 + b"\n" + b"y\n",
    "line-of-1-MB": b"short\n" + b"long word " * 104858 + b"\nshort\n",
    "word-of-1-MB": b"x" * 1_048_576 + b"\ny",
    "zeros": bytes(200_000),
    "every-byte": bytes(range(256)) * 1000,
    "binary": bytes((n * n * 7 + n // 3) % 256 for n in range(500_000)),
}


@pytest.mark.parametrize("way", ["pipe", "file", "redirect"])
@pytest.mark.parametrize("name", INPUTS)
def test_demo_counts_right(demo, name, way, tmp_path):
    data = INPUTS[name]
    if way == "pipe":
        result = run_demo(demo, input=data)
    else:
        path = tmp_path / "input"
        path.write_bytes(data)
        with path.open("rb") as file:
            result = run_demo(demo, "--workers", 3, *([path] if way == "file" else []), stdin=file)
    assert result.returncode == 0, result.stderr
    assert parse(result.stdout) == count(data)


@pytest.mark.parametrize("workers", [1, 2, 64])
def test_demo_counts_right_with_any_number_of_workers(demo, workers):
    data = text(1_000_000)
    result = run_demo(demo, "--workers", workers, input=data)
    assert result.returncode == 0, result.stderr
    assert parse(result.stdout) == count(data)
    assert len(re.findall(rb"^worker \d+ ", result.stdout, re.M)) == workers


#: For the demo's workers 10 ms are a tenth of a second.
SLOWER = """#include <time.h>
int nanosleep(const struct timespec *time, struct timespec *left)
{
    struct timespec longer = {0, 10 * time->tv_nsec};
    return clock_nanosleep(CLOCK_MONOTONIC, 0, &longer, left);
}
"""


def test_demo_stops_reading_when_the_workers_are_slow(demo, tmp_path):
    """Of a file, and with one worker that takes ten times as long: beside many other processes two may count as fast as the demo reads."""
    data = text(2_000_000)
    (tmp_path / "input").write_bytes(data)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-", "-o", tmp_path / "slower.so"], input=SLOWER, text=True, check=True)
    with open(tmp_path / "input", "rb") as file:
        result = run_demo(demo, "--slow", "--workers", 1, stdin=file, preload=tmp_path / "slower.so")
    assert result.returncode == 0, result.stderr
    assert parse(result.stdout) == count(data)
    assert pauses(result.stdout) > 0
    assert b" MB read, batches waiting for a worker: " in result.stderr  # the progress timer goes on meanwhile


def test_demo_memory_is_bounded(demo):
    lines = text(1_000_000)
    process = subprocess.Popen([demo, "--slow"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env=environment(DEMO))
    for _ in range(40):
        process.stdin.write(lines)
    process.stdin.flush()
    # Not ru_maxrss of the child: that begins with the size of the Python that started it.
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())[1]
    output, _ = process.communicate(timeout=TIME_LIMIT)
    assert process.returncode == 0
    assert parse(output)["bytes"] == 40 * len(lines)
    assert int(peak) * 1024 < 24_000_000  # 37 batches of 64 KB, a few small tables, and the C library


def test_demo_works_on_a_slow_pipe(demo):
    process = subprocess.Popen([demo, "--workers", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment(DEMO))
    for piece in [b"first li", b"ne\nsec", b"ond line\n", b"third"]:
        process.stdin.write(piece)
        process.stdin.flush()
    output, _ = process.communicate(timeout=TIME_LIMIT)
    assert process.returncode == 0
    assert parse(output) == count(b"first line\nsecond line\nthird")


def test_demo_help(demo):
    result = run_demo(demo, "--help")
    assert result.returncode == 0 and result.stdout.startswith(b"usage: demo ") and result.stderr == b""


@pytest.mark.parametrize("arguments", [
    ["--workers"], ["--workers", "0"], ["--workers", "65"], ["--workers", "two"], ["--workers", "3x"],
    ["--workers", ""], ["--wrong"], ["-x"], ["one", "two"],
], ids=" ".join)
def test_demo_bad_usage(demo, arguments):
    result = run_demo(demo, *arguments, stdin=subprocess.DEVNULL)
    assert result.returncode == 2 and result.stdout == b"" and result.stderr.startswith(b"demo: ")


@pytest.mark.parametrize("path, reason", [("missing", b"No such file"), (".", b"Is a directory")])
def test_demo_unreadable_input(demo, path, reason, tmp_path):
    result = run_demo(demo, path, cwd=tmp_path)
    assert result.returncode == 2 and result.stdout == b"" and reason in result.stderr


def as_a_user():
    """Takes from root what lets it read everything; other users have none of it."""
    CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def test_demo_forbidden_input(demo, tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"secret\n")
    path.chmod(0)
    result = run_demo(demo, path, preexec_fn=as_a_user)
    assert result.returncode == 2 and result.stdout == b"" and b"Permission denied" in result.stderr


@pytest.mark.parametrize("redirection, status, reason", [
    (">&-", 1, b"cannot write"),
    (">/dev/full", 1, b"cannot write"),
    ("| true", 1, b"cannot write"),
    ("<&-", 2, b"Bad file descriptor"),
], ids=["closed-stdout", "full-disk", "closed-pipe", "closed-stdin"])
def test_demo_broken_standard_streams(demo, redirection, status, reason, tmp_path):
    path = tmp_path / "input"
    path.write_bytes(b"some words\n" * 100)
    argument = "" if redirection.startswith("<") else path
    # The sleep lets `true` end first. PIPESTATUS: the status of the demo, with or without a pipe.
    command = f"(sleep 0.2; exec '{demo}' {argument}) {redirection}; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            timeout=TIME_LIMIT, env=environment(DEMO))
    assert result.returncode == status and reason in result.stderr


def test_demo_needs_few_file_descriptors(demo):
    """Two for each loop at most, and what the program itself has open."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (3 + 2 * 5 + 1, 3 + 2 * 5 + 1))
    result = run_demo(demo, input=b"a b\n", preexec_fn=limit)
    assert result.returncode == 0, result.stderr
