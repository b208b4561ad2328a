"""The command `runloop` itself: its signals, its exit status, the files it leaves, and what it prints when it is misused."""

import os
import re
import resource
import shutil
import signal
import subprocess

import pytest

import pftrace
from library import BUILD
from test_stat import COMMAND, COMPANION, TIME_LIMIT, blocks, compile_program, HERE, run

LOOP = f"""
import ctypes, os, sys
rl = ctypes.CDLL("{BUILD}/lib/librunloop.so.0")
mode = ctypes.c_void_p.in_dll(rl, "kRLRunLoopDefaultMode")
rl.RLRunLoopGetCurrent.restype = ctypes.c_void_p
loop = ctypes.c_void_p(rl.RLRunLoopGetCurrent())
function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda info: None)
"""


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    return compile_program(tmp_path_factory.mktemp("idle") / "idle", HERE / "idle.c")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["trace", "stat"])
def test_a_signal_that_would_end_the_command_ends_the_program_and_what_was_recorded_is_written(idle, tmp_path, command, number):
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(tmp_path), TMPDIR=str(tmp_path))
    words = ["-o", tmp_path / "out"] if command == "trace" else []
    # An ignored hang-up signal stays ignored, and under nohup the tests ignore it.
    heard = ["env", "--default-signal=HUP"]
    with subprocess.Popen([*heard, COMMAND, command, *words, idle], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=environment) as running:
        process = int(running.stdout.readline())
        running.send_signal(number)
        # The program also exits at the end of its input, but with another status.
        assert running.wait(TIME_LIMIT) == 128 + number
        told = running.stderr.read()
    assert not os.path.exists(f"/proc/{process}")
    assert list(tmp_path.glob("runloop-trace-*")) == []
    if command == "trace":
        assert pftrace.read(tmp_path / "out").named("tick")
    else:
        assert "passes" in told and f"({process})" in told


def test_an_ignored_hang_up_stays_ignored(idle, tmp_path):
    script = f"import os, signal\nos.kill(os.getppid(), signal.SIGHUP)\n{LOOP}\nrl.RLRunLoopRunInMode(mode, ctypes.c_double(0), 0)\nsys.exit(3)"
    done = run("nohup", COMMAND, "trace", "-o", tmp_path / "out", "/usr/bin/python3", "-c", script, directory=tmp_path)
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("words", [["trace", "-o", "/dev/null"], ["stat"]])
def test_the_status_is_the_programs_if_the_parent_ignores_children(tmp_path, words):
    done = run("env", "--ignore-signal=CHLD", COMMAND, *words, "sh", "-c", "exit 7", directory=tmp_path)
    assert done.returncode == 7


def test_a_program_is_started_with_the_signals_of_the_command(tmp_path):
    script = 'grep -E "Sig(Ign|Blk)" /proc/self/status'
    ignoring = ["env", "--ignore-signal=CHLD,HUP,INT"]
    for before in [], ignoring:
        plain = run(*before, "sh", "-c", script, directory=tmp_path).stdout
        assert plain and run(*before, COMMAND, "stat", "sh", "-c", script, directory=tmp_path).stdout == plain


def test_a_program_that_cannot_be_started_leaves_the_earlier_trace(tmp_path):
    (tmp_path / "old").write_bytes(b"an earlier trace")
    for name in "old", "new":
        done = run(COMMAND, "trace", "-o", tmp_path / name, "no-such-program", directory=tmp_path)
        assert done.returncode == 1 and done.stderr == "runloop: no-such-program: No such file or directory\n"
    assert (tmp_path / "old").read_bytes() == b"an earlier trace" and [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_shorter_trace_replaces_a_longer_one(idle, tmp_path):
    (tmp_path / "out").write_bytes(b"x" * 1_000_000)
    assert run(COMMAND, "trace", "-o", tmp_path / "out", idle, directory=tmp_path, input="").returncode == 0
    assert (tmp_path / "out").stat().st_size < 1_000_000
    pftrace.read(tmp_path / "out")


def test_many_posts_that_wait_are_drawn_in_a_time_that_grows_with_their_number(tmp_path):
    """100 000 posts of one function took half a minute when each one was searched for among all."""
    done = run(COMMAND, "trace", "-n", "524288", "-o", tmp_path / "out", "/usr/bin/python3", "-c", LOOP + """
for number in range(100000):
    rl.RLRunLoopPostFunction(loop, mode, function, None)
rl.RLRunLoopRunInMode(mode, ctypes.c_double(0), 0)
""", directory=tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (15, 15)))
    assert done.returncode == 0, done.stderr
    trace = pftrace.read(tmp_path / "out")
    starts = [(first.start, last.start) for first, last in trace.arrows() if first.name.startswith("post ")]
    assert len(starts) == 100000 and starts == sorted(starts) and sorted(last for _, last in starts) == [last for _, last in starts]


