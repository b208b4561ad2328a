"""Instructions per operation of the built library against instructions.limits; see instructions.py."""
import json
import shutil
import subprocess
from pathlib import Path

import pytest

import instructions

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parents[1] / "build" / "bench" / "runloop"


@pytest.fixture(scope="session", autouse=True)
def program():
    done = subprocess.run(["make", "-C", HERE, "--no-print-directory", "../../build/bench/runloop"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("row, limit", [(row, limit) for row, limit in instructions.read_limits().items() if limit is not None])
def test_within_limits(row, limit):
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    assert instructions.count(PROGRAM, None, row) <= limit


def test_the_number_of_operations_depends_on_no_clock():
    """A slow machine once ran the same number of batches in both runs: a division by zero."""
    for row in ("pass", "timer-churn", "timer-fire"):
        scenario, variant, parameter, unit, amount = instructions.ROWS[row]
        done = [subprocess.run([PROGRAM, scenario, variant, parameter], env={"BENCH_SCALE": scale, unit: str(amount)},
                               capture_output=True, text=True, timeout=60).stdout for scale in ("1", "0.000001")]
        assert json.loads(done[0])["operations"] == json.loads(done[1])["operations"] >= amount


def test_every_row_has_a_limit():
    assert set(instructions.ROWS) == set(instructions.read_limits())
