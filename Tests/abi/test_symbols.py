"""The library exports what the headers declare, and nothing else.

Layouts of structures and signatures of functions are not checked here: `@implementation` makes the compiler compare
each function with its declaration, test_description.py compares the declarations with those of the release, and
Tests/headers with Apple's."""

import pathlib
import re
import shutil

import pytest

from library import BUILD, ROOT, archive, core_object, dynamic_section, dynamic_symbols, existing, libraries, output, shared
from public_headers import apple_include, declarations, of_kind, toolchain

COMMITTED = pathlib.Path(__file__).with_name("symbols.txt")
#: For the loop, its items, values, sockets and ports; the loop alone is more than half of it.
SIZE_LIMIT = 320_000
#: libbsd and libmd are the only other libraries allowed.
ALLOWED_LIBRARIES = r"libc\.so\.\d+|ld-linux-\S+|libbsd\.so\.\d+|libmd\.so\.\d+"


def declared():
    """Returns the functions and data that the headers declare for export: {name: "function" or "data"}."""
    nodes = of_kind(declarations("RunLoop/RunLoop.h"), "FunctionDecl", "VarDecl")
    return {node["name"]: "function" if node["kind"] == "FunctionDecl" else "data" for node in nodes
            if node.get("storageClass") == "extern" and any(
                inner["kind"] == "VisibilityAttr" for inner in node.get("inner", []))}


def committed():
    """Returns the kind and version of each committed name."""
    found, version = {}, None
    for words in (line.split() for line in COMMITTED.read_text().splitlines() if line and line[0] != "#"):
        if len(words) == 1:
            version = words[0]
        else:
            found[words[1]] = words[0], version
    return found


def kinds(symbols):
    """Returns nm's letters as words. A constant is in .data.rel.ro (D) or .rodata (R)."""
    return {name: {"T": "function", "D": "data", "R": "data"}.get(letter, letter) for name, letter in symbols.items()}


def test_shared_library_exports_what_the_headers_declare():
    assert kinds(dynamic_symbols()) == declared()


#: pthreads(7), as far as a library like this one could call them.
CANCELLATION_POINTS = """accept accept4 clock_nanosleep close connect creat epoll_pwait epoll_pwait2 epoll_wait fcntl fdatasync flopen
flopenat fsync getaddrinfo msgrcv msgsnd nanosleep open openat pause poll ppoll pread pselect pthread_join pwrite read readv recv
recvfrom recvmmsg recvmsg select send sendmmsg sendmsg sendto sigsuspend sigtimedwait sigwait sigwaitinfo sleep splice tee usleep vmsplice wait waitid
waitpid write writev""".split()
#: Called with cancellation disabled: by linux_open_locked, linux_find_addresses and linux_join.
UNCANCELLED = [("core", "flopenat"), ("kit", "getaddrinfo"), ("kit", "pthread_join")]


def test_no_function_is_a_cancellation_point():
    """RLBase.h promises it: a cancelled thread would end with the library's locks held. So system calls go through syscall(2)."""
    names = ["core", "CLinux", "Closing", "Races", "Unwind", "Constants", "Format", "kit", "CLinuxKit"]
    called = {(name, line.split()[-1]) for name in names for line in output("nm", "-u", BUILD / "obj" / f"{name}.o").splitlines()}
    assert sorted(pair for pair in called if pair[1] in CANCELLATION_POINTS) == UNCANCELLED


def test_headers_declare_what_is_committed():
    """A new export is added to symbols.txt. Removing one, or changing its kind, breaks programs: raise SOVERSION."""
    assert declared() == {name: kind for name, (kind, _) in committed().items()}


def test_names_have_the_version_that_added_them():
    """If a program uses a name of a later version, the loader refuses it where the library is older."""
    lines = [line.split()[2] for line in output("nm", "-D", "--defined-only", shared()).splitlines()]
    found = dict(line.split("@@") for line in lines if not line.startswith("RUNLOOP_"))
    assert found == {name: version for name, (_, version) in committed().items()}
    assert {line.split("@@")[1] for line in lines if line.startswith("RUNLOOP_IS")} == {"RUNLOOP_PRIVATE"}


def test_no_name_is_of_a_version_to_come():
    released = re.search(r"^VERSION *:= (\d+)\.(\d+)", (ROOT / "Makefile").read_text(), re.MULTILINE).groups()
    versions = {version for _, version in committed().values()}
    assert versions and max(tuple(map(int, version[8:].split("."))) for version in versions) <= tuple(map(int, released))


def test_archive_has_the_same_global_symbols():
    lines = output("nm", "-g", "--defined-only", archive()).splitlines()
    found = {fields[2]: fields[1] for fields in map(str.split, lines) if len(fields) == 3}
    assert kinds(found) == declared()


