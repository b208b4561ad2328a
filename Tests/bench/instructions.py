#!/usr/bin/env python3
"""Counts the instructions of one operation, the benchmark's own included, with callgrind, and compares them with instructions.limits.

    instructions.py --program build/bench/runloop [--library FILE ...] [row ...]

Each row runs a scenario twice, the second time with twice as many operations, and divides the difference by the difference of the
operations, so what a process does at its start does not count. `--library` runs the program with another librunloop.so.0; it may be
given several times, for a column each. Of a scenario with two processes, only the client is counted. Counts vary by 1 %, because
some things depend on time: how many functions are taken together, whether a timer is due already. The number of operations never does.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

OPERATIONS, SCALE = "BENCH_OPERATIONS", "BENCH_SCALE"
# row: scenario, variant, parameter, and how much of it: the variable of support.h that says it, and its value
ROWS = {
    "pass": ("pass", "runloop", "nothing", OPERATIONS, 60000),
    "pass-descriptor": ("pass", "runloop", "descriptor", OPERATIONS, 30000),
    "signal": ("signal", "runloop", "1", OPERATIONS, 60000),
    "signal-10000": ("signal", "runloop", "10000", OPERATIONS, 150000),
    "post": ("post", "runloop", "1", SCALE, 0.05),
    "timer-churn": ("churn", "runloop", "1000", OPERATIONS, 100000),
    "timer-rearm": ("rearm", "runloop", "1000", OPERATIONS, 500000),
    "timer-fire": ("fire", "runloop", "100000", OPERATIONS, 500000),
    "descriptor": ("chain", "runloop", "1000", SCALE, 0.2),
    "file-descriptor": ("chain", "runloop-descriptor", "1000", SCALE, 0.2),
    "socket": ("chain", "runloop-socket", "1000", SCALE, 0.2),
    "request-64": ("ask", "runloop", "64", SCALE, 0.05),
    "request-32768": ("ask", "runloop", "32768", SCALE, 1),
}
LIMITS = Path(__file__).resolve().parent / "instructions.limits"
COLLECTED = re.compile(r"Collected : (\d+)")
TIME_LIMIT = 300


def read_limits(path=LIMITS):
    """Returns {row: the most instructions, or None}."""
    lines = (line.split("#")[0].split() for line in path.read_text().splitlines())
    return {fields[0]: int(fields[1]) if fields[1] != "-" else None for fields in lines if fields}


def run(program, library, scenario, variant, parameter, how_much):
    """Returns the instructions of a run, and its number of operations."""
    environment = dict(os.environ, **how_much)
    if library is not None:
        environment["LD_PRELOAD"] = str(library.resolve())
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, scenario, variant, parameter],
                          env=environment, capture_output=True, text=True, timeout=TIME_LIMIT)
    if done.returncode != 0:
        raise RuntimeError(f"{scenario} {parameter}: exit status {done.returncode}\n{done.stderr}")
    return int(COLLECTED.findall(done.stderr)[-1]), json.loads(done.stdout)["operations"]


def count(program, library, row):
    """Returns the instructions of one operation."""
    scenario, variant, parameter, unit, amount = ROWS[row]
    few, fewer_operations = run(program, library, scenario, variant, parameter, {unit: str(amount)})
    many, more_operations = run(program, library, scenario, variant, parameter, {unit: str(2 * amount)})
    return (many - few) / (more_operations - fewer_operations)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--library", type=Path, action="append")
    parser.add_argument("rows", nargs="*")
    options = parser.parse_args()
    libraries = options.library or [None]
    names = [library.parent.name if library else "instructions" for library in libraries]
    limits, bad = read_limits(), 0
    print(f"| one operation | {' | '.join(names)} | limit |\n|---|{'--:|' * len(names)}--:|")
    for row in options.rows or ROWS:
        counts = [count(options.program, library, row) for library in libraries]
        limit = limits[row]
        bad += limit is not None and any(number > limit for number in counts)
        print(f"| {row} | {' | '.join(f'{number:.0f}' for number in counts)} | {limit or '-'} |", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
