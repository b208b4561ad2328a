/* Checks that a port with several messages delivers the next one without a pass only if a client cannot tell the difference.
 * There is a test for each thing that makes one, named after the case of OtherWork (RunLoop+OtherWork.swift) without which it
 * fails. */
#include "harness.h"

#include <sys/eventfd.h>

#define MODE kRLRunLoopDefaultMode
#define OTHER RLSTR("other")

enum { MESSAGES = 2 };

static RLRunLoopRef rl;
static RLPortRef port;
static RLRunLoopSourceRef port_source;
/* Executed in the port's callback for the first message, if set. */
static void (*action)(void);
static int received;

static void on_message(UNUSED RLPortRef receiver, UNUSED RLPortMessageRef message, UNUSED void *info)
{
    note(++received == 1 ? "first" : "second");
    if (received == 1 && action)
        action();
}

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    action = NULL;
    received = 0;
    port = RLPortCreate(NULL, on_message, NULL, NULL);
    port_source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(rl, port_source, MODE);
    RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, NULL);
    for (int index = 0; index < MESSAGES; index++)
        ck_assert_int_eq(RLPortMessageSendBeforeDate(message, 1e12), 1);
    RLRelease(message);
}

static void tear_down(void)
{
    RLPortInvalidate(port);
    RLRelease(port_source);
    RLRelease(port);
}

/* Runs until there is nothing left to do. */
static void run(void) { RLRunLoopRunInMode(MODE, 0.1, 0); }

static void note_info(void *info) { note(info); }

static RLRunLoopSourceRef other;

static void make_other(RLIndex order)
{
    other = make_source(order, note_info, "other");
    RLRunLoopAddSource(rl, other, MODE);
}

static void signal_other(void) { RLRunLoopSourceSignal(other); }

static void remove_port(void) { RLRunLoopRemoveSource(rl, port_source, MODE); }

START_TEST(other_loop_a_source_removed_from_the_mode_receives_no_further_message)
{
    RLRunLoopAddSource(rl, port_source, OTHER);
    /* Without this source the mode would be empty, which ends the run. */
    make_other(0);
    action = remove_port;
    run();
    assert_notes("first");
    RLRunLoopRunInMode(OTHER, 0.02, 0);
    assert_notes("second");
    drop_source(other);
}
END_TEST

START_TEST(queued_sources_a_source_signalled_earlier_precedes_the_next_message)
{
    make_other(1);
    signal_other();
    run();
    assert_notes("first other second");
    drop_source(other);
}
END_TEST

START_TEST(return_after_source_a_run_returns_after_one_message)
{
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1, 1), kRLRunLoopRunHandledSource);
    assert_notes("first");
}
END_TEST

static void stop(void) { RLRunLoopStop(rl); }

START_TEST(stop_ends_the_run_before_the_next_message)
{
    action = stop;
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1, 0), kRLRunLoopRunStopped);
    assert_notes("first");
}
END_TEST

static void unreference_port(void) { RLRunLoopSourceSetKeepsModeRunning(port_source, 0); }

START_TEST(emptied_a_run_of_an_emptied_mode_ends_before_the_next_message)
{
    action = unreference_port;
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e10, 0), kRLRunLoopRunFinished);
    assert_notes("first");
}
END_TEST

static void queue_function(void) { RLRunLoopPerformFunction(rl, MODE, note_info, "function"); }

START_TEST(functions_that_were_queued_precede_the_next_message)
{
    action = queue_function;
    run();
    assert_notes("first function second");
}
END_TEST

static void queue_function_and_cancel_another(void)
{
    queue_function();
    /* Looking for functions to cancel takes all of them out of the inbox. */
    RLRunLoopCancelPerformFunction(rl, do_nothing, NULL);
}

START_TEST(functions_taken_out_of_the_inbox_precede_the_next_message)
{
    action = queue_function_and_cancel_another;
    run();
    assert_notes("first function second");
}
END_TEST

START_TEST(signals_another_signalled_source_precedes_the_next_message)
{
    make_other(-1);
    action = signal_other;
    run();
    assert_notes("first other second");
    drop_source(other);
}
END_TEST

static struct looper looper;

START_TEST(signals_of_a_source_in_two_loops_are_noticed_before_the_next_message)
{
    looper_start(&looper);
    other = make_source(-1, note_info, "other");
    /* Added to the other loop first: a signal to a source in several loops marks the bitmap of its first loop. */
    RLRunLoopAddSource(looper.loop, other, OTHER);
    RLRunLoopAddSource(rl, other, MODE);
    action = signal_other;
    run();
    assert_notes("first other second");
    drop_source(other);
    looper_stop(&looper);
}
END_TEST

static void add_other(void) { RLRunLoopAddSource(rl, other, MODE); }

START_TEST(signals_of_a_source_of_another_loop_are_noticed_when_it_is_added)
{
    looper_start(&looper);
    other = make_source(-1, note_info, "other");
    RLRunLoopAddSource(looper.loop, other, OTHER);
    signal_other();
    action = add_other;
    run();
    assert_notes("first other second");
    drop_source(other);
    looper_stop(&looper);
}
END_TEST

static void signal_other_and_run_another_mode(void)
{
    signal_other();
    /* The nested run takes the signal, and queues the source for its own mode. */
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 1000, 0, count_timer, NULL);
    RLRunLoopAddTimer(rl, timer, OTHER);
    RLRunLoopRunInMode(OTHER, 0, 0);
    drop_timer(timer);
}

