"""Random programs: those of random/ do at random what a program may do, and print every callback and every result.
CoreFoundation and this library must print the same.

    python3 -m pytest Tests/conformance/test_random.py
    RL_SEEDS=100000 python3 -m pytest Tests/conformance/test_random.py      # longer
"""

import os
import subprocess
from itertools import groupby, zip_longest

import pytest
from test_conformance import HERE, build, require, variants

SEEDS = int(os.environ.get("RL_SEEDS", 3000))
RUN_LIMIT = 30 + SEEDS // 50  # seconds

# What some script must print: otherwise the program has stopped trying.
WORDS = {
    "script-blocks": (" s1", " t1", " p0", " b1", " o1:", "Stopped]", "TimedOut]", "HandledSource]", "Finished]"),
    "values": ("equal 1", "cmp -1", "pre 1", "suf 1", "é", "<+"),
    "collections": (" arr0", " set3", " dic2", " dat5", " found", " get"),
}


def lines(program, variant):
    """What the scripts print, by seed."""
    result = subprocess.run([str(build(program, variant)), "1", str(SEEDS)], capture_output=True, text=True,
                            timeout=RUN_LIMIT, env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
    require(result.returncode == 0, f"{variant} ended with {result.returncode} after\n{result.stdout[-2000:]}")
    return {int(seed): list(group) for seed, group in groupby(result.stdout.splitlines(), lambda line: line.split(".")[0])}


@pytest.mark.parametrize("name", WORDS)
def test_random(name):
    program = HERE / "random" / f"{name}.c"
    expected, actual = lines(program, "cf"), lines(program, variants(program)[-1])
    assert len(expected) == SEEDS
    printed = " ".join(line for script in expected.values() for line in script)
    for word in WORDS[name]:
        assert word in printed, f"no script shows {word!r}"
    different = [seed for seed in expected if expected[seed] != actual.get(seed)]
    if different:
        pairs = zip_longest(expected[different[0]], actual.get(different[0], []), fillvalue="")
        theirs, ours = next(pair for pair in pairs if pair[0] != pair[1])
        require(False, f"{len(different)} scripts differ: {different[:20]}\nCoreFoundation {theirs}\nthis library   {ours}")
