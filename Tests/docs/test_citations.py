"""Whatever is cited exists: sections and differences that comments cite by number, chapters cited by title, the
programs that show a rule of docs/SEMANTICS.md, and the names of the code that docs/DESIGN.md uses."""

import re

import pytest

from public_headers import INCLUDE, ROOT

PAGE = "docs/SEMANTICS.md"
TEXT = (ROOT / PAGE).read_text()
RUNLOOP = INCLUDE / "RunLoop"
LIST = "RLRunLoop.h"
#: The folders in which a name without a folder may be.
FOLDERS = ["Tests/conformance", "Tests/conformance/differences", "Tests/conformance/random", "Tests/c"]
SUFFIXES = {".c", ".h", ".swift", ".py", ".pml", ".md", ".rs"}


def cited(folders, pattern):
    """Returns a test case for each match of the pattern in the text files of the folders, named by file and line."""
    roots = [ROOT / folder for folder in folders]
    files = [path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*")))
             if path.suffix in SUFFIXES and path.is_file()]
    for path in files:
        text = path.read_text(errors="replace")
        for match in re.finditer(pattern, text):
            place = f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
            yield place, match


def numbered(header):
    """Returns the numbers in a header's lists of differences."""
    lists = re.findall(r"^ \*  .*\bdifferences? from .*\n \*  -+\n((?: \*.*\n)+?)(?=#|\Z)", (RUNLOOP / header).read_text(),
                       re.MULTILINE | re.IGNORECASE)
    return [int(number) for part in lists for number in re.findall(r"^ \* +(\d+)\. ", part, re.MULTILINE)]


def part(title):
    """Returns the text below a heading, up to the next one of its level or above."""
    level = len(title) - len(title.lstrip("#"))
    return re.search(rf"^{re.escape(title)}.*\n((?:(?!#{{1,{level}}} ).*\n)*)", TEXT, re.MULTILINE)[1]


def items(text):
    """Returns the items of a list, each on one line."""
    return [re.sub(r"\s+", " ", item) for item in re.findall(r"^- ((?:.+\n)(?:  .+\n)*)", text, re.MULTILINE)]


def programs(text):
    """Returns the names of programs among the words in backticks."""
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
    """"Difference 3" refers to the list in RLRunLoop.h, "difference 3 of RLNumber.h" to that header's own list."""
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
    if not programs(section.split("\n- ")[0]):  # one program shows all rules that name none
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
    """CF's names count as well: each stands for this library's name."""
    headers = "".join(path.read_text() for path in RUNLOOP.glob("*.h"))
    names = {re.sub(r"^(k?)CF", r"\1RL", name) for name in re.findall(r"\bk?(?:RL|CF)[A-Z]\w+\b(?!\.h)", TEXT)}
    assert len(names) > 5
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", headers)) == []


def test_lines_fit_on_the_screen():
    assert [number for number, line in enumerate(TEXT.splitlines(), 1) if len(line) > 130] == []


# ---- Citations of other documents ----

