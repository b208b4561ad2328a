"""A minute of libFuzzer, or RL_FUZZ_SECONDS, on what comes from other processes: see Makefile."""

import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("RL_BUILD", HERE.parents[1] / "build")).resolve()
SECONDS = int(os.environ.get("RL_FUZZ_SECONDS", "60"))


@pytest.mark.skipif(shutil.which("swiftc") is None, reason="swiftc is not installed")
@pytest.mark.timeout(SECONDS + 240)
def test_frames():
    command = ["make", "-C", HERE, f"BUILD={BUILD}", f"SECONDS={SECONDS}", "run"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
