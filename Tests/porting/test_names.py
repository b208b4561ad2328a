"""librunloop-cf.so: CF's names as symbols, for callers that bind names and include no headers."""

import contextlib
import pathlib
import re
import shutil
import sys

import pytest

from library import INCLUDE, existing, output, shared
from public_headers import COREFOUNDATION, apple_include, clang, declarations, of_kind
from tools import COMPILERS, LIB, STRICT, compile_program, has_apples, ours, run

NAMES = "librunloop-cf.so"
pytestmark = pytest.mark.timeout(120)


def names():
    return existing(LIB / NAMES)


def exported(library):
    lines = output("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[2].partition("@")[0] for line in lines}


def labelled():
    """Returns the RL name for each CF name, from all headers."""
    nodes = of_kind(declarations(" ".join(COREFOUNDATION)), "FunctionDecl", "VarDecl")
    return {node["name"]: node["mangledName"] for node in nodes if re.match(r"k?RL", node.get("mangledName", ""))}


def test_every_name_of_the_headers_is_a_symbol():
    exports = exported(shared())
    wanted = {name for name, label in labelled().items() if label in exports
              and not name.startswith("__CFRunLoop")}  # called by inline functions in the headers
    assert len(wanted) > 180
    assert exported(names()) == wanted | {"__CFConstantStringClassReference"}


def test_it_needs_the_library_and_libc_alone():
    section = output("readelf", "-dW", names())
    assert set(re.findall(r"NEEDED.*\[(.*)\]", section)) <= {"librunloop.so.0", "libc.so.6"}
    assert "[librunloop-cf.so.0]" in section
    assert names().stat().st_size < 50_000


def test_functions_are_one_jump():
    code = output("objdump", "-d", "--no-show-raw-insn", names())
    body = re.search(r"<CFRunLoopRun(?:@\S+)?>:\n(.*?)\n\n", code + "\n", re.DOTALL)
    assert body, "objdump's words have changed"
    instructions = [line.split("\t", 1)[1] for line in body[1].splitlines() if "\t" in line]
    assert re.match(r"(jmp|b)\b", instructions[0])


def test_python_program():
    out = run(sys.executable, __file__.replace("test_names.py", "caller.py"), names()).strip().split(", ")
    assert out[:3] == ["2", "kCFRunLoopDefaultMode", "1"]
    assert out[3] == "activity 1" and out[-5:] == ["activity 128", "empty 3", "activity 1", "activity 128", "stopped"]
    assert out.count("timer") == 3 and out.count("source") == 1


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")
@pytest.mark.parametrize("model", ["pic", "static"])
def test_rust_program(tmp_path, model):
    program = tmp_path / "caller"
    output("rustc", "-O", "-C", f"relocation-model={model}", "-o", program, __file__.replace("test_names.py", "caller.rs"),
           "-L", f"native={LIB}", "-C", f"link-arg=-Wl,-rpath,{LIB}", "-C", f"link-arg=-Wl,-rpath-link,{LIB}",
           cwd=tmp_path)
    run(program, expected="2 ticks 3 entries 1 performed 1 array holds 1 epoch 978307200\n")


WITHOUT_HEADERS = """
#include <stdio.h>
extern void *const kCFRunLoopDefaultMode;
extern const double kCFAbsoluteTimeIntervalSince1970;
extern void *CFRunLoopGetCurrent(void);
extern void CFRunLoopStop(void *), CFRunLoopAddTimer(void *, void *, const void *), CFRelease(void *);
extern void *CFRunLoopTimerCreate(void *, double, double, unsigned long, long, void (*)(void *, void *), void *);
extern int CFRunLoopRunInMode(const void *, double, unsigned char);
extern void *RLRunLoopGetCurrent(void);
static void stop(void *timer, void *info) { (void)timer, (void)info; CFRunLoopStop(CFRunLoopGetCurrent()); }
int main(void) {
    void *timer = CFRunLoopTimerCreate(NULL, 0, 0, 0, 0, stop, NULL);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    int result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 30, 0);
    CFRelease(timer);
    printf("%d %.0f %d\\n", result, kCFAbsoluteTimeIntervalSince1970, RLRunLoopGetCurrent() == CFRunLoopGetCurrent());
    return 0;
}
"""


@pytest.mark.parametrize("link", [[], ["-no-pie", "-fno-pic"]], ids=["pie", "no-pie"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_c_program_without_headers(tmp_path, compiler, link):
    """Without PIE the constants are copied into the program (copy relocations)."""
    program = compile_program(COMPILERS[compiler], tmp_path / "program", text=WITHOUT_HEADERS, flags=link,
                              libraries=ours(names=True))
    run(program, expected="2 978307200 1\n")


#: Conformance programs and programs in programs/, here compiled with Apple's own headers and linked with this library.
#: None of them uses CFSTR, which in Apple's header for Linux refers to a class of Swift's Foundation.
WITH_APPLES_HEADERS = ["value-array-callbacks", "value-number-conversions", "run-until-stopped",
                       "run-idle-times-out", "timer-once", "source-signal-is-sticky", "port-ready-before-add",
                       "observer-order", "thread-ping-pong", "download"]


def reference(program):
    """Returns a program's output with CoreFoundation, whose sockets occasionally fail on a busy machine (SIGPIPE in `download`)."""
    for _ in range(2):
        with contextlib.suppress(AssertionError):
            return run(program)
    return run(program)


@pytest.mark.skipif(not has_apples("Foundation"), reason="Apple's CoreFoundation is not installed")
@pytest.mark.parametrize("name", WITH_APPLES_HEADERS)
def test_program_compiled_with_apples_headers(tmp_path, name):
    """The two have only names, types and layouts in common: a test of the binary interface."""
    from tools import apples
    folders = [INCLUDE.parent / "Tests" / "conformance", pathlib.Path(__file__).parent / "programs"]
    source = next(folder / f"{name}.c" for folder in folders if (folder / f"{name}.c").exists())
    words = [clang(), "-O1", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", "-w", "-fblocks", f"-I{apple_include()}", source]
    output(*words, "-o", tmp_path / "ours", *ours(names=True))
    output(*words, "-o", tmp_path / "apples", *apples("Foundation", "BlocksRuntime", "dispatch"))
    assert run(tmp_path / "ours") == reference(tmp_path / "apples") != ""


@pytest.mark.skipif(not has_apples("Foundation"), reason="Apple's CoreFoundation is not installed")
@pytest.mark.parametrize("first", ["ours", "apples"])
def test_headers_live_beside_apples_library(tmp_path, first):
    """One file is compiled with this library's headers, one with Apple's; both libraries are in one process, in both orders."""
    from tools import apples
    part = """
#include <CoreFoundation/CoreFoundation.h>
static void stop(CFRunLoopTimerRef timer, void *info)
{
    ++*(int *)info;
    CFRunLoopTimerInvalidate(timer);
    CFRunLoopStop(CFRunLoopGetCurrent());
}
int NAME(void);
int NAME(void)
{
    int fired = 0;
    CFRunLoopTimerContext context = {0, &fired, NULL, NULL, NULL};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + 0.01, 0, 0, 0, stop, &context);
    const void *values[] = {CFSTR("a string")};
    CFArrayRef array = CFArrayCreate(NULL, values, 1, &kCFTypeArrayCallBacks);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    int result = (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 30, 0);
    int right = CFArrayContainsValue(array, CFRangeMake(0, 1), CFSTR("a string"));
    CFRelease(timer);
    CFRelease(array);
    return result == kCFRunLoopRunStopped && fired == 1 && right;
}
"""
    (tmp_path / "part.c").write_text(part)
    (tmp_path / "main.c").write_text("int ours(void), apples(void); int main(void) { return !(ours() && apples() && ours()"
                                     " && apples()); }")
    output(clang(), *STRICT, "-std=c11", f"-I{INCLUDE}", "-DNAME=ours", "-c", tmp_path / "part.c", "-o", tmp_path / "ours.o")
    output(clang(), "-w", "-fblocks", "-D_GNU_SOURCE", f"-I{apple_include()}", "-DNAME=apples", "-c", tmp_path / "part.c",
           "-o", tmp_path / "apples.o")
    libraries = {"ours": ours(), "apples": apples("Foundation", "BlocksRuntime", "dispatch")}
    order = [first, *({"ours", "apples"} - {first})]
    output(clang(), "-w", tmp_path / "main.c", tmp_path / "ours.o", tmp_path / "apples.o", "-pthread", "-o",
           tmp_path / "both", *libraries[order[0]], *libraries[order[1]])
    run(tmp_path / "both", expected="")
