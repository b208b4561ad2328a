#!/usr/bin/env python3
"""Runs the benchmark programs in turn and prints one table of medians and ratios.

    bench.py --programs DIR --report FILE [--quick] [--only SCENARIO,...] [--libraries NAME,...]

Each round runs every row, and within a row every library, each time starting with a different one; so disturbances of
the machine affect all of them alike. The medians of the rounds are compared. Rounds end when the time is up
(--seconds), but not before the third (--quick: the second).

Exit status 1: a program failed its own checks, or this library's is missing or did not finish. A peer that is missing
or slow never fails the run. Uses the standard library only.
"""
import argparse
import json
import os
import platform
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

OURS, KIT, LIMIT = "runloop", "runloop-kit", "limit"
# program: the name of its column
PEERS = {"corefoundation": "cf", "libdispatch": "dispatch", "glib": "glib", "libuv": "uv",
         "libev": "ev", "libevent": "event", "sd-event": "sdevent"}
# Only the usual variant of this library counts. The other variants for descriptors are listed below the table.
OUR_VARIANTS = [OURS, f"{OURS}-descriptor", f"{OURS}-socket", f"{OURS}-stream"]
STARTS = 8
# How often per round, for rows in which a few percent matter and one run takes hardly any time.
TURNS = {"chain": 4, "ask": 3, "echo": 3, "startup": 12, "churn": 5, "rearm": 3, "post": 3}
SHORT = 1.2
UNSUPPORTED = 77
NOISY = 0.25

# text ({size}: the size that the programs chose), unit, scenario, parameter, key of the result, nanoseconds (or
# similar) per unit; and the variant of this library, if it is not the usual one
ROWS = [
    ("loop pass, nothing to poll", "ns", "pass", "nothing", "value", 1),
    ("loop pass, a quiet descriptor is watched", "ns", "pass", "descriptor", "value", 1),
    ("signal and perform the only source", "ns", "signal", "1", "value", 1),
    ("signal and perform one of 10 000 sources", "ns", "signal", "10000", "value", 1),
    ("post a function, 1 thread", "ns", "post", "1", "value", 1),
    ("post a function, 4 threads", "ns", "post", "4", "value", 1),
    ("timer create + add + cancel + free, 1 000 alive", "ns", "churn", "1000", "value", 1),
    ("timer create + add + cancel + free, 1 000 000", "ns", "churn", "1000000", "value", 1),
    ("timer moved, 1 000 alive", "ns", "rearm", "1000", "value", 1),
    ("timer moved, 1 000 000 alive", "ns", "rearm", "1000000", "value", 1),
    ("100 000 one-shot timers made and fired, each", "ns", "fire", "100000", "value", 1),
    ("mean lateness of a 1 ms timer", "µs", "lateness", "", "value", 1000),
    ("wake-up round trip, both on one CPU", "ns", "wake", "one", "value", 1),
    ("wake-up round trip, a CPU each", "ns", "wake", "cross", "value", 1),
    ("wake-up round trip, a CPU each, spinning", "ns", "wake", "spinning", "value", 1),
    ("call and wait for the result, one CPU", "ns", "call", "one", "value", 1),
    ("call and wait for the result, a CPU each", "ns", "call", "cross", "value", 1),
    ("descriptor chain, 100 pairs, per message", "ns", "chain", "100", "value", 1),
    ("descriptor chain, 1 000 pairs", "ns", "chain", "1000", "value", 1),
    ("descriptor chain, {size} pairs", "ns", "chain", "most", "value", 1),
    ("... RLFileDescriptor, 1 000 pairs", "ns", "chain", "1000", "value", 1, f"{OURS}-descriptor"),
    ("... RLSocket, 1 000 pairs", "ns", "chain", "1000", "value", 1, f"{OURS}-socket"),
    ("request and reply of 64 B, two processes, one CPU", "ns", "ask", "64", "value", 1),
    ("request and reply of 1 MiB", "µs", "ask", "1048576", "value", 1000),
    ("message to a port, a CPU each", "ns", "deliver", "", "value", 1),
    ("message to a port, a CPU each, slow sender", "ns", "deliver", "sender", "value", 1),
    ("message to a port, one CPU, slow receiver", "ns", "deliver", "receiver", "value", 1),
    ("echo server, 1 connection, 64 B: per request", "ns", "echo", "1x64", "value", 1),
    ("... processor time of the server, 1 connection, 64 B", "ns", "echo", "1x64", "cpu", 1),
    ("echo server, 100 connections, 64 B", "ns", "echo", "100x64", "value", 1),
    ("... processor time of the server, 100 connections, 64 B", "ns", "echo", "100x64", "cpu", 1),
    ("echo server, 1 000 connections, 64 B", "ns", "echo", "1000x64", "value", 1),
    ("... processor time of the server, 1 000 connections, 64 B", "ns", "echo", "1000x64", "cpu", 1),
    ("echo server, 1 connection, 16 KiB", "ns", "echo", "1x16384", "value", 1),
    ("... processor time of the server, 1 connection, 16 KiB", "ns", "echo", "1x16384", "cpu", 1),
    ("echo server, 100 connections, 16 KiB", "ns", "echo", "100x16384", "value", 1),
    ("... processor time of the server, 100 connections, 16 KiB", "ns", "echo", "100x16384", "cpu", 1),
    ("echo server, 1 000 connections, 16 KiB", "ns", "echo", "1000x16384", "value", 1),
    ("... processor time of the server, 1 000 connections, 16 KiB", "ns", "echo", "1000x16384", "cpu", 1),
    ("process start to end", "µs", "startup", "", "value", 1000),
    ("peak of resident memory", "KB", "startup", "", "peak_kilobytes", 1),
    ("memory per timer", "B", "memory", "timer", "value", 1),
    ("memory per watched descriptor", "B", "memory", "descriptor", "value", 1),
]
CELLS = list(dict.fromkeys((row[2], row[3]) for row in ROWS))
# shown in brackets, and never the best peer
NOT_COMPARABLE = {("pass", "nothing", "dispatch"):
                  "a serial queue runs its next function, nothing else gets a look"}


