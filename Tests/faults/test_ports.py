"""Ports without memory, at each allocation in turn, and ports whose system calls fail: see ports.c, places.c and port-calls.c."""

import re

import pytest

import faults_programs as programs

NOTHING_FAILED = 4


@pytest.mark.parametrize("who, least", [("client", 40), ("server", 6)])
def test_a_request_has_an_end_when_memory_is_out(who, least):
    program = programs.build("ports")
    failures = 0
    for number in range(1, 61):
        done = programs.run(program, who, number)
        assert done.returncode in (0, NOTHING_FAILED), f"allocation {number}: {done.returncode} {done.stderr}"
        failures += done.returncode == 0
    assert failures >= least


@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("when, least", [("adding", 45), ("gathering", 45), ("delivering", 8)])
def test_everybody_is_heard_once_there_is_memory_again(when, least, count):
    """Includes sources that were added, and messages that arrived, while there was no memory."""
    program = programs.build("places")
    for number in range(1, 61):
        done = programs.run(program, when, number, count)
        if done.returncode == NOTHING_FAILED and number > least:
            break
        assert done.returncode == 0, f"allocation {number}: {done.returncode} {done.stderr}"


@pytest.fixture(scope="session")
def calls():
    return programs.build("port-calls")


@pytest.mark.parametrize("when", [1, 3, 6])
@pytest.mark.parametrize("call, error", [
    *((call, error) for call in ("sendto", "sendmsg", "recvmsg", "recvfrom") for error in ("ENOMEM", "ENOBUFS", "EINTR")),
    ("epoll_ctl", "ENOMEM"), ("epoll_ctl", "ENOSPC"), ("memfd_create", "ENOMEM"),
    ("memfd_create", "EMFILE"), ("fallocate", "ENOSPC"), ("accept4", "EMFILE"), ("accept4", "ENOMEM"),
    ("socket", "ENFILE"), ("connect", "EAGAIN"), ("ppoll", "ENOMEM")])
def test_a_request_has_an_end_when_calls_fail(calls, call, error, when):
    """Each call fails three times in a row; afterwards everything works, and no peer is reported as misbehaving."""
    done, _ = programs.run_with_faults(calls, "everything", f"{call}:error={error}:when={when}..{when + 2}")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"failed \d+, then 0\n", done.stdout), done.stdout


@pytest.mark.parametrize("call", ["epoll_create1", "eventfd2"])
def test_loops_without_descriptors_of_their_own_are_found_again(calls, call):
    done, trace = programs.run_with_faults(calls, "everything", f"{call}:error=ENOMEM:when=1")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"failed \d+, then 0\n", done.stdout) and programs.faults_in(trace) > 0, done.stdout


@pytest.mark.parametrize("error", ["ENOMEM", "ENOBUFS"])
@pytest.mark.parametrize("when", ["3+5", "19..21", "25"])
def test_what_was_sent_one_way_arrives_though_the_server_could_not_be_woken(calls, error, when):
    """The request is in shared memory, and the packet that announces it cannot be sent."""
    done, trace = programs.run_with_faults(calls, "one-way", f"sendto:error={error}:when={when}")
    assert done.returncode == 0 and re.fullmatch(r"all 1, failed \d+\n", done.stdout), done.stdout + done.stderr
    assert programs.faults_in(trace) > 0


@pytest.mark.parametrize("when", ["3+5", "25"])
def test_a_socket_that_was_full_when_the_server_was_to_be_woken_may_have_been_read_since(calls, when):
    done, trace = programs.run_with_faults(calls, "one-way", f"sendto:error=EAGAIN:when={when}")
    assert (done.returncode, done.stdout) == (0, "all 1, failed 0\n"), done.stderr
    assert programs.faults_in(trace) > 0


@pytest.mark.parametrize("scenario, result", [("ask-with-much", -2), ("ask-for-much", -2)])
def test_pieces_that_cannot_be_sent_are_waited_for_until_the_deadline(calls, scenario, result):
    """The kernel has no memory for them, although there is room in the socket. Neither end retries in a busy loop."""
    done, trace = programs.run_with_faults(calls, scenario, "sendmsg:error=ENOBUFS")
    assert (done.returncode, done.stdout) == (0, f"result {result}\n"), done.stderr
    assert 2 < programs.faults_in(trace) < 1500


def test_pieces_are_smaller_where_the_kernel_has_no_large_block(calls):
    """Every second call fails: the first attempt for each piece."""
    done, trace = programs.run_with_faults(calls, "ask-with-much", "sendmsg:error=ENOBUFS:when=1+2")
    assert (done.returncode, done.stdout) == (0, "result 0\n"), done.stderr
    sent = [int(line.rpartition(" = ")[2]) for line in trace if "sendmsg(" in line and "INJECTED" not in line]
    assert len(sent) >= 2 * 100000 // (16 * 1024 + 32) and max(sent) <= 16 * 1024 + 32, sent


def test_without_memory_for_a_ring_there_is_none(calls):
    """The first 20 calls of mmap, which succeed, are those of the loader in the client, and dummy calls in the server."""
    outputs = set()
    for when in range(20, 40):
        done, trace = programs.run_with_faults(calls, "everything", f"mmap:error=ENOMEM:when={when}")
        assert done.returncode == 0, done.stderr
        outputs.add(re.sub(r"\d+", "#", done.stdout))
        if not programs.faults_in(trace):
            break
    assert outputs == {"failed #, then #\n"}


def test_names_are_reached_through_proc(calls):
    """The header says which error a process without /proc gets."""
    done, _ = programs.run_with_faults(calls, "find", "connect:error=ENOENT")
    assert (done.returncode, done.stdout) == (0, "No such file or directory\n"), done.stderr
