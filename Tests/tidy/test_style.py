"""Sizes, comments and leftovers: promises to readers of the sources."""

import re
import subprocess

import pytest

from core import CORE, FILES, PATHS, code, expect_none, symbol_graph
from public_headers import INCLUDE, ROOT

SMALLEST, LARGEST = 60, 350
#: A test is read alone, so its file may be longer.
LARGEST_TEST = 450
LONG_TESTS = {"Tests/c/test-port-messages.c"}  # one fixture, and everything it shows, in sequence
FUNCTION = 70
#: Rooms whose files are as small as their subject: one plain structure, one noun, one header.
SMALL_IS_RIGHT = {"Base", "Platform", "Object", "Value", "Exports"}
#: Other files below the minimum size, and why they are separate.
SMALL = {
    "Item/ModeSet.swift": "what sources, timers and observers share",
    "Item/Observer.swift": "one noun, one file",
    "Item/Source+Equality.swift": "when two sources count as one; beside Source.swift, which is full",
    "Loop/ModeName.swift": "the constants of the header as objects",
}
MARKS = r"\b(TODO|FIXME|XXX|HACK)\b"
#: Directories specific to a machine; /proc, /dev, /tmp and /usr exist everywhere.
PLACES = r"(?<![\w.*])/(home|root|Users|work|opt|mnt)/\w"
TEXT = {".swift", ".c", ".h", ".py", ".md", ".map", ".pml", ".txt", ".mk", ".sh", ".modulemap", ".limits", ""}


def tracked():
    """Returns the files of the project: those that git would keep."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file() and (ROOT / name).suffix in TEXT]


@pytest.mark.parametrize("path", FILES, ids=lambda path: PATHS[path.name])
def test_file_has_a_readable_size(path):
    lines = len(path.read_text().splitlines())
    assert lines <= LARGEST
    if path.parent.name not in SMALL_IS_RIGHT and PATHS[path.name] not in SMALL:
        assert lines >= SMALLEST


def test_exceptions_are_still_needed():
    for name in SMALL:
        assert (CORE / name).exists() and len((CORE / name).read_text().splitlines()) < SMALLEST, name


def test_c_files_have_a_readable_size():
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in (".c", ".h") and name.startswith(("Sources/", "Tests/")):
            limit = LARGEST_TEST if name.startswith("Tests/") else LARGEST
            assert (len(path.read_text().splitlines()) > limit) == (name in LONG_TESTS), name


def test_comments_fit_the_width():
    """The formatters break long lines of code, but not comments."""
    expect_none(f"{path.relative_to(ROOT)}:{number}" for path in tracked() if path.suffix in (".swift", ".c", ".h")
                for number, line in enumerate(path.read_text().splitlines(), 1)
                if len(line) > 150 and line.lstrip().startswith(("//", "/*", "*")))


def functions(path):
    """Yields the name, first line and number of lines of each function. The formatter puts a closing brace in the
    column of the function's start."""
    lines = code(path)
    for start, line in enumerate(lines):
        match = re.match(r"( *)(?:[@\w()]+ )*(?:func (\S+?)\(|(init|deinit|subscript)\b|(?:var|let) (\w+)[^=]*\{$)", line)
        if not match or line.endswith("}"):
            continue
        opening = next((number for number, other in enumerate(lines[start:], start) if other.endswith("{")), None)
        between = lines[start + 1:opening] if opening else []
        if opening is None or any(re.match(rf"{match[1]}\S", other) and not re.match(rf"{match[1]}[)\-{{]", other)
                                  for other in between):
            continue  # a requirement of a protocol, or a stored property
        end = next(number for number, other in enumerate(lines[opening:], opening) if other.startswith(match[1] + "}"))
        yield match[2] or match[3] or match[4], start + 1, end - start + 1


def test_functions_fit_on_the_screen():
    found = [(PATHS[path.name], *function) for path in FILES for function in functions(path)]
    assert len(found) > 300
    expect_none(f"{path}:{line}: {name} has {count} lines" for path, name, line, count in found if count > FUNCTION)