EVERYWHERE = ["Tests", "Sources", "include", "examples", "docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
DESIGN = (ROOT / "docs/DESIGN.md").read_text()
HERE = "Tests/docs/"


def chapters(header):
    return re.findall(r"^ \*  (\S.*)\n \*  -+$", (RUNLOOP / header).read_text(), re.MULTILINE)


def test_cited_chapters_of_headers_exist():
    """Citations such as RLBase.h, "Threads"; within a header also: see "Equality"."""
    cases = [(place, match[1], match[2]) for place, match in cited(EVERYWHERE, r"\b(RL\w+\.h)\)?, \"([^\"]+)\"")
             if not place.startswith(HERE)]
    cases += [(place, place.split("/")[-1].split(":")[0], match[1])
              for place, match in cited(["include/RunLoop"], r"\b[Ss]ee \"([^\"]+)\"")]
    assert len(cases) > 10
    assert [case for case in cases if case[2] not in " ".join(chapters(case[1]))] == []


def test_cited_sections_of_documents_exist():
    """"(section 6)" in docs/DESIGN.md, "DESIGN.md, section 7" elsewhere; section signs are not used."""
    numbers = re.findall(r"^## (\d+)\. ", DESIGN, re.MULTILINE)
    inside = re.findall(r"\bsection (\d+)\b", DESIGN)
    outside = [match[1] for place, match in cited(EVERYWHERE, r"\bDESIGN(?:\.md)?\)?,? section (\d+)") if not place.startswith(HERE)]
    assert inside and set(inside) | set(outside) <= set(numbers)
    assert [place for place, _ in cited(EVERYWHERE, r"§ ?\d") if not place.startswith(HERE)] == []


def test_cited_documents_exist():
    """A page is cited by its path in the project, or by its name from a file in the same folder."""
    cases = [(place, match[0]) for place, match in cited(EVERYWHERE, r"(?:\.\./)*\b[\w./-]*\b[A-Za-z]+\.md\b") if not place.startswith(HERE)]
    assert len(cases) > 30
    missing = [case for case in cases for beside in [(ROOT / case[0].split(":")[0]).parent]
               if not (ROOT / case[1]).exists() and not (beside / case[1]).exists() and case[1] not in ("report.md", "build/bench/report.md")]
    assert missing == []


#: Words in backticks that are not names in the code.
NO_NAMES = {"man", "names", "limit"}


def test_design_uses_the_names_of_the_code():
    """Whatever is in backticks is a type, a function, a property or a file. A rename also changes docs/DESIGN.md."""
    files = [path for folder in ("Sources", "include", "Tests") for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in {".swift", ".c", ".h", ".pml", ".inc", ".py"} and path.is_file()]
    known = set().union(*(re.findall(r"\w+", path.read_text(errors="replace")) for path in files))
    known |= {part for path in files for part in re.findall(r"\w+", path.relative_to(ROOT).as_posix())}
    text = re.sub(r"```.*?```", "", DESIGN, flags=re.DOTALL)
    pieces = [piece for piece in re.findall(r"`([^`\n]+)`", text) if not re.search(r"[<>{}*…]|^\d", piece)]
    words = {word for piece in pieces for word in re.findall(r"[A-Za-z_]\w+", piece)}
    assert len(words) > 200
    assert sorted(words - known - NO_NAMES) == []


def test_every_model_is_in_the_table():
    """The table contains no other models: a word that is used elsewhere would pass the test above."""
    table = re.search(r"^\| model \| shows \|\n((?:\|.*\n)+)", DESIGN, re.MULTILINE)[1]
    named = {name for row in table.splitlines()[1:] for name in re.findall(r"`([\w.-]+)`", row.split("|")[1])}
    assert named == {path.name.split(".")[0] for path in (ROOT / "Tests/model").glob("*.pml")} - {"wake-word"} | {"wake-word.inc"}


def test_cited_sources_exist():
    """Swift files and models are cited by name alone; `RunLoop+….swift` stands for several files."""
    there = {path.name for folder in ("Sources", "Tests") for path in (ROOT / folder).rglob("*")}
    folders = ["Sources", "include", "Tests/RunLoopCoreTests", "Tests/c", "Tests/model", "docs"]
    cases = [(place, match[1]) for place, match in cited(folders, r"(?<![\w….*+-])([\w+][\w+.-]*\.(?:swift|pml))\b") if ".py:" not in place]
    assert len(cases) > 60
    assert [case for case in cases if case[1] not in there] == []


def test_glossary_is_short_and_used():
    """There are at most 15 words with a special meaning, and the code uses all of them."""
    table = re.search(r"^## 10\. Glossary\n(.*)", DESIGN, re.MULTILINE | re.DOTALL)[1]
    words = [row.split("|")[1].strip() for row in table.splitlines() if row.startswith("| ")][1:]
    code = "\n".join(path.read_text() for path in sorted((ROOT / "Sources/RunLoopCore").rglob("*.swift")))
    assert 5 < len(words) <= 15
    for word in words:
        for each in re.sub(r" \(`(\w+)`\)", r", \1", word).split(", "):
            assert re.search(each.replace(" ", r"\s?"), code, re.IGNORECASE), each
