"""Each folder is one room, a room uses only the rooms below it, and some things are done in a single place."""

import re

import pytest

from core import CORE, FILES, PATHS, ROOMS, client_calls, code, definitions, expect_none, occurrences, room
from public_headers import INCLUDE, ROOT

#: The C functions that may be called outside Platform/: memory and bytes, and CLinux shims that make no system call.
FREE_OF_THE_SYSTEM = {"malloc", "calloc", "realloc", "aligned_alloc", "free", "memcpy", "memcmp", "memset", "memmove",
                      "strlen", "strcmp", "strchr", "strcpy", "strspn", "strtol", "strtod", "linux_compiler_barrier", "linux_prefetch",
                      "linux_has_probe", "linux_probe", "linux_set_probe", "linux_probe_call",
                      "linux_probe_called", "linux_unspecified", "linux_peek", "linux_callout_barrier", "linux_format_double",
                      "linux_epoll_tag", "linux_frame"}
#: Further functions that single files need, with the reason.
SYSTEM_ELSEWHERE = {
    "Object/Misuse.swift": {"getenv", "abort"},  # RUNLOOP_MISUSE=abort; neither is a system call that can be moved
}
#: The files that call clients' functions, and which functions they call.
CALLS_CLIENTS = {
    "Item/Callouts.swift": "sources, timers, observers, performed functions",
    "Loop/RunLoop+Autorelease.swift": "RLRelease, which is handed down because its rooms lie above",
    "Loop/RunLoop+DispatchFrames.swift": "a source of ours whose call will never end, as the thread has",
    "Loop/RunLoop+Calls.swift": "functions of ours that release what a call held, when the thread ends in it",
    "Loop/RunLoop+ReadyDescriptors.swift": "a source's function that is one of ours: the client's is called from there",
    "Object/ClientContext.swift": "contexts: retain, release, copyDescription, equal, hash",
    "Object/Misuse.swift": "the error handler",
    "Object/Probe.swift": "the probe, and callbacks while there is one",
    "Port/PortLifetime.swift": "what a port of either kind does when it ends, and at fork(): no client's",
    "Value/ElementCalls.swift": "what collections do with their elements",
    "Value/NotificationCenter.swift": "observers of notifications",
}
#: Types of objects that a handle can point to.
OBJECTS = r"\w+Storage|ObjectHeader|ItemHeader|ThreadContext"


def test_rooms_are_the_folders():
    assert sorted(path.name for path in CORE.iterdir()) == sorted(ROOMS)
    assert [path for path in FILES if len(path.relative_to(CORE).parts) != 2] == []
    assert len(PATHS) == len(FILES), "two files have the same name"


@pytest.mark.parametrize("folder", ["include/RunLoop", "include/CoreFoundation", "Sources/CLinux", "Sources/CRunLoop",
                                    "Tests/RunLoopCoreTests", "Tests/c", "Tests/conformance", "Tests/abi", "Tests/model",
                                    "Tests/bench", "Tests/tidy", "examples"])
def test_folder_exists(folder):
    assert any((ROOT / folder).iterdir())


def test_each_export_file_is_named_after_a_header():
    headers = {path.stem for path in (INCLUDE / "RunLoop").glob("RL*.h")}
    exports = {path.stem.partition("+")[0] for path in (CORE / "Exports").iterdir()}
    assert headers <= exports
    assert exports - headers == {"Arguments", "Description"}


def references():
    return [occurrence for occurrence in occurrences() if occurrence.is_reference]


def at(occurrence):
    return f"{PATHS[occurrence.file]}:{occurrence.line}: {occurrence.name}"


def test_a_room_uses_only_rooms_below_it():
    found = []
    for use in references():
        home = definitions().get(use.usr)
        if home and ROOMS.index(room(home.file)) > ROOMS.index(room(use.file)):
            found.append(f"{at(use)} is of {PATHS[home.file]}")
    expect_none(found)


