"""The rooms of librunloop-kit: each folder is one room, which uses only rooms below it, and of librunloop only public functions."""

import functools
import pathlib
import re
import tempfile

import index_store
from core import EMBEDDED, code, compile_module, expect_none
from public_headers import ROOT, declarations, of_kind, toolchain

KIT = ROOT / "Sources" / "RunLoopKit"
FILES = sorted(KIT.rglob("*.swift"))
PATHS = {path.name: path.relative_to(KIT).as_posix() for path in FILES}
#: The rooms that a room uses in addition to itself. Shared: files of the core.
USES = {
    "Shared": set(),
    "Base": {"Shared"},
    "Signal": {"Base", "Shared"},
    "Child": {"Base", "Shared"},
    "Workers": {"Base", "Shared"},
    "Stream": {"Workers", "Base", "Shared"},
    "FileWatch": {"Base", "Shared"},
    "Listener": {"Base", "Shared"},
    "Server": {"Listener", "Stream", "Base", "Shared"},
}
MODULES_OF_C = ["CLinux", "CLinuxKit", "CRunLoop", "CRunLoopKit"]


def room(file):
    return PATHS[file].split("/")[0]


@functools.lru_cache(maxsize=None)
def occurrences():
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        compile_module("RunLoopKit", MODULES_OF_C, FILES, *EMBEDDED, "-typecheck", "-index-store-path", directory / "index",
                       "-index-ignore-system-modules", directory=directory)
        return index_store.occurrences(toolchain(), directory / "index")


def uses():
    """Yields (using room, used room, place)."""
    homes = {occurrence.usr: occurrence.file for occurrence in occurrences() if occurrence.is_definition}
    for use in occurrences():
        if use.is_reference and use.usr in homes:
            yield room(use.file), room(homes[use.usr]), f"{PATHS[use.file]}:{use.line}: {use.name} is of {PATHS[homes[use.usr]]}"


def test_rooms_are_the_folders():
    assert {path.name for path in KIT.iterdir() if path.is_dir()} == set(USES)
    assert len(PATHS) == len(FILES), "two files have the same name"


def test_what_is_shared_is_the_core_s():
    for path in (KIT / "Shared").iterdir():
        assert path.is_symlink() and (ROOT / "Sources/RunLoopCore") in path.resolve().parents


def test_a_room_uses_only_rooms_below_it():
    expect_none(where for user, used, where in uses() if user != used and used not in USES[user])


def test_the_index_is_complete():
    """If the index were empty, every rule would seem to be kept."""
    assert {occurrence.file for occurrence in occurrences()} == set(PATHS)
    assert {(user, used) for user, used, _ in uses()} >= {(name, used) for name, used in [
        ("Base", "Shared"), ("Signal", "Base"), ("Child", "Base"), ("Workers", "Base"), ("Stream", "Base"), ("FileWatch", "Base"),
        ("Listener", "Base"), ("Server", "Listener"), ("Server", "Stream")]}


def test_of_librunloop_only_public_functions_are_used():
    public = {node["name"] for node in of_kind(declarations("RunLoop/RunLoop.h"), "FunctionDecl")
              if node["path"].startswith("RunLoop/") and node.get("storageClass") == "extern"}
    own = {node["name"] for node in of_kind(declarations("RunLoopKit/RunLoopKit.h"), "FunctionDecl")}
    used = {match[1] for use in occurrences() if use.is_reference and (match := re.match(r"c:@F@(RL\w+)$", use.usr))}
    assert len(used) > 20 and "RLRunLoopSourceCreate" in used
    expect_none(used - public - own)


def test_nothing_else_is_imported():
    found = {name for path in FILES for line in code(path) for name in re.findall(r"^\s*(?:@\w+\s+)*import (?:\w+ )?(\w+)", line)}
    assert found == {*MODULES_OF_C, "Synchronization"}
