"""The public headers document everything they declare. RLBase.h states once what every function promises ("What
every function promises"); a function's comment mentions only deviations, and must mention the known ones."""

import re
import subprocess

import pytest

from public_headers import INCLUDE, ROOT, RUNLOOP, children, clang, declarations, of_kind

LABELS = ["Ownership", "Thread", "Re-entrancy", "Errors", "Cost", "Since", "Example"]
ALL = declarations("RunLoop/RunLoop.h RunLoopKit/RunLoopKit.h RunLoopTrace/RunLoopTrace.h")
#: Texts that repeat a promise which RLBase.h makes for all functions, by label.
REPEATED = {
    "Ownership": r"(none( changes)?|(Create|Copy|Get) rule|you own the result)[.;]?$",
    "Thread": r"any[.;]?$",
    "Re-entrancy": r"allowed in callbacks",
    "Errors": r"none\.|.*(\bor another kind\b|\breported and (gives|returns) (NULL|0|false)|misuse returns (NULL|0|false)\b)"
              r"|(NULL|0) with errno ENOMEM\.$",
    "Cost": r"O\(1\)(, no (allocation|system call))*\.$|one allocation\.$",
    "Since": r"0\.1\.",
}
#: What is true of an argument without being mentioned: a handle is not NULL, an allocator may be.
TAKEN_FOR_GRANTED = r"(not )?NULL\.?$"
HANDLE = r"(?:const )?(?:RL\w+Ref|RLRunLoopMode|RLNotificationName|const void \*)$"
#: Parameters that limit how long a function waits.
TIME_LIMITS = {"timeout", "sendTimeout", "rcvTimeout", "limit"}
#: Types of functions that are called during the call, and so may call back.
CALLED_AT_ONCE = r"RL\w*(ApplierFunction|ComparatorFunction)$"


def comment(node):
    """Returns the documentation comment of a declaration as clang parsed it, or None."""
    return next(iter(children(node, "FullComment")), None)


def text(node):
    """Returns the words below a comment node, separated by single spaces."""
    if node is None:
        return ""
    if "text" in node:
        return node["text"].strip()
    if node["kind"] == "InlineCommandComment":
        return "@" + node["name"]
    return " ".join(filter(None, (text(child) for child in node.get("inner", []))))


def described_parameters(node):
    """Returns the text of the @param commands, by name, in order."""
    return {block["param"]: text(block) for block in children(comment(node) or {}, "ParamCommandComment")}


def parameters(node):
    return [parameter["name"] for parameter in children(node, "ParmVarDecl")]


def label(node):
    return node["name"]


# A static inline function that only a callback context needs is not for callers: its comment begins with "Internal:".
FUNCTIONS = [node for node in of_kind(ALL, "FunctionDecl") if not text(comment(node)).startswith("Internal:")
             and node["name"].startswith("RL")]


def labelled(said):
    """Returns the text after each label, in order."""
    parts = re.split(rf"(?:^|\s)({'|'.join(LABELS)}): ", said)
    return list(zip(parts[1::2], (part.strip() for part in parts[2::2])))


def summary(function):
    return text(children(comment(function), "ParagraphComment")[0])


def type_of(parameter):
    return parameter["type"]["qualType"]


def referred(function):
    """Returns the function whose parameters and result this one shares, if its comment says so."""
    match = re.search(r"Parameters and result as (RL\w+)\(\)", text(comment(function)))
    return next((other for other in FUNCTIONS if match and other["name"] == match[1]), None)


def head(header):
    """Returns the comment at the beginning of a header."""
    return (INCLUDE / header).read_text().partition("#ifndef")[0]


