"""The built library for the tests of its binary interface: where it is, and what the binary tools print about it.

$RL_BUILD names the build directory (default: build/ of this checkout). If a library is missing, the test fails."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RL_BUILD", ROOT / "build")).resolve()
INCLUDE = ROOT / "include"


#: Prefix of the names of functions that are visible for backtraces only (test_debugging.py).
CALLOUT = "RUNLOOP_IS_CALLING_OUT_TO_A"


def existing(path):
    assert path.exists(), f"no {path.name} in {path.parent}: build it, or set RL_BUILD"
    return path


def shared():
    return existing(BUILD / "lib" / "librunloop.so")


def archive():
    return existing(BUILD / "lib" / "librunloop.a")


def core_object():
    """Returns the Swift core before linking, with the names of all its functions."""
    return existing(BUILD / "obj" / "core.o")


def output(*command, **options):
    """Returns a tool's output. If the tool fails, the test fails with its message."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    assert result.returncode == 0, f"{command[0]}: {result.stderr or result.stdout}"
    return result.stdout


def dynamic_symbols():
    """Returns the names, with nm's letters, that a program linked with the library may use."""
    lines = output("nm", "-D", "-g", "--defined-only", shared()).splitlines()
    names = {line.split()[2].partition("@")[0]: line.split()[1] for line in lines}
    return {name: letter for name, letter in names.items() if not name.startswith(CALLOUT)}


def libraries():
    """Returns every shared library that is built."""
    found = sorted(path for path in (BUILD / "lib").glob("*.so.*") if re.search(r"\.so\.\d+$", path.name))
    assert shared().resolve() in found
    return found


def dynamic_section(library=None):
    """Returns the tags of the dynamic section, each with its values: {"NEEDED": ["libc.so.6"], …}."""
    found = {}
    for tag, value in re.findall(r"^ 0x\w+ \((\w+)\)\s+(.*)$", output("readelf", "-dW", library or shared()), re.MULTILINE):
        bracketed = re.search(r"\[(.*)\]", value)
        found.setdefault(tag, []).append(bracketed[1] if bracketed else value.strip())
    return found
