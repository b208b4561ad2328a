"""The guide's listings are complete programs whose output is shown below them, and its chapters follow one another."""

import os
import re
import shutil
import subprocess

import pytest

from library import BUILD, INCLUDE, shared
from public_headers import ROOT

GUIDE = ROOT / "docs/guide"
CHAPTERS = sorted(GUIDE.glob("[0-9][0-9]-*.md"))
FLAGS = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
#: The chapter whose listing shows the effects of misuse.
MAKES_MISTAKES = "11-when-nothing-happens"


def fenced(text):
    """Returns the language and the lines of each block of code, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def listing(chapter):
    return fenced(chapter.read_text())[0][1]


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **options)


def named(path):
    return path.stem


@pytest.mark.parametrize("chapter", CHAPTERS, ids=named)
def test_a_chapter_is_short_and_has_one_program_and_what_it_prints(chapter):
    text = chapter.read_text()
    assert [language for language, _ in fenced(text)] == ["c", "text"]
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= 700


@pytest.mark.parametrize("chapter", CHAPTERS, ids=named)
def test_listing_prints_what_stands_below_it(chapter, tmp_path):
    program, source = tmp_path / "program", tmp_path / "program.c"
    source.write_text(listing(chapter))
    built = run(["cc", *FLAGS, f"-I{INCLUDE}", source, "-o", program, f"-L{shared().parent}", "-lrunloop-kit", "-lrunloop",
                 f"-Wl,-rpath,{BUILD}/lib"])
    assert built.returncode == 0, built.stderr
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RUNLOOP_")}
    environment["RUNLOOP_PORT_DIR"] = str(tmp_path / "ports")
    if chapter.stem != MAKES_MISTAKES:
        environment["RUNLOOP_MISUSE"] = "abort"
    result = run([program], env=environment)
    assert (result.returncode, result.stderr, result.stdout) == (0, "", fenced(chapter.read_text())[1][1])


@pytest.mark.skipif(not shutil.which("clang-format"), reason="clang-format is not installed")
@pytest.mark.parametrize("chapter", CHAPTERS, ids=named)
def test_listing_is_formatted_as_all_c_is(chapter):
    result = run(["clang-format", f"--style=file:{ROOT / '.clang-format'}", "--assume-filename=listing.c"], input=listing(chapter))
    assert result.stdout == listing(chapter)


def test_each_chapter_leads_to_the_next():
    for chapter, following in zip(CHAPTERS, CHAPTERS[1:]):
        link = re.search(r"^Next: \[[^\]]+\]\((\S+)\)\.$", chapter.read_text(), re.MULTILINE)
        assert link and link[1] == following.name, chapter.name


def test_every_picture_is_shown_and_described():
    shown = re.findall(r"!\[([^\]]+)\]\(pictures/(\S+)\)", "\n".join(chapter.read_text() for chapter in CHAPTERS))
    assert sorted(name for _, name in shown) == sorted(path.name for path in (GUIDE / "pictures").iterdir())
    assert all(len(words) > 40 for words, _ in shown)
