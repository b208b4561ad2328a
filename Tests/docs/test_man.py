"""The manual pages are complete, as the headers say, and as mandoc wants them: docs/man makes them from the headers' comments."""

import re
import subprocess
import sys

import pytest

from public_headers import ROOT
from test_docs import FUNCTIONS, comment, parameters, text

sys.path.insert(0, str(ROOT / "docs/man"))
from man import Manual, contents  # noqa: E402

ORDER = ["NAME", "LIBRARY", "SYNOPSIS", "DESCRIPTION", "PARAMETERS", "TYPES", "OWNERSHIP", "RETURN VALUES", "EXAMPLES", "ERRORS",
         "THREADS", "COST", "COREFOUNDATION", "SEE ALSO"]
CHAPTERS = contents()
NAMES = [page.name for chapter in CHAPTERS for page in chapter.pages]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    directory = tmp_path_factory.mktemp("man")
    Manual().write(directory)
    return directory


@pytest.fixture(scope="module")
def manual(pages):
    """The text of each page by its file."""
    return {path.relative_to(pages).as_posix(): path.read_text() for path in pages.rglob("*") if not path.is_symlink() and path.is_file()}


def section(page, title):
    match = re.search(rf"^\.Sh {title}\n(.*?)(?=^\.Sh |\Z)", page, re.MULTILINE | re.DOTALL)
    return match[1] if match else ""


def test_every_function_is_on_one_page():
    listed = [name for chapter in CHAPTERS for page in chapter.pages for name in page.names]
    assert sorted(listed) == sorted(function["name"] for function in FUNCTIONS)


def test_every_header_has_a_page():
    headers = [header for chapter in CHAPTERS for header in chapter.headers]
    assert sorted(headers) == sorted(path.name for path in (ROOT / "include").glob("RunLoop*/RL*.h"))


def test_mandoc_finds_no_fault(pages, manual):
    commands = (ROOT / "docs/man").glob("*.1")
    result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *(str(pages / name) for name in manual), *commands],
                            capture_output=True, text=True)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


def test_no_macro_is_shown_as_text(manual):
    """Which mandoc takes for text: a macro behind another has no dot."""
    assert re.findall(r"^\.[A-Z][a-z] (?:.* )?\.[A-Z][a-z] .*", "\n".join(manual.values()), re.MULTILINE) == []


@pytest.mark.parametrize("command", sorted((ROOT / "docs/man").glob("*.1")), ids=lambda path: path.name)
def test_no_macro_of_a_command_is_shown_as_text(command):
    """The items of some kinds of lists are taken as they are."""
    said = subprocess.run(["mandoc", "-T", "ascii", command], capture_output=True, text=True, check=True).stdout
    said = re.sub(r".\x08", "", said)
    assert "DIAGNOSTICS" in said
    assert re.findall(r"\b(?:Ar|Fl|No|Ns|Pa|Sy|Xr) .*", said) == []


@pytest.mark.parametrize("name", NAMES)
def test_sections_are_there_and_in_order(manual, name):
    found = re.findall(r"^\.Sh (.*)$", manual[f"man3/{name}.3"], re.MULTILINE)
    assert found == sorted(found, key=ORDER.index)
    assert {"NAME", "LIBRARY", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "THREADS", "SEE ALSO"} <= set(found)
    assert all(section(manual[f"man3/{name}.3"], title).strip() for title in found)


def declared(page):
    """Each function of a synopsis: its result, and the names of its parameters."""
    for result, name, arguments in re.findall(r"^\.Ft (.*)\n\.Fo (\w+)\n((?:\.Fa .*\n)*)\.Fc", section(page, "SYNOPSIS"), re.MULTILINE):
        names = [re.search(r"\(\^(\w+)\)|(\w+|\.\.\.)\"?$", argument) for argument in re.findall(r"^\.Fa (.*)$", arguments, re.MULTILINE)]
        yield name, result.strip('"'), [match[1] or match[2] for match in names]


def test_synopsis_is_the_declaration(manual):
    """As clang reads the headers, which are read in another way for the pages."""
    found = {name: (result, names) for page in manual.values() for name, result, names in declared(page)}
    assert len(found) == len(FUNCTIONS)
    for function in FUNCTIONS:
        kind = function["type"]["qualType"]
        wanted = parameters(function) + (["..."] if kind.endswith(", ...)") else []) or ["void"]
        result, names = found[function["name"]]
        assert names == wanted, function["name"]
        assert result.replace(" ", "") == kind.partition("(")[0].replace(" ", ""), function["name"]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_described(manual, name):
    """Also what the header leaves out because it is the same everywhere: a reader of the page has not read that."""
    page = manual[f"man3/{name}.3"]
    wanted = {parameter for _, _, names in declared(page) for parameter in names if parameter not in ("void", "...")}
    said = dict(re.findall(r"^\.It Fa (\w+)\n(.+)", section(page, "PARAMETERS"), re.MULTILINE))
    assert wanted == set(said)


def plain(page):
    """The words of a page, without macros and punctuation."""
    page = re.sub(r"^\.(Pf (\S+) )?([A-Z][a-z]\b)?", " ", page, flags=re.MULTILINE)
    return re.findall(r"\w+", page)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda node: node["name"])
