"""Objects of librunloop-kit are shown by the program's callbacks, not by the functions of the kit that call them."""

import os
import pathlib
import re
import subprocess

import pytest

import pftrace
from library import BUILD, INCLUDE
from test_explain import COMMAND, TIME_LIMIT, Running

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "kit"
    subprocess.run([os.environ.get("CC", "clang"), "-std=c11", "-D_GNU_SOURCE", "-O1", f"-I{INCLUDE}", HERE / "kit.c", "-o", path, f"-L{BUILD}/lib",
                    f"-Wl,-rpath,{BUILD}/lib", "-lrunloop-kit", "-lrunloop", "-pthread"], check=True)
    return path


def test_a_callback_that_stalls_is_the_programs(program, tmp_path):
    with Running(COMMAND, "run", "-s", "0.01", program, "stuck", directory=tmp_path) as running:
        running.explained("has been in the source callback on_signal for")
        assert " has been in the source callback on_signal for " in running.process.stderr.readline()
        running.go_on()
        assert running.process.wait(TIME_LIMIT) == 7


def test_what_keeps_a_mode_from_being_empty_is_named(program, tmp_path):
    with Running(COMMAND, "run", program, "asleep", directory=tmp_path) as running:
        text = running.explained("does not end by itself, because the mode has 4 sources: ")
        named = re.findall(r"(\w+) \(not signalled\)|(\w+) on descriptor \d+", text.split("4 sources: ")[1])
        assert {one or other for one, other in named} == {"on_signal", "on_line", "on_events", "on_connection"}


def test_slices_are_named_after_the_programs_callbacks(program, tmp_path):
    """Also if the object is freed in its callback."""
    subprocess.run([COMMAND, "trace", "-o", tmp_path / "out", program], timeout=TIME_LIMIT, capture_output=True,
                   env=dict(os.environ, XDG_RUNTIME_DIR=str(tmp_path)))
    trace = pftrace.read(tmp_path / "out")
    for name in ("on_line", "on_complete", "on_addresses", "on_connection"):
        assert trace.named(name), name
    assert not [slice_.name for slice_ in trace.slices if "RunLoopKit" in slice_.name or slice_.name.startswith("0x")]
    assert all(begin.name == f"signal {end.name}" for begin, end in trace.arrows() if begin.name.startswith("signal"))
