"""Message ports between two processes one of which runs out of memory, at each allocation in turn: see ports.c."""

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
