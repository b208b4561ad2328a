"""`runloop run` and `runloop explain`: what a loop does in words, which callbacks last too long, and that the program does not notice."""

import os
import pathlib
import re
import signal
import subprocess
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
    """A program in a state. Ends with the test."""

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
        """The explanation, without line breaks, as soon as it has all patterns."""
        until = time.monotonic() + TIME_LIMIT
        while True:
            done = self.explain(process)
            text = " ".join(done.stdout.split())
            if done.returncode == 0 and all(re.search(pattern, text) for pattern in patterns):
                assert done.stderr == "" and max(map(len, done.stdout.splitlines())) <= 100
                return text
            assert time.monotonic() < until, (text, done.stderr)


STATES = {
    "stuck": [r"the main thread, is awake, in the posted function stuck for .* s, in the system call read of descriptor 0 \(pipe:", "has no source and no timer"],
    "timer": [r"has been asleep in the mode kCFRunLoopDefaultMode for .*, in the system call \w+.*, until a timer is due in 99\d s",
              "does not end by itself, as it has 1 timer"],
    "nested": [r"asleep in the mode inner for .*until the time of the run is over", "within the posted function nested, called .* ago, which runs the loop"],
    "descriptor": [r"asleep in the mode kCFRunLoopDefaultMode .*until something happens: no timer is due",
                   r"does not end by itself, as it has 1 source: read_nothing on descriptor \d+ \(pipe:"],
    "source": ["does not end by itself, as it has 1 source: look_away when it is signalled"],
    "unread descriptor": [r"busy without a pause: of (\d+) calls in .*, \1 were of the function read_nothing of a descriptor object",
                          r"Descriptor \d+ \(pipe:.* stays ready: 5 bytes wait there, and the function reads none"],
    "unread port": ["were of the function look_away of a source", "stays ready: 5 bytes wait there, and the function reads none"],
    "selfish": ["were of the function signal_again of a source. The function signals its own source each time"],
    "posts": ["were of the posted function post_again. The function posts itself each time"],
    "fast timer": ["were of the function tick of a timer. The timer repeats every 10 us"],
    "request": ["It waits for the reply to a request that it sent to the message port states.test"],
    "woken": [r"was last woken .* ago, by thread \d+ \(states\), which had posted look_away"],
}


@pytest.mark.parametrize("state", STATES)
def test_a_loop_is_explained(program, tmp_path, state):
    with Running(COMMAND, "run", program, state, directory=tmp_path) as running:
        running.explained(*STATES[state])


def test_functions_of_a_program_that_fits_into_one_page_have_their_names(tmp_path):
    """Its data are in the same page of the file, which is mapped twice."""
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
        running.explained("is awake, in the posted function only_me for")


def test_an_explanation_comes_by_signal(program, tmp_path):
    with Running(program, "stuck", directory=tmp_path, LD_PRELOAD=str(COMPANION), RUNLOOP_EXPLAIN_SIGNAL="USR2") as running:
        assert running.process.stdout.readline() == "ready\n" and running.process.stdout.readline() == "stuck\n"
        running.process.send_signal(signal.SIGUSR2)
        assert running.process.stderr.readline() == f"runloop: process {running.process.pid}:\n"
        assert re.match(r"Thread \d+ \(states\), the main thread, is awake, in the posted function stuck", running.process.stderr.readline())
        assert running.explain().returncode == 1


def test_a_child_of_fork_has_explanations_of_its_own(program, tmp_path):
    with Running(COMMAND, "run", program, "fork", directory=tmp_path) as running:
        child = int(sorted([running.process.stdout.readline(), running.process.stdout.readline()])[0])
        running.explained("until a timer is due", process=child)
        running.explained("is not in a run of its loop, in the system call wait")
        os.kill(child, signal.SIGKILL)
        assert running.process.wait(TIME_LIMIT) == 0


def test_threads_may_end_while_they_are_explained(program, tmp_path):
    with Running(COMMAND, "run", "-s", "0.01", program, "churn", directory=tmp_path) as running:
        assert running.process.stdout.readline() == "ready\n"
        for _ in range(20):
            running.explain()
        running.go_on()
        assert running.process.wait(TIME_LIMIT) == 3


def test_the_end_of_the_last_thread_ends_the_process(program, tmp_path):
    with Running(COMMAND, "run", program, "alone", directory=tmp_path) as running:
        running.explained("is not in a run of its loop, in the system call read of descriptor 0")
        for _ in range(2):
            assert running.process.stdout.readline() == "stuck\n"
            running.go_on()
        assert running.process.wait(TIME_LIMIT) == 0 and running.process.stderr.read() == ""


