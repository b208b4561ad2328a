/* Checks what callbacks may do to a batch of sources: run the loop, read what another source was reported for, and use the
 * library from callbacks of the context. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }
static int run_default(double seconds, int returning)
{
    return RLRunLoopRunInMode(kRLRunLoopDefaultMode, seconds, (RLBoolean)returning);
}
static void note_info(void *info) { note(info); }

static void note_and_run_nested(void *info)
{
    note(info);
    run_default(0, 0);
    note("end");
}

static RLRunLoopSourceRef add_signalled_source(RLIndex order, void (*perform)(void *), void *info)
{
    RLRunLoopSourceRef source = make_source(order, perform, info);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    return source;
}

START_TEST(a_source_of_the_batch_performed_by_a_nested_run_is_not_performed_again)
{
    RLRunLoopSourceRef sources[] = {add_signalled_source(1, note_and_run_nested, "A"),
                                    add_signalled_source(2, note_info, "B"), add_signalled_source(3, note_info, "C")};
    run_default(0, 0);
    assert_notes("A B C end");
    for (int i = 0; i < 3; i++)
        drop_source(sources[i]);
}
END_TEST

static RLRunLoopSourceRef again;
static void note_and_signal_again(void *info)
{
    note(info);
    if (again) {
        RLRunLoopSourceSignal(again);
        again = NULL;
    }
}

/* The source performs in the nested run and is signalled again there: the outer batch must not lose that signal. */
START_TEST(a_source_signalled_again_in_a_nested_run_is_performed_again)
{
    RLRunLoopSourceRef outer = add_signalled_source(1, note_and_run_nested, "A");
    RLRunLoopSourceRef inner = add_signalled_source(2, note_and_signal_again, "B");
    again = inner;
    run_default(0, 0);
    run_default(0, 0);
    assert_notes("A B end B");
    drop_source(outer);
    drop_source(inner);
}
END_TEST

/* Both descriptors are reported together. The first one's callback runs the loop, which serves the second. */
static struct watch both[2];
static void read_and_run_nested(void *info)
{
    watch_perform(info);
    if (both[0].performed + both[1].performed == 1)
        ck_assert_int_eq(run_default(0, 1), kRLRunLoopRunHandledSource);
}

static void watch_two_pipes(int ends[2][2], void (*perform)(void *))
{
    for (int i = 0; i < 2; i++) {
        make_pipe(ends[i]);
        ck_assert_int_eq(write(ends[i][1], "x", 1), 1);
        both[i].fd = ends[i][0];
        both[i].source = make_port_source(0, watch_port, perform, &both[i]);
        RLRunLoopAddSource(rl, both[i].source, kRLRunLoopDefaultMode);
    }
}

static void drop_two_pipes(int ends[2][2])
{
    for (int i = 0; i < 2; i++) {
        drop_source(both[i].source);
        close_pipe(ends[i]);
    }
}

START_TEST(events_fetched_before_a_nested_run_are_not_handled_twice)
{
    int ends[2][2];
    both[0].reads = both[1].reads = true; /* a perform without a byte to read fails */
    watch_two_pipes(ends, read_and_run_nested);
    run_default(0.02, 0);
    ck_assert_int_eq(both[0].performed, 1);
    ck_assert_int_eq(both[1].performed, 1);
    drop_two_pipes(ends);
}
END_TEST

static void read_both(void *info)
{
    char byte;
    ((struct watch *)info)->performed++;
    for (int i = 0; i < 2; i++)
        if (read(both[i].fd, &byte, 1) < 0)
            ck_assert_int_eq(errno, EAGAIN);
}

/* What the kernel reported about the second descriptor is outdated when its turn comes. As RLRunLoopSource.h says, it may be
 * called in vain, but only once, and the loop sleeps afterwards. */
START_TEST(a_descriptor_drained_by_another_callback_is_reported_in_vain_at_most_once)
{
    int ends[2][2];
    watch_two_pipes(ends, read_both);
    run_default(0.02, 0);
    ck_assert_int_ge(both[0].performed + both[1].performed, 1);
    ck_assert_int_le(both[0].performed, 1);
    ck_assert_int_le(both[1].performed, 1);
    drop_two_pipes(ends);
}
END_TEST

START_TEST(the_second_source_on_a_descriptor_sees_what_the_first_has_left)
{
    int ends[2];
    struct watch one = {.reads = true}, other = {.reads = true};
    make_pipe(ends);
    watch_fd(&one, ends[0], 0);
    watch_fd(&other, ends[0], 0);
    ck_assert_int_eq(write(ends[1], "x", 1), 1); /* one byte: one of them reads it */
    run_default(0.02, 0);
    ck_assert_int_eq(one.performed + other.performed, 1);
    ck_assert_int_eq(write(ends[1], "yz", 2), 2); /* one byte for each */
    run_default(0.02, 0);
    ck_assert_int_eq(one.performed + other.performed, 3);
    drop_source(one.source);
    drop_source(other.source);
    close_pipe(ends);
}
END_TEST

