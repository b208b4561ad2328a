"""The installed library can be debugged: gdb, profilers and unwinders see through it, and show whose function it
calls.

A C++ exception must not pass through it, nor a jump out of a callback: either ends the process with one line, and
never leaves a broken loop behind."""

import itertools
import re
import shutil
import signal
import subprocess

import pytest

from installing import installed  # noqa: F401 (a fixture)
from library import ROOT, output

#: One callback of each kind; all of them call `reached` and stop the loop.
PROGRAM = r"""
#include <RunLoop/RunLoop.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>
#include <dlfcn.h>

static _Unwind_Reason_Code print(struct _Unwind_Context *context, void *info)
{
    Dl_info found;
    (void)info;
    if (dladdr((void *)(_Unwind_GetIP(context) - 1), &found) && found.dli_sname != NULL)
        printf("%s\n", found.dli_sname);
    return _URC_NO_REASON;
}
__attribute__((noinline)) void reached(void)
{
    _Unwind_Backtrace(print, NULL);
    fflush(stdout);
    RLRunLoopStop(RLRunLoopGetCurrent());
}
static void tick(RLRunLoopTimerRef timer, void *info) { (void)timer, (void)info, reached(); }
static void perform(void *info) { (void)info, reached(); }
static RLDataRef answer(RLMessagePortRef port, int32_t id, RLDataRef data, void *info)
{
    (void)port, (void)id, (void)data, (void)info;
    reached();
    return NULL;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    if (strcmp(kind, "timer") == 0) {
        RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, tick, NULL);
        RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    } else if (strcmp(kind, "source") == 0) {
        RLRunLoopSourceContext context = {.perform = perform};
        RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
        RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
        RLRunLoopSourceSignal(source);
    } else {
        RLMessagePortRef local = RLMessagePortCreateLocal(NULL, RLSTR("debugging"), answer, NULL, NULL);
        RLRunLoopAddSource(loop, RLMessagePortCreateRunLoopSource(NULL, local, 0), kRLRunLoopDefaultMode);
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, RLSTR("debugging"));
        RLMessagePortSendRequest(remote, 1, NULL, 1, 0, NULL, NULL);
    }
    RLRunLoopRun();
    return 0;
}
"""

CALLOUTS = {"timer": ("tick", "RUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION"),
            "source": ("perform", "RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION"),
            "message port": ("answer", "RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_CALLBACK_FUNCTION")}


def build(installed, directory, text, compiler="gcc"):
    source = directory / ("program.cpp" if compiler == "g++" else "program.c")
    source.write_text(text)
    program = directory / "program"
    output(compiler, "-g", "-O1", "-rdynamic", "-D_GNU_SOURCE", "-pthread", f"-I{installed}/usr/include", source, "-o", program,
           f"-L{installed}/usr/lib", "-lrunloop", "-ldl", f"-Wl,-rpath,{installed}/usr/lib")
    return program


@pytest.fixture(scope="module")
def program(installed, tmp_path_factory):
    return build(installed, tmp_path_factory.mktemp("debugging"), PROGRAM)


