"""What cites docs/SEMANTICS.md finds it there, and what docs/SEMANTICS.md names exists: the sections and differences that
comments cite by number, the programs that show a rule, the functions and the links."""

import re

import pytest

from public_headers import INCLUDE, ROOT

PAGE = "docs/SEMANTICS.md"
TEXT = (ROOT / PAGE).read_text()
RUNLOOP = INCLUDE / "RunLoop"
LIST = "RLRunLoop.h"
#: Where a name without a folder may be.
FOLDERS = ["Tests/conformance", "Tests/conformance/differences", "Tests/conformance/random", "Tests/c"]
SUFFIXES = {".c", ".h", ".swift", ".py", ".pml", ".md", ".rs"}


def cited(folders, pattern):
    """A test case for each match of the pattern in the text files of the folders, named by file and line."""
    roots = [ROOT / folder for folder in folders]
    files = [path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*")))
             if path.suffix in SUFFIXES and path.is_file()]
    for path in files:
        text = path.read_text(errors="replace")
        for match in re.finditer(pattern, text):
            place = f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
            yield place, match


def numbered(header):
    """The numbers of a header's lists of differences."""
    lists = re.findall(r"^ \*  .*\bdifferences? from .*\n \*  -+\n((?: \*.*\n)+?)(?=#|\Z)", (RUNLOOP / header).read_text(),
                       re.MULTILINE | re.IGNORECASE)
    return [int(number) for part in lists for number in re.findall(r"^ \* +(\d+)\. ", part, re.MULTILINE)]


def part(title):
    """The text below a heading, to the next one of its level or above."""
    level = len(title) - len(title.lstrip("#"))
    return re.search(rf"^{re.escape(title)}.*\n((?:(?!#{{1,{level}}} ).*\n)*)", TEXT, re.MULTILINE)[1]


def items(text):
    """The items of a list, each on one line."""
    return [re.sub(r"\s+", " ", item) for item in re.findall(r"^- ((?:.+\n)(?:  .+\n)*)", text, re.MULTILINE)]


def programs(text):
    """The names of programs among what is between backticks."""
    return re.findall(r"`([a-z]+(?:-[a-z0-9]+)*-[a-z0-9*]+)`", text)


SECTIONS = {int(number): f"### {number} " for number in re.findall(r"^### (\d+) ", TEXT, re.MULTILINE)}
DIFFERENCES = {int(re.match(r"\*\*(\d+)\.\*\* ", item)[1]): item for item in items(part("## Deliberate differences"))}


def test_sections_are_numbered_from_1():
    assert list(SECTIONS) == list(range(1, len(SECTIONS) + 1)) and len(SECTIONS) == 8


def test_cited_sections_exist():
    cases = list(cited(["Tests", "Sources", "include", "examples"], r"\bSemantics (\d+)\b"))
    assert len(cases) > 250
    assert [(place, match[0]) for place, match in cases if int(match[1]) not in SECTIONS] == []


def test_differences_are_those_of_the_header():
    assert len(DIFFERENCES) > 10
    assert list(DIFFERENCES) == numbered(LIST)


def test_cited_differences_exist():
    """"Difference 3" means the list of RLRunLoop.h, "difference 3 of RLNumber.h" that header's own."""
    cases = list(cited(["Tests", "Sources", "include", "examples", "docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"],
                       r"\b[Dd]ifference (\d+)\b(?:\s+(?:\* )?of (RL\w+\.h))?"))
    assert len(cases) > 30
    assert [(place, match[0]) for place, match in cases if int(match[1]) not in numbered(match[2] or LIST)] == []
    marks = re.findall(r"\*\*(?:ours|Apple)\*\* \((\d+)\)", TEXT)
    assert marks and set(map(int, marks)) <= set(DIFFERENCES)


@pytest.mark.parametrize("header", sorted(path.name for path in RUNLOOP.glob("*.h")))
def test_header_that_refers_to_the_list_uses_its_numbers(header):
    if "the list in RLRunLoop.h has them all" in (RUNLOOP / header).read_text():
        assert numbered(header) and set(numbered(header)) <= set(numbered(LIST))


def test_named_programs_exist():
    names = set(programs(TEXT))
    assert len(names) > 200
    assert sorted(name for name in names if not any(list((ROOT / folder).glob(name + ".c")) for folder in FOLDERS)) == []


@pytest.mark.parametrize("number", SECTIONS)
def test_every_rule_names_what_shows_it(number):
    section = part(SECTIONS[number])
    rules = items(section)
    assert len(rules) >= 8
    if not programs(section.split("\n- ")[0]):  # a program that shows all rules which name none
        assert [rule for rule in rules if not programs(rule)] == []


@pytest.mark.parametrize("number", DIFFERENCES)
def test_difference_names_programs_that_show_it(number):
    names = programs(DIFFERENCES[number])
    assert names
    for name in names:
        path = ROOT / f"Tests/conformance/differences/{name}.c"
        assert not path.exists() or path.read_text().startswith(f"/* Difference {number}: "), name


def test_named_paths_and_links_lead_somewhere():
    paths = re.findall(r"`(Tests/[\w./-]+)`", TEXT)
    links = re.findall(r"\]\(([^)#\s]+)\)", TEXT)
    assert paths and links
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [link for link in links if not (ROOT / PAGE).parent.joinpath(link).exists()] == []
    anchors = {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in re.findall(r"^#+ (.*)$", TEXT, re.M)}
    assert set(re.findall(r"\]\(#([^)\s]+)\)", TEXT)) <= anchors


def test_named_functions_are_in_the_headers():
    """CF's names as well: each stands for ours."""
    headers = "".join(path.read_text() for path in RUNLOOP.glob("*.h"))
    names = {re.sub(r"^(k?)CF", r"\1RL", name) for name in re.findall(r"\bk?(?:RL|CF)[A-Z]\w+\b(?!\.h)", TEXT)}
    assert len(names) > 5
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", headers)) == []


def test_lines_fit_on_the_screen():
    assert [number for number, line in enumerate(TEXT.splitlines(), 1) if len(line) > 130] == []
