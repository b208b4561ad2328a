"""Failing system calls, injected by strace: the results are as documented, nothing hangs or aborts, and everything works afterwards."""

import errno
import signal
import subprocess
import time

import pytest

import faults_programs as programs

#: On newer architectures epoll_wait is epoll_pwait; because of the "?" strace ignores names that a machine does not have.
WAIT = "?epoll_wait,?epoll_pwait,?epoll_pwait2"
IDLE = "result 3 early 0 waits 1\n"
WAKE = "posted 20 performed 20 waited 20 read 0\n"
WAKE_AND_READ = "posted 20 performed 20 waited 20 read 20\n"
OBJECT = "result 4 called 2 spins 0\n"
CLIENTS = "clients 3 spins 0\n"
SENT = "sent 20 received 20 ends 0\n"
TIMER = "read 20 fired 1 too-often 0 early 0\n"
THREADS = "ended 4 sent 1600\n"

#: Scenario of calls.c, faults, expected output. A signal interrupts a futex only while it waits; strace's error=EINTR
#: would also lose the wake-ups, which no kernel does.
SURVIVED = {
    "futex-interrupted-idle": ("idle-without-descriptors", ["futex:signal=USR1:when=1+"], IDLE),
    "futex-interrupted-wake": ("wake-without-descriptors", ["futex:signal=USR1:when=1+"], WAKE),
    "futex-interrupted-threads": ("threads", ["futex:signal=USR1:when=1+3"], THREADS),
    "epoll-interrupted-idle": ("idle-with-descriptors", [f"{WAIT}:error=EINTR:when=1..50"], IDLE),
    "epoll-interrupted-wake": ("wake-with-descriptors", [f"{WAIT}:error=EINTR:when=1+2"], WAKE_AND_READ),
    "epoll-signalled-wake": ("wake-with-descriptors", [f"{WAIT}:signal=USR1:when=1+"], WAKE_AND_READ),
    "epoll-interrupted-timer": ("timer-with-descriptors", [f"{WAIT}:error=EINTR:when=1+2"], TIMER),
    "wake-interrupted": ("wake-with-descriptors", ["write:error=EINTR:when=1..10"], WAKE_AND_READ),
    "no-epoll_pwait2-idle": ("idle-with-descriptors", ["epoll_pwait2:error=ENOSYS"], IDLE),
    "no-epoll_pwait2-timer": ("timer-with-descriptors", ["epoll_pwait2:error=ENOSYS"], TIMER),
    "no-epoll_pwait2-interrupted": ("timer-with-descriptors",
                                    ["epoll_pwait2:error=ENOSYS", "ppoll:error=EINTR:when=1+2"], TIMER),
    "no-membarrier": ("threads", ["membarrier:error=ENOSYS"], THREADS),
    "membarrier-not-allowed": ("threads", ["membarrier:error=EPERM"], THREADS),
    "no-membarrier-descriptors": ("wake-with-descriptors", ["membarrier:error=ENOSYS"], WAKE_AND_READ),
    "no-timer-slack-timer": ("timer-with-descriptors", ["prctl:error=EINVAL"], TIMER),
    "timer-slack-is-only-read": ("timer-with-descriptors", ["prctl:error=EINVAL:when=2+"], TIMER),
    "no-huge-pages": ("many-timers", ["madvise:error=EINVAL"], "result 1 fired 30000\n"),
    "no-memory-for-huge-pages": ("many-timers", ["madvise:error=ENOMEM"], "result 1 fired 30000\n"),
    # A descriptor object in a loop that keeps running; the first epoll_ctl is for the descriptor that wakes the loop.
    "object-no-memory": ("descriptor-object", ["epoll_ctl:error=ENOMEM:when=2..3"], OBJECT),
    "object-too-many-watches": ("descriptor-object", ["epoll_ctl:error=ENOSPC:when=2..3"], OBJECT),
    **{f"accept-{error}": ("accept", [f"accept4:error={error}:when=1..3"], CLIENTS)
       for error in ("EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "ECONNABORTED", "EINTR", "EAGAIN", "EPROTO", "ENETDOWN")},
    **{f"receive-{error}": ("send", [f"recvfrom:error={error}:when=1..5"], SENT) for error in ("EINTR", "EAGAIN")},
    **{f"send-{error}": ("send", [f"sendto:error={error}:when=1+2"], SENT) for error in ("EINTR", "EAGAIN")},
    "send-waits-interrupted": ("send", ["sendto:error=EAGAIN:when=1+2", "ppoll:error=EINTR:when=1+2"], SENT),
    # A file that epoll cannot watch counts as always ready, like /dev/null.
    "epoll_ctl-EPERM": ("set-up", ["epoll_ctl:error=EPERM:when=2+"], "4/0 4/0 4/0 4/0 4/0 posted 1 descriptors 2\n"),
    # The fifth and sixth calls are for the loop's new epoll instance, which replaces an old one.
    **{f"stale-events-{when}": ("stale-events", [f"epoll_ctl:error=ENOMEM:when={when}"], "results 4 2 read 1\n") for when in ("5", "6", "5..6")},
    "epoll_ctl-EPERM-second": ("second-source", ["epoll_ctl:error=EPERM:when=3+"], "4 4 4 4 4 first 1 second 1\n"),
}


@pytest.fixture(scope="session")
def program():
    return programs.build("calls")


@pytest.mark.parametrize("name", SURVIVED)
def test_survives(program, name):
    scenario, faults, expected = SURVIVED[name]
    done, trace = programs.run_with_faults(program, scenario, *faults)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected
    assert programs.faults_in(trace) > 0


@pytest.mark.parametrize("scenario, call", [("threads", "membarrier"), ("timer-with-descriptors", "epoll_pwait2")])
def test_what_the_kernel_lacks_is_asked_for_once(program, scenario, call):
    done, trace = programs.run_with_faults(program, scenario, f"{call}:error=ENOSYS")
    assert done.returncode == 0 and len(trace) == 1, trace


@pytest.mark.parametrize("scenario", ["idle-with-descriptors", "timer-with-descriptors"])
def test_a_call_that_a_filter_forbids_is_as_one_that_is_not_there(program, scenario):
    """Container filters return EPERM for system calls that are newer than the filter."""
    done, trace = programs.run_with_faults(program, scenario, "epoll_pwait2:error=EPERM", seconds=2)
    assert done.returncode == 0 and len(trace) == 1


@pytest.mark.parametrize("error", ["EMFILE", "ENFILE", "ENOMEM"])
@pytest.mark.parametrize("call", ["epoll_create1", "?eventfd,eventfd2"])
def test_a_loop_that_cannot_be_set_up_says_why(program, call, error):
    """As documented in RLRunLoop.h: Finished with errno; nothing is left open; the loop works as soon as possible."""
    number = getattr(errno, error)
    done, trace = programs.run_with_faults(program, "set-up", f"{call}:error={error}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"1/{number} " * 5 + "posted 1 descriptors 0\n"
    # The first time when the source is added, then once per run.
    done, trace = programs.run_with_faults(program, "set-up", f"{call}:error={error}:when=1..3")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"1/{number} " * 2 + "4/0 4/0 4/0 posted 1 descriptors 2\n"
    assert programs.faults_in(trace) == 3


@pytest.mark.parametrize("error", ["ENOMEM", "ENOSPC"])
def test_a_source_that_cannot_be_watched_now_is_watched_by_a_later_run(program, error):
    done, trace = programs.run_with_faults(program, "set-up", f"epoll_ctl:error={error}:when=2..4")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3/0 3/0 4/0 4/0 4/0 posted 1 descriptors 2\n"
    assert programs.faults_in(trace) == 3
    # Affects the descriptor that wakes the loop: without it the loop cannot wait.
    done, _ = programs.run_with_faults(program, "set-up", f"epoll_ctl:error={error}:when=1..3")
    number = getattr(errno, error)
    assert done.stdout == f"1/{number} " * 2 + "4/0 4/0 4/0 posted 1 descriptors 2\n"


@pytest.mark.parametrize("error", ["ENOMEM", "ENOSPC"])
def test_one_source_that_cannot_be_watched_does_not_harm_another(program, error):
    done, _ = programs.run_with_faults(program, "second-source", f"epoll_ctl:error={error}:when=3+")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4 3 3 3 3 first 1 second 0\n"


@pytest.mark.parametrize("error", ["ENOMEM", "ENOSPC"])
def test_an_unconnected_socket_whose_watch_cannot_be_changed_does_not_spin(program, error):
    done, trace = programs.run_with_faults(program, "unconnected", f"epoll_ctl:error={error}:when=3", f"{WAIT}:error=EINTR:when=10000")
    assert (done.returncode, done.stdout) == (0, "result 3\n"), done.stderr
    assert programs.faults_in(trace) == 1 and len(trace) < 50, f"{len(trace)} calls"


def test_a_hang_would_be_seen(program):
    """A control: a swallowed wake-up (or byte of the pipe) leaves the loop asleep, and the alarm ends the program."""
    done, trace = programs.run_with_faults(program, "wake-with-descriptors", "write:retval=1:when=5..1000", seconds=1)
    assert done.returncode == -signal.SIGALRM and programs.faults_in(trace) > 0


def test_dates_before_the_start_of_the_machine_keep_their_order(program):
    """A machine that seems to have been started ten seconds ago: needs a time namespace, and so root."""
    uptime = int(time.clock_gettime(time.CLOCK_MONOTONIC))
    fresh = ["unshare", "--time", "--fork", f"--monotonic={10 - uptime}"]
    if subprocess.run([*fresh, "true"], capture_output=True).returncode != 0:
        pytest.skip("time namespaces are not allowed here")
    done = programs.run(*fresh, program, "past-dates")
    assert (done.returncode, done.stdout) == (0, "last 36 out of order 0\n"), done.stderr
    assert programs.run(program, "past-dates").stdout == done.stdout