def gdb(program, kind, debug_files, *commands):
    """Returns what gdb and the program print."""
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed")
    words = ["-nx", "-q", "-batch", "-iex", f"set debug-file-directory {debug_files}", "-iex", "set auto-load off"]
    words += [word for command in commands for word in ("-ex", command)]
    return subprocess.run(["gdb", *words, "--args", program, kind], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def backtrace(program, kind, debug_files):
    lines = gdb(program, kind, debug_files, "break reached", "run", "backtrace").splitlines()
    return [line for line in lines if re.match(r"#\d+\s", line)]


def functions(frames):
    return [re.match(r"#\d+\s+(?:0x\w+ in )?(.+?) \(", frame)[1] for frame in frames]


@pytest.mark.parametrize("kind", CALLOUTS)
def test_gdb_shows_who_is_called_and_from_where(installed, program, kind, tmp_path):
    """Without the debug information file: the names of the callouts and the exports, and all frames down to main."""
    frames = functions(backtrace(program, kind, tmp_path))
    assert frames[:3] == ["reached", *CALLOUTS[kind]]
    assert frames[-1] == "main" and "RLRunLoopRun" in frames[-3:]


def test_gdb_shows_all_with_the_installed_debug_information(installed, program):
    shown = backtrace(program, "timer", installed / "usr/lib/debug")
    frames = functions(shown)
    assert frames[:3] == ["reached", *CALLOUTS["timer"]] and frames[-1] == "main"
    assert any("iterate" in frame for frame in frames)
    assert not any("??" in frame for frame in frames)
    assert any(re.search(r"\bRunLoopCore/Loop/Run\.swift:\d+$", frame) for frame in shown), shown


@pytest.fixture
def calling(program, tmp_path):
    """Skips a test if gdb cannot call functions here, not even of the C library: gdb 13 cannot on processors with AMX."""
    if not re.search(r"^\$1 = [1-9]", gdb(program, "timer", tmp_path, "break main", "run", "print (int)getpid()"), re.MULTILINE):
        pytest.skip("gdb cannot call functions on this machine")


@pytest.mark.parametrize("has_debug_files", [False, True])
@pytest.mark.usefixtures("calling")
def test_gdb_shows_objects_by_the_commands_of_the_page(installed, program, tmp_path, has_debug_files):
    commands = re.findall(r"^\(gdb\) (.*)$", (ROOT / "docs/DEBUGGING.md").read_text(), re.MULTILINE)
    shown = gdb(program, "timer", installed / "usr/lib/debug" if has_debug_files else tmp_path, "break tick", "run", *commands)
    assert re.findall(r"^<(\w+) 0x", shown, re.MULTILINE) == ["RLRunLoop", "RLRunLoopTimer"], shown


@pytest.mark.parametrize("kind", CALLOUTS)
def test_the_unwinder_of_libgcc_comes_through(program, kind):
    names = output(program, kind).splitlines()
    assert names[0] == "reached" and "main" in names and "RLRunLoopRun" in names
    assert names.index("RLRunLoopRun") < names.index("main")


START = r"""
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
"""

EXCEPTION = START + r"""
static void throws(RLRunLoopTimerRef timer, void *) {
    RLRunLoopTimerInvalidate(timer);
    throw 1;
}
static void catches(RLRunLoopTimerRef, void *) {
    try { throw 1; } catch (int) { puts("caught"); fflush(stdout); }
}
int main(int, char **argv) {
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, strcmp(argv[1], "throws") == 0 ? throws : catches, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    try { RLRunLoopRun(); } catch (int) { puts("came through"); }
    puts("over");
}
"""

END_OF_THREAD = START + r"""
struct Scope { ~Scope() { puts("destroyed"); } };
static void leave(RLRunLoopTimerRef, void *) { Scope scope; pthread_exit(NULL); }
static void *thread(void *) {
    Scope scope;
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, leave, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    RLRunLoopRun();
    puts("not reached");
    return NULL;
}
int main() {
    pthread_t id;
    pthread_create(&id, NULL, thread, NULL);
    pthread_join(id, NULL);
}
"""

JUMP = START + r"""
static jmp_buf out;
static int depth;
static void nested(void *info) { (void)info; longjmp(out, 1); }
static void tick(RLRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    if (depth == 0)
        longjmp(out, 1);
    RLRunLoopPerformFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, nested, NULL);
    if (setjmp(out) == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0);
}
static __attribute__((noinline)) void deeper(int levels)
{
    volatile char room[256];
    room[0] = 0;
    if (levels > 0)
        deeper(levels - 1);
    else
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 0);
    room[1] = room[0];
}
int main(int argc, char **argv)
{
    (void)argc;
    depth = strcmp(argv[1], "nested") == 0;
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0.001, 0, 0, tick, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    if (depth == 1 || setjmp(out) == 0)
        RLRunLoopRun();
    puts("left");
    fflush(stdout);
    deeper(strcmp(argv[1], "deeper") == 0 ? 100 : 0);
    puts("went on");
    return 0;
}
"""

#: A run on the first stack is interrupted by a nested run on the second one. The arguments name the stacks.
COROUTINES = START + r"""
#include <stdlib.h>
#include <ucontext.h>
enum { SIZE = 256 * 1024 };
static char *stacks;
static ucontext_t main_context, outer_context, inner_context;
static const char *outer, *inner;
static int calls;

static void performed(void *info);
static void run_once(void)
{
    RLRunLoopPerformFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, performed, NULL);
    RLRunLoopRun();
}
static void run_on(const char *stack, ucontext_t *context, ucontext_t *caller)
{
    getcontext(context);
    context->uc_stack.ss_sp = strcmp(stack, "low") == 0 ? stacks : stacks + SIZE;
    context->uc_stack.ss_size = SIZE;
    context->uc_link = caller;
    makecontext(context, run_once, 0);
    swapcontext(caller, context);
}
static void performed(void *info)
{
    (void)info;
    if (calls++ == 0 && strcmp(inner, "main") == 0)
        swapcontext(&outer_context, &main_context);
    else if (calls == 1)
        run_on(inner, &inner_context, &outer_context);
    RLRunLoopStop(RLRunLoopGetCurrent());
}
int main(int argc, char **argv)
{
    (void)argc;
    outer = argv[1], inner = argv[2];
    stacks = malloc(2 * SIZE);
    for (int i = 0; i < 3; i++) {
        calls = 0;
        if (strcmp(outer, "main") == 0)
            run_once();
        else
            run_on(outer, &outer_context, &main_context);
        if (strcmp(inner, "main") == 0) {
            run_once();
            swapcontext(&main_context, &outer_context);
        }
        printf("%d\n", calls);
    }
    return 0;
}
"""


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)