# ---- Stalls ----


def test_a_stall_is_named_once(program, tmp_path):
    """When the second is named, the first has lasted for as long again."""
    with Running(COMMAND, "run", "-s", "0.1", program, "stuck twice", directory=tmp_path) as running:
        first = running.process.stderr.readline()
        assert re.fullmatch(r"runloop: stall: thread \d+ \(states\) has been in the posted function stuck for \d+ ms, "
                            r"in the system call read of descriptor 0 \(pipe:.*\)\n", first) or " s, " in first
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


def test_a_stopped_process_does_not_stall(program, tmp_path):
    with Running(COMMAND, "run", "-s", "2", program, "stuck", directory=tmp_path) as running:
        assert running.process.stdout.readline() == "ready\n" and running.process.stdout.readline() == "stuck\n"
        running.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, running.process.pid, os.WSTOPPED | os.WNOWAIT)
        done = running.explain()
        assert (done.returncode, done.stderr) == (1, f"runloop: process {running.process.pid} is stopped, and cannot answer\n")
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
        refused(running, f"process {running.process.pid} cannot be asked: start it by `runloop run`")
        running.process.kill()
        running.process.wait()
        refused(running, f"no process {running.process.pid}")
        for word in ["", "x", "-1", "0", "1 2", "99999999999"]:
            assert running.explain(word or "z").returncode == 2
        others = subprocess.Popen(["sleep", "100"], user=65534) if os.geteuid() == 0 else None
        number = others.pid if others else 1
        if os.stat(f"/proc/{number}").st_uid != os.geteuid():
            refused(running, f"process {number} is another user's", number)
        if others:
            others.kill()
            others.wait()
    with Running(COMMAND, "run", "sleep", "100", directory=tmp_path) as running:
        running_text = running.explain().stderr
        assert "cannot be asked" in running_text or "has run no loop yet" in running_text


def test_a_process_may_end_while_it_is_asked(program, tmp_path):
    for _ in range(5):
        with Running(COMMAND, "run", program, "timer", directory=tmp_path) as running:
            running.explained("until a timer is due")
            asking = subprocess.Popen([COMMAND, "explain", str(running.process.pid)], env=running.environment, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True)
            running.process.kill()
            _, errors = asking.communicate(timeout=TIME_LIMIT)
            assert asking.returncode in (0, 1) and len(errors.splitlines()) == asking.returncode


def test_a_program_without_a_place_for_its_port_runs_as_ever(program, tmp_path):
    (tmp_path / "file").write_text("")
    with Running(COMMAND, "run", program, "stuck", directory=tmp_path, RUNLOOP_PORT_DIR=str(tmp_path / "file" / "none")) as running:
        assert re.fullmatch(r"runloop: explain: process \d+ cannot be asked: org.runloop.inspect.\d+: .*\n", running.process.stderr.readline())
        assert running.explain().returncode == 1
        running.go_on()
        assert running.process.wait(TIME_LIMIT) == 2 and running.process.stderr.read() == ""


def test_a_program_may_close_all_descriptors(program, tmp_path):
    with Running(COMMAND, "run", program, "closed", directory=tmp_path) as running:
        running.explained("is not in a run")
        running.go_on()
        assert running.process.wait(TIME_LIMIT) == 4


@pytest.mark.parametrize("name, value", [("RUNLOOP_STALL", "soon"), ("RUNLOOP_STALL", "0"), ("RUNLOOP_EXPLAIN_SIGNAL", "KILL"),
                                         ("RUNLOOP_EXPLAIN_SIGNAL", "NONE")])
def test_wrong_variables_are_a_line_and_nothing_else(program, tmp_path, name, value):
    with Running(program, "stuck", directory=tmp_path, LD_PRELOAD=str(COMPANION), **{name: value}) as running:
        running.go_on()
        assert running.process.wait(TIME_LIMIT) == 2
        assert re.fullmatch(rf"runloop: {name}={value}: .*\n", running.process.stderr.read())


def test_watching_and_explaining_is_free_of_races(tmp_path):
    """The companion's own code with ThreadSanitizer, which the library tells of its order."""
    program, sources = tmp_path / "watched", sorted((ROOT / "Sources/RunLoopTrace").glob("*.c"))
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-fsanitize=thread", "-Wno-tsan", f"-I{INCLUDE}", HERE / "watched.c", *sources,
                    "-o", program, f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lrunloop", "-pthread"], check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=TIME_LIMIT,
                          env=dict(os.environ, XDG_RUNTIME_DIR=str(tmp_path), TSAN_OPTIONS="halt_on_error=1"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "named: yes\n", "")
