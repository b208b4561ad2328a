"""No test sleeps for a fixed time to wait for another thread or process: it waits for a state, if need be in a loop with short pauses."""

import re
import subprocess

from core import expect_none
from public_headers import ROOT

SLEEP = r"(?<![\w\"`])(?:u|nano|clock_nano)?sleep\((?!\))"
#: Files and folders whose tests let time pass on purpose, and why.
PAUSES = {
    "Tests/bench/spin.c": "measures with a wake-up every millisecond",
    "Tests/fuzz/": "callbacks and threads take random times",
    "Tests/stress/": "pauses of random lengths between the things that are repeated",
    "Tests/examples/test_examples.py": "defines nanosleep(), which lasts longer, for examples that sleep",
    "Tests/c/test-message-port-bounds.c": "answers more slowly than requests arrive",
    "Tests/c/test-message-port-unanswered.c": "an answer comes after the time limit",
    "Tests/conformance/run-main-thread-polled-for-a-flag.c": "runs of a hundredth of a second time out meanwhile",
    "Tests/conformance/run-timed-out-beats-stopped.c": "a callback takes longer than the run may",
    "Tests/conformance/timer-fires-by-date-not-order.c": "the dates of three timers pass",
    "Tests/conformance/timer-grid-after-a-gap.c": "several dates of a repeating timer pass",
    "Tests/conformance/timer-slow-callback-keeps-the-grid.c": "several dates of a repeating timer pass in its callback",
    "Tests/trace/test_explain.py": "a process is stopped for longer than its callbacks may last",
}


def depth(line):
    return len(line) - len(line.lstrip())


def sleeps(path):
    """Yields the numbers of the lines that sleep, except those in the body of a loop with a condition."""
    lines = path.read_text(errors="replace").splitlines()
    for number, line in enumerate(lines):
        if re.search(SLEEP, line):
            around = next((other for other in reversed(lines[:number]) if other.strip() and depth(other) < depth(line)), "")
            if not re.match(r"\s*while \((?!1\)|true\))", around):
                yield number + 1


def test_no_test_sleeps_to_let_things_happen():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "Tests"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.splitlines()
    found = {name: list(sleeps(ROOT / name)) for name in listed
             if name.endswith((".c", ".h", ".m", ".cc", ".swift", ".py")) and (ROOT / name).is_file()}
    used = {place for place in PAUSES for name in found if found[name] and name.startswith(place)}
    assert used == set(PAUSES)
    expect_none(f"{name}:{number}" for name in found for number in found[name] if not name.startswith(tuple(PAUSES)))
