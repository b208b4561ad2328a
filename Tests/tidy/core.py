"""The Swift core as the compiler knows it: its files and rooms, which code uses which, the calls to clients'
functions, and the documented declarations. Each is read once, from what swiftc itself writes."""

import functools
import json
import pathlib
import re
import subprocess
import tempfile

import index_store
from public_headers import ROOT, toolchain

CORE = ROOT / "Sources" / "RunLoopCore"
#: From the bottom up: a room uses only itself and the rooms before it.
ROOMS = ["Base", "Platform", "Object", "Value", "Poller", "Item", "Loop", "Descriptor", "Port", "MessagePort", "Exports"]
FILES = sorted(CORE.rglob("*.swift"))
#: Paths below the core, by base name. The compiler, too, requires base names to be unique.
PATHS = {path.name: path.relative_to(CORE).as_posix() for path in FILES}


def room(file):
    """Returns the room of a file, given by its base name or its path below the core."""
    return PATHS.get(file, file).split("/")[0]


EMBEDDED = ["-enable-experimental-feature", "Embedded"]


def compile_core(*words, directory):
    compile_module("RunLoopCore", ["CLinux", "CRunLoop"], FILES, *words, directory=directory)


def compile_module(name, modules_of_c, files, *words, directory):
    assert toolchain(), "swiftc is not installed"
    include = [f"-I{ROOT / 'Sources' / module / 'include'}" for module in modules_of_c]
    command = ["swiftc", "-parse-as-library", "-swift-version", "6", "-module-name", name, "-wmo",
               "-enable-experimental-feature", "Extern", "-module-cache-path", directory / "cache", *include, *words, *files]
    result = subprocess.run([str(word) for word in command], cwd=directory, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


@functools.lru_cache(maxsize=None)
def occurrences():
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        compile_core(*EMBEDDED, "-typecheck", "-index-store-path", directory / "index", "-index-ignore-system-modules", directory=directory)
        return index_store.occurrences(toolchain(), directory / "index")


@functools.lru_cache(maxsize=None)
def definitions():
    """Returns the defining occurrence of each declaration of the core, by the compiler's name for it."""
    return {occurrence.usr: occurrence for occurrence in occurrences() if occurrence.is_definition}


@functools.lru_cache(maxsize=None)
def client_calls():
    """Returns the calls through a C function pointer, which is a client's function: (path, line)."""
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        compile_core(*EMBEDDED, "-emit-silgen", "-Xllvm", "-sil-print-debuginfo", "-o", directory / "core.sil", directory=directory)
        lines = (directory / "core.sil").read_text().splitlines()
    found, direct, calls = set(), set(), 0
    for line in lines:
        if line.startswith("sil "):
            direct = set()
        elif match := re.match(r"\s+(%\d+) = function_ref ", line):
            direct.add(match[1])
        elif match := re.match(r'\s+(?:%\d+ = )?apply (%\d+)\(.*\) : \$@convention\(c\).*loc "([^"]+)":(\d+)', line):
            calls += 1
            if match[1] not in direct:
                found.add((pathlib.Path(match[2]).relative_to(CORE).as_posix(), int(match[3])))
    assert calls > 100, "the compiler's intermediate language looks different now"
    return sorted(found)


@functools.lru_cache(maxsize=None)
def symbol_graph():
    """Returns every declaration that is not private: the compiler's own JSON. Not in Embedded mode, which would also
    compile the functions' bodies, ten times as much work: the core has no conditional code, so its declarations are
    the same."""
    assert not any(line.lstrip().startswith("#if") for path in FILES for line in code(path))
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        compile_core("-emit-module", "-emit-module-path", directory / "RunLoopCore.swiftmodule", "-emit-symbol-graph",
                     "-emit-symbol-graph-dir", directory, "-symbol-graph-minimum-access-level", "internal",
                     "-Xfrontend", "-experimental-skip-all-function-bodies", directory=directory)
        graphs = [json.loads(path.read_text()) for path in directory.glob("*.symbols.json")]
    return [symbol for graph in graphs for symbol in graph["symbols"]], \
        [relation for graph in graphs for relation in graph["relationships"]]


@functools.lru_cache(maxsize=None)
def code(path):
    """Returns the lines of a Swift file without comments and without the contents of strings."""
    text = path.read_text()
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return [line.split("//")[0].rstrip() for line in text.splitlines()]


def expect_none(found):
    """Fails with everything that was found, one item per line."""
    lines = [str(line) for line in sorted(set(found))]
    assert not lines, "\n" + "\n".join(lines)
