"""Runs each stress program for a second, or RL_STRESS_SECONDS: the programs work, and nothing fails that quickly."""

import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("RL_BUILD", HERE.parents[1] / "build")).resolve()
SECONDS = int(os.environ.get("RL_STRESS_SECONDS", "1"))


@pytest.mark.parametrize("name", ["wakeups", "storms", "names", "churn", "forks"])
@pytest.mark.timeout(SECONDS + 180)
def test_stress(name):
    command = ["make", "-s", "-C", HERE, f"BUILD={BUILD}", f"SECONDS={SECONDS}", f"run-{name}"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
