"""`runloop run` and `runloop explain`: what a loop is doing, in words; which callbacks last too long; and that the
program is not affected."""

import ctypes
import os
import pathlib
import re
import select
import signal
import subprocess
import threading
import time

import pytest

from library import BUILD, INCLUDE, ROOT, existing

COMMAND = existing(BUILD / "bin" / "runloop")
COMPANION = existing(BUILD / "lib" / "runloop" / "librunloop-trace.so")
TIME_LIMIT = 120
HERE = pathlib.Path(__file__).parent


def compiled(folder, name):
    path = folder / name
    subprocess.run([os.environ.get("CC", "clang"), "-std=c11", "-D_GNU_SOURCE", "-O1", "-fno-optimize-sibling-calls", f"-I{INCLUDE}", HERE / f"{name}.c",
                    "-o", path, f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lrunloop", "-pthread"], check=True)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("program"), "states")


class Running:
    """A program in a state. It ends with the test."""

    def __init__(self, *words, directory, **environment):
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("RUNLOOP_")}
        self.environment.update(XDG_RUNTIME_DIR=str(directory), **environment)
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=self.environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def go_on(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()

    def explain(self, process=None):
        return subprocess.run([COMMAND, "explain", str(process or self.process.pid)], capture_output=True, text=True, timeout=TIME_LIMIT,
                              env=self.environment)

    def explained(self, *patterns, process=None):
        """Returns the explanation, without line breaks, as soon as it contains all patterns."""
        until = time.monotonic() + TIME_LIMIT
        while True:
            done = self.explain(process)
            text = " ".join(done.stdout.split())
            if done.returncode == 0 and all(re.search(pattern, text) for pattern in patterns):
                assert done.stderr == "" and max(map(len, done.stdout.splitlines())) <= 100
                return text
            assert time.monotonic() < until, (text, done.stderr)


STATES = {
    "stuck": [r"the main thread, has been in the posted function stuck for .* s, in the system call read on descriptor 0 \(pipe:",
              "the mode has no sources or timers"],
    "timer": [r"asleep in mode kCFRunLoopDefaultMode for .*, in the system call \w+.*, and will wake in 99\d s at the latest, when a timer is due\.",
              "A run in mode kCFRunLoopDefaultMode does not end by itself, because the mode has 1 timer"],
    "nested": [r"asleep in mode inner for .*when the run's time limit expires\.", "This happens within the posted function nested, which was called .* ago"],
    "descriptor": [r"asleep in mode kCFRunLoopDefaultMode .*and will sleep until an event occurs: no timer is pending",
                   r"does not end by itself, because the mode has 1 source: read_nothing on descriptor \d+ \(pipe:"],
    "many sources": [r"has 30 sources: (look_away \(not signalled\), ){12}and 18 more\."],
    "source": [r"does not end by itself, because the mode has 1 source: look_away \(not signalled\)"],
    "unread descriptor": [r"has hardly slept for .*: of (\d+) calls, \1 went to the descriptor callback read_nothing",
                          r"Descriptor \d+ \(pipe:.* stays ready: 5 bytes are waiting to be read, and the callback reads none"],
    "unread port": ["went to the source callback look_away", "stays ready: 5 bytes are waiting to be read, and the callback reads none"],
    "selfish": ["went to the source callback signal_again. The callback signals its own source each time"],
    "posts": ["went to the posted function post_again. The function posts itself each time"],
    "fast timer": ["went to the timer callback tick. The timer repeats every 10 us"],
    "request": [r"It is waiting for the reply to a request that it sent .* ago to message port states\.test of this process",
                "because a request waits for its reply in the mode"],
    "unreferenced timer": ["when a timer is due", r"does not end by itself, because the mode has 1 source: look_away \(not signalled\)"],
    "delayed": ["was last woken .* ago to call an internal timer callback: a delayed function, a reply's time limit, or a timer without a callback"],
    "woken": [r"was last woken .* ago by thread \d+ \(states\), which had posted look_away"],
}


@pytest.mark.parametrize("state", STATES)
def test_a_loop_is_explained(program, tmp_path, state):
    with Running(COMMAND, "run", program, state, directory=tmp_path) as running:
        running.explained(*STATES[state])


def test_the_server_of_a_request_is_named(program, tmp_path):
    """The server can be asked in turn. Another port, whose name begins in the same way, is connected, too."""
    with Running(COMMAND, "run", program, "remote request", directory=tmp_path) as running:
        server = int(running.process.stdout.readline())
        text = running.explained(r"that it sent .* ago to message port states\.name of (\S+ \S+ \S+)\.")
        assert f"states.name of process {server} (states)." in text
        running.explained("has been asleep", process=server)


def test_functions_of_a_program_that_fits_into_one_page_have_their_names(tmp_path):
    """Its data is in the same page of the file, which is mapped twice."""
    (tmp_path / "small.c").write_text("""#include <RunLoop/RunLoop.h>
#include <unistd.h>
static int count;
static void only_me(void *info) { (void)info; count += (int)read(0, &count, 1); }
int main(void)
{
    RLRunLoopPostFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, only_me, NULL);
    RLRunLoopRun();
    return 0;
}
""")
    subprocess.run([os.environ.get("CC", "clang"), f"-I{INCLUDE}", tmp_path / "small.c", "-o", tmp_path / "small",
                    f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lrunloop"], check=True)
    with Running(COMMAND, "run", tmp_path / "small", directory=tmp_path) as running:
        running.explained("has been in the posted function only_me for")


def test_an_explanation_comes_by_signal(program, tmp_path):
    with Running(program, "stuck", directory=tmp_path, LD_PRELOAD=str(COMPANION), RUNLOOP_EXPLAIN_SIGNAL="USR2") as running:
        assert running.process.stdout.readline() == "ready\n" and running.process.stdout.readline() == "stuck\n"
        running.process.send_signal(signal.SIGUSR2)
        assert running.process.stderr.readline() == f"runloop: process {running.process.pid}:\n"
        assert re.match(r"Thread \d+ \(states\), the main thread, has been in the posted function stuck", running.process.stderr.readline())
        assert running.explain().returncode == 1


def test_a_child_of_fork_has_explanations_of_its_own(program, tmp_path):
    with Running(COMMAND, "run", program, "fork", directory=tmp_path) as running:
        child = int(sorted([running.process.stdout.readline(), running.process.stdout.readline()])[0])
        running.explained("when a timer is due", process=child)
        running.explained("is not running its loop, in the system call wait")
        os.kill(child, signal.SIGKILL)
        assert running.process.wait(TIME_LIMIT) == 0


def test_a_child_that_has_its_parents_memory_does_not_get_its_explanation(program, tmp_path):
    with Running(COMMAND, "run", program, "copied", directory=tmp_path) as running:
        running.explained("in the posted function stuck")
        running.go_on()
        assert running.process.stdout.readline() == "stuck\n"
        child = int(running.process.stdout.readline())
        running.explained("in the system call read on descriptor 0")
        refused(running, f"process {child} does not answer: it has not run a loop yet, or was not started with `runloop run`", child)


def test_a_process_whose_main_thread_has_ended_can_be_asked(program, tmp_path):
    with Running(COMMAND, "run", program, "main ended", directory=tmp_path) as running:
        running.explained("and will wake in 99")


def test_another_container_is_not_mistaken_for_this_one(program, tmp_path):
    """The first segment has the same ID in each IPC namespace."""
    container = ["unshare", "--ipc"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--ipc"]
    if subprocess.run([*container, "true"], capture_output=True).returncode != 0:
        pytest.skip("the kernel makes no namespaces for this user")
    with Running(*container, COMMAND, "run", program, "stuck", directory=tmp_path) as running:
        assert running.process.stdout.readline() == "ready\n"
        refused(running, f"process {running.process.pid} is in another container (another IPC namespace): run this command inside it")


def test_a_segment_that_was_left_behind_is_removed_by_the_next_process(program, tmp_path):
    shim = tmp_path / "forgetting.so"
    subprocess.run([os.environ.get("CC", "clang"), "-std=gnu11", "-shared", "-fPIC", HERE / "forgetting.c", "-o", shim], check=True)
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path), "LD_PRELOAD": f"{COMPANION}:{shim}", "RUNLOOP_EXPLAIN": "1"}
    status = ctypes.create_string_buffer(256)
    libc = ctypes.CDLL(None, use_errno=True)
    for _ in range(100):  # the next process may be a program of another test
        done = subprocess.run([program, "timer"], capture_output=True, text=True, env=environment, timeout=TIME_LIMIT)
        left = next(int(line) for line in done.stdout.splitlines() if line.isdigit())
        if libc.shmctl(left, 2, status) == 0:
            break
    else:
        pytest.fail("no segment was left behind")
    with Running(COMMAND, "run", program, "timer", directory=tmp_path) as running:
        running.explained("when a timer is due")
        assert libc.shmctl(left, 2, status) == -1 and ctypes.get_errno() == 22


def test_threads_may_end_while_they_are_explained(program, tmp_path):
    with Running(COMMAND, "run", "-s", "0.01", program, "churn", directory=tmp_path) as running:
        assert running.process.stdout.readline() == "ready\n"
        for _ in range(20):
            running.explain()
        running.go_on()
        assert running.process.wait(TIME_LIMIT) == 3


def test_the_end_of_the_last_thread_ends_the_process(program, tmp_path):
    with Running(COMMAND, "run", program, "alone", directory=tmp_path) as running:
        running.explained("is not running its loop, in the system call read on descriptor 0")
        for _ in range(2):
            assert running.process.stdout.readline() == "stuck\n"
            running.go_on()
        assert running.process.wait(TIME_LIMIT) == 0 and running.process.stderr.read() == ""


# ---- Stalls ----


def test_a_stall_is_named_once(program, tmp_path):
    """When the second stall is named, the first one has lasted just as long again."""
    with Running(COMMAND, "run", "-s", "0.1", program, "stuck twice", directory=tmp_path) as running:
        first = running.process.stderr.readline()
        assert re.fullmatch(r"runloop: stall: thread \d+ \(states\) has been in the posted function stuck for [\d.]+ m?s, "
                            r"(not counting [\d.]+ \w?s spent waiting for a processor, )?in the system call read on descriptor 0 \(pipe:.*\)\n", first)
        running.go_on()
        second = running.process.stderr.readline()
        assert "in the posted function stuck_again for" in second
        running.go_on()
        assert running.process.wait(TIME_LIMIT) == 2 and running.process.stderr.read() == ""


def test_a_stall_may_have_a_backtrace_and_may_abort(program, tmp_path):
    with Running(COMMAND, "run", "-s", "0.1,abort", "-b", "USR1", program, "stuck", directory=tmp_path) as running:
        assert running.process.wait(TIME_LIMIT) == -signal.SIGABRT
        lines = running.process.stderr.read().splitlines()
        assert " stuck for " in lines[0] and [line.split()[1] for line in lines[1:]][-1] == "stuck"


def test_a_thread_without_a_processor_does_not_stall(program, tmp_path):
    """The thread is named when it blocks, for the time during which it blocks."""
    with Running(COMMAND, "run", "-s", "0.3", program, "starved", directory=tmp_path) as running:
        assert running.process.stdout.readline() == "ready\n" and running.process.stdout.readline() == "stuck\n"
        assert select.select([running.process.stderr], [], [], 0)[0] == []
        assert re.fullmatch(r"runloop: stall: thread \d+ \(states\) has been in the posted function starve for .*, not counting .* spent waiting "
                            r"for a processor, in the system call read on descriptor 0 \(pipe:.*\)\n", running.process.stderr.readline())


class ProcessorTimes(ctypes.Structure):
    _fields_ = [("ran", ctypes.c_uint64), ("waited", ctypes.c_uint64), ("state", ctypes.c_char)]


LOOK = 100
#: What each sample shows, after which time: total time the thread has run, total time it has waited, and its state.
#: Then the time that counts as waiting.
LOOKS = {
    "blocked": [(0, 0, "S", 0), (0, 0, "S", 0), (0, 0, "D", 0)],
    "busy": [(100, 0, "R", 100), (200, 0, "R", 0), (300, 0, "R", 0)],
    "waits all the time": [(7, 5, "R", 100), (7, 5, "R", 100), (7, 5, "R", 100)],
    "has half a processor": [(50, 50, "R", 100), (100, 100, "R", 50), (150, 150, "S", 50), (150, 150, "S", 0)],
    "a wait that ends is not counted twice": [(0, 0, "R", 100), (0, 0, "R", 100), (0, 0, "R", 100), (10, 250, "S", 50), (10, 250, "S", 0)],
    "waits and blocks": [(0, 0, "S", 0), (20, 30, "S", 30), (20, 30, "S", 0), (40, 60, "R", 80), (140, 60, "R", 0)],
    "the looks were late": [(0, 0, "S", 0), (30, 1000, "S", 70), (30, 1000, "S", 0)],
    "the kernel counts no waits": [(0, 0, "S", 0), (20, 0, "R", 80), (20, 0, "S", 0)],
}


@pytest.fixture(scope="module")
def processor(tmp_path_factory):
    path = tmp_path_factory.mktemp("processor") / "processor.so"
    sources = [ROOT / "Sources/RunLoopTrace" / f"{name}.c" for name in ("Processor", "Words", "Symbols", "Peers", "Files")]
    subprocess.run([os.environ.get("CC", "clang"), "-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", f"-I{INCLUDE}", *sources, "-o", path,
                    f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lrunloop"], check=True)
    library = ctypes.CDLL(path)
    library.processorWaited.restype = ctypes.c_uint64
    library.processorWaited.argtypes = [ctypes.c_void_p, ctypes.POINTER(ProcessorTimes), ctypes.c_uint64]
    library.processorTimes.restype = ProcessorTimes
    return library


@pytest.mark.parametrize("case", LOOKS)
def test_waits_for_a_processor_are_told_from_blocking(processor, case):
    waits = ctypes.create_string_buffer(256)
    for ran, waited, state, counted in LOOKS[case]:
        assert processor.processorWaited(waits, ProcessorTimes(ran, waited, state.encode()), LOOK) == counted, (ran, waited, state)


def test_the_kernel_says_how_long_a_thread_has_run(processor):
    before = processor.processorTimes(threading.get_native_id())
    own = time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID)
    after = processor.processorTimes(threading.get_native_id())
    assert (before.state, after.state) == (b"R", b"R") and before.ran <= own <= after.ran and before.waited <= after.waited


def test_a_stopped_process_does_not_stall(program, tmp_path):
    with Running(COMMAND, "run", "-s", "2", program, "stuck", directory=tmp_path) as running:
        assert running.process.stdout.readline() == "ready\n" and running.process.stdout.readline() == "stuck\n"
        running.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, running.process.pid, os.WSTOPPED | os.WNOWAIT)
        done = running.explain()
        assert (done.returncode, done.stderr) == (1, f"runloop: process {running.process.pid} is stopped and cannot answer\n")
        time.sleep(2.5)
        running.go_on()
        running.process.send_signal(signal.SIGCONT)
        assert running.process.wait(TIME_LIMIT) == 2 and running.process.stderr.read() == ""


# ---- What cannot be done ----


def refused(running, line, process=None):
    done = running.explain(process)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"runloop: {line}\n")


def test_processes_that_cannot_be_asked(program, tmp_path):
    with Running(program, "timer", directory=tmp_path) as running:
        assert running.process.stdout.readline() == "ready\n"
        refused(running, f"process {running.process.pid} cannot be queried: start it with `runloop run`")
        running.process.kill()
        running.process.wait()
        refused(running, f"no process {running.process.pid}")
        for word in ["", "x", "-1", "0", "1 2", "99999999999"]:
            assert running.explain(word or "z").returncode == 2
        if os.geteuid() != 0:
            refused(running, "process 1 belongs to another user", 1)
    with Running(COMMAND, "run", "sleep", "100", directory=tmp_path) as running:
        running_text = running.explain().stderr
        assert "cannot be queried" in running_text or "has not run a loop yet" in running_text


def test_a_process_may_end_while_it_is_asked(program, tmp_path):
    for _ in range(5):
        with Running(COMMAND, "run", program, "timer", directory=tmp_path) as running:
            running.explained("when a timer is due")
            asking = subprocess.Popen([COMMAND, "explain", str(running.process.pid)], env=running.environment, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True)
            running.process.kill()
            _, errors = asking.communicate(timeout=TIME_LIMIT)
            assert asking.returncode in (0, 1) and len(errors.splitlines()) == asking.returncode


def test_a_program_may_close_all_descriptors(program, tmp_path):
    """The companion has no open descriptors, so those that the program opens are its own. It can still be asked."""
    with Running(COMMAND, "run", "-s", "0.01", program, "closed", directory=tmp_path, RUNLOOP_EXPLAIN_SIGNAL="USR2") as running:
        running.explained("is not running its loop")
        running.go_on()
        for line in ["ready\n", "stuck\n", "stuck\n"]:
            assert running.process.stdout.readline() == line
        done = running.explain()
        running.go_on()
        assert running.process.wait(TIME_LIMIT) == 4 and done.returncode == 0 and "is not running its loop" in done.stdout


@pytest.mark.parametrize("name, value", [("RUNLOOP_STALL", "soon"), ("RUNLOOP_STALL", "0"), ("RUNLOOP_EXPLAIN_SIGNAL", "KILL"),
                                         ("RUNLOOP_EXPLAIN_SIGNAL", "NONE")])
def test_wrong_variables_are_a_line_and_nothing_else(program, tmp_path, name, value):
    with Running(program, "stuck", directory=tmp_path, LD_PRELOAD=str(COMPANION), **{name: value}) as running:
        running.go_on()
        assert running.process.wait(TIME_LIMIT) == 2
        assert re.fullmatch(rf"runloop: {name}={value}: .*\n", running.process.stderr.read())


def test_watching_and_explaining_is_free_of_races(tmp_path):
    """The companion's own code with ThreadSanitizer, to which the library reports its ordering."""
    program, sources = tmp_path / "watched", sorted((ROOT / "Sources/RunLoopTrace").glob("*.c"))
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-fsanitize=thread", "-Wno-tsan", f"-I{INCLUDE}", HERE / "watched.c", *sources,
                    "-o", program, f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lrunloop", "-pthread"], check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=TIME_LIMIT,
                          env=dict(os.environ, XDG_RUNTIME_DIR=str(tmp_path), TSAN_OPTIONS="halt_on_error=1"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "named: yes\n", "")