START_TEST(queued_sources_a_source_fetched_by_a_nested_run_precedes_the_next_message)
{
    make_other(-1);
    action = signal_other_and_run_another_mode;
    run();
    assert_notes("first other second");
    drop_source(other);
}
END_TEST

static void note_activity(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    note(info);
}

static RLOptionFlags observed;

static void add_observer(void)
{
    RLRunLoopObserverRef observer = make_observer(observed, 0, 0, note_activity, "observer");
    RLRunLoopAddObserver(rl, observer, MODE);
    RLRelease(observer);
}

START_TEST(observers_see_a_pass_before_the_next_message)
{
    observed = _i ? kRLRunLoopBeforeSources : kRLRunLoopBeforeTimers;
    action = add_observer;
    run();
    assert_notes("first observer second");
}
END_TEST

static void note_release(const void *info) { note(info); }

static void autorelease(void)
{
    RLRunLoopSourceContext context = {.info = "released", .release = note_release};
    RLAutorelease(RLRunLoopSourceCreate(NULL, 0, &context));
}

START_TEST(autoreleased_objects_are_released_before_the_next_message)
{
    action = autorelease;
    run();
    assert_notes("first released second");
}
END_TEST

START_TEST(descriptors_that_are_ready_precede_the_next_message)
{
    struct watch watch = {.name = "descriptor", .reads = true};
    int ends[2];
    make_pipe(ends);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    watch_fd(&watch, ends[0], 0);
    run();
    assert_notes("first descriptor second");
    drop_source(watch.source);
    close_pipe(ends);
}
END_TEST

static int file;
static int lost_file(UNUSED void *info) { return file; }
static void note_error(UNUSED const char *message, void *info) { note(info); }

/* A source's descriptor is closed, its number is reused for another file, and another source is added for that file: the next
 * pass reports the loss. Both sources are in another mode, so that the mode that runs has no descriptor. */
static void lose_a_descriptor(void)
{
    close(file);
    ck_assert_int_eq(eventfd(0, EFD_CLOEXEC), file);
    other = make_port_source(0, lost_file, note_info, "other");
    RLRunLoopAddSource(rl, other, OTHER);
}

START_TEST(watch_trouble_is_reported_before_the_next_message)
{
    file = eventfd(0, EFD_CLOEXEC);
    RLRunLoopSourceRef first = make_port_source(0, lost_file, note_info, "lost");
    RLRunLoopAddSource(rl, first, OTHER);
    RLSetErrorHandler(note_error, "error");
    action = lose_a_descriptor;
    run();
    assert_notes("first error second");
    drop_source(first);
    drop_source(other);
    close(file);
}
END_TEST

static void note_timer(UNUSED RLRunLoopTimerRef timer, void *info) { note(info); }

static void add_due_timer(void)
{
    RLRunLoopTimerRef timer = make_timer(0, 0, note_timer, "timer");
    RLRunLoopAddTimer(rl, timer, MODE);
    RLRelease(timer);
}

START_TEST(time_a_due_timer_precedes_the_next_message)
{
    action = add_due_timer;
    run();
    assert_notes("first timer second");
}
END_TEST

START_TEST(time_a_run_past_its_deadline_ends_before_the_next_message)
{
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 0, 0), kRLRunLoopRunTimedOut);
    assert_notes("first");
}
END_TEST

static RLRunLoopSourceRef innermost;

/* A nested run in the port's callback performs another source, which belongs to that run's batch. */
static void run_nested(void)
{
    RLRunLoopSourceSignal(innermost);
    RLRunLoopRunInMode(OTHER, 0, 0);
}

START_TEST(queued_sources_precede_the_next_message_after_a_nested_run)
{
    innermost = make_source(0, note_info, "nested");
    RLRunLoopAddSource(rl, innermost, OTHER);
    make_other(1);
    signal_other();
    action = run_nested;
    run();
    assert_notes("first nested other second");
    drop_source(other);
    drop_source(innermost);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("shortcuts");
    TCase *tests = add_case(suite, "further messages", 20);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, other_loop_a_source_removed_from_the_mode_receives_no_further_message);
    tcase_add_test(tests, queued_sources_a_source_signalled_earlier_precedes_the_next_message);
    tcase_add_test(tests, queued_sources_precede_the_next_message_after_a_nested_run);
    tcase_add_test(tests, return_after_source_a_run_returns_after_one_message);
    tcase_add_test(tests, stop_ends_the_run_before_the_next_message);
    tcase_add_test(tests, emptied_a_run_of_an_emptied_mode_ends_before_the_next_message);
    tcase_add_test(tests, functions_that_were_queued_precede_the_next_message);
    tcase_add_test(tests, functions_taken_out_of_the_inbox_precede_the_next_message);
    tcase_add_test(tests, signals_another_signalled_source_precedes_the_next_message);
    tcase_add_test(tests, signals_of_a_source_in_two_loops_are_noticed_before_the_next_message);
    tcase_add_test(tests, signals_of_a_source_of_another_loop_are_noticed_when_it_is_added);
    tcase_add_test(tests, queued_sources_a_source_fetched_by_a_nested_run_precedes_the_next_message);
    tcase_add_loop_test(tests, observers_see_a_pass_before_the_next_message, 0, 2);
    tcase_add_test(tests, autoreleased_objects_are_released_before_the_next_message);
    tcase_add_test(tests, descriptors_that_are_ready_precede_the_next_message);
    tcase_add_test(tests, watch_trouble_is_reported_before_the_next_message);
    tcase_add_test(tests, time_a_due_timer_precedes_the_next_message);
    tcase_add_test(tests, time_a_run_past_its_deadline_ends_before_the_next_message);
    return suite;
}