def test_the_index_is_complete():
    """If the index were empty, every rule would seem to be kept."""
    assert {occurrence.file for occurrence in occurrences()} == set(PATHS)
    pairs = {(room(use.file), room(definitions()[use.usr].file)) for use in references() if use.usr in definitions()}
    assert {("Exports", "Loop"), ("Loop", "Item"), ("Item", "Object"), ("Object", "Platform")} <= pairs


def c_functions(usr):
    match = re.match(r"c:.*@F@(\w+)$", usr)
    return match and match[1]


def test_only_platform_makes_system_calls():
    found = set()
    for use in references():
        name = c_functions(use.usr)
        if name and room(use.file) != "Platform" and not name.startswith("RL"):
            if name not in FREE_OF_THE_SYSTEM | SYSTEM_ELSEWHERE.get(PATHS[use.file], set()):
                found.add(at(use))
    expect_none(found)


def test_only_these_files_call_clients():
    assert {path for path, line in client_calls()} == set(CALLS_CLIENTS)


def test_calls_of_clients_are_not_inlined():
    text = (CORE / "Item/Callouts.swift").read_text()
    functions = re.findall(r"^(@inline\(never\)\n)?func (RUNLOOP_IS_CALLING_OUT_TO_\w+)", text, re.MULTILINE)
    assert len(functions) >= 6
    assert [name for attribute, name in functions if not attribute] == []
    assert len([path for path, line in client_calls() if path == "Item/Callouts.swift"]) == len(functions)


def test_only_exports_define_functions_of_c():
    found = [path for path in FILES if any(re.match(r"\s*(@\w+ )*@(_cdecl|c)\b", line) for line in code(path))]
    assert {path.parent.name for path in found} == {"Exports"}


def test_nothing_but_our_c_modules_and_synchronization_is_imported():
    found = {(PATHS[path.name], name) for path in FILES for line in code(path)
             for name in re.findall(r"^\s*(?:@\w+\s+)*import (?:\w+ )?(\w+)", line)}
    assert {name for path, name in found} <= {"CLinux", "CRunLoop", "Synchronization"}
    assert sorted(path for path, name in found if name == "CRunLoop" and room(path) in ("Base", "Platform")) == []


def test_only_object_turns_a_handle_into_an_object():
    """Elsewhere a pointer becomes an object only in the file of the object's own type (new memory), or from `self`,
    which is already an object."""
    types = {}
    for path in FILES:
        for line in code(path):
            for name in re.findall(r"\bstruct (\w+)", line):
                types[name] = path
    found = []
    for path in FILES:
        if path.parent.name == "Object":
            continue
        for number, line in enumerate(code(path), 1):
            for source, name in re.findall(rf"([\w.()\[\]?: ]*)\.assumingMemoryBound\(to: ({OBJECTS})\.self\)", line):
                if not source.strip().endswith("UnsafeMutableRawPointer(self)") and types.get(name) != path:
                    found.append(f"{PATHS[path.name]}:{number}: {line.strip()}")
    expect_none(found)


def test_no_other_way_from_a_pointer_to_an_object():
    """A function's address as a number, to compare or hash it, is not an object; nor is the function of a source or of an endpoint."""
    words = r"\b(Unmanaged|unsafeBitCast|unsafeDowncast|_withUnsafeGuaranteedRef|AnyObject)\b|\bas!|\btry!"
    number_of_address = r"unsafeBitCast\([\w.$]+, to: UInt\.self\)|unsafeBitCast\(address, to: (AnyFunction\?|Callback|Perform\?|EventHandler|SourceStorage\.GetPort|OfDescriptor\?|OfSocket\?)\.self\)"
    expect_none(f"{PATHS[path.name]}:{number}: {line.strip()}" for path in FILES
                for number, line in enumerate(code(path), 1) if re.search(words, re.sub(number_of_address, "", line)))


def test_no_classes_and_no_existentials():
    words = r"^\s*(public |private |fileprivate |internal )*(final )?(class|actor) \w|\bany [A-Z]\w+"
    expect_none(f"{PATHS[path.name]}:{number}: {line.strip()}" for path in FILES
                for number, line in enumerate(code(path), 1) if re.search(words, line))
