"""`make install` installs everything that a C program needs, and `make uninstall` removes it again."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from installing import files, make, pkg_config
from library import BUILD, INCLUDE, ROOT, output, shared
from public_headers import clang

COMPILERS = {"gcc": "gcc", "clang": clang(), "g++": "g++", "clang++": clang(cxx=True)}
LANGUAGES = [("gcc", "c99"), ("gcc", "c11"), ("clang", "c99"), ("clang", "c11"), ("g++", "c++17"), ("clang++", "c++17")]
#: How to link: flags before those of pkg-config, and whether to use the archive.
LINKS = {"shared": ([], False), "shared, no PIE": (["-no-pie"], False), "archive": ([], True),
         "static": (["-static"], True), "static PIE": (["-static-pie", "-fuse-ld=bfd"], True)}  # gold cannot do it
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

#: A timer, an object, and the address of a function of the library, which a program without PIE takes in a special way.
PROGRAM = r"""
#include <RunLoop/RunLoop.h>
#include <stdio.h>

static int ticks;

static void tick(RLRunLoopTimerRef timer, void *info)
{
    RLTypeRef (*retain)(RLTypeRef) = RLRetain;
    RLRelease(retain(timer));
    if (info == &ticks && ++ticks == 3)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

int main(void)
{
    RLRunLoopTimerContext context = {0, &ticks, NULL, NULL, NULL};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0.001, 0, 0, tick, &context);
    RLArrayRef array = RLArrayCreate(NULL, (const void **)&timer, 1, &kRLTypeArrayCallBacks);
    RLRunLoopRunResult result;
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    result = RLRunLoopRunInMode(RLSTR("kCFRunLoopDefaultMode"), 60, 0);
    printf("%d %d %ld %d\n", (int)result, ticks, (long)RLGetVersion(), RLArrayGetValueAtIndex(array, 0) == timer);
    RLRelease(array);
    RLRelease(timer);
    return 0;
}
"""


def test_installed_files_are_exactly_these(installed):
    headers = [f"usr/include/RunLoop/{path.name}" for path in (INCLUDE / "RunLoop").glob("*.h")]
    headers += [f"usr/include/RunLoop/adapters/{path.name}" for path in (INCLUDE / "RunLoop/adapters").iterdir()]
    headers += [f"usr/include/{folder}/{path.name}" for folder in ("RunLoopKit", "RunLoopKit/adapters", "RunLoopTrace")
                for path in (INCLUDE / folder).glob("*.h")]
    headers += [f"usr/include/runloop-cf/CoreFoundation/{path.name}" for path in (INCLUDE / "CoreFoundation").iterdir()]
    headers += [f"usr/include/runloop-cf/{path.name}" for path in INCLUDE.glob("*.h")]  # not next to libc's
    libraries = ["librunloop.a", "librunloop.so", "librunloop.so.0", "librunloop-cf.so", "librunloop-cf.so.0",
                 "librunloop-kit.a", "librunloop-kit.so", "librunloop-kit.so.0", "pkgconfig/runloop-kit.pc", "pkgconfig/runloop-trace.pc", "pkgconfig/runloop.pc", "pkgconfig/runloop-cf.pc", "cmake/RunLoop/RunLoopConfig.cmake",
                 "cmake/RunLoop/RunLoopConfigVersion.cmake"]
    numbers = [re.search(r"Build ID: (\w+)", output("readelf", "-n", BUILD / "lib" / name))[1]
               for name in ("librunloop.so", "librunloop-kit.so")]
    others = [f"usr/share/runloop/{path.name}" for path in (ROOT / "tools").glob("*.bt")]
    others += ["usr/share/runloop/valgrind.supp", "usr/share/runloop/musl.c", *(f"usr/lib/debug/.build-id/{number[:2]}/{number[2:]}.debug" for number in numbers)]
    documents = ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "docs/PERFORMANCE.md", "docs/PORTING.md", "docs/SEMANTICS.md", "docs/DEBUGGING.md"]
    documents += [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/guide").rglob("*.*")]
    documents += [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/debugging").iterdir() if path.suffix in (".png", ".c")]
    documents += [path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").rglob("*.[ch]")]
    documents += ["examples/README.md", "examples/guest_asyncio.py"]
    others += [f"usr/share/doc/runloop/{name}" for name in documents]
    others += ["usr/bin/runloop", "usr/lib/runloop/librunloop-trace.so", "usr/lib/runloop/librunloop-trace.so.0"]
    others += [f"usr/share/man/{path.relative_to(BUILD / 'man')}" for path in (BUILD / "man").glob("man?/*")]
    assert files(installed) == sorted(headers + [f"usr/lib/{name}" for name in libraries] + others)
    assert os.readlink(installed / "usr/lib/librunloop.so") == "librunloop.so.0"
    assert os.readlink(installed / "usr/lib/librunloop-cf.so") == "librunloop-cf.so.0"
    assert os.readlink(installed / "usr/lib/runloop/librunloop-trace.so") == "librunloop-trace.so.0"


def test_installed_files_are_what_was_built(installed):
    for name in ("librunloop.a", "librunloop-kit.a", "librunloop.so.0", "librunloop-cf.so.0", "librunloop-kit.so.0"):
        assert (installed / "usr/lib" / name).read_bytes() == (BUILD / "lib" / name).read_bytes()
    assert os.access(installed / "usr/lib/librunloop.so.0", os.X_OK)
    for path in (INCLUDE / "RunLoop").glob("*.h"):
        assert (installed / "usr/include/RunLoop" / path.name).read_bytes() == path.read_bytes()


def test_libraries_may_be_in_a_folder_named_after_the_machine(installed, multiarch):
    """Nothing else moves, and everything that locates the libraries reports the folder."""
    moved = {re.sub(r"^usr/lib/(?!debug/)", "usr/lib/x86_64-linux-gnu/", name) for name in files(installed)}
    assert set(files(multiarch)) == moved
    text = (multiarch / "usr/lib/x86_64-linux-gnu/pkgconfig/runloop.pc").read_text()
    assert text.startswith("prefix=/usr\nincludedir=${prefix}/include\nlibdir=${prefix}/lib/x86_64-linux-gnu\n")


def test_what_documents_the_library_is_what_the_headers_name(installed):
    """Every path given by a header or another installed page, except the tests."""
    named = set()
    for path in INCLUDE.glob("RunLoop*/*.h"):
        named |= set(re.findall(r"\b(?:docs/\w+\.md|SECURITY\.md|examples/[\w/-]+\.c)\b", path.read_text()))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (installed / "usr/share/doc/runloop" / name).exists()] == []


@pytest.mark.parametrize("tree", ["installed", "multiarch"])
def test_links_of_the_documents_lead_somewhere(request, tree):
    documents = request.getfixturevalue(tree) / "usr/share/doc/runloop"
    links = [(path, link) for path in documents.rglob("*.md") for link in re.findall(r"\]\(([^)#\s]+)", path.read_text())
             if not re.match(r"[a-z]+:", link)]
    assert len(links) > 100
    assert [(path.name, link) for path, link in links if not (path.parent / link).exists()] == []


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
@pytest.mark.parametrize("name", ["RLRunLoopAddTimer", "RLRunLoopRemoveTimer", "CFRunLoopAddTimer", "runloop-timer"])
def test_man_shows_a_page(installed, name):
    """Also for a function that shares a page with others, and for CF's names."""
    environment = dict(os.environ, MANPATH=str(installed / "usr/share/man"), MANPAGER="cat", MANWIDTH="100")
    shown = output("man", name, env=environment)
    assert ("RLRunLoopAddTimer" if name[0] != "r" else name) in shown and "SEE ALSO" in shown