def library_of(variant):
    return variant.split("-")[0]


def discover(directory, only):
    """Returns {scenario: [(program, variant)]} as the programs declare it, and the missing programs."""
    found, missing = {}, []
    for program in [OURS, KIT, LIMIT, *PEERS]:
        path = directory / program
        if only and PEERS.get(program, program) not in only:
            continue
        if not path.exists():
            missing.append(program)
            continue
        listing = subprocess.run([path, "--list"], capture_output=True, text=True)
        if listing.returncode != 0:
            print(f"{program} does not start: {listing.stderr.strip()}", file=sys.stderr)
            missing.append(program)
            continue
        for line in dict.fromkeys(listing.stdout.splitlines()):
            scenario, variant = line.split()
            if program not in (OURS, KIT) or variant in OUR_VARIANTS:
                found.setdefault(scenario, []).append((path, variant))
    return found, missing


class Pairs:
    """The socket pairs for a row of "chain", inherited by its programs: see open_pairs in scenarios-descriptors.h."""

    def __init__(self, parameter):
        self.limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 10000 if parameter == "most" else int(parameter)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(2 * wanted + 100, self.limits[0]), max(2 * wanted + 100, self.limits[1])))
        except ValueError:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.limits[1], self.limits[1]))
        self.count = min(wanted, (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 100) // 2)
        self.open()

    def open(self):
        self.sockets = [end for _ in range(self.count) for end in socket.socketpair()]
        numbers = [end.fileno() for end in self.sockets]
        self.first = numbers[0]
        assert numbers == list(range(self.first, self.first + 2 * self.count))
        for end in self.sockets:
            end.setblocking(False)
            end.set_inheritable(True)

    def renew(self):
        """Replaces the pairs, because a program has left messages in them."""
        self.close()
        self.open()

    def close(self):
        for end in self.sockets:
            end.close()

    def end(self):
        self.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.limits[0], resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


class Runs:
    """The results of all runs, and what went wrong."""

    def __init__(self, quick):
        self.results = {}                    # (scenario, parameter, variant): [result, ...]
        self.left, self.failures = set(), []
        self.seconds = {}                    # of the most recent run
        self.quick = quick
        self.environment = dict(os.environ, BENCH_SCALE="0.1" if quick else "1")

    def run(self, program, scenario, parameter, variant, pairs=None):
        key = (scenario, parameter, variant)
        if key in self.left:
            return
        command = [str(program), scenario, variant, parameter]
        if scenario == "startup":
            command = [str(program.parent / "launch"), str(STARTS)] + command
        begin = time.monotonic()
        try:
            environment = dict(self.environment, BENCH_PAIRS=f"{pairs.first}:{pairs.count}") if pairs else self.environment
            done = subprocess.run(command, capture_output=True, text=True, env=environment, close_fds=not pairs,
                                  timeout=60)
            self.seconds[key] = time.monotonic() - begin
        except subprocess.TimeoutExpired:
            self.fail(key, "hangs")
            if pairs:
                pairs.renew()
            return
        if done.returncode == UNSUPPORTED:
            self.left.add(key)
        elif done.returncode != 0:
            if pairs:
                pairs.renew()
            said = " ".join(done.stderr.split())
            self.fail(key, f"exit status {done.returncode}: {said[:200]}")
        else:
            result = json.loads(done.stdout.splitlines()[-1])
            self.results.setdefault(key, []).append(result)
            if pairs and result["value"] is None:
                pairs.renew()
            if result["value"] is None and library_of(variant) == OURS:
                self.fail(key, "gave up")
            elif result["value"] is None or (self.quick and self.seconds[key] > SHORT):
                self.left.add(key)           # slow: run once only

    def fail(self, key, why):
        self.left.add(key)
        self.results.pop(key, None)
        self.failures.append(" ".join(key) + ": " + why)
        print("FAILED", self.failures[-1], file=sys.stderr)

    def summary(self, scenario, parameter, key, per):
        """Returns {library: [(median, noisy, variant), ...]}, best variant first; infinite if the program gave up."""
        table = {}
        for (s, p, variant), results in self.results.items():
            if (s, p) != (scenario, parameter):
                continue
            values = sorted(r[key] / per for r in results if r.get(key) is not None)
            if not values:
                table.setdefault(library_of(variant), []).append((float("inf"), False, variant))
                continue
            n, middle = len(values), median(values)
            spread = values[(3 * (n - 1) + 2) // 4] - values[(n - 1) // 4]
            table.setdefault(library_of(variant), []).append((middle, spread > NOISY * middle,
                                                              variant))
        return {library: sorted(found, key=lambda one: (one[2] != OURS, one)) for library, found in table.items()}

    def size(self, scenario, parameter):
        """Returns the size that the programs chose for the measured thing; 0 if none reported it."""
        return max((r.get("size", 0) for (s, p, _), results in self.results.items() if (s, p) == (scenario, parameter)
                    for r in results), default=0)


def number(x):
    if x == float("inf"):
        return "gave up"
    if x >= 100:
        return f"{x:,.0f}".replace(",", " ")
    return f"{x:.3g}"


def ratio(ours, other):
    return f"{ours / other:.2f}" if ours and other else "-"


def table_lines(runs, cells, columns):
    head = ["", "unit", "limit", "best peer", "ours", "ours / limit", "ours / best peer", *columns]
    lines = ["| " + " | ".join(head) + " |", "|---|---" + "|--:" * (len(head) - 2) + "|"]
    notes = []
    for text, unit, scenario, parameter, key, per, *variant in ROWS:
        table = runs.summary(scenario, parameter, key, per)
        if variant:
            table[OURS] = [found for found in table.get(OURS, []) if found[2] in variant]
            table = {library: found for library, found in table.items() if found}
        text = text.format(size=number(runs.size(scenario, parameter)))
        if (scenario, parameter) not in cells or not table:
            continue
        shown = {}
        for library, found in table.items():
            middle, noisy, variant = found[0]
            shown[library] = number(middle) + ("~" if noisy else "")
            if (scenario, parameter, library) in NOT_COMPARABLE:
                shown[library] = f"({shown[library]})"
            if library in [OURS, *columns] and len(found) > 1 and not variant:
                others = ", ".join(f"{v} {number(m)}" for m, _, v in found[1:])
                notes.append(f"{text}: {variant} {number(middle)}; {others}")
        peers = [found[0] for library, found in table.items() if library in columns
                 and (scenario, parameter, library) not in NOT_COMPARABLE
                 and found[0][0] < float("inf")]
        best, _, name = min(peers, default=(None, False, "-"))
        ours, limit = (table[x][0][0] if x in table else None for x in (OURS, LIMIT))
        best_text = f"{number(best)} {name}" if best else "-"
        row = [text, unit, shown.get(LIMIT, "-"), best_text, shown.get(OURS, "-"),
               ratio(ours, limit), ratio(ours, best), *(shown.get(c, "-") for c in columns)]
        lines.append("| " + " | ".join(row) + " |")
    return lines, notes


def cpu_seconds():
    """Returns the seconds of CPU time used by the whole machine, and by this process and its children."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    ours = [resource.getrusage(w) for w in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    everybody = (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")
    return everybody, sum(u.ru_utime + u.ru_stime for u in ours)


def left_out_lines(directory, missing):
    """Returns which peers were left out, and one line that installs them."""
    lines, packages = [], []
    for program in missing:
        if program not in PEERS:
            continue
        note = directory / f"{program}.missing"
        package = note.read_text().strip() if note.exists() else ""
        packages += package.split()
        lines.append(f"Left out: {program}, its library is missing" +
                     ("" if package else " (it comes with the Swift toolchain, swift.org)"))
    if packages:
        lines.append("To have them: `sudo apt-get install " + " ".join(dict.fromkeys(packages)) + "`")
    return lines


def machine():
    info = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((x.split(":")[1].strip() for x in info if x.startswith("model name")),
                 platform.machine())
    return f"{model}, {os.cpu_count()} CPUs, Linux {platform.release()}"


def report(runs, cells, directory, missing, rounds, load):
    columns = [name for program, name in PEERS.items() if program not in missing]
    columns = [c for c in columns if any(library_of(v) == c for _, _, v in runs.results)]
    lines, notes = table_lines(runs, cells, columns)
    head = [f"{machine()}; {time.strftime('%Y-%m-%d')}; medians of {rounds} rounds; "
            f"other work kept {load:.2f} CPUs busy.", ""]
    tail = ["", f"`~`: the middle half of the rounds differs by more than {NOISY:.0%}. `-`: does not "
            "exist there, or would take hours. Each column shows a library's best way; the others:"]
    tail += [f"- {note}" for note in notes]
    tail += [f"- in brackets, not a peer: {library}, {scenario} {parameter}: {why}"
             for (scenario, parameter, library), why in NOT_COMPARABLE.items()
             if library in columns and (scenario, parameter) in cells]
    tail += [""] + left_out_lines(directory, missing)
    tail += [f"FAILED: {failure}" for failure in runs.failures]
    return "\n".join(head + lines + tail).rstrip() + "\n"


def main():
    names = lambda text: text.split(",")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, two rounds")
    parser.add_argument("--seconds", type=float, default=300, help="no new round that would end later")
    parser.add_argument("--only", type=names, help="scenarios: pass,chain,...")
    parser.add_argument("--libraries", type=names, help="columns: runloop,limit,uv,...")
    options = parser.parse_args()

    os.closerange(3, 1024)                   # inherited: the pairs of "chain" have consecutive numbers
    programs, missing = discover(options.programs, options.libraries)
    if OURS in missing or LIMIT in missing:
        sys.exit(f"{options.programs}: {OURS} and {LIMIT} must be built")
    cells = [c for c in CELLS if not options.only or c[0] in options.only]
    runs, rounds, begin = Runs(options.quick), 0, time.monotonic()
    everybody, ours = cpu_seconds()
    while True:
        round_begin = time.monotonic()
        for scenario, parameter in cells:
            variants = programs.get(scenario, [])
            pairs = Pairs(parameter) if scenario == "chain" else None
            for turn in range(1 if options.quick else TURNS.get(scenario, 1)):
                first = (rounds + turn) % len(variants) if variants else 0
                for program, variant in variants[first:] + variants[:first]:
                    if turn == 0 or runs.seconds.get((scenario, parameter, variant), 0) < SHORT:
                        runs.run(program, scenario, parameter, variant, pairs)
            if pairs:
                pairs.end()
        rounds += 1
        now = time.monotonic()
        print(f"round {rounds}: {now - round_begin:.0f} s", file=sys.stderr)
        late = now - begin + (now - round_begin) > options.seconds
        if rounds >= (2 if options.quick else 3) and (options.quick or late):
            break
    after, ours_after = cpu_seconds()
    load = max(0.0, (after - everybody) - (ours_after - ours)) / (time.monotonic() - begin)
    text = report(runs, cells, options.programs, missing, rounds, load)
    print(text, end="")
    if options.report:
        options.report.write_text(text)
    sys.exit(1 if runs.failures else 0)


if __name__ == "__main__":
    main()