def test_headers_fit():
    expect_none(f"{path.name}: {count} lines" for path in INCLUDE.rglob("*.h")
                if (count := len(path.read_text().splitlines())) > 500)


def test_nothing_is_left_to_do():
    here = ROOT / "Tests" / "tidy"
    expect_none(f"{path.relative_to(ROOT)}:{number}: {line.strip()}" for path in tracked() if path.parent != here
                for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1) if re.search(MARKS, line))


def test_no_path_of_one_machine():
    here = ROOT / "Tests" / "tidy"
    expect_none(f"{path.relative_to(ROOT)}:{number}: {line.strip()}" for path in tracked() if path.parent != here
                for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
                if re.search(PLACES, line))


def test_gcc_compiles_it_too():
    """Most tests are compiled only by clang; on other machines the compiler is gcc, which has no __has_feature."""
    def guarded(text):
        return re.match(r"#\s*(if|elif)(def|ndef| defined\()? *__has_feature(?!\()", re.search(r"^.*__has_feature.*$", text, re.MULTILINE)[0])

    texts = {path: path.read_text() for path in tracked() if path.suffix in (".c", ".h")}
    expect_none(path for path, text in texts.items() if "__has_feature" in text and not guarded(text))


def test_lines_end_where_they_end():
    expect_none(f"{path.relative_to(ROOT)}:{number}" for path in tracked() if path.suffix in (".swift", ".c", ".h", ".py")
                for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1)
                if line != line.rstrip() or "\t" in line)


# ---- Documentation comments ----

def test_files_of_the_loop_say_which_step_they_serve():
    """The comment, at the left margin, names steps of the ten in RLRunLoop.h; it may be about the file or a declaration in it."""
    paths = [path for path in FILES if path.parent.name == "Loop"]
    assert len(paths) > 20
    for path in paths:
        comments = " ".join(re.findall(r"^//+ ?(.*)", path.read_text(), re.MULTILINE))
        steps = re.findall(r"\b[Ss]teps? (\d[\d, ]*(?:(?:to|and|or) \d+)?)", comments)
        assert steps or re.search(r"\b(No step of the iteration|Any step)\b", comments), PATHS[path.name]
        assert all(1 <= int(number) <= 10 for text in steps for number in re.findall(r"\d+", text)), PATHS[path.name]


#: Kinds of declarations that each need a comment. A stored property may share the comment of its group or type.
KINDS = {"swift.struct", "swift.enum", "swift.protocol", "swift.func", "swift.func.op", "swift.method", "swift.type.method",
         "swift.subscript"}


def undocumented():
    symbols, relations = symbol_graph()
    by_usr = {symbol["identifier"]["precise"]: symbol for symbol in symbols}
    requirements = {symbol["pathComponents"][-1] for relation in relations if relation["kind"] == "requirementOf"
                    and (symbol := by_usr.get(relation["source"]))}
    for symbol in symbols:
        if symbol["kind"]["identifier"] not in KINDS or "docComment" in symbol or "location" not in symbol:
            continue
        path = symbol["location"]["uri"].partition("/RunLoopCore/")[2].replace("%2B", "+")
        name = symbol["pathComponents"][-1]
        # An export is documented in its header, a protocol's requirement in the protocol. One comment in Callouts.swift
        # covers the whole file.
        if path.startswith("Exports/RL") and name.startswith("RL") or path == "Item/Callouts.swift":
            continue
        if name in requirements and len(symbol["pathComponents"]) > 1 and symbol["pathComponents"][0] != "HeapKey":
            continue
        if name in ("<(_:_:)", "==(_:_:)"):
            continue
        yield f"{path}:{symbol['location']['position']['line'] + 1}: {'.'.join(symbol['pathComponents'])}"


def test_declarations_have_documentation():
    symbols, _ = symbol_graph()
    assert sum("docComment" in symbol for symbol in symbols) > 200
    expect_none(undocumented())