@pytest.mark.parametrize("name", ["librunloop", "librunloop-kit"])
def test_archive_needs_nothing_that_the_shared_library_does_not(name):
    """In particular, no function that an old glibc does not have."""
    def wanted(*command):
        lines = output(*command).splitlines()
        return {fields[-1].partition("@")[0] for fields in map(str.split, lines) if len(fields) > 1}

    # glibc implements these in its static part, which calls others:
    called = {"pthread_atfork": "__register_atfork", "atexit": "__cxa_atexit"}
    names = {called.get(name, name) for name in wanted("nm", "-u", existing(BUILD / "lib" / f"{name}.a"))}
    assert names <= wanted("nm", "-D", "-u", existing(BUILD / "lib" / f"{name}.so"))


def test_no_name_is_one_of_corefoundation_or_swift():
    names = dynamic_symbols()
    assert not [name for name in names if not re.match(r"k?RL[A-Z]", name)]
    foundation = toolchain() and toolchain() / "lib" / "swift" / "linux" / "lib_FoundationICU.so"
    if apple_include() is None or not foundation:
        pytest.skip("the Swift toolchain's libraries are not installed")
    theirs = set()
    for library in foundation.parent.glob("*.so"):
        theirs |= {line.split()[-1].partition("@")[0] for line in
                   output("nm", "-D", "--defined-only", library).splitlines()}
    assert "CFRunLoopRun" in theirs and "swift_retain" in theirs
    assert set(names) & theirs == set()


def test_names_of_the_file_and_of_what_it_needs():
    section = dynamic_section()
    assert section["SONAME"] == ["librunloop.so.0"]
    assert section["NEEDED"] and all(re.fullmatch(ALLOWED_LIBRARIES, name) for name in section["NEEDED"])
    assert shared().resolve().name == "librunloop.so.0"


def test_programs_need_the_versioned_name_of_the_companion():
    companion = existing(BUILD / "lib/runloop/librunloop-trace.so")
    assert dynamic_section(companion)["SONAME"] == [companion.resolve().name] == ["librunloop-trace.so.0"]


def test_hardening():
    """For each library; SECURITY.md, "How the libraries are built", gives the reasons for what is missing here."""
    for library in libraries():
        section, headers = dynamic_section(library), output("readelf", "-lW", library)
        assert "BIND_NOW" in section["FLAGS"][0] and "NOW" in section["FLAGS_1"][0], library.name
        assert "NODELETE" in section["FLAGS_1"][0], f"{library.name}: a thread that ends after dlclose would call into nothing"
        assert "TEXTREL" not in section and "TEXTREL" not in section["FLAGS"][0], library.name
        assert "GNU_RELRO" in headers, library.name
        assert re.search(r"GNU_STACK .* RW\s", headers), f"{library.name}: the stack would be executable"
        assert not re.search(r"LOAD .* RWE ", headers), library.name
        assert "RPATH" not in section and section.get("RUNPATH", ["$ORIGIN"]) == ["$ORIGIN"], library.name
    assert "RUNPATH" not in dynamic_section()


@pytest.mark.parametrize("name", ["lib/librunloop.so", "lib/librunloop-kit.so", "lib/runloop/librunloop-trace.so", "bin/runloop"])
def test_c_files_have_stack_guards(name):
    assert re.search(r" U __stack_chk_fail\b", output("nm", "-D", "-u", existing(BUILD / name)))


def test_stripped_and_small():
    """Except for unwind tables, and the names that a backtrace needs (test_debugging.py)."""
    sections = output("readelf", "-SW", shared())
    assert ".debug" not in sections and ".eh_frame_hdr" in sections
    assert ".symtab" not in sections, "gdb would not read the dynamic symbols"
    assert shared().stat().st_size < SIZE_LIMIT


def test_texts_are_only_pointed_at():
    """The Makefile places them end to end: code that loaded one as an aligned vector would trap."""
    lines = output("objdump", "-drw", "--no-show-raw-insn", core_object()).splitlines()
    uses = [line for line in lines if re.search(r": R_\S+\s+\.L\.str\.", line)]
    assert len(uses) > 300
    assert [line for line in uses if not re.search(r"\tlea ", line)] == []


@pytest.mark.parametrize("name", ["lib/librunloop.so", "obj/librunloop.so.0"], ids=["library", "debug information"])
def test_no_path_of_the_machine_that_built_it(name):
    """The path of the compiler's cache must not be in it, either: two builds are the same."""
    strings = output("strings", "-n", "6", existing(BUILD / name))
    assert re.findall(rf".*(?:/(?:home|root|work|build|Users|ModuleCache)/|{re.escape(str(ROOT))}\b).*", strings) == []
    if shutil.which("swiftc") and name.startswith("lib"):
        assert str(toolchain()) not in strings
