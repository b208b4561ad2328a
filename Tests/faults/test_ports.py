"""Ports that run out of memory, at each allocation in turn: see ports.c and places.c."""

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
@pytest.mark.parametrize("when, least", [("adding", 45), ("delivering", 8)])
def test_everybody_is_heard_once_there_is_memory_again(when, least, count):
    """Also where a source came while there was none, and what came while there was none."""
    program = programs.build("places")
    for number in range(1, 61):
        done = programs.run(program, when, number, count)
        if done.returncode == NOTHING_FAILED and number > least:
            break
        assert done.returncode == 0, f"allocation {number}: {done.returncode} {done.stderr}"
