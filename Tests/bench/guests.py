"""Prints how long a callback takes to follow its cause, in microseconds: first one of a host itself, and one of a run
loop that is a guest of the host; then one of a run loop, and one of another loop that the run loop serves. Medians of
20 000 callbacks, and of 5 rounds of those, on one processor:

    own, descriptor     the loop's thread has written to an eventfd that the host, or the run loop, watches
    thread, post        another thread has written to it, or has posted a function to the run loop
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "guest"))
import test_guest as guest  # noqa: E402

KINDS = ["own", "descriptor", "own-thread", "post"]
ROUNDS = 5
NAMES = {"poll": "poll(2)", "glib": "GLib", "uv": "libuv", "sd-event": "sd-event", "event": "libevent", "ev": "libev"}


def measure(programs):
    figures = {(name, kind): [] for name in programs for kind in KINDS}
    for _ in range(ROUNDS):
        for name, kind in figures:
            figures[name, kind].append(int(guest.run(programs[name], "latency", kind)) / 1000)
    return {key: statistics.median(values) for key, values in figures.items()}


def main():
    names = [f"in-{name}" for name in NAMES] + ["glib", "uv", "sd-event"]
    with tempfile.TemporaryDirectory() as folder:
        programs = {name: guest.build("clang", guest.HERE / f"{name}.c", name.removeprefix("in-"), Path(folder) / name, "-std=gnu11", "-O2")
                    for name in names}
        figures = measure(programs)
    print("| a run loop in | the host's descriptor | the run loop's | the host's, by a thread | the run loop's post |\n|---|--:|--:|--:|--:|")
    for name, title in NAMES.items():
        print(f"| {title} |", " | ".join(f"{figures[f'in-{name}', kind]:.1f}" for kind in KINDS), "|")
    print("\n| in a run loop | the run loop's descriptor | the other loop's | by a thread |\n|---|--:|--:|--:|")
    for name in ["glib", "uv", "sd-event"]:
        print(f"| {NAMES[name]} |", " | ".join(f"{figures[name, kind]:.1f}" for kind in ["descriptor", "own", "own-thread"]), "|")


main()
