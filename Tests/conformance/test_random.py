"""Runs random programs: those in random/ randomly do what a program may do, and print every callback and every result.
CoreFoundation and this library must print the same.

    python3 -m pytest Tests/conformance/test_random.py
    RL_SEEDS=100000 python3 -m pytest Tests/conformance/test_random.py      # longer
"""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, zip_longest

import pytest
from test_conformance import HERE, build, require, variants

# The share of the seeds for each program, and what at least one of its scripts must print; otherwise it no longer tests anything.
PROGRAMS = {
    "script-blocks": (2600, (" s1", " t1", " p0", " b1", " o1:", "Stopped]", "TimedOut]", "HandledSource]", "Finished]",
                             " [run", " +1", " -1", " all,a", " in=b waits=0", " in=NULL", " same=1", " W w0", "{}", "[]")),
    "asleep-blocks": (100, (" w0 p0", " E1 wake", " E1 stop", " E1 B", " E1 G", " g1", " t1", " s1", "Stopped]",
                            "HandledSource]", " [run")),
    "sleeps": (100, (" t0 t1", " t3 o80 Stopped]", "TimedOut]", "HandledSource]", " s", "! t")),
    "several-sockets": (20, (" 0:1(", " 1:3(", " 2:1(", " 3:2", " 0:8")),
    "memberships": (400, (" in0@1.0", " out2@0", " s1", " t0", " o2:1", "HandledSource", "TimedOut", "Finished", " +1", " -1", " 011:", " 1t0")),
    "sockets": (400, (" READ", " DATA(1)", " DATA(0)", " ACCEPT", " CONNECT()", " CONNECT(ECONNRESET)", " CONNECT(ECONNREFUSED)",
                      " WRITE", " reset", " client", "kind 2", "kind 5")),
    "values": (2000, ("equal 1", "cmp -1", "pre 1", "suf 1", "é", "<+")),
    "strings": (1000, (" 32/0", " 16/1", " ASCII/0", " bytes NULL", " ext NULL", " C ", " in -1:", " p1", " s1", " e1", "f12=2+1", "é")),
    "callbacks": (1000, (" callbacks 2111", " arr3", " set6", " dic0", " copy3.1", " +NULL", " -", " equal 1", ".end:")),
    "collections": (3780, (" arr0", " set3", " dic2", " dat5", " found", " get")),
}
ALL = sum(seeds for seeds, _ in PROGRAMS.values())
SEEDS = int(os.environ.get("RL_SEEDS", ALL))  # of all programs together
RUN_LIMIT = 60 + SEEDS // 100  # seconds


def lines(program, variant, count):
    """Returns the scripts' output, by seed."""
    result = subprocess.run([str(build(program, variant)), "1", str(count)], capture_output=True, text=True,
                            timeout=RUN_LIMIT, env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
    require(result.returncode == 0, f"{variant} ended with {result.returncode} after\n{result.stdout[-2000:]}")
    return {int(seed): list(group) for seed, group in groupby(result.stdout.splitlines(), lambda line: line.split(".")[0])}


@pytest.mark.parametrize("name", PROGRAMS)
def test_random(name):
    program = HERE / "random" / f"{name}.c"
    share, words = PROGRAMS[name]
    count = SEEDS * share // ALL
    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(lines, program, variant, count) for variant in ("cf", variants(program)[-1])]
        expected, actual = [job.result() for job in jobs]
    assert len(expected) == count
    printed = " ".join(line for script in expected.values() for line in script)
    for word in words:
        assert word in printed, f"no script shows {word!r}"
    different = [seed for seed in expected if expected[seed] != actual.get(seed)]
    if different:
        pairs = zip_longest(expected[different[0]], actual.get(different[0], []), fillvalue="")
        theirs, ours = next(pair for pair in pairs if pair[0] != pair[1])
        require(False, f"{len(different)} scripts differ: {different[:20]}\nCoreFoundation {theirs}\nthis library   {ours}")
