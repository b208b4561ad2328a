"""Failing allocations, each in turn: in a program that uses everything, and in one that fills the timer queue."""

import re

import pytest

import faults_programs as programs

RUNS = {"one": (None, "one"), "all": (None, "all"), "one-address": ("address", "one")}


#: The minimum number of digits in the number of allocations.
DIGITS = {"allocations": 3, "timers": 2}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("program", DIGITS)
def test_nothing_breaks_when_memory_is_out(program, name):
    sanitizer, how = RUNS[name]
    done = programs.run(programs.build(program, sanitizer), how)
    *complaints, last = done.stdout.splitlines()
    assert done.returncode == 0 and re.fullmatch(rf"tried \d{{{DIGITS[program]},}}", last), f"{last} {done.stderr[-2000:]}"
    assert not complaints, "\n".join(complaints[:40]) + done.stderr[-2000:]
    assert not done.stderr or sanitizer is None, done.stderr[-2000:]
