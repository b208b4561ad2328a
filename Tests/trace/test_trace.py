"""`runloop trace`: traces are complete, arrows connect what was sent with its effect, and the program's behavior is unchanged."""

import importlib
import os
import pathlib
import resource
import signal
import subprocess
import sys

import pytest

import pftrace
from library import BUILD, INCLUDE, existing

COMMAND = existing(BUILD / "bin" / "runloop")
COMPANION = existing(BUILD / "lib" / "runloop" / "librunloop-trace.so")
TIME_LIMIT = 120


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "traced-program"
    source = pathlib.Path(__file__).with_name("program.c")
    subprocess.run([os.environ.get("CC", "clang"), "-std=c11", "-D_GNU_SOURCE", "-O1", f"-I{INCLUDE}", source, "-o", path,
                    f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lrunloop", "-pthread"], check=True)
    return path


@pytest.fixture
def directory(tmp_path):
    """The directory for the records while a program runs."""
    (tmp_path / "records").mkdir()
    return tmp_path / "records"


def run(*words, directory, **options):
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(directory), TMPDIR=str(directory))
    environment.update(options.pop("environment", {}))
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=TIME_LIMIT, env=environment, **options)


@pytest.fixture(scope="module")
def trace_file(program, tmp_path_factory):
    directory = tmp_path_factory.mktemp("traced")
    done = run(COMMAND, "trace", "-o", directory / "out", program, directory=directory)
    assert done.returncode == 7 and done.stdout == "2 ticks, 0 left, 0\n", done.stderr
    assert "threads; open it" in done.stderr and len(done.stderr.splitlines()) == 1
    assert list(directory.glob("runloop-trace-*")) == []
    return directory / "out"


@pytest.fixture(scope="module")
def traced(trace_file):
    return pftrace.read(trace_file)


@pytest.fixture(scope="module")
def perfetto():
    """The protos from the package on PyPI that Perfetto's authors publish."""
    packages = BUILD / "perfetto"
    if not packages.exists():
        python = next((python for python in ("python3", sys.executable) if works(python, "-m", "pip", "--version")), None)
        if python is None:
            pytest.skip("no pip")
        if not works(python, "-m", "pip", "install", "-q", "--target", packages, "perfetto==0.59.1", "protobuf==7.36.2"):
            pytest.skip("PyPI is not reached")
    sys.path.insert(0, str(packages))
    return importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


def works(*command):
    return subprocess.run([str(word) for word in command], capture_output=True).returncode == 0


