"""`runloop stat` and `runloop top`: the numbers are correct, and whatever cannot be read is one line. RLTraceMetrics.h in a program."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from library import BUILD, INCLUDE, ROOT, existing

HERE = pathlib.Path(__file__).resolve().parent
COMMAND = existing(BUILD / "bin" / "runloop")
COMPANION = existing(BUILD / "lib" / "runloop" / "librunloop-trace.so")
TIME_LIMIT = 120
HEADS = "THREAD AWAKE PASSES SLEEPS CALLS P50 P99 MAX LATE P99 WAKES SYSCALLS SPURIOUS".split()


def compile_program(path, *sources, compiler=os.environ.get("CC", "clang"), flags=()):
    subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O1", *flags, f"-I{INCLUDE}", *sources, "-o", path, f"-L{BUILD}/lib/runloop",
                    f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib:{BUILD}/lib/runloop", "-lrunloop", "-pthread"], check=True)
    return path


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("programs")
    return {name: compile_program(directory / name, HERE / f"{name}.c") for name in ("program", "idle")}


def run(*words, directory, **options):
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(directory), TMPDIR=str(directory))
    environment.update(options.pop("environment", {}))
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=TIME_LIMIT, env=environment, **options)


def blocks(text):
    """Returns {(process, thread): {label: rest of its line}}."""
    found, block = {}, None
    for line in text.splitlines():
        head = re.fullmatch(r"\S+ \((\d+)\), thread \S+ \((\d+)\)(, which has ended)?:", line)
        if head:
            block = found.setdefault((int(head[1]), int(head[2])), {})
        elif block is not None and line.startswith("    "):
            block[line[4:20].strip()] = line[21:]
    return found


def rows(text):
    """Returns {thread: cells} for each table of a text."""
    lines = [re.split(r"  +", line.strip()) for line in text.splitlines() if line.startswith("  ")]
    return [(int(words[0].split()[-1]), words[1:]) for words in lines]


@contextlib.contextmanager
def counted(programs, directory, *words):
    """Runs idle under `runloop stat` during the block: yields its process ID, and how it ended."""
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(directory), TMPDIR=str(directory))
    with subprocess.Popen([COMMAND, "stat", *words, programs["idle"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=environment) as running:
        number = int(running.stdout.readline())
        try:
            yield number, running
        finally:
            running.communicate(timeout=TIME_LIMIT)


def test_a_program_that_links_the_library_counts_itself(tmp_path):
    program = compile_program(tmp_path / "metrics", HERE / "metrics.c", flags=["-Wall", "-Wextra", "-Werror", "-lrunloop-trace"])
    done = run(program, directory=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_counting_and_copying_at_the_same_time_is_no_data_race(tmp_path):
    sources = [ROOT / "Sources/RunLoopTrace" / name for name in ("Metrics.c", "MetricsVersion.c", "Histogram.c", "Ticks.c", "Files.c", "Parts.c", "KitCallbacks.c")]
    program = compile_program(tmp_path / "metrics", HERE / "metrics.c", *sources, compiler="gcc",
                              flags=["-fsanitize=thread", "-g", "-DWITHOUT_COMPANION"])
    done = run(program, directory=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture(scope="module")
def summary(programs, tmp_path_factory):
    directory = tmp_path_factory.mktemp("stat")
    done = run(COMMAND, "stat", programs["program"], directory=directory)
    assert done.returncode == 7 and done.stdout == "2 ticks, 0 left, 0\n", done.stderr
    assert list(directory.glob("runloop-trace-*")) == []
    return blocks(done.stderr)


def test_the_summary_has_each_thread_of_both_processes(summary):
    assert len(summary) == 3 and len({process for process, _ in summary}) == 2
    assert sum(process == thread for process, thread in summary) == 2
    assert all(re.fullmatch(r"\d+\.\d% of [\d.]+ \w?s", block["awake"]) for block in summary.values())


def test_callbacks_are_counted_by_kind_without_the_librarys_own(summary):
    kinds = sorted(block["callbacks"].partition(": ")[2] for block in summary.values())
    assert kinds[0] == "function 1, message port 4" and kinds[1] == "source 2, function 3, port 2"
    assert re.fullmatch(r"timer (\d+)", kinds[2]) and int(kinds[2].split()[1]) >= 2
    timers = next(block for block in summary.values() if "timer lateness" in block)
    assert re.fullmatch(r"p50 [\d.]+ \w?s, p99 [\d.]+ \w?s, max [\d.]+ \w?s", timers["timer lateness"])


def test_wake_ups_are_counted_where_they_are_asked_for(summary):
    wakers = [block["wake-ups sent"] for block in summary.values() if "wake-ups sent" in block]
    assert len(wakers) == 1
    asked, made = map(int, re.fullmatch(r"(\d+), with a system call: (\d+)", wakers[0]).groups())
    assert asked == 6 and 2 <= made <= 6
    woken = sum(int(re.search(r"by another thread: (\d+)", block["sleeps"])[1]) for block in summary.values())
    assert woken >= made


def test_tables_are_printed_while_the_program_runs(programs, tmp_path):
    with counted(programs, tmp_path, "-i", "0.01") as (process, running):
        while True:
            line = running.stderr.readline()
            if line.startswith(f"  idle {process} "):
                break
        assert len(line.split()) >= len(HEADS)
        running.stdin.close()
        running.stdin = None
        text = running.stderr.read()
    assert running.returncode == 0 and (process, process) in blocks(text)
    assert all(len(line) <= 120 for line in text.splitlines())


def test_a_process_can_be_read_from_outside(programs, tmp_path):
    with counted(programs, tmp_path) as (process, _):
        done = run(COMMAND, "stat", process, directory=tmp_path / "elsewhere")
        assert done.returncode == 0 and done.stderr == "" and blocks(done.stdout)[process, process]["passes"] != "0"
        done = run(COMMAND, "top", "-b", "-i", "0.05", directory=tmp_path)
        assert done.returncode == 0 and done.stdout.split()[:len(HEADS)] == HEADS
        assert [thread for thread, _ in rows(done.stdout)] == [process] and f"idle ({process})" in done.stdout


@pytest.fixture
def open_input():
    """Returns a standard input that does not end."""
    ends = os.pipe()
    yield ends[0]
    for end in ends:
        os.close(end)


def test_what_is_counted_is_still_there_after_a_kill(programs, tmp_path, open_input):
    done = run(COMMAND, "stat", programs["idle"], "3", directory=tmp_path, stdin=open_input)
    assert done.returncode == 128 + signal.SIGKILL
    process = int(done.stdout)
    assert blocks(done.stderr)[process, process]["callbacks"] == "3: timer 3"
    directory = tmp_path / "runloop-trace-kept"
    directory.mkdir()
    done = run(programs["idle"], "3", directory=tmp_path, stdin=open_input,
               environment={"LD_PRELOAD": str(COMPANION), "RUNLOOP_TRACE": str(directory), "RUNLOOP_TRACE_RECORDS": "0"})
    process = int(done.stdout)
    done = run(COMMAND, "stat", process, directory=tmp_path)
    assert done.returncode == 0 and done.stderr == f"runloop: {process} has ended\n"
    assert blocks(done.stdout)[process, process]["callbacks"] == "3: timer 3"
    assert run(COMMAND, "top", "-b", "-i", "0.01", directory=tmp_path).returncode == 1


@pytest.mark.parametrize("words, status, message", [
    (["stat", "OWN"], 1, "OWN: not being counted: start it with `runloop stat` or `runloop trace`"),
    (["stat", 2**31 - 1], 1, f"{2**31 - 1}: no such process"),
    (["stat", "-i", "never", "true"], 2, "SECONDS must be a number from 0.01 to 86400"),
    (["top", "-b", "-i", "0.01"], 1, "no process is being counted: start one with `runloop stat` or `runloop trace`"),
    (["stat", "/nowhere"], 1, "/nowhere: No such file or directory"),
    (["stat", "true"], 0, "no run loop was seen: the program uses none, is linked with librunloop.a, runs with privileges that you do not have, or "
     "could not be recorded (a line above says why)"),
])
def test_what_cannot_be_shown_is_one_line(tmp_path, words, status, message):
    words, message = [str(word).replace("OWN", str(os.getpid())) for word in words], message.replace("OWN", str(os.getpid()))
    done = run(COMMAND, *words, directory=tmp_path)
    assert (done.returncode, done.stderr) == (status, f"runloop: {message}\n")
    assert list(tmp_path.iterdir()) == []


def test_wrong_arguments_print_how_it_is_used(tmp_path):
    for words in (["stat"], ["stat", "-x"], ["top", "-x"], ["top", "more"]):
        done = run(COMMAND, *words, directory=tmp_path)
        assert done.returncode == 2 and f"usage: runloop {words[0]} [" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_process_is_one_line(programs, tmp_path):
    command = os.open(COMMAND, os.O_RDONLY)
    with counted(programs, tmp_path) as (process, _):
        done = subprocess.run([f"/proc/self/fd/{command}", "stat", str(process)], pass_fds=[command], user=65534, capture_output=True, text=True,
                              timeout=TIME_LIMIT)
    os.close(command)
    assert (done.returncode, done.stderr) == (1, f"runloop: {process}: Permission denied\n")


def test_files_that_are_not_ours_are_left_out(programs, tmp_path):
    done = run(COMMAND, "stat", programs["program"], "junk", directory=tmp_path)
    left_out = [line for line in done.stderr.splitlines() if line.endswith("not written by this version of librunloop-trace; skipped")]
    assert done.returncode == 7 and len(left_out) == 2 and len(blocks(done.stderr)) == 3
    other = tmp_path / "runloop-trace-other"
    other.mkdir()
    (other / "1-1.metrics").write_bytes(b"RLRSTAT1")
    (other / "1-2.metrics").symlink_to("/dev/zero")
    os.mkfifo(other / "1-3.metrics")
    done = run(COMMAND, "top", "-b", "-i", "0.01", directory=tmp_path)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("trouble", ["no such directory", "too large", "full"])
def test_a_program_that_cannot_be_counted_runs_as_ever(programs, tmp_path, tmp_path_factory, trouble):
    """Prints one line for each of the two processes."""
    if trouble == "full" and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", tmp_path], capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted")
    if trouble == "full":
        (tmp_path / "all").write_bytes(bytes(4096))
    limit = "import resource, sys, os; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)); os.execv(sys.argv[1], sys.argv[1:])"
    where = tmp_path / "none" if trouble == "no such directory" else tmp_path
    words = [sys.executable, "-c", limit, programs["program"]] if trouble == "too large" else [programs["program"]]
    done = run(*words, directory=tmp_path_factory.mktemp("runtime"),
               environment={"LD_PRELOAD": str(COMPANION), "RUNLOOP_TRACE": str(where), "RUNLOOP_TRACE_RECORDS": "0"})
    if trouble == "full":
        subprocess.run(["umount", tmp_path], check=True)
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (7, "2 ticks, 0 left, 0\n")
    assert len(lines) == 2 and all(line.startswith(f"runloop: not recorded: {where}/") for line in lines)
