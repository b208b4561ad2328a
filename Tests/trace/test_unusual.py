"""Programs that do unusual things to themselves behave as they would without librunloop-trace.so."""

import contextlib
import os
import pathlib
import re
import subprocess
import time

import pytest

from library import BUILD, INCLUDE, existing

HERE = pathlib.Path(__file__).parent
COMMAND = existing(BUILD / "bin" / "runloop")
COMPANION = existing(BUILD / "lib" / "runloop" / "librunloop-trace.so")
TIME_LIMIT = 120


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "unusual"
    subprocess.run([os.environ.get("CC", "clang"), "-std=c11", "-D_GNU_SOURCE", "-O1", f"-I{INCLUDE}", HERE / "unusual.c",
                    "-o", path, f"-L{BUILD}/lib/runloop", f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib:{BUILD}/lib/runloop",
                    "-Wl,--no-as-needed", "-lrunloop-trace", "-lrunloop", "-pthread"], check=True)
    return path


def environment(directory, **more):
    its = {name: value for name, value in os.environ.items() if not name.startswith("RUNLOOP_")}
    return dict(its, XDG_RUNTIME_DIR=str(directory), TMPDIR=str(directory), **more)


@contextlib.contextmanager
def running(*words, directory, **more):
    """Runs a program whose standard input ends with the block."""
    with subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment(directory, **more)) as started:
        yield started


def recorded(program, what, directory):
    """Returns the program's status and error output, with the records in a directory."""
    (directory / "records").mkdir()
    done = subprocess.run([program, what], capture_output=True, text=True, timeout=TIME_LIMIT, stdin=subprocess.DEVNULL,
                          env=environment(directory, RUNLOOP_TRACE=str(directory / "records")))
    return done.returncode, done.stderr


def explained(process, words):
    """Returns the explanation, without line breaks, as soon as it contains these words."""
    until = time.monotonic() + TIME_LIMIT
    while True:
        done = subprocess.run([COMMAND, "explain", str(process)], capture_output=True, text=True, timeout=TIME_LIMIT)
        text = " ".join(done.stdout.split())
        if words in text:
            return text
        assert time.monotonic() < until, (text, done.stderr)


def test_a_program_that_resets_its_signals_is_not_sent_one_for_a_backtrace(program, tmp_path):
    with running(COMMAND, "run", "-s", "0.01", "-b", "USR1", program, "default signals", directory=tmp_path) as started:
        assert started.stdout.readline() == "waits\n" and "wait_for_byte" in started.stderr.readline()
        _, errors = started.communicate("x", timeout=TIME_LIMIT)
    assert (started.returncode, errors) == (7, "")


def test_a_stall_is_named_though_the_signal_for_its_backtrace_ends_the_program(program, tmp_path):
    with running(COMMAND, "run", "-s", "0.01", "-b", "USR1", program, "interrupted", directory=tmp_path) as started:
        _, errors = started.communicate(timeout=TIME_LIMIT)
    assert started.returncode == 7
    line, *frames = errors.splitlines()
    assert " in the posted function wait_for_signal for " in line and any(frame.endswith(" wait_for_signal") for frame in frames), errors


def test_a_process_may_forbid_itself_large_files(program, tmp_path):
    status, errors = recorded(program, "small files", tmp_path)
    assert status == 7 and re.fullmatch(r"runloop: not recorded: .*\.(ring|metrics): File too large\n", errors)


def test_a_process_may_lock_itself_into_a_sandbox_that_kills(program, tmp_path):
    if recorded(program, "sandbox", tmp_path)[0] == 77:
        pytest.skip("the kernel has no seccomp")
    assert recorded(program, "sandbox", tmp_path / "records") == (7, "")


def test_a_program_that_cannot_be_asked_runs_as_ever(program, tmp_path):
    with running(COMMAND, "run", program, "no shared memory", directory=tmp_path) as started:
        assert started.stdout.readline() == "waits\n"
        assert re.fullmatch(r"runloop: explain: process \d+ cannot be queried: No space left on device\n", started.stderr.readline())
        asked = subprocess.run([COMMAND, "explain", str(started.pid)], capture_output=True, text=True, timeout=TIME_LIMIT)
        assert (asked.returncode, asked.stdout, len(asked.stderr.splitlines())) == (1, "", 1)
        _, errors = started.communicate("x", timeout=TIME_LIMIT)
    assert (started.returncode, errors) == (7, "")


def ended(program, what, directory):
    done = subprocess.run([program, what], capture_output=True, text=True, timeout=TIME_LIMIT, env=environment(directory))
    return done.returncode, done.stderr