KILLED_ASLEEP = LOOP + """
import re, signal, threading, time
rl.RLRunLoopTimerCreateWithDelay.restype = ctypes.c_void_p
timer = rl.RLRunLoopTimerCreateWithDelay(None, ctypes.c_double(86400), ctypes.c_double(0), function, None)
rl.RLRunLoopAddTimer(loop, ctypes.c_void_p(timer), mode)
began = time.monotonic()

def kill():
    while not rl.RLRunLoopIsWaiting(loop) or ") S " not in open(f"/proc/self/task/{os.getpid()}/stat").read():
        pass
    asleep = time.monotonic()
    while time.monotonic() - asleep < 9 * (asleep - began):
        pass
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=kill).start()
rl.RLRunLoopRunInMode(mode, ctypes.c_double(86400), 0)
"""


def test_a_program_that_is_killed_asleep_was_asleep_until_then(tmp_path):
    python = ["/usr/bin/python3", "-c", KILLED_ASLEEP]
    done = run(COMMAND, "stat", *python, directory=tmp_path)
    assert done.returncode == 128 + signal.SIGKILL
    (block,) = blocks(done.stderr).values()
    assert re.fullmatch(r"\d?\d\.\d% of [\d.]+ m?s", block["awake"]) and float(block["awake"].split("%")[0]) < 50, done.stderr
    # For a child of the program, the time when it was killed is not known.
    done = run(COMMAND, "stat", "sh", "-c", '"$0" "$@"; true', *python, directory=tmp_path)
    (block,) = blocks(done.stderr).values()
    assert done.returncode == 0 and block["awake"].endswith(", then asleep until its process ended"), done.stderr


def test_processes_of_one_number_are_told_apart(idle, tmp_path):
    """Two run at the same time, each as the first process of its PID namespace; a third executes another program."""
    own = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
    if subprocess.run([*own, "true"]).returncode != 0:
        pytest.skip("no PID namespaces")
    script = f"""{LOOP}
import subprocess
both = [subprocess.Popen({own!r} + [{str(idle)!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
print(os.getpid(), *[process.stdout.readline().decode().strip() for process in both], flush=True)
for process in both:
    process.communicate()
rl.RLRunLoopPostFunction(loop, mode, function, None)
rl.RLRunLoopRunInMode(mode, ctypes.c_double(0), 0)
os.execv({str(idle)!r}, [{str(idle)!r}])
"""
    done = run(COMMAND, "trace", "-o", tmp_path / "out", "/usr/bin/python3", "-c", script, directory=tmp_path, input="")
    number, *others = map(int, done.stdout.split())
    # The program that the third one executes may reach the end of its input before its timer fires.
    assert done.returncode == 0 and others in ([1, 1], [1, 1, number]), done.stderr
    trace = pftrace.read(tmp_path / "out")
    threads = sorted((track.process, track.name) for track in trace.tracks.values() if track.thread)
    assert threads == [(1, "idle"), (1, "idle"), (number, "idle"), (number, "python3")]
    assert all(track.slices for track in trace.tracks.values() if track.thread)
    assert {found.track.process for found in trace.named("tick")} - {number} == {1} and {found.track.name for found in trace.named("ended")} == {"idle"}
    done = run(COMMAND, "stat", "/usr/bin/python3", "-c", script, directory=tmp_path, input="")
    heads = re.findall(r"^(\S+) \(", done.stderr, re.M)
    assert done.returncode == 0 and sorted(heads) == ["idle", "idle", "idle", "python3"]


