"""The public headers for the tests of headers and documentation: where they are, and what clang reads in them."""

import functools
import json
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
RUNLOOP = sorted(path.relative_to(INCLUDE).as_posix() for folder in ("RunLoop", "RunLoopKit", "RunLoopTrace")
                 for path in (INCLUDE / folder).glob("*.h"))
COREFOUNDATION = sorted(path.relative_to(INCLUDE).as_posix() for path in (INCLUDE / "CoreFoundation").glob("*.h"))


def toolchain():
    """Returns the Swift toolchain's usr directory, or None."""
    swift = shutil.which("swift")
    return pathlib.Path(swift).resolve().parents[1] if swift else None


def clang(cxx=False):
    """Returns the toolchain's clang, or else another one."""
    name = "clang++" if cxx else "clang"
    beside_swift = toolchain() / "bin" / name if toolchain() else None
    return str(beside_swift) if beside_swift and beside_swift.exists() else shutil.which(name)


def apple_include():
    """Returns the directory with Apple's CoreFoundation headers for Linux, or None."""
    directory = toolchain() / "lib" / "swift" if toolchain() else None
    return directory if directory and (directory / "CoreFoundation" / "CFRunLoop.h").exists() else None


@functools.lru_cache(maxsize=None)
def declarations(headers, include=INCLUDE):
    """Returns the top-level declarations that clang finds in the files below `include` when it reads `headers`: one
    name, or several separated by blanks.

    Declarations inside `extern "C"` count as top level. Each one is a node of clang's JSON tree, in order."""
    command = [clang(), "-x", "c", "-std=gnu17", "-fblocks", "-D_GNU_SOURCE", f"-I{include}", "-fsyntax-only", "-w",
               "-fparse-all-comments", "-Xclang", "-ast-dump=json", "-"]
    text = "".join(f"#include <{header}>\n" for header in headers.split())
    tree = json.loads(subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout)
    file = ""
    found = []

    def see(location):
        """Clang includes the file in a location only if it has changed."""
        nonlocal file
        for part in (location, location.get("spellingLoc", {}), location.get("expansionLoc", {})):
            file = part.get("file", file)

    def walk(node, depth):
        see(node.get("loc", {}))
        here = file
        for end in ("begin", "end"):
            see(node.get("range", {}).get(end, {}))
        if depth == 1 and pathlib.Path(here).is_relative_to(include) and not node.get("isImplicit"):
            node["path"] = pathlib.Path(here).relative_to(include).as_posix()
            found.append(node)
        for child in node.get("inner", []):
            walk(child, depth if node["kind"] == "LinkageSpecDecl" else depth + 1)

    walk(tree, 0)
    return found


def of_kind(nodes, *kinds):
    return [node for node in nodes if node["kind"] in kinds]


def children(node, *kinds):
    return of_kind(node.get("inner", []), *kinds)