def export(name):
    """Returns the Swift function behind a C function, without comments, or nothing for an inline one."""
    files = [*(ROOT / "Sources/RunLoopCore/Exports").glob("*.swift"), *(ROOT / "Sources/RunLoopKit").rglob("RL*.swift")]
    source = "\n".join(path.read_text() for path in sorted(files))
    match = re.search(rf"^(?:public|@implementation)[^\n]*\bfunc {name}\b.*?^\}}", source, re.MULTILINE | re.DOTALL)
    return re.sub(r"//.*", "", match[0]) if match else ""


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_function_says_what_differs_and_nothing_else(function):
    said = text(comment(function))
    assert said, "no comment"
    found = labelled(said)
    order = [LABELS.index(word) for word, _ in found]
    assert order == sorted(set(order)), "the labels are not in their order"
    for word, what in found:
        assert what, f"nothing behind {word}"
        assert not re.match(REPEATED.get(word, "$."), what), f"{word} repeats what RLBase.h promises"
    described = described_parameters(function)
    for node in children(function, "ParmVarDecl"):
        if re.match(HANDLE, type_of(node)):
            assert not re.match(TAKEN_FOR_GRANTED, described.get(node["name"], "")), f"{node['name']}: as RLBase.h promises"
    assert not re.search(r"\bon a mistake\b", said)


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_parameters_are_described(function):
    """All except handles, which need no description, and those described for another function."""
    described = described_parameters(function)
    nodes = children(function, "ParmVarDecl")
    other = referred(function)
    if other:
        described = {**described_parameters(other), **described}
        assert parameters(function) == parameters(other)
    assert list(described) == [name for name in parameters(function) if name in described]
    assert all(described.values()), "a parameter without a description"
    missing = [node["name"] for node in nodes if node["name"] not in described and not re.match(HANDLE, type_of(node))]
    assert not missing


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_result_is_described_once(function):
    """By @return, or by a summary that begins with "Returns"."""
    returns = [block for block in children(comment(function), "BlockCommandComment") if block["name"] == "return"]
    is_void = function["type"]["qualType"].startswith("void (")
    ways = len(returns) + summary(function).startswith("Returns ") + (referred(function) is not None)
    assert ways == 1 or is_void and ways == (referred(function) is not None)
    assert all(text(block) for block in returns)


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_known_deviations_are_said(function):
    """Deviations from RLBase.h's promises that show in the declaration, or in the code behind it."""
    said = text(comment(function))
    words = dict(labelled(said))
    name, result = function["name"], function["type"]["qualType"].partition("(")[0].strip()
    described = {**(described_parameters(referred(function)) if referred(function) else {}), **described_parameters(function)}
    for node in children(function, "ParmVarDecl"):
        kind = type_of(node)
        if re.match(CALLED_AT_ONCE, kind):
            assert "calls" in words.get("Re-entrancy", ""), f"{node['name']} is called"
        if re.match(r"(const )?RL\w+Context \*$", kind) and "Create" in name:
            assert "calls context.retain" in words.get("Re-entrancy", "")
            assert "Ownership" in words
        if kind in ("RLTimeInterval", "RLAbsoluteTime"):
            assert re.search(r"\bseconds?\b|\bdate\b", described[node["name"]]), f"{node['name']} has no unit"
        if kind == "void *" and node["name"] == "info" and name.startswith("RLRunLoop") and "Ownership" not in words:
            assert "compared" in described["info"]
        if node["name"] in TIME_LIMITS:
            assert re.search(r"\bwaits?\b", said), "it waits"
    is_pointer = re.search(r"(Ref|\*)$", result) and not result.endswith("CallBack")
    if is_pointer and "Ownership" not in words and not re.search(r"Create|Copy", name):
        assert name == "RLRetain", "what keeps the result alive?"
    if re.search(r"else \{ return -1 \}|return RLRange\(location: -1|\.error\b.*return kRLSocketError", export(name)):
        assert re.search(r"misuse returns \S", words.get("Errors", "")), "misuse does not return 0"


def test_signal_safe_functions_are_those_of_the_list():
    listed = re.search(r"These five are async-signal-safe:([^.]*)\.", re.sub(r"\n \*", "", head("RunLoop/RLBase.h")))[1]
    safe = [function["name"] for function in FUNCTIONS
            if re.search(r"(?<!not )async-signal-safe", dict(labelled(text(comment(function)))).get("Thread", ""))]
    assert sorted(re.findall(r"RL\w+", listed)) == sorted(safe) and len(safe) == 5


def uses(example, name):
    """Returns whether an example calls a function, itself or in the other files of its folder."""
    path = ROOT / example
    files = [path] if path.parent.name == "examples" else sorted(path.parent.glob("*.[ch]"))
    return any(re.search(rf"\b{name}\(", file.read_text()) for file in files)


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_an_example_calls_it(function):
    """One of the examples named in the head of the header, or in the function's comment."""
    own = re.findall(r"Example: (\S+)", text(comment(function)))
    named = re.search(r"^ \*  Examples?: ((?:.|\n)*?)\n \*(?:/| *\n)", head(function["path"]), re.M)
    examples = own or re.findall(r"examples/[a-z/-]+\.c", named[1])
    assert examples and all((ROOT / example).is_file() for example in examples)
    assert [example for example in examples if uses(example, function["name"])]


