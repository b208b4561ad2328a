"""libdispatch's main queue on the main loop: on request, automatically for programs that use CFRunLoop.h, and not at
all without libdispatch. The libdispatch is the toolchain's."""

import pytest

from library import output
from public_headers import clang, toolchain
from tools import INCLUDE, STRICT, apples, has_apples, ours, run

pytestmark = [pytest.mark.timeout(120),
              pytest.mark.skipif(not has_apples("dispatch"), reason="libdispatch is not installed")]

#: Work from the main thread, from another thread (which waits for it), later, and from the queue itself.
PROGRAM = r"""
#include HEADER
#include <dispatch/dispatch.h>
#include <pthread.h>
#include <stdio.h>

static pthread_t main_thread;
static int wrong_thread, done;

static void say(void *word)
{
    wrong_thread += !pthread_equal(pthread_self(), main_thread);
    done++;
    printf("%s\n", (const char *)word);
}

static void again(void *word)
{
    say(word);
    dispatch_async_f(dispatch_get_main_queue(), "from the queue itself", say);
}

static void stop(void *word)
{
    say(word);
    LOOP(Stop)(LOOP(GetMain)());
}

static void from_thread(void *nothing)
{
    (void)nothing;
    dispatch_sync_f(dispatch_get_main_queue(), "waited for by a thread", say);
    for (int i = 0; i < 1000; i++)
        dispatch_async_f(dispatch_get_main_queue(), NULL, (dispatch_function_t)count);
    dispatch_sync_f(dispatch_get_main_queue(), "waited for once more", say);
    dispatch_after_f(dispatch_time(DISPATCH_TIME_NOW, 20 * 1000 * 1000), dispatch_get_main_queue(), "last", stop);
}

int main(void)
{
    main_thread = pthread_self();
    PREPARE
    dispatch_async_f(dispatch_get_main_queue(), "put there before the run", again);
    dispatch_async_f(dispatch_get_global_queue(0, 0), NULL, from_thread);
    LOOP(Run)();
    printf("%d counted, %d in the wrong thread\n", counted, wrong_thread);
    return 0;
}
"""
EXPECTED = ("put there before the run\nfrom the queue itself\nwaited for by a thread\nwaited for once more\nlast\n"
            "1000 counted, 0 in the wrong thread\n")
COUNT = "static int counted; static void count(void *nothing) { (void)nothing; counted++; }\n"


def build(tmp_path, text, *flags, libraries):
    source = tmp_path / "program.c"
    source.write_text(text)
    output(clang(), *STRICT, "-std=gnu11", "-Wno-pedantic", "-pthread", f"-I{INCLUDE}", "-isystem",
           toolchain() / "lib" / "swift", *flags, source, "-o", tmp_path / "program", *libraries)
    return tmp_path / "program"


def prefixed(prefix, header, prepare=""):
    text = PROGRAM.replace("HEADER", f"<{header}>").replace("PREPARE", prepare)
    text = text.replace("static pthread_t", COUNT + "static pthread_t", 1)
    import re
    return re.sub(r"LOOP\((\w+)\)", rf"{prefix}RunLoop\1", text)


def lines(text):
    return sorted(text.splitlines())


@pytest.mark.parametrize("link", [[], ["-fuse-ld=lld"], ["-fuse-ld=bfd", "-no-pie"]], ids=["gold", "lld", "bfd no PIE"])
def test_program_with_cfrunloop_gets_it_by_itself(tmp_path, link):
    program = build(tmp_path, prefixed("CF", "CoreFoundation/CoreFoundation.h"), *link,
                    libraries=[*ours(), *apples("dispatch", "BlocksRuntime")])
    out = run(program)
    assert lines(out) == lines(EXPECTED)
    assert out.endswith("last\n1000 counted, 0 in the wrong thread\n")


@pytest.mark.skipif(not has_apples("Foundation"), reason="Apple's CoreFoundation is not installed")
def test_corefoundation_does_the_same(tmp_path):
    from public_headers import apple_include
    source = tmp_path / "program.c"
    source.write_text(prefixed("CF", "CoreFoundation/CoreFoundation.h"))
    output(clang(), "-w", "-std=gnu11", "-D_GNU_SOURCE", "-fblocks", f"-I{apple_include()}", source, "-o",
           tmp_path / "program", *apples("Foundation", "BlocksRuntime", "dispatch"), "-pthread")
    assert lines(run(tmp_path / "program")) == lines(EXPECTED)