def test_an_exception_that_leaves_a_callback_ends_the_process(installed, tmp_path):
    program = build(installed, tmp_path, EXCEPTION, "g++")
    result = run(program, "throws")
    assert (result.returncode, result.stdout) == (-signal.SIGABRT, "")
    assert re.fullmatch(r"runloop: an exception escaped from a run loop callback; .*RLBase\.h.*\n", result.stderr)


def test_an_exception_that_is_caught_in_the_callback_is_no_affair_of_the_library(installed, tmp_path):
    result = run(build(installed, tmp_path, EXCEPTION, "g++"), "catches")
    assert (result.returncode, result.stdout, result.stderr) == (0, "caught\nover\n", "")


def test_the_end_of_a_thread_unwinds_through_the_library(installed, tmp_path):
    """Destructors on both sides of the library run."""
    result = run(build(installed, tmp_path, END_OF_THREAD, "g++"))
    assert (result.returncode, result.stdout, result.stderr) == (0, "destroyed\ndestroyed\n", "")


@pytest.mark.parametrize("where", ["outermost", "deeper", "nested"])
def test_a_jump_out_of_a_callback_ends_the_process(installed, tmp_path, where):
    result = run(build(installed, tmp_path, JUMP), where)
    assert (result.returncode, result.stdout) == (-signal.SIGABRT, "" if where == "nested" else "left\n")
    assert re.fullmatch(r"runloop: longjmp left a run loop callback; .*RLBase\.h.*\n", result.stderr)


@pytest.fixture(scope="module")
def coroutines(installed, tmp_path_factory):
    return build(installed, tmp_path_factory.mktemp("coroutines"), COROUTINES)


@pytest.mark.parametrize("outer, inner", itertools.permutations(("main", "low", "high"), 2))
def test_a_run_may_be_nested_in_one_on_another_stack(coroutines, outer, inner):
    """Whichever stack is at the lower address: malloc's memory is below the main thread's stack."""
    result = run(coroutines, outer, inner)
    assert (result.returncode, result.stdout, result.stderr) == (0, "2\n" * 3, "")
