"""Static probes (USDT): each function that calls a callback has a note for tracers, whose address is in that function."""

import ctypes
import os
import platform
import re
import shutil

import pytest

from library import BUILD, INCLUDE, ROOT, existing, output, shared

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
    """LTTng attaches only to probes without a semaphore."""
    assert {provider for provider, *_ in notes()} == {"runloop"}
    assert {semaphore for _, _, _, semaphore, _ in notes()} == {0}


SCRIPTS = sorted((ROOT / "tools").glob("*.bt"))


def test_there_are_scripts_for_bpftrace():
    assert [path.stem for path in SCRIPTS] == ["slow-callbacks", "timer-lateness", "who-wakes-whom"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_name_probes_and_arguments_that_exist(script):
    text = re.sub(r"/\*.*?\*/", "", script.read_text(), flags=re.DOTALL)
    counts = {name: len(arguments) for _, name, _, _, arguments in notes()}
    probes = re.findall(r"^usdt:\*:(\w+):(\w+)\n(?:/[^/\n]*/\n)?\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    assert probes and len(probes) == text.count("usdt:")
    for provider, name, body in probes:
        assert provider == "runloop" and all(int(number) < counts[name] for number in re.findall(r"\barg(\d)", body))


def test_the_date_of_a_timer_is_where_the_script_reads_it():
    offset = int(re.search(r"uptr\(arg2 \+ (\d+)\)", (ROOT / "tools/timer-lateness.bt").read_text())[1])
    library = ctypes.CDLL(str(shared()))
    library.RLRunLoopTimerCreate.restype = ctypes.c_void_p
    library.RLRunLoopTimerCreate.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_uint64, ctypes.c_long, ctypes.c_void_p,
                                             ctypes.c_void_p]
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda timer, info: None)
    for date, interval in [(1e9 + 0.25, 0), (1.5e9 + 0.125, 60)]:
        timer = library.RLRunLoopTimerCreate(None, date, interval, 0, 0, ctypes.cast(callback, ctypes.c_void_p), None)
        assert ctypes.c_double.from_address(timer + offset).value == date


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_bpftrace_understands_the_scripts(script, tmp_path):
    """Requires bpftrace. Without the kernel's list of tracepoints, another probe stands for each of them."""
    if shutil.which("bpftrace") is None or os.geteuid() != 0:
        return
    text = script.read_text().replace("usdt:*:", f"usdt:{shared().resolve()}:")
    text = re.sub(r"tracepoint:\w+:\w+", f"usdt:{shared().resolve()}:runloop:called", text).replace("args->pid", "arg0")
    (tmp_path / script.name).write_text(text)
    output("bpftrace", "-d", tmp_path / script.name, "1000")


def test_gdb_finds_them():
    found = output("gdb", "-batch", "-nx", "-ex", "info probes stap runloop", shared())
    assert len(re.findall(r"\brunloop +call\b", found)) >= 10 and len(re.findall(r"\brunloop +called\b", found)) >= 10


#: Prints the arguments of each probe that is hit.
GDB = r"""
set confirm off
set breakpoint pending on
break main
run
delete
break -probe-stap runloop:call
commands
silent
printf "\ncall %d %#lx %#lx\n", $_probe_arg0, $_probe_arg1, $_probe_arg2
continue
end
break -probe-stap runloop:called
commands
silent
printf "\ndone %d\n", $_probe_arg0
continue
end
continue
"""


def test_arguments_are_where_the_notes_say(tmp_path):
    """At run time: gdb reads from each probe what the callback prints. The library's internal sources are reported, too."""
    program = tmp_path / "program"
    output("clang", "-std=c11", f"-I{INCLUDE}", ROOT / "Tests/abi/all-callbacks.c", "-o", program, f"-L{shared().parent}",
           f"-Wl,-rpath,{shared().parent}", "-lrunloop")
    (tmp_path / "script").write_text(GDB)
    text = output("gdb", "-batch", "-nx", "-x", tmp_path / "script", program, env=dict(os.environ, RUNLOOP_PORT_DIR=str(tmp_path / "ports")))
    called = re.findall(r"^called (\d+) (0x\w+) (0x\w+)$", text, re.MULTILINE)
    assert {int(kind) for kind, *_ in called} == KINDS
    passed = re.findall(r"^call (\d+) (0x\w+) (0x\w+)$", text, re.MULTILINE)
    assert set(called) <= set(passed) and {kind for kind, *_ in set(passed) - set(called)} == {"1"}
    assert sorted(re.findall(r"^done (\d+)$", text, re.MULTILINE)) == sorted(kind for kind, *_ in passed)


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


def test_a_callback_costs_two_instructions_more_for_probes():
    """Without a client's probe: a test and a jump that is not taken, after the instructions that set up the call's frame."""
    lines = output("objdump", "-d", "--no-show-raw-insn", existing(BUILD / "obj" / "librunloop.so.0")).split("\n\n")
    bodies = [text for text in lines if re.search(r"<RUNLOOP_IS_CALLING_OUT_TO_A(?!_SOURCE_(GETPORT|SCHEDULE))\w+>:", text)]
    assert len(bodies) == 10
    for body in bodies:
        instructions = [line.split("\t")[1] for line in body.splitlines() if "\t" in line]
        jump = next(index for index, word in enumerate(instructions) if re.match(r"j[en]|cb|b\.", word))
        call = next(index for index, word in enumerate(instructions) if re.match(r"call +\*|blr", word))
        assert jump <= 2 and call == jump + 1 and any(word.startswith("ret") for word in instructions[call + 1:call + 3])


#: The functions called at these places.
CALLED = re.compile(r"5ProbeO4call|5ProbeO6report|^RLRunLoopSetProbe$")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the limits are counted in x86-64 code")
def test_the_places_and_what_they_call_stay_small():
    """docs/DESIGN.md, "The probe", has the total cost, which only a second library without probes would show. Lower
    a limit when the code gets smaller; raise one only with a reason in the commit."""
    library = existing(BUILD / "obj" / "librunloop.so.0")
    sizes = {words[3]: int(words[1], 16) for words in map(str.split, output("nm", "-S", library).splitlines()) if len(words) == 4}
    called = {name: size for name, size in sizes.items() if CALLED.search(name)}
    assert len(called) == 3 and sum(called.values()) <= 200, called
    callbacks = [size for name, size in sizes.items() if re.match(r"RUNLOOP_IS_CALLING_OUT_TO_A(?!_SOURCE_(GETPORT|SCHEDULE))", name)]
    assert len(callbacks) == 10 and max(callbacks) <= 26
    code = output("objdump", "-d", "--no-show-raw-insn", library)
    assert len(re.findall(r"\tcmp.*<linux_probe_is_set>", code)) <= 10 + 6 + 1  # one of them in the called functions
    calls = re.findall(r"\t(?:call|jmp) +\w+ <(\S+)>", code)
    assert len([name for name in calls if name in called]) <= 10 + 17 + 2  # two of them in the called functions
