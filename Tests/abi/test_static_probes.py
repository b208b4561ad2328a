"""Static probes (USDT): each function that calls a callback has a note for tracers, and the place that it names is in that function."""

import re

from library import core_object, output, shared

NOTE = re.compile(r"Provider: (\w+)\s+Name: (\w+)\s+Location: 0x(\w+), Base: 0x(\w+), Semaphore: 0x(\w+)\s+Arguments: (.*)")
#: The kinds of callback in include/RunLoop/RLRunLoopProbe.h.
KINDS = set(range(1, 11))


def notes():
    return [(provider, name, int(location, 16), int(semaphore, 16), arguments.split())
            for provider, name, location, _, semaphore, arguments in NOTE.findall(output("readelf", "-n", shared()))]


def test_each_kind_of_callback_has_both_probes():
    for wanted, count in [("call", 3), ("called", 1)]:
        found = [arguments for _, name, _, _, arguments in notes() if name == wanted]
        assert {re.fullmatch(r"4@\$?(\d+)", arguments[0])[1] for arguments in found} == {str(kind) for kind in KINDS}
        assert all(len(arguments) == count for arguments in found)
        assert all(re.fullmatch(r"8@[%\[]?\w+\]?", word) for arguments in found for word in arguments[1:])


def test_they_are_of_one_provider_and_have_no_semaphore():
    """LTTng attaches only to probes without one."""
    assert {provider for provider, *_ in notes()} == {"runloop"}
    assert {semaphore for _, _, _, semaphore, _ in notes()} == {0}


def test_gdb_finds_them():
    found = output("gdb", "-batch", "-nx", "-ex", "info probes stap runloop", shared())
    assert len(re.findall(r"\brunloop +call\b", found)) >= 10 and len(re.findall(r"\brunloop +called\b", found)) >= 10


def test_probes_are_where_callbacks_are_called():
    symbols = {}
    for line in output("nm", "-D", "-S", "--defined-only", shared()).splitlines():
        words = line.split()
        if "RUNLOOP_IS_CALLING_OUT" in line:
            symbols[words[3].partition("@")[0]] = int(words[0], 16), int(words[0], 16) + int(words[1], 16)
    places = [place for _, _, place, _, _ in notes()]
    assert len(places) >= 20
    assert [hex(place) for place in places if not any(first <= place < last for first, last in symbols.values())] == []
    with_probe = {name for name, (first, last) in symbols.items() if any(first <= place < last for place in places)}
    assert set(symbols) - with_probe == {"RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_GETPORT_FUNCTION",
                                         "RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_SCHEDULE_OR_CANCEL_FUNCTION"}


def test_a_callback_costs_at_most_eleven_instructions_of_ours():
    """Without a client's probe: the test for one and its jump, and the call itself. They are counted up to the return."""
    lines = output("objdump", "-d", "--no-show-raw-insn", core_object()).split("\n\n")
    bodies = [text for text in lines if re.search(r"<RUNLOOP_IS_CALLING_OUT_TO_A(?!_SOURCE_(GETPORT|SCHEDULE))\w+>:", text)]
    assert len(bodies) == 10
    for body in bodies:
        instructions = [line.split("\t")[1] for line in body.splitlines() if "\t" in line]
        jump = next(index for index, word in enumerate(instructions) if re.match(r"j[en]|cb|b\.", word))
        call = next(index for index, word in enumerate(instructions) if re.match(r"call|blr", word))
        assert jump <= 3 and len(instructions) - call <= 3