def test_program_asks_for_it(tmp_path):
    prepare = "if (!RLRunLoopSetServicesDispatchMainQueue(1) || !RLRunLoopSetServicesDispatchMainQueue(1)) return 1;"
    program = build(tmp_path, prefixed("RL", "RunLoop/RunLoop.h", prepare),
                    libraries=[*ours(), *apples("dispatch", "BlocksRuntime")])
    assert lines(run(program)) == lines(EXPECTED)


NOT_SERVED = r"""
#include <RunLoop/RunLoop.h>
#include <dispatch/dispatch.h>
#include <stdio.h>
static int performed;
static void perform(void *info) { (void)info; performed++; }
int main(void)
{
    dispatch_async_f(dispatch_get_main_queue(), NULL, perform);
    int before = (int)RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 0), then = performed;
    int served = RLRunLoopSetServicesDispatchMainQueue(1);
    int during = (int)RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1);
    int idle = (int)RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 1), here = performed;
    RLRunLoopSetServicesDispatchMainQueue(0);
    dispatch_async_f(dispatch_get_main_queue(), NULL, perform);
    int after = (int)RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 0);
    printf("%d %d, %d %d %d %d, %d %d\n", before, then, served, during, idle, here, after, performed);
    return 0;
}
"""


def test_without_asking_it_is_left_alone_and_it_can_be_given_up(tmp_path):
    """Finished, nothing performed; then HandledSource, TimedOut (asleep, not spinning), one performed; then as at first."""
    program = build(tmp_path, NOT_SERVED, libraries=[*ours(), *apples("dispatch", "BlocksRuntime")])
    run(program, expected="1 0, 1 4 3 1, 1 1\n")


def test_an_idle_queue_does_not_keep_the_loop_busy(tmp_path):
    """Data that libdispatch writes to its descriptor is read: the passes are counted."""
    program = build(tmp_path, r"""
#include <CoreFoundation/CoreFoundation.h>
#include <dispatch/dispatch.h>
static int passes;
static void nothing(void *info) { (void)info; }
static void count(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer, (void)activity, (void)info;
    passes++;
}
int main(void)
{
    CFRunLoopObserverRef observer = CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeTimers, TRUE, 0, count, NULL);
    CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, kCFRunLoopCommonModes);
    for (int i = 0; i < 10; i++)
        dispatch_async_f(dispatch_get_main_queue(), NULL, nothing);
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.2, FALSE);
    printf("%s\n", passes >= 2 && passes < 30 ? "few passes" : "busy");
    CFRelease(observer);
    return 0;
}
""", libraries=[*ours(), *apples("dispatch", "BlocksRuntime")])
    run(program, expected="few passes\n")


def test_a_program_without_libdispatch_has_no_such_source(tmp_path):
    """Run by CF's name, its main loop is still never empty; run by this library's name, it is empty."""
    program = build(tmp_path, r"""
#include <CoreFoundation/CoreFoundation.h>
#include <RunLoop/RunLoop.h>
int main(void)
{
    printf("%d %d\n", (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, FALSE),
           (int)RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0));
    return 0;
}
""", libraries=ours())
    run(program, expected="3 1\n")
    assert "dispatch" not in output("ldd", program)


NESTED = r"""
#include <CoreFoundation/CoreFoundation.h>
#include <dispatch/dispatch.h>
static int run(void) { return (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.01, FALSE); }
static void nothing(void *info) { (void)info; }
static void nest(void *nested)
{
    CFRunLoopSourceContext context = {0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, nothing};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    ((int *)nested)[0] = run();
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    ((int *)nested)[1] = run();
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
}
int main(void)
{
    int nested[2] = {0, 0}, before = run();
    dispatch_async_f(dispatch_get_main_queue(), nested, nest);
    int during = run();
    printf("%d, %d %d %d, %d\n", before, during, nested[0], nested[1], run());
    return 0;
}
"""


def test_a_run_nested_in_the_queue_can_be_empty(tmp_path):
    """Finished, as in CoreFoundation: the queue cannot be served there."""
    program = build(tmp_path, NESTED, libraries=[*ours(), *apples("dispatch", "BlocksRuntime")])
    run(program, expected="3, 3 1 3, 3\n")


@pytest.mark.skipif(not has_apples("Foundation"), reason="Apple's CoreFoundation is not installed")
def test_corefoundation_says_the_same_of_nested_runs(tmp_path):
    from public_headers import apple_include
    source = tmp_path / "program.c"
    source.write_text(NESTED)
    output(clang(), "-w", "-std=gnu11", "-D_GNU_SOURCE", "-fblocks", f"-I{apple_include()}", source, "-o",
           tmp_path / "program", *apples("Foundation", "BlocksRuntime", "dispatch"), "-pthread")
    run(tmp_path / "program", expected="3, 3 1 3, 3\n")