def test_a_watch_without_a_thread_has_not_started_each_time(program, tmp_path):
    assert ended(program, "no threads", tmp_path) == (7, "runloop: explain: cannot create a thread: Resource temporarily unavailable\n")


def test_a_probe_that_the_program_sets_stays(program, tmp_path):
    assert ended(program, "own probe", tmp_path) == (7, "")


def test_a_callback_deep_within_others_stalls_too(program, tmp_path):
    with running(COMMAND, "run", "-s", "0.01", program, "nested", directory=tmp_path) as started:
        assert started.stdout.readline() == "waits\n"
        explained(started.pid, "has been in the posted function nest for")
        assert "in the posted function nest for" in started.stderr.readline()
        _, errors = started.communicate("x", timeout=TIME_LIMIT)
    assert (started.returncode, errors) == (7, "")


def test_names_do_not_reach_the_terminal_as_commands(program, tmp_path):
    with running(COMMAND, "run", program, "names", directory=tmp_path) as started:
        text = explained(started.pid, "asleep")
        started.kill()
    assert "(red?[31m)" in text and "asleep in mode mode?[2J? for" in text and "A run in mode mode?[2J? " in text


def test_a_line_that_cannot_be_written_kills_no_process(program, tmp_path):
    ends = os.pipe()
    os.close(ends[0])
    done = subprocess.run([program], stderr=ends[1], timeout=TIME_LIMIT,
                          env=environment(tmp_path, RUNLOOP_TRACE=str(tmp_path / "none"), RUNLOOP_STALL="soon", RUNLOOP_STALL_SIGNAL="none"))
    os.close(ends[1])
    assert done.returncode == 7


def test_a_daemon_that_outlives_the_command_says_nothing(program, tmp_path):
    with running(COMMAND, "stat", program, "daemon", directory=tmp_path) as started:
        assert started.wait(TIME_LIMIT) == 7 and list(tmp_path.glob("runloop-trace-*")) == []
        output, errors = started.communicate(timeout=TIME_LIMIT)
    assert output == "daemon\n" and "not recorded" not in errors


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_program_with_more_rights_than_its_caller_obeys_no_variable(program, tmp_path):
    (tmp_path / "root").mkdir(mode=0o700)
    privileged = tmp_path / "privileged"
    privileged.write_bytes(program.read_bytes())
    privileged.chmod(0o4755)
    file = os.open(privileged, os.O_RDONLY)
    done = subprocess.run([f"/proc/self/fd/{file}"], pass_fds=[file], user=65534, group=65534, extra_groups=[], capture_output=True, text=True,
                          timeout=TIME_LIMIT, env=environment(tmp_path, RUNLOOP_TRACE=str(tmp_path / "root"), RUNLOOP_STALL="soon"))
    os.close(file)
    assert (done.returncode, done.stderr) == (7, "") and list((tmp_path / "root").iterdir()) == []


def test_threads_that_have_ended_take_no_more_room_than_what_they_recorded(program, tmp_path):
    assert recorded(program, "threads", tmp_path) == (7, "")
    sizes = sorted(path.stat().st_blocks * 512 for path in (tmp_path / "records").glob("*.ring"))
    assert len(sizes) == 31 and sizes[-2] <= 1 << 17


def test_records_that_are_overwritten_while_they_are_read_cost_no_others(program, tmp_path):
    writer = tmp_path / "overwriting.so"
    subprocess.run([os.environ.get("CC", "clang"), "-std=c11", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", HERE / "overwriting.c", "-o", writer],
                   check=True)
    with running(COMMAND, "trace", "-n", "4096", "-o", tmp_path / "out", program, "many posts", directory=tmp_path,
                 LD_PRELOAD=str(writer)) as started:
        _, errors = started.communicate(timeout=TIME_LIMIT)
    assert started.returncode == 7 and 3000 < int(re.search(r": (\d+) events from 1 thread;", errors)[1]) <= 3096, errors


def test_events_that_occur_while_a_file_is_created_are_counted(program, tmp_path):
    with running(COMMAND, "trace", "-o", tmp_path / "out", program, "early signals", directory=tmp_path) as started:
        _, errors = started.communicate(timeout=TIME_LIMIT)
    assert started.returncode == 7 and errors.count("events lost") == 1, errors
    assert re.search(r"runloop: thread \d+ of unusual \(\d+\): events lost: 3, in signal handlers while its file was created$", errors, re.MULTILINE), errors