/* -- Callbacks of the context that use the library -- */

static RLRunLoopSourceRef known;
static int equal_calls;
static RLBoolean equal_and_use_loop(const void *one, const void *other)
{
    if (equal_calls++ == 0) { /* only once, or it would recurse forever */
        RLRunLoopContainsSource(rl, known, kRLRunLoopDefaultMode);
        RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, do_nothing, NULL);
        RLRunLoopSourceRef third = make_source(9, do_nothing, &equal_calls);
        RLRunLoopAddSource(rl, third, kRLRunLoopDefaultMode);
        drop_source(third);
    }
    return *(const int *)one == *(const int *)other;
}
static RLHashCode hash_and_use_loop(const void *info)
{
    RLRunLoopWakeUp(rl);
    RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode);
    return (RLHashCode) * (const int *)info;
}

START_TEST(equal_and_hash_callbacks_may_use_the_loop)
{
    int infos[3] = {5, 5, 6};
    RLRunLoopSourceRef sources[3];
    for (int i = 0; i < 3; i++) {
        RLRunLoopSourceContext context = {
            .info = &infos[i], .equal = equal_and_use_loop, .hash = hash_and_use_loop, .perform = do_nothing};
        sources[i] = RLRunLoopSourceCreate(NULL, 0, &context);
        known = sources[0];
        RLRunLoopAddSource(rl, sources[i], kRLRunLoopDefaultMode);
    }
    ck_assert_int_gt(equal_calls, 0);
    for (int i = 0; i < 3; i++)
        ck_assert(RLRunLoopContainsSource(rl, sources[i], kRLRunLoopDefaultMode)); /* the second one by equality */
    RLRunLoopRemoveSource(rl, sources[1], kRLRunLoopDefaultMode);
    ck_assert(!RLRunLoopContainsSource(rl, sources[0], kRLRunLoopDefaultMode)); /* removed by equality */
    for (int i = 0; i < 3; i++)
        drop_source(sources[i]);
}
END_TEST

static RLRunLoopSourceRef in_schedule;
static void remove_in_schedule(UNUSED void *info, RLRunLoopRef loop, RLRunLoopMode mode)
{
    note("schedule");
    RLRunLoopRemoveSource(loop, in_schedule, mode);
}
static void invalidate_in_schedule(UNUSED void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode)
{
    note("schedule");
    RLRunLoopSourceInvalidate(in_schedule);
}
static void release_in_cancel(UNUSED void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode)
{
    note("cancel");
    if (in_schedule)
        RLRelease(in_schedule);
    in_schedule = NULL;
}
static void note_cancel(UNUSED void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode) { note("cancel"); }

START_TEST(a_source_removed_in_its_schedule_callback_is_not_added)
{
    RLRunLoopSourceContext contexts[] = {{.schedule = remove_in_schedule, .cancel = note_cancel},
                                         {.schedule = invalidate_in_schedule, .cancel = note_cancel}};
    for (int i = 0; i < 2; i++) {
        in_schedule = RLRunLoopSourceCreate(NULL, 0, &contexts[i]);
        RLRunLoopAddSource(rl, in_schedule, kRLRunLoopDefaultMode);
        assert_notes("schedule cancel");
        ck_assert(!RLRunLoopContainsSource(rl, in_schedule, kRLRunLoopDefaultMode));
        ck_assert_int_eq(run_default(10, 0), kRLRunLoopRunFinished);
        RLRelease(in_schedule);
    }
}
END_TEST

START_TEST(the_last_reference_may_be_released_in_the_cancel_callback)
{
    RLRunLoopSourceContext context = {.cancel = release_in_cancel};
    in_schedule = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(rl, in_schedule, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, in_schedule, RLSTR("second"));
    RLRunLoopSourceInvalidate(in_schedule);
    assert_notes("cancel cancel");
    ck_assert_int_eq(run_default(10, 0), kRLRunLoopRunFinished);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source-reentrancy");
    TCase *tcase = add_case(suite, "reentrancy", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, a_source_of_the_batch_performed_by_a_nested_run_is_not_performed_again);
    tcase_add_test(tcase, a_source_signalled_again_in_a_nested_run_is_performed_again);
    tcase_add_test(tcase, events_fetched_before_a_nested_run_are_not_handled_twice);
    tcase_add_test(tcase, a_descriptor_drained_by_another_callback_is_reported_in_vain_at_most_once);
    tcase_add_test(tcase, the_second_source_on_a_descriptor_sees_what_the_first_has_left);
    tcase_add_test(tcase, equal_and_hash_callbacks_may_use_the_loop);
    tcase_add_test(tcase, a_source_removed_in_its_schedule_callback_is_not_added);
    tcase_add_test(tcase, the_last_reference_may_be_released_in_the_cancel_callback);
    return suite;
}
