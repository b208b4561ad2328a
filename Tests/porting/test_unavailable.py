"""Whatever CoreFoundation has and this library lacks fails at compile time, by name and with a hint about what to use instead."""

import re
import subprocess

import pytest

from library import INCLUDE
from public_headers import apple_include, children, declarations, of_kind
from tools import COMPILERS

#: The functions of a class that are declined individually are tested in Tests/headers.
NODES = [node for node in declarations("CoreFoundation/CoreFoundation.h") if children(node, "UnavailableAttr")
         and node["path"] not in ("CoreFoundation/CFSocket.h", "CoreFoundation/CFMessagePort.h")]
#: Headers that Apple has only on a Mac.
OF_MACOS = {f"CoreFoundation/{name}.h" for name in ("CFFileSecurity", "CFStringTokenizer", "CFXMLNode", "CFXMLParser")}
TYPES = [node["name"] for node in of_kind(NODES, "TypedefDecl")]
FUNCTIONS = [node["name"] for node in of_kind(NODES, "FunctionDecl")]


def errors(compiler, text):
    words = {"gcc": ["-fmax-errors=0"], "clang": ["-ferror-limit=0"]}[compiler]
    return subprocess.run([COMPILERS[compiler], "-xc", "-fsyntax-only", *words, f"-I{INCLUDE}", "-"],
                          input="#include <CoreFoundation/CoreFoundation.h>\n" + text, capture_output=True, text=True)


def test_there_are_names():
    assert len(TYPES) >= 20 and len(FUNCTIONS) >= 400
    assert {"CFReadStreamRef", "CFURLRef", "CFBundleRef", "CFMachPortRef", "CFMutableStringRef"} <= set(TYPES)
    assert {"CFPreferencesCopyAppValue", "CFStringAppend", "CFStreamCreatePairWithSocket"} <= set(FUNCTIONS)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_use_is_an_error_with_the_name_and_the_reason(compiler):
    uses = [f"extern {name} a{number};" for number, name in enumerate(TYPES)]
    uses += [f"void use{number}(void) {{ {name}(); }}" for number, name in enumerate(FUNCTIONS)]
    result = errors(compiler, "\n".join(uses))
    assert result.returncode != 0
    for name in TYPES + FUNCTIONS:
        assert re.search(rf"error: .*\b{name}\W.*unavailable: not provided by librunloop: \w+", result.stderr), name


@pytest.mark.parametrize("compiler", COMPILERS)
def test_without_use_there_is_no_error(compiler):
    assert errors(compiler, "int main(void) { return 0; }").returncode == 0


@pytest.mark.skipif(apple_include() is None, reason="Apple's CoreFoundation headers are not installed")
def test_names_are_apples():
    """Checked against the headers that Apple has for Linux."""
    known = {path.read_text(errors="replace") for path in (apple_include() / "CoreFoundation").glob("*.h")}
    text = "\n".join(known)
    names = {node["name"] for node in NODES if node["path"] not in OF_MACOS}
    foreign = {name for name in names if not re.search(rf"\b{name}\b", text)}
    assert foreign == set(), foreign
