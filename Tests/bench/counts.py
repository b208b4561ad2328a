#!/usr/bin/env python3
"""Runs the program `counts` operation by operation and compares with counts.limits.

    counts.py --program FILE [operation ...]

Prints one table; exit status 1 if a count is over its limit. System calls are counted with strace;
where it is missing or may not trace, only allocations and descriptors are compared.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from signal import SIGALRM

HERE = Path(__file__).resolve().parent
LIMITS = HERE / "counts.limits"
MARK = re.compile(r'write\(-1, "counts:(\w+) ?(.*?)"')
LINE = re.compile(r"(\d+) +(.*)")
TIME_LIMIT = 60


def read_limits(path=LIMITS):
    """Returns [(operation, thread, {column: limit})] in the order of the file; a column without a limit is absent."""
    rows, columns = [], ["allocations", "calls", "descriptors"]
    for line in path.read_text().splitlines():
        fields = line.split("#")[0].split()
        if not fields:
            continue
        if len(fields) != 5:
            raise ValueError(f"{path.name}: expected five fields: {line}")
        limits = {c: float(v) for c, v in zip(columns, fields[2:]) if v != "-"}
        rows.append((fields[0], fields[1], limits))
    return rows


def parse_trace(text):
    """Returns {thread: {call: count}} between the marks, and how many of the loop's calls were made by the program itself."""
    threads, calls, own, inside = {}, Counter(), 0, False
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        thread, what = match.groups()
        mark = MARK.match(what)
        if mark:
            word, rest = mark.groups()
            if word == "thread":
                threads[thread] = rest
                if inside:
                    calls[thread, "write"] += 1
            elif word == "begin":
                inside = True
            elif word == "end":
                inside, own = False, int(rest)
            continue
        # A resumed call was counted when it began.
        name = re.match(r"(\w+)\(", what)
        if inside and name:
            calls[thread, name.group(1)] += 1
    by_role = {}
    for (thread, name), n in calls.items():
        by_role.setdefault(threads.get(thread, "?"), Counter())[name] += n
    return by_role, own


def can_trace():
    try:
        done = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, timeout=TIME_LIMIT)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def measure(program, operation, trace=True):
    """Returns {thread: {column: count per operation}}, with "names": the system calls by name, for the reader."""
    with tempfile.NamedTemporaryFile("r", suffix=".strace") as output:
        tracer = ["strace", "-f", "-qq", "-s", "64", "-o", output.name] if trace else []
        done = subprocess.run([*tracer, str(program), operation], capture_output=True, text=True,
                              timeout=TIME_LIMIT)
        if done.returncode != 0:
            why = "hangs" if done.returncode == -SIGALRM else f"exit status {done.returncode}"
            raise RuntimeError(f"counts {operation}: {why} {done.stderr.strip()}")
        calls, own = parse_trace(output.read())
    result = json.loads(done.stdout)
    times = result["operations"]
    counts = {}
    for thread in ("loop", "other"):
        names = calls.get(thread, Counter())
        total = sum(names.values()) - (own if thread == "loop" else 0)
        counts[thread] = {"allocations": result["allocations"] / times,
                          "descriptors": result["descriptors"], "names": dict(names)}
        if trace:
            counts[thread]["calls"] = total / times
    return counts


def over(counts, limits):
    """Returns [text] for the counts that exceed their limit."""
    return [f"{column} {counts[column]:g}, limit {limit:g}" for column, limit in limits.items()
            if column in counts and counts[column] > limit]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("operations", nargs="*")
    options = parser.parse_args()
    trace = can_trace()
    if not trace:
        print("strace is missing or may not trace: system calls are not counted", file=sys.stderr)
    print("| operation | thread | allocations | system calls | descriptors | |\n|---|---|--:|--:|--:|---|")
    measured, bad = {}, 0
    for operation, thread, limits in read_limits():
        if options.operations and operation not in options.operations:
            continue
        try:
            if operation not in measured:
                measured[operation] = measure(options.program, operation, trace)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"| {operation} | {thread} | | | | {error} |")
            bad += 1
            continue
        counts = measured[operation][thread]
        wrong = over(counts, limits)
        bad += bool(wrong)
        calls = f"{counts['calls']:g}" if trace else ""
        note = "OVER: " + "; ".join(wrong) if wrong else "ok"
        names = ", ".join(f"{n} {c}" for c, n in sorted(counts["names"].items()))
        print(f"| {operation} | {thread} | {counts['allocations']:g} | {calls} | "
              f"{counts['descriptors']:g} | {note}{' (' + names + ')' if names else ''} |")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
