/* Checks that descriptors which were ready together are served one per pass, without asking the kernel again. Whatever else is
 * called in between may have read what was reported, so then the kernel is asked again. */
#include "harness.h"

#define MODE kRLRunLoopDefaultMode

enum { FIRST, SECOND, THIRD, COUNT };

static RLRunLoopRef rl;
static int pipes[COUNT][2];
static RLRunLoopSourceRef sources[COUNT], signalled;
/* Executed in the callback of the first descriptor. */
static void (*action)(void);

static void read_byte(int number)
{
    char byte;
    require(read(pipes[number][0], &byte, 1) == 1);
}

static void read_second(UNUSED void *info)
{
    note("read");
    read_byte(SECOND);
}

static int descriptor(void *info) { return *(int *)info; }

static void on_first(UNUSED void *info)
{
    note("first");
    read_byte(FIRST);
    action();
}

static void on_second(UNUSED void *info) { note("second"); }

static void on_third(UNUSED void *info)
{
    note("third");
    RLRunLoopStop(rl);
}

static void set_up(void)
{
    static void (*const functions[COUNT])(void *) = {on_first, on_second, on_third};
    rl = RLRunLoopGetCurrent();
    for (int number = 0; number < COUNT; number++) {
        make_pipe(pipes[number]);
        sources[number] = make_port_source(0, descriptor, functions[number], &pipes[number][0]);
        RLRunLoopAddSource(rl, sources[number], MODE);
    }
    signalled = make_source(0, read_second, NULL);
    RLRunLoopAddSource(rl, signalled, MODE);
    for (int number = 0; number < COUNT; number++)
        require(write(pipes[number][1], "x", 1) == 1);
}

static void tear_down(void)
{
    drop_source(signalled);
    for (int number = 0; number < COUNT; number++) {
        drop_source(sources[number]);
        close_pipe(pipes[number]);
    }
}

/* Asserts that the second source does not perform, because there is nothing left to read. */
static void expect_second_left_out(void)
{
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e10, false), kRLRunLoopRunStopped);
    assert_notes("first read third");
}

static void do_nothing_else(void) {}

START_TEST(all_ready_descriptors_are_served)
{
    action = do_nothing_else;
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e10, false), kRLRunLoopRunStopped);
    assert_notes("first second third");
}
END_TEST

static void signal_source(void) { RLRunLoopSourceSignal(signalled); }

START_TEST(readiness_is_checked_again_after_a_signalled_source)
{
    action = signal_source;
    expect_second_left_out();
}
END_TEST

static void post_function(void) { RLRunLoopPerformFunction(rl, MODE, read_second, NULL); }

START_TEST(readiness_is_checked_again_after_a_function)
{
    action = post_function;
    expect_second_left_out();
}
END_TEST

static void on_timer(UNUSED RLRunLoopTimerRef timer, void *info) { read_second(info); }

static void add_due_timer(void)
{
    RLRunLoopTimerRef timer = make_timer(0, 0, on_timer, NULL);
    RLRunLoopAddTimer(rl, timer, MODE);
    RLRelease(timer);
}

START_TEST(readiness_is_checked_again_after_a_timer)
{
    action = add_due_timer;
    expect_second_left_out();
}
END_TEST

static void on_activity(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    read_second(info);
}

static RLOptionFlags observed;

static void add_observer(void)
{
    RLRunLoopObserverRef observer = make_observer(observed, false, 0, on_activity, NULL);
    RLRunLoopAddObserver(rl, observer, MODE);
    RLRelease(observer);
}

/* The observer is called once, in the next pass. Only that call tells the loop that what was reported may be outdated. */
START_TEST(readiness_is_checked_again_after_an_observer)
{
    observed = _i ? kRLRunLoopBeforeSources : kRLRunLoopBeforeTimers;
    action = add_observer;
    expect_second_left_out();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source-descriptor-outdated");
    TCase *tests = add_case(suite, "outdated events", 20);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, all_ready_descriptors_are_served);
    tcase_add_test(tests, readiness_is_checked_again_after_a_signalled_source);
    tcase_add_test(tests, readiness_is_checked_again_after_a_function);
    tcase_add_test(tests, readiness_is_checked_again_after_a_timer);
    tcase_add_loop_test(tests, readiness_is_checked_again_after_an_observer, 0, 2);
    return suite;
}
