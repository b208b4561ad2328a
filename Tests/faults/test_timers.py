"""Allocations of the timer queue that fail, each in turn: see timers.c."""

import re

import pytest

import faults_programs as programs

RUNS = {"one": (None, "one"), "all": (None, "all"), "one-address": ("address", "one")}


@pytest.mark.parametrize("name", RUNS)
def test_no_timer_is_lost_when_memory_is_out(name):
    sanitizer, how = RUNS[name]
    done = programs.run(programs.build("timers", sanitizer), how)
    *complaints, last = done.stdout.splitlines()
    assert done.returncode == 0 and re.fullmatch(r"tried \d{2,}", last), f"{last} {done.stderr[-2000:]}"
    assert not complaints, "\n".join(complaints[:40]) + done.stderr[-2000:]
