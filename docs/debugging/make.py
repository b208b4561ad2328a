"""Regenerates the outputs and pictures of docs/DEBUGGING.md: runs faults.c under the command `runloop`, inserts the output after the
marks of the page, and draws the traces. Run `make`, then, with a Python that has Pillow: python3 docs/debugging/make.py"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("RL_BUILD", ROOT / "build")).resolve()
PAGE = ROOT / "docs/DEBUGGING.md"

sys.path.insert(0, str(HERE))
sys.path.insert(0, str(ROOT / "Tests/trace"))
import draw

#: Situation → the part of its trace that is drawn: from and to, in milliseconds.
TRACES = {"late": (90, 260), "spin": (1, 1.04), "endless": (0, 2500), "request": (0, 2600), "awake": (0, 300), "stuck": (0, 1100),
          "uncalled": (0, 1050), "nudge": (0, 120), "flood": (0, 500), "crash": (-25, 15)}
STAT = {"late", "awake", "nudge", "flood"}
EXPLAIN = {"spin": 1, "endless": 0.8, "request": 0.8, "uncalled": 0.5}


def run(directory, *words):
    environment = dict(os.environ, PATH=f"{BUILD}/bin:{directory}:{os.environ['PATH']}")
    return subprocess.run(words, cwd=directory, env=environment, capture_output=True, text=True)


def explain(directory, name, seconds):
    """The output of `runloop explain` for the program after some seconds."""
    environment = dict(os.environ, PATH=f"{BUILD}/bin:{directory}:{os.environ['PATH']}")
    with subprocess.Popen(["runloop", "run", "./faults", name], cwd=directory, env=environment) as program:
        time.sleep(seconds)
        said = run(directory, "runloop", "explain", str(program.pid)).stdout
        text = f"$ runloop explain {program.pid}\n{said}"
        children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        text += "".join(f"$ runloop explain {child}\n" + run(directory, "runloop", "explain", child).stdout for child in children)
        for process in [*map(int, children), program.pid]:
            os.kill(process, signal.SIGKILL)
    return text


def output(directory, name):
    if name in EXPLAIN:
        return f"$ runloop run ./faults {name} &\n" + explain(directory, name, EXPLAIN[name])
    if name in STAT:
        return f"$ runloop stat ./faults {name}\n" + run(directory, "runloop", "stat", "./faults", name).stderr
    if name == "stuck":
        return "$ runloop run -s 0.25 ./faults stuck\n" + run(directory, "runloop", "run", "-s", "0.25", "./faults", "stuck").stderr
    return ""


def main():
    page = PAGE.read_text()
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["clang", "-g", "-O1", "-D_GNU_SOURCE", f"-I{ROOT}/include", HERE / "faults.c", "-o", f"{directory}/faults",
                        f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lrunloop", "-pthread"], check=True)
        for name, (start, end) in TRACES.items():
            text = output(directory, name)
            traced = run(directory, "runloop", "trace", "-o", f"{name}.pftrace", "./faults", name)
            draw.draw(pathlib.Path(directory) / f"{name}.pftrace", HERE / f"{name}.png", start, end)
            if name == "crash":
                text = f"$ runloop trace -o crash.pftrace ./faults crash\n{traced.stderr}"
            page, count = re.subn(rf"(<!-- {name} -->\n)```text\n.*?```\n", lambda match: f"{match[1]}```text\n{text}```\n", page, flags=re.DOTALL)
            assert count == 1, name
    PAGE.write_text(page)


main()
