"""Random programs: random/script-blocks.c does at random what a program may do with sources, observers, timers, blocks
and nested runs, and prints every callback and every result. CoreFoundation and this library must print the same.

    python3 -m pytest Tests/conformance/test_random.py
    RL_SEEDS=100000 python3 -m pytest Tests/conformance/test_random.py      # longer
"""

import os
import subprocess
from itertools import groupby, zip_longest

from test_conformance import HERE, build, require

SCRIPT = HERE / "random" / "script-blocks.c"
SEEDS = int(os.environ.get("RL_SEEDS", 3000))
RUN_LIMIT = 30 + SEEDS // 50  # seconds


def lines(variant, first, count):
    """What the scripts print, by seed."""
    result = subprocess.run([str(build(SCRIPT, variant)), str(first), str(count)], capture_output=True, text=True,
                            timeout=RUN_LIMIT, env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
    require(result.returncode == 0, f"{variant} ended with {result.returncode} after\n{result.stdout[-2000:]}")
    return {int(seed): list(group) for seed, group in groupby(result.stdout.splitlines(), lambda line: line.split(".")[0])}


def test_random_scripts():
    expected, actual = lines("cf", 1, SEEDS), lines("rl-clang", 1, SEEDS)
    assert len(expected) == SEEDS
    printed = " ".join(line for script in expected.values() for line in script)
    for word in (" s1", " t1", " p0", " b1", " o1:", "Stopped]", "TimedOut]", "HandledSource]", "Finished]"):
        assert word in printed, f"no script shows {word!r}"
    different = [seed for seed in expected if expected[seed] != actual.get(seed)]
    if different:
        pairs = zip_longest(expected[different[0]], actual.get(different[0], []), fillvalue="")
        theirs, ours = next(pair for pair in pairs if pair[0] != pair[1])
        require(False, f"{len(different)} scripts differ: {different[:20]}\nCoreFoundation {theirs}\nthis library   {ours}")
