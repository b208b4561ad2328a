"""The README and the other documents are true: the program is the example, the commands work, and the files,
functions and make targets that they name exist."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from public_headers import INCLUDE, ROOT

BUILD = pathlib.Path(os.environ.get("RL_BUILD", ROOT / "build")).resolve()
PAGES = ["README.md", "docs/DESIGN.md", "docs/PERFORMANCE.md", "docs/PORTING.md", "docs/SEMANTICS.md",
         "docs/DEBUGGING.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/README.md", "Tests/bench/README.md"]
GUIDE = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs/guide").glob("*.md"))]
PAGES += GUIDE
README = (ROOT / "README.md").read_text()
PERFORMANCE = (ROOT / "docs/PERFORMANCE.md").read_text()
TICKS = (ROOT / "examples/expected/hello.txt").read_text()

pytestmark = pytest.mark.timeout(120)


def blocks(language, page="README.md"):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def code(page):
    """Returns everything set as code: between backticks, in fences, and indented."""
    text = (ROOT / page).read_text()
    fenced = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    text = re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [*fenced, *re.findall(r"^ {4}.*$", text, re.MULTILINE), *re.findall(r"`([^`\n]+)`", text)]


def on(pages, find):
    """Returns a test case for each thing found on a page."""
    found = {(page, thing) for page in pages for thing in find(page)}
    assert found
    return [pytest.param(page, thing, id=f"{page}: {thing}") for page, thing in sorted(found)]


# ---- The program and the commands ----


def test_there_is_one_program_and_it_is_the_example():
    assert blocks("c") == [(ROOT / "examples/hello.c").read_text()]


@pytest.fixture
def checkout(tmp_path):
    """Returns a directory that looks like the root of the project, so that files created by a command are created elsewhere."""
    for path in ROOT.iterdir():
        if not path.name.startswith(".") and path.name not in ("build", "hello", "program"):
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "build").symlink_to(BUILD)
    return tmp_path


def type_in(checkout, commands):
    """Runs lines as a user types them, except that make is told that the library in $RL_BUILD is up to date."""
    assert (BUILD / "lib/librunloop.so").exists(), f"no librunloop.so in {BUILD}: build it, or set RL_BUILD"
    lines = 'make() { command make -o all "$@" >/dev/null; }\n' + commands
    hidden = ("MAKEFLAGS", "MAKELEVEL", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment.update(HOME=str(checkout / "home"), RUNLOOP_MISUSE="abort")
    result = subprocess.run(["bash", "-euc", lines], cwd=checkout, env=environment, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


@pytest.mark.parametrize("commands", [*blocks("sh"), *blocks("sh", "docs/PORTING.md")],
                         ids=["tree", "installed", "from-macos"])
def test_commands_work(checkout, commands):
    """The program from macOS is the example with CF's names."""
    program = re.sub(r"\b(k?)RL(?=[A-Z])", r"\1CF", (ROOT / "examples/hello.c").read_text())
    (checkout / "program.c").write_text(program.replace("<RunLoop/RunLoop.h>", "<CoreFoundation/CoreFoundation.h>"))
    assert type_in(checkout, commands) == TICKS * commands.count(" && ./")


def test_archive_needs_no_libc_with_static(checkout):
    commands = blocks("sh")[0].splitlines()[1].replace("cc ", "cc -static ")
    assert type_in(checkout, commands) == TICKS
    headers = subprocess.run(["readelf", "-lW", checkout / "hello"], capture_output=True, text=True, check=True).stdout
    assert "INTERP" not in headers


def test_lines_for_cmake_name_targets_that_are_there():
    package = (ROOT / "packaging/RunLoopConfig.cmake.in").read_text()
    named = set(re.findall(r"\bRunLoop::\w+", README))
    assert named == set(re.findall(r"add_library\((RunLoop::\w+)", package)) and len(named) == 6
    version = re.search(r"^VERSION *:= (\d+\.\d+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert f"`find_package(RunLoop {version})`" in README


def test_names_in_the_costs_are_explained():
    """The libraries compared in the table, and its other words and signs."""
    before = section("What it costs").partition("<!-- costs")[0]
    table = costs(README)
    words = set(re.findall(r"\| [\d. ]+~? ([a-z][\w-]*) \|", table)) | {"limit"} | ({"~"} if "~" in table else set())
    assert len(words) >= 4
    assert sorted(word for word in words if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", before)) == []


# ---- What is named ----


def targets(directory):
    """Returns the targets of a Makefile, as make itself lists them."""
    words = ["make", "-C", str(directory), "-npq", "-f", "Makefile", "no-such-target"]
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    listed = subprocess.run(words, capture_output=True, text=True, env=environment).stdout
    return set(re.findall(r"^([a-z][a-z-]*):", listed, re.MULTILINE))


def make_commands(page):
    for piece in code(page):
        for directory, target in re.findall(r"(?:^|[ `])make(?: -C (\S+))? ([a-z][a-z-]*)(?![\w=-])", piece):
            yield directory or ".", target
    if page == "CONTRIBUTING.md":  # "check-c; check-c-thread and check-c-address with a sanitizer"
        yield from ((".", target) for target in re.findall(r"\bcheck-[a-z-]+", (ROOT / page).read_text()))


@pytest.mark.parametrize("page, command", on(PAGES, make_commands))
def test_make_target_exists(page, command):
    directory, target = command
    assert target in targets(ROOT / directory)


def links(page):
    """Returns [text](target) links, without web addresses."""
    found = re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text())
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def headings(path):
    """Returns the anchors of a page, as the usual sites generate them."""
    found = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page, link", on(PAGES, links))
def test_link_leads_somewhere(page, link):
    name, _, anchor = link.partition("#")
    path = (ROOT / page).parent / name if name else ROOT / page
    assert path.exists()
    assert not anchor or anchor in headings(path)


def paths(page):
    """Returns the words in code that begin with a folder of the project, except for build products."""
    folders = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in ("build", ".git"))
    for piece in code(page):
        yield from re.findall(rf"(?<![\w./$<-])(?:{folders})/[\w./*+-]*[\w*]", piece)


