"""The ten situations of docs/DEBUGGING.md: the command prints what the page shows, except for numbers, and reports no misuse."""

import os
import pathlib
import re
import subprocess

import pytest

from library import BUILD, INCLUDE, ROOT, existing

PAGE = (ROOT / "docs/DEBUGGING.md").read_text()
COMMAND = existing(BUILD / "bin" / "runloop")
TIME_LIMIT = 60

pytestmark = pytest.mark.timeout(120)


def shown(situation):
    """Returns the lines to be typed according to the page, and the output after each."""
    block = re.search(rf"^<!-- {situation} -->\n```text\n(.*?)```$", PAGE, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^\$ runloop (.*)\n((?:[^$].*\n)*)", block, re.MULTILINE)


def plain(text):
    """Removes numbers, times and line breaks."""
    text = re.sub(r"\d[\d.]* (ns|us|ms|s)\b", "TIME", text)
    return " ".join(re.sub(r"\d[\d.]*", "N", text).split())


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    path = tmp_path_factory.mktemp("situations")
    subprocess.run([os.environ.get("CC", "clang"), "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}",
                    ROOT / "docs/debugging/faults.c", "-o", path / "faults", f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lrunloop", "-pthread"],
                   check=True)
    return path


@pytest.fixture
def environment(tmp_path):
    values = {key: value for key, value in os.environ.items() if not key.startswith("RUNLOOP_")}
    return {**values, "XDG_RUNTIME_DIR": str(tmp_path), "RUNLOOP_PORT_DIR": str(tmp_path / "ports"), "RUNLOOP_MISUSE": "abort"}


def test_there_are_ten():
    assert len(re.findall(r"^<!-- \w+ -->$", PAGE, re.MULTILINE)) == 10


@pytest.mark.parametrize("situation", ["late", "awake", "nudge", "flood", "stuck", "crash"])
def test_command_prints_what_the_page_shows(directory, environment, situation):
    (words, text), = shown(situation)
    done = subprocess.run([COMMAND, *words.split()], cwd=directory, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT)
    # The report of a stall may have a second part, about the time during which other threads had the processor.
    printed = re.sub(r" not counting [\d.]+ \w+ spent waiting for a processor,", "", done.stderr)
    assert plain(printed).startswith(plain(text)) if situation == "stuck" else plain(printed) == plain(text)


def explain(process, environment):
    return subprocess.run([COMMAND, "explain", str(process)], env=environment, capture_output=True, text=True, timeout=TIME_LIMIT)


@pytest.mark.parametrize("situation", ["spin", "endless", "request", "uncalled"])
def test_explanation_is_what_the_page_shows(directory, environment, situation):
    """The program is asked until it is in the state that the page shows; it ends by itself if it never is."""
    start, *asked = shown(situation)
    assert asked and all(words.startswith("explain ") for words, _ in asked)
    with subprocess.Popen([COMMAND, *start[0].rstrip(" &").split()], cwd=directory, env=environment) as program:
        answers = [""] * len(asked)
        while answers != [plain(text) for _, text in asked] and program.poll() is None:
            try:
                children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
            except FileNotFoundError:
                break
            processes = [program.pid, *children][:len(asked)]
            answers = [plain(explain(process, environment).stdout) for process in processes]
        assert answers == [plain(text) for _, text in asked]
        program.wait(TIME_LIMIT)
