"""Counts per operation of the built library against counts.limits; see counts.c."""
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

import counts

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parents[1] / "build" / "bench" / "counts"


@pytest.fixture(scope="session", autouse=True)
def program():
    done = subprocess.run(["make", "-C", HERE, "--no-print-directory", "../../build/bench/counts"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@lru_cache(maxsize=None)
def measured(operation):
    return counts.measure(PROGRAM, operation, trace=counts.can_trace())


@pytest.mark.parametrize("operation, thread, limits",
                         [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in counts.read_limits()])
def test_within_limits(operation, thread, limits):
    found = measured(operation)[thread]
    assert not counts.over(found, limits), f"{counts.over(found, limits)}; calls {found['names']}"
    if "calls" in limits and "calls" not in found:
        pytest.skip("strace is missing or may not trace: allocations and descriptors are within limits")


def test_every_operation_has_a_limit():
    listed = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout.split()
    assert set(listed) == {row[0] for row in counts.read_limits()}


def test_the_trace_is_read_correctly():
    calls, own = counts.parse_trace("\n".join([
        '7 write(-1, "counts:thread loop", 18) = -1 EBADF (Bad file descriptor)',
        '8 write(-1, "counts:thread other", 19) = -1 EBADF (Bad file descriptor)',
        '7 futex(0x1, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>',
        '8 write(-1, "counts:begin", 12) = -1 EBADF (Bad file descriptor)',
        '8 futex(0x1, FUTEX_WAKE_PRIVATE, 1 <unfinished ...>',
        '7 <... futex resumed>) = 0',
        '8 <... futex resumed>) = 1',
        '7 read(3, "x", 1) = 1',
        '8 --- SIGCHLD {} ---',
        '7 write(-1, "counts:end 1", 12) = -1 EBADF (Bad file descriptor)',
        '7 exit(0) = ?']))
    assert calls == {"loop": {"read": 1}, "other": {"futex": 1}} and own == 1
