"""The binary interface, including types, on which programs compiled with the headers rely, as libabigail describes
it. description.py rewrites all descriptions.

abidw finds no types of functions in the library itself, whose debug information is Swift's. So it reads a stub with
the same names and types: each function and constant that the headers declare, and a variable for each type and set
of constants."""

import pathlib
import re
import subprocess
import sys
import tempfile

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "headers"))

from public_headers import INCLUDE, ROOT, children, clang, declarations, of_kind

#: A description, which is named after the library, and the folder of the headers.
DESCRIPTIONS = {"librunloop.so.0.abi": "RunLoop", "librunloop-kit.so.0.abi": "RunLoopKit", "librunloop-trace.so.0.abi": "RunLoopTrace"}
#: Clang's name for the type of a parameter that is declared as va_list.
VA_LISTS = {"struct __va_list_tag *": "va_list"}


def exported(node):
    return node.get("storageClass") == "extern" and children(node, "VisibilityAttr")


def committed(name):
    return ROOT / "Tests/abi" / name


def stub(folder, include):
    """Returns the source of a library that contains what the headers of a folder declare."""
    header = f"{folder}/{folder}.h"
    nodes = [node for node in declarations(header, include) if node["path"].startswith(f"{folder}/")]
    lines = ["#include <stdarg.h>", f"#include <{header}>"]
    for node in filter(exported, of_kind(nodes, "FunctionDecl")):
        kind = node["type"]["qualType"]
        types = {parameter["name"]: parameter["type"]["qualType"] for parameter in children(node, "ParmVarDecl")}
        parameters = [f"__typeof__({VA_LISTS.get(type, type)}) {name}" for name, type in types.items()]
        parameters += ["..."] if kind.endswith(", ...)") else []
        result = kind[:kind.index("(")]
        lines.append(f"__typeof__({result}) {node['name']}({', '.join(parameters) or 'void'}) {{ __builtin_trap(); }}")
    for node in filter(exported, of_kind(nodes, "VarDecl")):
        lines.append(f"__typeof__({node['type']['qualType']}) {node['name']};")
    for node in of_kind(nodes, "TypedefDecl"):
        lines.append(f"{node['name']} *type_{node['name']};")
    for node in of_kind(nodes, "EnumDecl"):
        names = [constant["name"] for constant in children(node, "EnumConstantDecl")]
        lines.append(f"enum values_{names[0]} {{ {', '.join(f'is_{name} = {name}' for name in names)} }} values_{names[0]};")
    return "\n".join(lines) + "\n"


def describe(path, folder="RunLoop", include=INCLUDE):
    """Writes the description of the headers in a folder of `include`."""
    with tempfile.TemporaryDirectory() as directory:
        library = pathlib.Path(directory) / "stub.so"
        subprocess.run([clang(), "-x", "c", "-std=gnu17", "-g", "-gdwarf-4", "-fPIC", "-shared", "-nostdlib", f"-I{include}", "-", "-o", library],
                       input=stub(folder, include), text=True, check=True)
        subprocess.run(["abidw", "--type-id-style", "hash", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--no-architecture",
                        "--out-file", path, library], check=True)
    text = re.sub(r"<dependency .*/>\n", "", pathlib.Path(path).read_text())
    pathlib.Path(path).write_text(text)


def differences(old, new, *options):
    """Returns abidiff's output for two descriptions; nothing if they are the same."""
    result = subprocess.run(["abidiff", "--no-architecture", *options, old, new], capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stdout + result.stderr


if __name__ == "__main__":
    for name, folder in DESCRIPTIONS.items():
        describe(committed(name), folder)
