"""Mutation testing: does any test notice when a line of the core is wrong?

    make mutants [SEED=1] [COUNT=10] [FILES=Loop/]

Chooses COUNT random mutants of Sources/RunLoopCore, builds each of them, one at a time, in a copy of the tree, and runs
the tests until one fails: the C programs (the fastest first), conformance, swift test. Mutants that do not compile are
not counted; a test that hangs counts as having noticed. Prints the survivors with file, line and change; the exit
status is 1 if there are any.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = "Sources/RunLoopCore"
#: Replacements of tokens. The surrounding spaces exclude generic arguments and prefix operators.
SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "), (" + ", " - "),
         (" - ", " + "), (" &+ ", " &- "), (" &- ", " &+ "), (" += ", " -= "), (" -= ", " += "), (" && ", " || "),
         (" || ", " && "), ("true", "false"), ("false", "true"), ("Swift.min(", "Swift.max("), ("Swift.max(", "Swift.min(")]
#: A complete statement on one line: a call, or an assignment to an existing variable.
STATEMENT = re.compile(r"\s+(?:_ = )?[a-zA-Z_][\w.?]*(?:\([^{}]*\)|\[[^\]]*\]| [-+&|]*= [^{}]*[^{(,])$")
NO_STATEMENT = re.compile(r"\s*(?:let|var|return|guard|if|else|case|default|while|for|func|init|import|invariant|switch|break|"
                          r"continue|defer|repeat|static|private|fileprivate|typealias|struct|enum|extension|preconditionFailure)\b")
CONDITION = re.compile(r"^(\s*(?:\} else )?(?:if|while|guard) )((?:(?!\blet\b|\bvar\b|\bcase\b|#available|, |[{}]).)+?)( else)?( \{.*)$")


def mutants_of(line):
    """Returns all mutants of a line, each with a description of the change."""
    code = line.split(" //")[0].rstrip()
    if not code.strip() or re.match(r"\s*(//|@|#|import\b|extension\b)", code) or "invariant(" in code:
        return
    balanced = all(code.count(a) == code.count(b) for a, b in ("()", "[]", "{}"))
    if STATEMENT.fullmatch(code) and not NO_STATEMENT.match(code) and balanced:
        yield "statement dropped", ""
    if match := CONDITION.match(code):
        yield "condition negated", f"{match[1]}!({match[2]}){match[3] or ''}{match[4]}"
    for old, new in SWAPS:
        for place in re.finditer(re.escape(old) if not old.isalpha() else rf"\b{old}\b", code):
            yield f"{old.strip()} became {new.strip()}", code[:place.start()] + new + code[place.end():]


def candidates(files):
    for path in sorted((ROOT / CORE).rglob("*.swift")):
        name = path.relative_to(ROOT / CORE).as_posix()
        if not name.startswith(files):
            continue
        for number, line in enumerate(path.read_text().splitlines()):
            for what, wrong in mutants_of(line):
                yield name, number, what, wrong


def run(command, cwd, seconds):
    """Returns True if the command succeeds in time. Ends all processes that it has started, and no others."""
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def copy_tree(to):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name, follow_symlinks=False)
    subprocess.run(["git", "init", "-q"], cwd=to, check=True)  # tests ask git for the files of the project


class Suites:
    """The test suites, in this order, each with a time limit: many times what the correct library needs."""

    def __init__(self, tree, skip_swift):
        self.tree = tree
        programs = [path.stem for path in sorted((tree / "Tests/c").glob("test-*.c"))]
        timed = []
        for name in programs:
            command, begin = ["make", "-s", "-C", "Tests/c", f"run-{name}"], time.monotonic()
            if run(command, tree, 600):
                timed.append((time.monotonic() - begin, name, command))
            else:
                print(f"left out, as it fails without a mutant: {name}", flush=True)
        timed.sort()
        self.all = [(name, command, 30 + 10 * seconds) for seconds, name, command in timed]
        pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "Tests/conformance"]
        for name, command, limit in [("conformance", pytest, 1200)] + [("swift test", ["swift", "test"], 3000)] * (not skip_swift):
            begin = time.monotonic()
            if run(command, tree, limit):
                self.all.append((name, command, 120 + 4 * (time.monotonic() - begin)))
            else:
                print(f"left out, as it fails without a mutant: {name}", flush=True)

    def catcher(self):
        """Returns the first suite that fails, or None."""
        return next((name for name, command, seconds in self.all if not run(command, self.tree, seconds)), None)


def try_mutant(tree, suites, mutant):
    name, number, what, wrong = mutant
    path = tree / CORE / name
    text = path.read_text()
    lines = text.splitlines()
    right, lines[number] = lines[number], wrong
    path.write_text("\n".join(lines) + "\n")
    try:
        if not run(["make", "-s", "all"], tree, 900):
            return None
        caught = suites.catcher()
    finally:
        path.write_text(text)
    place = f"{CORE}/{name}:{number + 1}: {what}"
    print(f"{'caught by ' + caught if caught else 'SURVIVED'}: {place}", flush=True)
    return caught or f"{place}\n    - {right.strip()}\n    + {wrong.strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--files", default="", help="only files whose path below Sources/RunLoopCore begins so")
    parser.add_argument("--no-swift", action="store_true", help="leave swift test out, which takes longest")
    options = parser.parse_args()
    dice = random.Random(options.seed)
    chosen = list(candidates(options.files))
    dice.shuffle(chosen)
    print(f"{len(chosen)} mutants to choose from", flush=True)
    caught, survivors = 0, []
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as directory:
        tree = pathlib.Path(directory)
        copy_tree(tree)
        if not run(["make", "-s", "all"], tree, 900):
            sys.exit("the library does not build without a mutant")
        suites = Suites(tree, options.no_swift)
        for mutant in chosen:
            if caught + len(survivors) == options.count:
                break
            outcome = try_mutant(tree, suites, mutant)
            if outcome is None:
                continue
            if outcome.startswith(CORE):
                survivors.append(outcome)
            else:
                caught += 1
    print(f"{caught} caught, {len(survivors)} survived")
    print("\n".join(survivors))
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
