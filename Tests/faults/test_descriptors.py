"""A process that is short of descriptors: from twenty free ones down to none."""

import pytest

import faults_programs as programs

THREADS = 10


@pytest.fixture(scope="session")
def program():
    return programs.build("descriptors")


@pytest.mark.parametrize("spare", range(20, -1, -1))
def test_every_loop_works_or_says_so(program, spare):
    """A loop with a version-1 source needs two descriptors. One that gets only one closes it, and all work once there are enough."""
    done = programs.run(program, spare)
    assert done.returncode == 0, done.stderr
    worked = spare // 2
    assert done.stdout == f"worked {worked} refused {THREADS - worked} worked-again {THREADS} left-open 0\n"
