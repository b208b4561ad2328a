"""The compiled hot paths: no call into the Swift runtime, and no more locked instructions than are committed.

Counts in hot-paths.txt are for a function's own body, with everything inlined into it. Raise one only with a reason
in the commit. A function that is not found was renamed, or inlined into its caller: then name the caller."""

import pathlib
import platform
import re

import pytest

import machine_code

TABLE = pathlib.Path(__file__).with_name("hot-paths.txt")
LIMITS = {name: int(limit) for name, limit in
          (line.split() for line in TABLE.read_text().splitlines() if line and line[0] != "#")}
#: Functions of the Swift runtime that functions of the core may call: objects are plain memory, and globals are
#: initialized statically. Each entry needs its reason here.
RUNTIME = {"swift_once"}  # Registry.isPrepared, checked when a thread creates its loop
#: All names of functions that count references, allocate objects, check accesses or run an initializer once.
COSTLY = re.compile(r"swift_\w*(retain|release|alloc|Alloc|Access|once|Object)|posix_memalign|one-time initialization")


def name_of(symbol):
    known = machine_code.functions().get(symbol)
    return known.name if known else symbol


@pytest.mark.parametrize("name", LIMITS)
def test_hot_function_calls_no_runtime(name):
    found = machine_code.named(name)
    assert found, f"{name} is not among the compiled functions"
    for function in found:
        costly = {name_of(symbol) for symbol in function.calls if COSTLY.search(symbol) or COSTLY.search(name_of(symbol))}
        assert costly == set(), function.name


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the limits are counted in x86-64 code")
@pytest.mark.parametrize("name, limit", LIMITS.items())
def test_hot_function_has_few_locked_instructions(name, limit):
    found = machine_code.named(name)
    assert found, f"{name} is not among the compiled functions"
    assert sum(function.locked for function in found) <= limit


def test_core_calls_no_other_function_of_the_swift_runtime():
    """Anywhere, including functions that the compiler outlined from a hot function."""
    called = {symbol for function in machine_code.functions().values() if function.is_ours
              for symbol in function.calls if symbol.startswith(("swift_", "_swift_"))}
    assert called == RUNTIME


def test_user_functions_are_called_from_frames_with_names():
    """A backtrace must show whose code runs: each callout has its own body, which calls and does not jump. The
    compiler merges functions with equal bodies; then one of them is a jump to the other."""
    callouts = {re.search(r"RUNLOOP_IS_CALLING_OUT_TO_\w+", function.name)[0]: function.indirect
                for function in machine_code.functions().values()
                if "RUNLOOP_IS_CALLING_OUT_TO" in function.name and "specialization" not in function.name}
    assert len(callouts) >= 6
    assert [name for name, calls in callouts.items() if calls != 1] == []


def test_the_reader_of_machine_code_sees():
    """If objdump's format changed, the tests above would find nothing and pass."""
    functions = machine_code.functions()
    ours = [function for function in functions.values() if function.is_ours]
    assert len(ours) > 200 and sum(function.locked for function in ours) > 20
    assert {"malloc", "free", "syscall"} <= {symbol for function in ours for symbol in function.calls}
    assert any(symbol in functions for function in ours for symbol in function.calls)
