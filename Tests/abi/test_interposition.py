"""An ordinary Swift program and the library in one process, whichever is loaded first.

The library is Embedded Swift: it contains its own Swift runtime, small and hidden. If one of that runtime's symbols
were exported, the program's objects would be counted by two runtimes, and it would crash. So a program with classes,
strings, dictionaries, errors and Foundation's run loop uses this library's loop in between, with every order of
loading."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from library import BUILD, INCLUDE, archive, output, shared
from public_headers import clang

GUEST = pathlib.Path(__file__).with_name("guest")
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Returns the guest's objects, for Swift's shared runtime and for the static one: {flags: file}."""
    if shutil.which("swiftc") is None:
        pytest.skip("swiftc is not installed")
    directory = tmp_path_factory.mktemp("compiled")
    for flags in ([], ["-static-stdlib"]):
        output("swiftc", "-swift-version", "5", "-O", "-module-cache-path", directory / "cache", *flags, "-c", GUEST / "main.swift",
               "-o", directory / f"guest{''.join(flags)}.o")
    return directory


@pytest.fixture
def guest(compiled, tmp_path):
    """Links a guest, with the given words before it."""
    def link(*words):
        flags = [word for word in words if word == "-static-stdlib"]
        output("swiftc", *words, compiled / f"guest{''.join(flags)}.o", "-Xlinker", "--export-dynamic", "-o", tmp_path / "guest")
        return tmp_path / "guest"
    return link


@pytest.fixture
def stranger(guest):
    """Returns a guest that is not linked with the library."""
    return guest()


def c_part(directory, *flags, name="ours.o"):
    output(clang(), "-std=c11", "-fPIC", f"-I{INCLUDE}", GUEST / "ours.c", "-o", directory / name, *flags)
    return directory / name


def late_part(directory):
    return c_part(directory, "-shared", f"-L{BUILD / 'lib'}", "-lrunloop", name="ours.so")


def run(*command, **environment):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60,
                            env=dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "lib"), RUNLOOP_MISUSE="abort", **environment))
    assert (result.returncode, result.stdout, result.stderr) == (0, "right\n", "")


def needed(program):
    return re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-dW", program))


def test_loaded_after_the_swift_runtime_by_dlopen(stranger, tmp_path):
    assert "librunloop.so.0" not in needed(stranger)
    run(stranger, late_part(tmp_path))


def test_loaded_before_the_swift_runtime_by_preloading(stranger, tmp_path):
    run(stranger, late_part(tmp_path), LD_PRELOAD=str(shared()))


def test_linked_before_the_swift_runtime(guest, tmp_path):
    program = guest(shared(), c_part(tmp_path, "-c"))
    assert needed(program)[0] == "librunloop.so.0"
    run(program)


def test_linked_after_the_swift_runtime(guest, tmp_path):
    program = guest(c_part(tmp_path, "-c"), f"-L{BUILD / 'lib'}", "-lrunloop")
    libraries = needed(program)
    assert libraries.index("librunloop.so.0") > libraries.index("libswiftCore.so")
    run(program)


def test_archive_in_a_program_with_the_shared_runtime(guest, tmp_path):
    program = guest(c_part(tmp_path, "-c"), archive())
    assert "librunloop.so.0" not in needed(program)
    run(program)


def test_archive_in_a_program_with_the_static_runtime(guest, tmp_path):
    """Both runtimes are in one file: the archive's must not be global."""
    program = guest("-static-stdlib", c_part(tmp_path, "-c"), archive())
    assert not [name for name in needed(program) if "swift" in name or "runloop" in name]
    run(program)


def test_wrong_library_would_be_noticed(stranger, tmp_path):
    """A control: a library that exports its swift_retain breaks the guest."""
    source = tmp_path / "bad.c"
    source.write_text("void *swift_retain(void *object) { return object; }\n")
    output(clang(), "-shared", "-fPIC", source, "-o", tmp_path / "bad.so")
    with pytest.raises(AssertionError):
        run(stranger, late_part(tmp_path), LD_PRELOAD=str(tmp_path / "bad.so"))