def unknown(message):
    """Returns the fields unknown to Perfetto, in the message and in its submessages."""
    unknown_fields = importlib.import_module("google.protobuf.unknown_fields")
    found = [f"{message.DESCRIPTOR.name}.{field.field_number}" for field in unknown_fields.UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                found += unknown(part)
    return found


def test_perfetto_reads_what_our_reader_reads(trace_file, traced, perfetto):
    """The other tests read traces with pftrace, which is part of the tests."""
    trace = perfetto.Trace.FromString(trace_file.read_bytes())
    assert unknown(trace) == []
    kinds = perfetto.TrackEvent
    events = {kind: [] for kind in (kinds.TYPE_SLICE_BEGIN, kinds.TYPE_SLICE_END, kinds.TYPE_INSTANT, kinds.TYPE_COUNTER)}
    for packet in trace.packet:
        if packet.HasField("track_event"):
            events[packet.track_event.type].append((packet.timestamp, packet.track_event))
    begun, instants = events[kinds.TYPE_SLICE_BEGIN], events[kinds.TYPE_INSTANT]
    assert sorted((time, event.name, [*event.categories], [*event.flow_ids], [*event.terminating_flow_ids])
                  for time, event in begun + instants) == \
        sorted((found.start, found.name, [found.category], found.departing, found.arriving) for found in traced.slices)
    assert sorted(time for time, _ in events[kinds.TYPE_SLICE_END] + instants) == \
        sorted(found.end for found in traced.slices if found.end is not None)
    assert sorted((time, event.double_counter_value) for time, event in events[kinds.TYPE_COUNTER]) == \
        sorted(count for track in traced.tracks.values() for count in track.counts)
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")}
    assert {number: (track.process.pid or track.thread.pid, track.thread.tid)
            for number, track in tracks.items() if not track.HasField("counter")} == \
        {number: (track.process, track.thread) for number, track in traced.tracks.items() if not track.is_counter}


def test_there_is_a_track_for_each_thread_of_both_processes(traced):
    threads = [track for track in traced.tracks.values() if track.thread]
    assert len({track.process for track in threads}) == 2 and len(threads) == 3
    assert {track.name for track in threads} == {"traced-program"}
    assert {track.process for track in traced.tracks.values() if not track.thread and not track.is_counter} == \
        {track.process for track in threads}


def test_callbacks_are_slices_named_after_their_functions(traced):
    """All of these functions are static."""
    wanted = {"posted": "function", "performed": "source", "delivered": "port", "answer": "message port", "inner": "function"}
    counts = {"inner": 1, "answer": 4}
    for name, category in wanted.items():
        found = traced.named(name)
        assert len(found) == counts.get(name, 2)
        assert all(one.category == category and one.end is not None for one in found)
    assert all(one.category == "timer" and one.note.endswith(" ms") for one in traced.named("tick"))
    assert len(traced.named("tick")) >= 2


def test_what_the_library_calls_for_itself_is_not_shown(traced):
    assert [found.name for found in traced.slices if "0x" in found.name] == []
    assert traced.named("cancelled") == []


def test_a_nested_run_is_within_its_callback(traced):
    inner, = traced.named("inner")
    assert inner.inside.name == "posted" and inner.inside.start <= inner.start <= inner.end <= inner.inside.end


def test_sleeps_have_their_mode(traced):
    asleep = traced.named("asleep")
    assert {found.note for found in asleep} == {"kCFRunLoopDefaultMode"}
    assert len({found.track.thread for found in asleep}) == 3


def arrows(trace, begin, end):
    return [(first, last) for first, last in trace.arrows() if (first.name, last.name) == (begin, end)]


@pytest.mark.parametrize("begin, end", [("post posted", "posted"), ("signal performed", "performed"), ("message", "delivered"),
                                        ("wake", "woken")])
def test_arrows_lead_from_one_thread_to_the_other(traced, begin, end):
    found = arrows(traced, begin, end)
    assert len(found) == 2 or begin == "wake" and len(found) > 2
    for first, last in found:
        assert first.inside.name == "tick" and first.track.thread != last.track.thread and first.start <= last.start


def test_arrows_lead_from_one_process_to_the_other_and_back(traced):
    requests, replies = arrows(traced, "request", "answer"), arrows(traced, "reply", "reply")
    assert len(requests) == len(replies) == 4
    for (request, answer), (reply, received) in zip(requests, sorted(replies, key=lambda pair: pair[0].start)):
        assert request.track.process != answer.track.process == reply.track.process
        assert received.track.process == request.track.process
        assert request.start <= answer.start <= reply.start <= received.start


def test_every_arrow_that_ends_has_begun_once_and_cancelled_posts_have_none(traced):
    begun = [number for found in traced.slices for number in found.departing]
    ended = [number for found in traced.slices for number in found.arriving]
    assert len(begun) == len(set(begun)) and len(ended) == len(set(ended)) and set(ended) <= set(begun)
    lost = [found.name for found in traced.slices if found.departing and not set(found.departing) & set(ended)]
    assert set(lost) <= {"post cancelled", "wake"}


def test_counters_end_where_they_began(traced):
    posts = [track for track in traced.tracks.values() if track.name == "" or track.is_counter and track.counts]
    assert posts and all(count >= 0 for track in posts for _, count in track.counts)
    functions = [track for track in posts if all(count == int(count) for _, count in track.counts)]
    assert functions and all(track.counts[-1][1] == 0 for track in functions)


def test_what_happened_before_a_kill_is_there(program, directory):
    done = run(COMMAND, "trace", "-o", directory / "out", program, "kill", directory=directory)
    assert done.returncode == 128 + signal.SIGKILL
    trace = pftrace.read(directory / "out")
    last, = trace.named("last_words")
    assert last.end is None and last.inside.name == "stuck" and last.inside.end is None


def test_only_the_last_events_are_kept(program, directory):
    done = run(COMMAND, "trace", "-n", "64", "-o", directory / "out", "/usr/bin/python3", "-c", f"""
import ctypes
rl = ctypes.CDLL("{BUILD}/lib/librunloop.so.0")
mode = ctypes.c_void_p.in_dll(rl, "kRLRunLoopDefaultMode")
rl.RLRunLoopGetCurrent.restype = ctypes.c_void_p
function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda info: None)
for number in range(100):
    rl.RLRunLoopPostFunction(ctypes.c_void_p(rl.RLRunLoopGetCurrent()), mode, function, None)
    rl.RLRunLoopRunInMode(mode, ctypes.c_double(0), 0)
""", directory=directory)
    assert done.returncode == 0, done.stderr
    assert "the first 236 events were overwritten; keep more with -n" in done.stderr
    assert len([found for found in pftrace.read(directory / "out").slices if found.category == "function"]) == 21


def test_bad_arguments_and_files_that_cannot_be_written_are_one_line_and_nothing_is_run(directory):
    done = run(COMMAND, "trace", "-o", directory / "none" / "out", "touch", directory / "run", directory=directory)
    assert done.returncode == 1 and done.stderr == f"runloop: {directory}/none/out: No such file or directory\n"
    done = run(COMMAND, "trace", "-n", "7", "touch", directory / "run", directory=directory)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    done = run(COMMAND, "trace", "-o", directory / "out", directory / "no-program", directory=directory)
    assert done.returncode == 1 and done.stderr == f"runloop: {directory}/no-program: No such file or directory\n"
    for words in [[], ["trace"], ["trace", "-x"]]:
        done = run(COMMAND, *words, directory=directory)
        assert done.returncode == 2 and "usage: runloop trace" in done.stderr
    assert list(directory.iterdir()) == []


def test_a_program_without_loops_is_said_to_have_none(program, directory):
    done = run(COMMAND, "trace", "-o", directory / "out", program, "none", directory=directory)
    assert done.returncode == 5 and "no run loop was seen" in done.stderr


def test_files_that_are_not_ours_are_left_out(program, directory):
    done = run(COMMAND, "trace", "-o", directory / "out", program, "junk", directory=directory)
    assert done.returncode == 7
    assert len([line for line in done.stderr.splitlines() if line.endswith("librunloop-trace; skipped")]) == 2
    assert len(pftrace.read(directory / "out").named("answer")) == 4


@pytest.mark.parametrize("trouble", ["no such directory", "too large"])
def test_a_program_that_cannot_be_recorded_runs_as_ever(program, directory, trouble):
    """Prints one line for each of the two processes."""
    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))} if trouble == "too large" else {}
    where = directory / "none" if trouble == "no such directory" else directory
    done = run(program, directory=directory, environment={"LD_PRELOAD": str(COMPANION), "RUNLOOP_TRACE": str(where)}, **limits)
    assert (done.returncode, done.stdout) == (7, "2 ticks, 0 left, 0\n")
    lines = done.stderr.splitlines()
    assert len(lines) == 2 and all(line.startswith(f"runloop: not recorded: {where}/") for line in lines)