def test_what_the_page_about_debugging_names_is_where_it_says(installed):
    documents = installed / "usr/share/doc/runloop"
    text = (documents / "docs/DEBUGGING.md").read_text()
    named = set(re.findall(r"/share/runloop/(\w+\.\w+)", text)) | set(re.findall(r"`([\w-]+\.bt)`", text))
    assert len(named) == 4 and [name for name in named if not (installed / "usr/share/runloop" / name).exists()] == []
    assert "/usr/local/" not in text


def test_nothing_installed_names_the_place_of_installation(installed):
    text = (installed / "usr/lib/pkgconfig/runloop.pc").read_text()
    assert str(installed) not in text and str(ROOT) not in text
    header = (INCLUDE / "RunLoop/RLBase.h").read_text()
    numbers = [re.search(rf"#define RL_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    for package in ("runloop", "runloop-cf", "runloop-kit", "runloop-trace"):
        assert pkg_config(installed, "--modversion", package=package) == [".".join(numbers)]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("compiler, standard", LANGUAGES)
def test_program_builds_and_runs(installed, tmp_path, compiler, standard, link):
    command = COMPILERS[compiler]
    if command is None or shutil.which(command) is None:
        pytest.skip(f"{compiler} is not installed")
    flags, takes_archive = LINKS[link]
    source = tmp_path / ("program.cc" if "++" in compiler else "program.c")
    source.write_text(PROGRAM)
    libraries = pkg_config(installed, "--libs", *(["--static"] if takes_archive else []))
    if takes_archive:
        libraries = [str(installed / "usr/lib/librunloop.a") if word == "-lrunloop" else word for word in libraries]
    program = tmp_path / "program"
    output(command, f"-std={standard}", *STRICT, *flags, *pkg_config(installed, "--cflags"), source, "-o", program,
           *libraries)
    environment = dict(os.environ, LD_LIBRARY_PATH=str(installed / "usr/lib"), RUNLOOP_MISUSE="abort")
    result, ticks, version, same = output(program, env=environment).split()
    assert (result, ticks, same) == ("2", "3", "1")
    assert version == str(int("".join(f"{int(part):02}" for part in pkg_config(installed, "--modversion")[0].split("."))))
    needed = output("readelf", "-dW", program)
    assert ("librunloop.so.0" in needed) == (not takes_archive)


@pytest.mark.parametrize("name, package", [("curl", "libcurl"), ("dbus", "dbus-1"), ("event", "libevent_core"), ("glib", "glib-2.0"),
                                           ("sd-event", "libsystemd"), ("uv", "libuv")])
def test_example_of_an_adapter_builds_and_runs(installed, tmp_path, name, package):
    source = installed / f"usr/share/doc/runloop/examples/{name}.c"
    theirs = output("pkg-config", "--cflags", "--libs", package).split()
    output("gcc", "-std=gnu11", source, "-o", tmp_path / name, "-pthread", *pkg_config(installed, "--cflags", "--libs"), *theirs)
    environment = dict(os.environ, LD_LIBRARY_PATH=str(installed / "usr/lib"))
    assert output(tmp_path / name, env=environment) == (ROOT / f"examples/expected/{name}.txt").read_text()


#: With the headers, CF's names are labels; without them they are symbols of the second library.
WITH_HEADERS = "#include <CoreFoundation/CoreFoundation.h>\nint main(void) { return (int)CFRunLoopRunInMode(CFSTR(\"m\"), 0, 0) - 1; }\n"
WITHOUT_HEADERS = """extern int CFRunLoopRunInMode(const void *, double, unsigned char);
extern const void *__CFStringMakeConstantString(const char *);
int main(void) { return CFRunLoopRunInMode(__CFStringMakeConstantString("m"), 0, 0) - 1; }
"""


@pytest.mark.parametrize("text, wants_names", [(WITH_HEADERS, False), (WITHOUT_HEADERS, True)], ids=["headers", "names"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_program_with_cfs_names_builds_and_runs(installed, tmp_path, compiler, text, wants_names):
    """The second library is linked only if its symbols are used."""
    command = COMPILERS[compiler]
    if command is None or shutil.which(command) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "program.c").write_text(text)
    flags = pkg_config(installed, "--cflags", "--libs", package="runloop-cf")
    output(command, "-std=c11", "-Wall", "-Werror", tmp_path / "program.c", "-o", tmp_path / "program", *flags)
    output(tmp_path / "program", env=dict(os.environ, LD_LIBRARY_PATH=str(installed / "usr/lib"), RUNLOOP_MISUSE="abort"))
    needed = output("readelf", "-dW", tmp_path / "program")
    assert ("librunloop-cf.so.0" in needed) == wants_names


@pytest.fixture
def moved(installed, tmp_path):
    """Returns only the libraries, in a directory that was unknown when they were built and that no variable names."""
    shutil.copytree(installed / "usr/lib", tmp_path / "a prefix/lib", symlinks=True)
    return tmp_path / "a prefix/lib"


def without_library_path():
    return {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"} | {"RUNLOOP_MISUSE": "abort"}


CALLERS = ROOT / "Tests/porting"


def test_the_library_of_names_finds_its_neighbour_when_loaded_by_path(moved):
    """As ctypes, Rust's libloading and dlopen() load it."""
    out = output(sys.executable, CALLERS / "caller.py", moved / "librunloop-cf.so", env=without_library_path())
    assert out.startswith("2, kCFRunLoopDefaultMode, 1, ")


def test_the_library_of_names_finds_its_neighbour_when_it_alone_is_linked(moved, tmp_path):
    """The program's run path does not apply to the needs of its libraries."""
    (tmp_path / "program.c").write_text(WITHOUT_HEADERS)
    output("cc", tmp_path / "program.c", "-o", tmp_path / "program", f"-L{moved}", "-lrunloop-cf", f"-Wl,-rpath,{moved}")
    output(tmp_path / "program", env=without_library_path())


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")
def test_a_rust_program_needs_only_the_run_path(moved, tmp_path):
    output("rustc", "-O", "-o", tmp_path / "caller", CALLERS / "caller.rs", "-L", f"native={moved}", "-C",
           f"link-arg=-Wl,-rpath,{moved}", cwd=tmp_path)
    assert output(tmp_path / "caller", env=without_library_path()).startswith("2 ticks 3 ")


def test_no_swift_library_is_needed_at_run_time(installed):
    names = re.findall(r"^\s*(\S+)", output("ldd", installed / "usr/lib/librunloop.so.0"), re.MULTILINE)
    assert names and all(re.match(r"linux-vdso|libc\.|libbsd\.|libmd\.|/\S+/ld-linux", name) for name in names), names


def directories(directory):
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_dir())


MOVED = ["LIBDIR=/usr/lib/x86_64-linux-gnu", "DOCDIR=/usr/share/documents", "MANDIR=/usr/man"]


@pytest.mark.parametrize("variables", [[], MOVED], ids=["usual", "moved"])
def test_uninstall_leaves_nothing(tmp_path, variables):
    """Nothing of this project is left, and the files of other packages stay, including manual pages and links to them. `make
    uninstall` needs no build directory."""
    manual = ("usr/man" if "MANDIR=/usr/man" in variables else "usr/share/man") + "/man3"
    neighbours = ["usr/lib/pkgconfig/neighbour.pc", f"{manual}/CFOther.3", f"{manual}/RLOther.3"]
    for name in neighbours:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / neighbours[0]).touch()
    (tmp_path / neighbours[1]).write_text(".Dd today\n.Os another\nlibrunloop\n")
    (tmp_path / neighbours[2]).symlink_to("CFOther.3")
    make("install", tmp_path, *variables)
    assert len(files(tmp_path)) > 10
    nowhere = [*variables, f"BUILD={tmp_path}/nowhere", "PYTHON=no-python"]
    assert make("uninstall", tmp_path, *nowhere) == ""
    assert files(tmp_path) == sorted(neighbours)
    assert not (tmp_path / "usr/include/RunLoop").exists() and not (tmp_path / "usr/include/runloop-cf").exists()
    assert not (tmp_path / "usr/lib/debug").exists()
    assert make("uninstall", tmp_path, *nowhere) == ""


def test_uninstall_leaves_empty_directories_of_others(tmp_path):
    others = [tmp_path / "usr/lib/debug/.build-id" / name for name in ("0", "zz")]  # no build ID begins so
    for path in others:
        path.mkdir(parents=True)
    make("install", tmp_path)
    assert make("uninstall", tmp_path) == ""
    assert directories(tmp_path / "usr/lib/debug") == [".build-id", ".build-id/0", ".build-id/zz"]


def test_install_twice_is_the_same(tmp_path):
    make("install", tmp_path)
    before = files(tmp_path)
    make("install", tmp_path)
    assert files(tmp_path) == before