OTHERS = of_kind(ALL, "TypedefDecl", "VarDecl", "EnumDecl", "RecordDecl", "FunctionDecl")


@pytest.mark.parametrize("node", [node for node in OTHERS if node.get("name")], ids=label)
def test_declaration_has_a_comment(node):
    """One comment covers both names of `typedef struct X {…} X`; `struct X` without fields exists only for a handle."""
    if node["kind"] == "RecordDecl" and not node.get("completeDefinition"):
        return
    assert any(text(comment(other)) for other in OTHERS if other.get("name") == node["name"]), "no comment"


MEMBERS = [pytest.param(member, id=f"{node.get('name', 'enum')}.{member['name']}")
           for node in of_kind(ALL, "EnumDecl", "RecordDecl")
           for member in children(node, "EnumConstantDecl", "FieldDecl")]


@pytest.mark.parametrize("member", MEMBERS)
def test_constant_or_field_has_a_comment(member):
    assert text(comment(member)), "no comment"


def test_anonymous_enumerations_have_a_comment():
    for node in of_kind(ALL, "EnumDecl"):
        assert text(comment(node)), children(node, "EnumConstantDecl")[0]["name"]


@pytest.mark.parametrize("header", RUNLOOP)
def test_clang_finds_no_fault_with_the_comments(header):
    """Clang also knows the parameters of callback types, whose names the tree does not contain."""
    command = [clang(), "-x", "c", "-fblocks", "-Wdocumentation", "-Werror", f"-I{INCLUDE}", "-fsyntax-only", "-"]
    result = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_names_begin_with_the_prefix():
    for node in OTHERS:
        if node.get("name") and not node["name"].startswith("_Block_") and node["name"] != "addrinfo":  # libc's
            assert re.match(r"k?RL[A-Z]", node["name"]), node["name"]


@pytest.mark.parametrize("header", RUNLOOP)
def test_header_has_an_overview_and_fits_on_the_screen(header):
    lines = (INCLUDE / header).read_text().splitlines()
    assert lines[0] == f"/** @file {header.split('/')[1]}"
    assert len(lines) <= 500
    assert [number for number, line in enumerate(lines, 1) if len(line) > 120] == []


@pytest.mark.parametrize("header", RUNLOOP)
def test_the_table_of_the_umbrella_names_every_header(header):
    folder, name = header.split("/")
    assert name in head(f"{folder}/{folder}.h")


@pytest.mark.parametrize("header", RUNLOOP)
def test_macros_have_a_comment(header):
    """The preprocessor does not pass comments on, so this checks the line above each macro. Clang lists the macros."""
    source = (INCLUDE / header).read_text()
    command = [clang(), "-x", "c", f"-I{INCLUDE}", "-E", "-dM", "-"]
    defined = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"^#define (RL\w+)", defined, re.MULTILINE):
        place = re.search(rf"^(.*)\n#define {name}\b", source, re.MULTILINE)
        if place and name not in ("RL_EXTERN_C_BEGIN", "RL_EXTERN_C_END"):
            assert place[1].endswith("*/"), name


@pytest.mark.parametrize("header", RUNLOOP)
def test_comments_say_what_a_function_does(header):
    """"Returns the order", not "Tells the order"."""
    source = (INCLUDE / header).read_text()
    assert re.findall(r"/\*\*<? (?:Tells|Gives)\b.*", source) == []


#: Figures and mechanisms that belong in docs/DESIGN.md: a header promises what a program can rely on.
MECHANISM = r"\bepoll_ctl\b|\bmembarrier|\bfutex\b|\blocked instruction|\bone in \d+|\b(64 replies|2 ms|516 kB|1 600|32 \* \(n)"


@pytest.mark.parametrize("header", RUNLOOP)
def test_mechanism_is_no_part_of_the_contract(header):
    assert re.findall(MECHANISM, (INCLUDE / header).read_text()) == []


def test_main_header_is_short():
    assert len((INCLUDE / "RunLoop" / "RLRunLoop.h").read_text().splitlines()) <= 250
