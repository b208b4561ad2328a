"""Users' projects find the installed library: with CMake, wherever it was moved to, and with Meson."""

import os
import re
import shutil
import subprocess

import pytest

from installing import make
from library import ROOT, output

HERE = ROOT / "Tests/packaging"
TICKS = (ROOT / "examples/expected/hello.txt").read_text()
#: The libraries that each program of the projects needs at run time.
PROGRAMS = {"shared": ["librunloop.so.0"], "archive": [], "headers": ["librunloop.so.0"], "names": ["librunloop-cf.so.0"],
            "kit": ["librunloop-kit.so.0"], "kit-archive": [], "trace": ["librunloop-trace.so.0"]}
#: A program that does not include the headers: CF's names are symbols for it.
NAMES = """#include <stdio.h>
extern int CFRunLoopRunInMode(const void *, double, unsigned char);
extern const void *__CFStringMakeConstantString(const char *);
int main(void)
{
    if (CFRunLoopRunInMode(__CFStringMakeConstantString("m"), 0, 0) != 1)
        return 1;
    fputs("TICKS", stdout);
    return 0;
}
""".replace("TICKS", TICKS.replace("\n", "\\n"))
#: Uses the kit and the library below it.
KIT = """#include <RunLoopKit/RunLoopKit.h>
#include <signal.h>
#include <stdio.h>
static void hear(RLSignalRef signal, const RLSignalInfo *information, void *info)
{
    (void)signal, (void)info;
    if (information->count == 1)
        fputs("TICKS", stdout);
}
int main(void)
{
    RLSignalRef signal = RLSignalCreate(NULL, SIGINT, 0, hear, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), signal, kRLRunLoopDefaultMode);
    raise(SIGINT);
    return RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1) == kRLRunLoopRunHandledSource ? 0 : 1;
}
""".replace("TICKS", TICKS.replace("\n", "\\n"))
#: A program that asks what its own loop does.
TRACE = """#include <RunLoopTrace/RunLoopTrace.h>
#include <stdio.h>
int main(void)
{
    RLStringRef text = RLRunLoopCopyExplanation(RLRunLoopGetCurrent());
    if (text == NULL)
        return 1;
    RLRelease(text);
    fputs("TICKS", stdout);
    return 0;
}
""".replace("TICKS", TICKS.replace("\n", "\\n"))


@pytest.fixture
def sources(tmp_path):
    """Returns a folder with hello.c, as it is and with CF's names, and NAMES. All print the same."""
    folder = tmp_path / "sources"
    folder.mkdir()
    hello = (ROOT / "examples/hello.c").read_text()
    (folder / "hello.c").write_text(hello)
    (folder / "names.c").write_text(NAMES)
    (folder / "kit.c").write_text(KIT)
    (folder / "trace.c").write_text(TRACE)
    hello = re.sub(r"\b(k?)RL(?=[A-Z])", r"\1CF", hello)
    (folder / "headers.c").write_text(hello.replace("<RunLoop/RunLoop.h>", "<CoreFoundation/CoreFoundation.h>"))
    return folder


def expect_programs(folder):
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for name, libraries in PROGRAMS.items():
        assert output(folder / name, env=environment | {"RUNLOOP_MISUSE": "abort"}) == TICKS, name
        needed = re.findall(r"NEEDED.*\[(librunloop.*)\]", output("readelf", "-dW", folder / name))
        assert [library for library in needed if library in libraries] == libraries, name
        assert libraries or not needed


@pytest.mark.parametrize("tree", ["installed", "multiarch"])
def test_cmake_project_finds_the_library(tree, request, sources, tmp_path):
    """CMake itself searches the folder named after the architecture."""
    prefix = tmp_path / "a prefix"
    shutil.copytree(request.getfixturevalue(tree) / "usr", prefix, symlinks=True)
    output("cmake", "-G", "Ninja", "-S", HERE / "cmake", "-B", tmp_path / "build", f"-DSOURCES={sources}",
           f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror")
    output("cmake", "--build", tmp_path / "build")
    expect_programs(tmp_path / "build")


@pytest.mark.parametrize("mixed", ["RunLoop::static;RunLoop::kit", "RunLoop::kit_static;RunLoop::runloop", "RunLoop::static;RunLoop::cf"])
def test_cmake_refuses_two_librunloops(mixed, installed, sources, tmp_path):
    command = ["cmake", "-G", "Ninja", "-S", HERE / "cmake", "-B", tmp_path / "build", f"-DSOURCES={sources}",
               f"-DCMAKE_PREFIX_PATH={installed / 'usr'}", f"-DMIXED={mixed}"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode != 0 and "RUNLOOP_LIBRARIES" in result.stderr


#: Requested versions, and whether 0.1.0 satisfies them: while MAJOR is 0, every MINOR may require changes to programs.
WANTED = {"0.1": True, "0.1.0": True, "0": False, "0.0.9": False, "0.1.1": False, "0.2": False, "1.0": False, "10.1": False}


@pytest.fixture(scope="module")
def answers(installed, tmp_path_factory):
    """Returns the version file's answer to each request."""
    script = tmp_path_factory.mktemp("script") / "ask.cmake"
    version = installed / "usr/lib/cmake/RunLoop/RunLoopConfigVersion.cmake"
    script.write_text("".join(f'set(PACKAGE_FIND_VERSION "{wanted}")\ninclude("{version}")\n'
                              f'message("{wanted}=${{PACKAGE_VERSION_COMPATIBLE}}")\n' for wanted in WANTED))
    result = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=True)
    return dict(line.split("=") for line in result.stderr.split())


@pytest.mark.parametrize("wanted", WANTED)
def test_cmake_gets_the_version_it_wants_or_none(answers, wanted):
    assert answers[wanted] == ("TRUE" if WANTED[wanted] else "FALSE")


def test_meson_project_finds_the_library(sources, tmp_path):
    prefix = tmp_path / "prefix"
    make("install", "", f"PREFIX={prefix}")
    shutil.copy(HERE / "meson/meson.build", sources)
    environment = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
    output("meson", "setup", tmp_path / "build", sources, env=environment)
    output("ninja", "-C", tmp_path / "build")
    expect_programs(tmp_path / "build")
