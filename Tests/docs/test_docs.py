"""The public headers document everything they declare, in the words that STYLE asks for."""

import re
import subprocess

import pytest

from public_headers import INCLUDE, ROOT, RUNLOOP, children, clang, declarations, of_kind

WORDS = ["Ownership", "Thread", "Re-entrancy", "Errors", "Cost", "Since", "Example"]
ALL = declarations("RunLoop/RunLoop.h")


def comment(node):
    """The documentation comment of a declaration as clang parsed it, or None."""
    return next(iter(children(node, "FullComment")), None)


def text(node):
    """The words below a comment node, one space between them."""
    if node is None:
        return ""
    if "text" in node:
        return node["text"].strip()
    if node["kind"] == "InlineCommandComment":
        return "@" + node["name"]
    return " ".join(filter(None, (text(child) for child in node.get("inner", []))))


def described_parameters(node):
    """What the @param commands say, by name, in order."""
    return {block["param"]: text(block) for block in children(comment(node) or {}, "ParamCommandComment")}


def parameters(node):
    return [parameter["name"] for parameter in children(node, "ParmVarDecl")]


def label(node):
    return node["name"]


# A static inline function that a callback context needs is not for callers: its comment says Internal.
FUNCTIONS = [node for node in of_kind(ALL, "FunctionDecl") if not text(comment(node)).startswith("Internal:")
             and node["name"].startswith("RL")]


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_function_says_everything(function):
    said = text(comment(function))
    assert said, "no comment"
    places = [said.find(word + ":") for word in WORDS]
    missing = [word for word, place in zip(WORDS, places) if place < 0]
    assert not missing
    assert places == sorted(places), "the labelled words are not in their order"
    for word, place, end in zip(WORDS, places, [*places[1:], None]):
        assert said[place + len(word) + 1:end].strip(), f"nothing behind {word}"
    assert re.search(r"Since: \d+\.\d+\. ", said)


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_parameters_and_result_are_described(function):
    described = described_parameters(function)
    assert list(described) == parameters(function)
    assert all(described.values()), "a parameter without a description"
    returns = [block for block in children(comment(function), "BlockCommandComment") if block["name"] == "return"]
    is_void = function["type"]["qualType"].startswith("void (")
    assert len(returns) == (0 if is_void else 1)
    assert all(text(block) for block in returns)


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_named_example_exists(function):
    example = re.search(r"Example: (\S+)", text(comment(function)))
    assert example and re.fullmatch(r"examples/[a-z/-]+\.c", example[1])
    assert (ROOT / example[1]).is_file()


OTHERS = of_kind(ALL, "TypedefDecl", "VarDecl", "EnumDecl", "RecordDecl", "FunctionDecl")


@pytest.mark.parametrize("node", [node for node in OTHERS if node.get("name")], ids=label)
def test_declaration_has_a_comment(node):
    """One comment serves both names of `typedef struct X {…} X`; `struct X` without fields is only the way to a handle."""
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
    """It also knows the parameters of callback types, whose names the tree does not keep."""
    command = [clang(), "-x", "c", "-fblocks", "-Wdocumentation", "-Werror", f"-I{INCLUDE}", "-fsyntax-only", "-"]
    result = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_names_begin_with_the_prefix():
    for node in OTHERS:
        if node.get("name") and not node["name"].startswith("_Block_"):
            assert re.match(r"k?RL[A-Z]", node["name"]), node["name"]


@pytest.mark.parametrize("header", RUNLOOP)
def test_header_has_an_overview_and_fits_on_the_screen(header):
    lines = (INCLUDE / header).read_text().splitlines()
    assert lines[0] == f"/** @file {header.split('/')[1]}"
    assert len(lines) <= 500
    assert [number for number, line in enumerate(lines, 1) if len(line) > 120] == []


def test_the_table_of_the_umbrella_names_every_header():
    table = (INCLUDE / "RunLoop" / "RunLoop.h").read_text().partition("#ifndef")[0]
    assert [header for header in RUNLOOP if header.split("/")[1] not in table] == []


@pytest.mark.parametrize("header", RUNLOOP)
def test_macros_have_a_comment(header):
    """The preprocessor does not hand comments on, so the line above a macro is looked at. clang says which there are."""
    source = (INCLUDE / header).read_text()
    command = [clang(), "-x", "c", f"-I{INCLUDE}", "-E", "-dM", "-"]
    defined = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"^#define (RL\w+)", defined, re.MULTILINE):
        place = re.search(rf"^(.*)\n#define {name}\b", source, re.MULTILINE)
        if place and name not in ("RL_EXTERN_C_BEGIN", "RL_EXTERN_C_END"):
            assert place[1].endswith("*/"), name