@pytest.mark.parametrize("page, path", on(PAGES, paths))
def test_path_exists(page, path):
    assert list(ROOT.glob(path))


def names(page):
    return re.findall(r"\bk?RL[A-Z]\w+\b(?!\.(?:h|swift))", (ROOT / page).read_text())


@pytest.mark.parametrize("page, name", on(["README.md", "CHANGELOG.md", "docs/PORTING.md", "docs/DEBUGGING.md", *GUIDE], names))
def test_name_is_in_the_headers(page, name):
    assert any(re.search(rf"\b{name}\b", path.read_text()) for path in INCLUDE.glob("RunLoop*/**/*.h"))


# ---- Tables ----


def section(title, page="README.md"):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)[1]


def first_column(text):
    return [cells[1].strip() for line in text.splitlines() if len(cells := line.split("|")) > 2][2:]


def test_rooms_are_listed_from_the_ground_up():
    sys.path.insert(0, str(ROOT / "Tests/tidy"))
    try:
        from core import ROOMS
    finally:
        sys.path.pop(0)
    assert first_column(section("1. Rooms", "docs/DESIGN.md"))[:len(ROOMS)] == [f"`{room}`" for room in ROOMS]


def test_every_suite_is_listed():
    rows = re.findall(r"^\| (`Tests/[^|]*)\|", section("What each suite shows", "CONTRIBUTING.md"), re.MULTILINE)
    named = set(re.findall(r"`(Tests/\w+)`", " ".join(rows)))
    suites = {path.parent.relative_to(ROOT).parts[1] for kind in ("test_*.py", "test-*.c", "*Tests.swift")
              for path in (ROOT / "Tests").rglob(kind)}
    assert named == {f"Tests/{suite}" for suite in suites}


@pytest.mark.parametrize("suite", sorted({path.parent.name for path in (ROOT / "Tests").glob("*/test_*.py")}))
def test_suite_is_run_by_make_check(suite):
    assert re.search(rf"\bTests/{suite}\b", (ROOT / "Makefile.check").read_text())


def costs(text):
    return re.search(r"^<!-- costs\b.*?-->\n(.*?)^<!-- /costs -->$", text, re.MULTILINE | re.DOTALL)[1]


def test_costs_in_the_readme_are_rows_of_the_whole_table():
    rows = costs(README).splitlines()
    assert len(rows) == 8
    assert set(rows) <= set(costs(PERFORMANCE).splitlines())


def test_costs_are_those_that_the_benchmarks_measure():
    table = costs(PERFORMANCE)
    rows = re.findall(r'^    \("([^"]+)", "[^"]+", "\w+", "\w*", "\w+", \d+(?:, f"[^"]+")?\),$',
                      (ROOT / "Tests/bench/bench.py").read_text(), re.MULTILINE)
    shown = first_column(table)
    patterns = [re.escape(row).replace(r"\{size\}", r"[\d ]+") for row in rows]  # a size that the machine determines
    assert len(rows) > 20 and len(shown) == len(rows)
    assert [row for row, pattern in zip(shown, patterns) if not re.fullmatch(pattern, row)] == []


def numbers(cell):
    """Returns the numbers in a cell: "9, 12-14" is 9, 12, 13 and 14."""
    ends = [[int(end) for end in part.split("-")] for part in cell.split(",")]
    return [number for part in ends for number in range(part[0], part[-1] + 1)]


def test_differences_have_the_numbers_of_the_header():
    header = (INCLUDE / "RunLoop/RLRunLoop.h").read_text().split("Deliberate differences", 1)[1].split("*/", 1)[0]
    told = [number for cell in first_column(section("What is different from CFRunLoop")) for number in numbers(cell)]
    assert sorted(told) == [int(number) for number in re.findall(r"^ \* +(\d+)\. ", header, re.MULTILINE)]


def test_number_of_conformance_programs():
    programs = len(list((ROOT / "Tests/conformance").glob("*.c")))
    said = int(re.search(r"\((\d+)\s+programs that must print the same,", README)[1])
    assert said <= programs < said + 50


def test_version_is_the_headers():
    header = (INCLUDE / "RunLoop/RLBase.h").read_text()
    version = ".".join(re.search(rf"RL_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))
    assert f"Version {version}" in README
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_readme_can_be_read_in_five_minutes():
    assert len(README.splitlines()) <= 150