def test_nothing_that_a_header_says_is_lost(manual, function):
    """Every word of a function's comment is on its page, but for the labels and where another function is referred to."""
    page = next(page for page in manual.values() if f"\n.Fo {function['name']}\n" in page)
    said = re.sub(r"Parameters and result as RL\w+\(\)\.|(?<=\") above|\b(Re-entrancy|Example|Since): |examples/\S+|\b(RL\w+|RunLoop)\.h\b", "",
                  text(comment(function)))
    present = {word.lower() for word in plain(page)}
    missing = [word for word in re.findall(r"\w+", said) if word.lower() not in present
               and word not in ("Ownership", "Thread", "Errors", "Cost", "param", "return")]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_example_is_of_a_program_and_calls_the_function(manual, name):
    shown = section(manual[f"man3/{name}.3"], "EXAMPLES")
    path = re.search(r"^\.Pa share/doc/runloop/(\S+) :$", shown, re.MULTILINE)[1]
    lines = re.search(r"\.Bd -literal\n(.*)\.Ed", shown, re.DOTALL)[1].replace("\\e", "\\").replace("\\&", "")
    source = (ROOT / path).read_text()
    assert lines.strip("\u2026\n") in source
    page = next(page for chapter in CHAPTERS for page in chapter.pages if page.name == name)
    assert any(re.search(rf"\b{each}\(", lines) for each in page.names)
    assert len(lines.splitlines()) <= 36


def test_references_lead_to_pages_that_exist(pages, manual):
    for name, page in manual.items():
        for other, number in re.findall(r"\bXr (\S+) (\d)\b", page):
            if re.match(r"RL|runloop", other):
                assert (pages / f"man{number}/{other}.{number}").exists() or number == "1" and (ROOT / f"docs/man/{other}.1").exists(), \
                    f"{name}: {other}({number})"


def test_every_function_and_every_name_of_cf_opens_its_page(pages):
    """As the library of names has them."""
    names = {function["name"] for function in FUNCTIONS}
    headers = "".join(path.read_text() for path in (ROOT / "include/CoreFoundation").glob("*.h"))
    ours = set(re.findall(r"__asm__\(\s*\"(RL\w+)\"\)", headers)) & names
    opened = {path.stem for path in (pages / "man3").iterdir()}
    assert names <= opened and len(ours) > 150
    aliases = Manual().aliases
    assert set(aliases) <= opened
    assert ours - set(aliases.values()) == {"RLStringMakeConstant", "RLRunLoopPerformFunctionWithRelease"}  # parts of macros
    for name in ("CFRunLoopAddTimer", "CFRetain", "CFRunLoopRunInMode", "CFRunLoopPerformBlock", "CFRunLoopTimerCreateWithHandler"):
        assert name in opened
    page = (pages / "man3/CFRunLoopAddTimer.3").read_text()
    assert "\n.Nm RLRunLoopAddTimer ," in page and ".Fn CFRunLoopAddTimer ," in section(page, "COREFOUNDATION")


@pytest.mark.parametrize("name, others", [("RLRunLoopAddTimer", {"RLRunLoopTimerCreate 3", "runloop-timer 7", "runloop-modes 7"}),
                                          ("RLRunLoopSourceSignal", {"RLRunLoopWakeUp 3", "runloop-source 7"}),
                                          ("RLMessagePortSendRequest", {"RLMessagePortCreateRemote 3", "runloop-message-port 7"})])
def test_pages_lead_to_what_is_needed_next(manual, name, others):
    """Where the objects come from, and what they are."""
    assert others <= set(re.findall(r"^\.Xr (\S+ \d)", section(manual[f"man3/{name}.3"], "SEE ALSO"), re.MULTILINE))


def test_constants_stand_below_the_type_that_has_them(manual):
    """A typedef in front of an enumeration is its type only if the values are of it."""
    shown = section(manual["man3/RLFileDescriptorEnableCallBacks.3"], "TYPES")
    assert "kRLFileDescriptorReadCallBack" in shown and "NativeDescriptor" not in shown
    assert ".Vt RLRunLoopRunResult :" in manual["man7/runloop.7"]


def test_the_first_page_has_a_whole_program(manual):
    assert (ROOT / "examples/hello.c").read_text().replace("\\", "\\e") in manual["man7/runloop.7"]


@pytest.mark.parametrize("subject", ["modes", "source", "timer", "port", "message-port", "porting", "debugging"])
def test_every_subject_has_a_page(pages, manual, subject):
    path = pages / f"man7/runloop-{subject}.7"
    assert not path.is_symlink() and re.search(rf"^\.Nm runloop-{subject}$", path.read_text(), re.MULTILINE)
    assert f".It Xr runloop-{subject} 7\n" in section(manual["man7/runloop.7"], "PAGES BY SUBJECT")


def test_lists_of_documents_are_lists(manual):
    points = re.findall(r"^- ", (ROOT / "docs/guide/03-modes.md").read_text(), re.MULTILINE)
    assert len(points) > 2 and manual["man7/runloop-modes.7"].count("\n.It\n") == len(points)


def test_pages_are_the_same_again(manual, tmp_path):
    Manual().write(tmp_path)
    assert {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*")
            if not path.is_symlink() and path.is_file()} == manual
