"""The formatters would change nothing. `make format` runs them."""

import shutil
import subprocess

import pytest

from core import expect_none
from public_headers import ROOT


def c_files():
    """Returns the files that `make format` formats: all except the benchmarks."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.c", "*.h",
                             ":!Tests/bench"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in listed if (ROOT / name).is_file()]


def complaints(*command):
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return [line for line in (result.stdout + result.stderr).splitlines() if "error:" in line or "warning:" in line] or \
        ([f"{command[0]} ended with {result.returncode}"] if result.returncode != 0 else [])


def test_swift_is_formatted():
    if shutil.which("swift") is None:
        pytest.skip("swift is not installed")
    expect_none(complaints("swift", "format", "lint", "--strict", "-r", "--configuration", ".swift-format", "Sources",
                           "Tests", "Package.swift"))


def test_c_is_formatted():
    if shutil.which("clang-format") is None:
        pytest.skip("clang-format is not installed")
    files = c_files()
    assert len(files) > 100
    expect_none(line.split(":")[0] for line in complaints("clang-format", "--dry-run", "-Werror", *files))
