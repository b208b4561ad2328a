"""Names and comments use the field's words, and a comment stands alone: an editor shows it without the line above."""

import functools
import re

import pytest

from core import CORE, FILES, expect_none
from public_headers import ROOT
from words import DEAD, DEAD_IN_CODE, NOT_YET, PEOPLE

SUFFIXES = {".swift", ".c", ".h", ".py", ".pml", ".inc", ".md", ".txt"}
#: These files are about the words.
ABOUT_WORDS = {"Tests/tidy/words.py", "Tests/tidy/test_words.py"}
#: A comment that begins like this refers to the line above it.
LEANS = r"(The same\b|As (above|before)\b|Likewise\b|Ditto\b|See above\b)"
#: Functions "Return whether …" and "Return the size", as C manuals say it.
NOT_RETURNS = r"(Tells (whether|which|what|how|when|where|who|if)|(Tells|Gives) the (address|kind|length|name|number|size|time|value))\b"


def files(*folders):
    """The text files below the folders, by their path in the project."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in SUFFIXES and path.is_file()]
    return {name: path for path in paths if (name := path.relative_to(ROOT).as_posix()) not in ABOUT_WORDS}


@functools.lru_cache(maxsize=None)
def parts(identifier):
    """Returns the parts of an identifier: solePlace and SOLE_PLACE are sole, place."""
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", identifier)]


def identifiers(text):
    """Yields each identifier or word of a text, with its line."""
    for number, line in enumerate(text.splitlines(), 1):
        for word in re.findall(r"[A-Za-z_]\w*", line):
            yield number, word


def without_comments(text):
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//.*", "", text)


@functools.lru_cache(maxsize=None)
def index(kind):
    """Maps the first part of each dead word to (place, all parts) for each identifier that contains the part."""
    firsts = {parts(word)[0] for word in (DEAD if kind == "everywhere" else DEAD_IN_CODE)}
    wanted = firsts | {first + "s" for first in firsts}
    found = {}
    if kind == "everywhere":
        folders = ("Sources", "include", "Tests", "docs", "examples")
        texts = {name: path.read_text(errors="replace") for name, path in files(*folders).items()}
    else:
        texts = {path.relative_to(ROOT).as_posix(): without_comments(path.read_text()) for path in FILES}
    for name, text in texts.items():
        for number, word in identifiers(text):
            split = parts(word)
            for part in wanted.intersection(split):
                found.setdefault(part, []).append((f"{name}:{number}: {word}", split))
    return found


def occurrences(word, kind):
    """Yields the places where an identifier has the parts of a word next to each other, in the singular or plural; "…Plain": at its end."""
    wanted = parts(word)
    for start in (wanted[0], wanted[0] + "s"):
        for place, split in index(kind).get(start, []):
            starts = [number for number, part in enumerate(split) if part in (wanted[0], wanted[0] + "s")]
            if word.startswith("…"):
                starts = [number for number in starts if 0 < number == len(split) - len(wanted) and split[0] != "is"]
            if any([part == want or part == want + "s" for part, want in zip(split[first:], wanted)] == [True] * len(wanted)
                   for first in starts):
                yield place


def expect_at_most(word, found):
    found = sorted(set(found))
    allowed = NOT_YET.get(word, 0)
    assert len(found) <= allowed, "\n" + "\n".join(found)


@pytest.mark.parametrize("word", DEAD)
def test_dead_word_stays_dead(word):
    expect_at_most(word, (f"{place}: say {DEAD[word]}" for place in occurrences(word, "everywhere")))


@pytest.mark.parametrize("word", DEAD_IN_CODE)
def test_dead_word_names_nothing_in_the_core(word):
    expect_at_most(word, (f"{place}: say {DEAD_IN_CODE[word]}" for place in occurrences(word, "code")))


@pytest.mark.parametrize("word", PEOPLE)
def test_things_are_not_called_people(word):
    found = []
    for name, path in files("Sources", "include", "docs").items():
        if name.startswith("docs/guide/"):
            continue  # its readers are people, and so are some of its subjects
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if re.search(rf"\b{word}\b", line, re.IGNORECASE):
                found.append(f"{name}:{number}: {line.strip()}")
    expect_at_most(word, found)


def test_what_is_still_to_be_renamed_is_in_the_lists():
    assert set(NOT_YET) <= {*DEAD, *DEAD_IN_CODE, *PEOPLE, "comments that lean", "Tells"}


def beginnings(text, swift):
    """Yields the line number and first line of each comment."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*(?:///?|/\*\*?<?) *(.*)", line)
        if match and not (swift and before.lstrip().startswith("//")):
            yield number, match[1]
        elif not match and (trailing := re.search(r"\s(?://|/\*\*?<?) +(.*)", line)):
            yield number, trailing[1]
        before = line


@functools.lru_cache(maxsize=None)
def comments():
    """Returns (place, first line) for each comment in code."""
    return [(f"{name}:{number}", first) for name, path in files("Sources", "include", "Tests", "examples").items()
            if path.suffix in (".swift", ".c", ".h")
            for number, first in beginnings(path.read_text(errors="replace"), swift=path.suffix == ".swift")]


def test_comments_are_found():
    assert len(comments()) > 3000


def test_comments_stand_alone():
    expect_at_most("comments that lean", (f"{place}: {first}" for place, first in comments() if re.match(LEANS, first)))


def test_comments_say_returns():
    expect_at_most("Tells", (f"{place}: {first}" for place, first in comments()
                             if re.match(NOT_RETURNS, first) and place.startswith(("Sources", "include"))))