def test_a_pipe_among_the_records_is_not_waited_for(tmp_path):
    done = run(COMMAND, "trace", "-o", tmp_path / "out", "sh", "-c", 'mkfifo "$RUNLOOP_TRACE/3-3.ring"', directory=tmp_path)
    first, _ = done.stderr.splitlines()
    assert done.returncode == 0 and first.endswith("/3-3.ring: not written by this version of librunloop-trace; skipped")


def test_names_are_valid_utf_8(tmp_path):
    """The kernel truncates thread names to 15 bytes, even in the middle of a character."""
    done = run(COMMAND, "trace", "-o", tmp_path / "out", "/usr/bin/python3", "-c", f"""
import ctypes
ctypes.CDLL(None).prctl(15, {"thread-of-fourä".encode()!r} + b"\\xff", 0, 0, 0)
{LOOP}
rl.RLRunLoopPostFunction(loop, mode, function, None)
rl.RLRunLoopRunInMode(mode, ctypes.c_double(0), 0)
""", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {track.name for track in pftrace.read(tmp_path / "out").tracks.values() if track.thread} == {"thread-of-four?"}


def test_help_is_given_on_request(tmp_path):
    everything = run(COMMAND, "--help", directory=tmp_path)
    assert everything.returncode == 0 and everything.stdout.startswith("usage: runloop trace") and everything.stderr == ""
    assert run(COMMAND, "help", directory=tmp_path).stdout == everything.stdout
    for words in [["help", "stat"], ["stat", "--help"], ["stat", "-h"]]:
        done = run(COMMAND, *words, directory=tmp_path)
        assert done.returncode == 0 and done.stdout.startswith("usage: runloop stat ") and "trace:" not in done.stdout
    assert run(COMMAND, "-V", directory=tmp_path).stdout == run(COMMAND, "--version", directory=tmp_path).stdout != ""


@pytest.mark.parametrize("words, line", [
    (["tracee"], "runloop: unknown command `tracee'; see `runloop --help'"),
    (["help", "tracee"], "runloop: unknown command `tracee'; see `runloop --help'"),
    (["run", "-b", "USR1", "touch", "ran"], "runloop: -b requires -s: it adds a backtrace to the reports of -s"),
    (["run", "-s", "1", "-b", "NOSUCH", "touch", "ran"], "runloop: -b NOSUCH: no such signal, or it cannot be caught"),
    (["run", "-s", "1", "-b", "KILL", "touch", "ran"], "runloop: -b KILL: no such signal, or it cannot be caught"),
    (["run", "-s", "1e9", "touch", "ran"], "runloop: SECONDS must be a number from 0.001 to 1000000, optionally followed by \",abort\""),
    (["run", "-s", "nan", "touch", "ran"], "runloop: SECONDS must be a number from 0.001 to 1000000, optionally followed by \",abort\""),
])
def test_a_wrong_word_is_one_line_and_nothing_is_run(tmp_path, words, line):
    done = run(COMMAND, *words, directory=tmp_path, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, line + "\n")
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_option_shows_how_its_command_is_used(tmp_path):
    done = run(COMMAND, "stat", "-x", directory=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("runloop stat: invalid option -- 'x'\nusage: runloop stat ")
    assert "trace:" not in done.stderr


def test_a_place_that_cannot_be_preloaded_from_is_said(tmp_path):
    """The loader treats a space in LD_PRELOAD as the end of a name."""
    place = tmp_path / "a place"
    (place / "bin").mkdir(parents=True)
    (place / "lib" / "runloop").mkdir(parents=True)
    shutil.copy(COMMAND, place / "bin")
    shutil.copy(COMPANION, place / "lib" / "runloop")
    for library in (BUILD / "lib").glob("librunloop.so*"):
        shutil.copy(library, place / "lib")
    done = run(place / "bin" / "runloop", "stat", "touch", tmp_path / "ran", directory=tmp_path)
    assert done.returncode == 1 and not (tmp_path / "ran").exists()
    assert done.stderr == f"runloop: {place}/lib/runloop/librunloop-trace.so: cannot be preloaded because its path contains a space or a colon\n"


def test_top_says_that_nothing_is_counted(tmp_path):
    done = run(COMMAND, "top", "-b", "-i", "86400", directory=tmp_path)
    assert done.returncode == 1 and done.stderr == "runloop: no process is being counted: start one with `runloop stat` or `runloop trace`\n"
