/* Checks that each thread has its own loop, how the names of modes are compared, and that the common modes work as a set. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

static void *get_loops_on_thread(void *info)
{
    RLRunLoopRef *loops = info;
    loops[0] = RLRunLoopGetCurrent();
    loops[1] = RLRunLoopGetMain();
    ck_assert_ptr_eq(RLRunLoopGetCurrent(), loops[0]);
    return NULL;
}

START_TEST(every_thread_has_one_loop_and_the_first_thread_has_the_main_one)
{
    RLRunLoopRef loops[2];
    join_thread(start_thread(get_loops_on_thread, loops));
    ck_assert_ptr_nonnull(rl);
    ck_assert_ptr_eq(RLRunLoopGetCurrent(), rl);
    ck_assert_ptr_eq(RLRunLoopGetMain(), rl);
    ck_assert_ptr_eq(loops[1], rl);
    ck_assert_ptr_nonnull(loops[0]);
    ck_assert_ptr_ne(loops[0], rl);
}
END_TEST

static RLRunLoopRef main_asked_from_a_thread;
static void *get_main_first(UNUSED void *info)
{
    main_asked_from_a_thread = RLRunLoopGetMain();
    return NULL;
}

START_TEST(the_main_loop_is_the_same_when_another_thread_gets_it_first)
{
    join_thread(start_thread(get_main_first, NULL));
    ck_assert_ptr_eq(main_asked_from_a_thread, RLRunLoopGetCurrent());
}
END_TEST

START_TEST(the_named_modes_differ)
{
    RLStringRef modes[] = {kRLRunLoopDefaultMode, kRLRunLoopCommonModes, kRLRunLoopConnectionReplyMode,
                           kRLRunLoopModalPanelMode, kRLRunLoopEventTrackingMode};
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_nonnull(modes[i]);
        ck_assert_uint_eq(RLGetTypeID(modes[i]), RLStringGetTypeID());
        ck_assert_int_gt(RLStringGetLength(modes[i]), 0);
        for (int j = 0; j < i; j++)
            ck_assert(!RLEqual(modes[i], modes[j]));
    }
}
END_TEST

START_TEST(modes_are_compared_by_their_text)
{
    atomic_int performed = 0;
    char text[] = "a mode";
    RLStringRef one = RLStringCreateWithCString(NULL, text, kRLStringEncodingUTF8);
    RLStringRef other = RLStringCreateWithCString(NULL, text, kRLStringEncodingUTF8);
    RLRunLoopSourceRef source = make_source(0, count_perform, &performed);
    RLRunLoopAddSource(rl, source, one);
    RLRelease(one);
    ck_assert(RLRunLoopContainsSource(rl, source, other));
    ck_assert(!RLRunLoopContainsSource(rl, source, RLSTR("a mod")));
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(other, 10, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(performed, 1);
    RLRelease(other);
    drop_source(source);
}
END_TEST

START_TEST(mode_names_of_any_bytes_are_different_modes)
{
    static const struct {
        const char *bytes;
        RLIndex count;
    } names[] = {{"", 0}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"a\0c", 3}, {"\u00e9", 2}, {"A", 1}};
    enum { count = sizeof names / sizeof *names };
    RLStringRef modes[count];
    RLRunLoopSourceRef source = make_source(0, do_nothing, NULL);
    for (int i = 0; i < count; i++) {
        modes[i] =
            RLStringCreateWithBytes(NULL, (const uint8_t *)names[i].bytes, names[i].count, kRLStringEncodingUTF8, 0);
        ck_assert(!RLRunLoopContainsSource(rl, source, modes[i]));
        RLRunLoopAddSource(rl, source, modes[i]);
        ck_assert(RLRunLoopContainsSource(rl, source, modes[i]));
    }
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(RLRunLoopRunInMode(modes[i], 0, 0), kRLRunLoopRunTimedOut);
        RLRelease(modes[i]);
    }
    drop_source(source);
}
END_TEST

static bool all_modes_contain(RLRunLoopMode mode)
{
    RLArrayRef modes = RLRunLoopCopyAllModes(rl);
    ck_assert_ptr_nonnull(modes);
    bool contains = RLArrayContainsValue(modes, (RLRange){0, RLArrayGetCount(modes)}, mode);
    RLRelease(modes);
    return contains;
}

START_TEST(copying_all_modes_returns_every_mode_ever_used)
{
    ck_assert(all_modes_contain(kRLRunLoopDefaultMode));
    ck_assert(!all_modes_contain(RLSTR("used later")));
    RLRunLoopSourceRef source = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, source, RLSTR("used later"));
    ck_assert(all_modes_contain(RLSTR("used later")));
    ck_assert(!all_modes_contain(kRLRunLoopCommonModes));
    drop_source(source);
}
END_TEST

START_TEST(the_current_mode_is_null_outside_runs)
{
    ck_assert_ptr_null(RLRunLoopCopyCurrentMode(rl));
    ck_assert(!RLRunLoopIsWaiting(rl));
}
END_TEST

static int scheduled, cancelled;
static void note_schedule(void *info, RLRunLoopRef loop, RLRunLoopMode mode)
{
    ck_assert_ptr_eq(info, &scheduled);
    ck_assert_ptr_eq(loop, rl);
    ck_assert(!RLEqual(mode, kRLRunLoopCommonModes));
    scheduled++;
}
static void note_cancel(void *info, RLRunLoopRef loop, RLRunLoopMode mode)
{
    ck_assert_ptr_eq(info, &scheduled);
    ck_assert_ptr_eq(loop, rl);
    ck_assert(!RLEqual(mode, kRLRunLoopCommonModes));
    cancelled++;
}

static RLRunLoopSourceRef make_scheduled_source(void)
{
    RLRunLoopSourceContext context = {
        .info = &scheduled, .schedule = note_schedule, .cancel = note_cancel, .perform = do_nothing};
    return RLRunLoopSourceCreate(NULL, 0, &context);
}

START_TEST(a_source_in_the_common_modes_is_scheduled_into_each_member)
{
    RLRunLoopSourceRef source = make_scheduled_source();
    RLRunLoopAddCommonMode(rl, RLSTR("second"));
    RLRunLoopAddSource(rl, source, kRLRunLoopCommonModes);
    ck_assert_int_eq(scheduled, 2);
    ck_assert(RLRunLoopContainsSource(rl, source, kRLRunLoopCommonModes));
    ck_assert(RLRunLoopContainsSource(rl, source, kRLRunLoopDefaultMode));
    ck_assert(RLRunLoopContainsSource(rl, source, RLSTR("second")));

    RLRunLoopAddCommonMode(rl, RLSTR("third")); /* joins later */
    ck_assert_int_eq(scheduled, 3);
    ck_assert(RLRunLoopContainsSource(rl, source, RLSTR("third")));
    RLRunLoopAddCommonMode(rl, RLSTR("third"));
    RLRunLoopAddSource(rl, source, kRLRunLoopCommonModes);
    ck_assert_int_eq(scheduled, 3);

    RLRunLoopRemoveSource(rl, source, RLSTR("second")); /* leaves one mode, stays a common source */
    ck_assert_int_eq(cancelled, 1);
    ck_assert(!RLRunLoopContainsSource(rl, source, RLSTR("second")));
    ck_assert(RLRunLoopContainsSource(rl, source, kRLRunLoopCommonModes));
    RLRunLoopAddCommonMode(rl, RLSTR("fourth"));
    ck_assert_int_eq(scheduled, 4);

    RLRunLoopRemoveSource(rl, source, kRLRunLoopCommonModes);
    ck_assert_int_eq(cancelled, 4);
    ck_assert(!RLRunLoopContainsSource(rl, source, kRLRunLoopCommonModes));
    ck_assert(!RLRunLoopContainsSource(rl, source, kRLRunLoopDefaultMode));
    ck_assert(!RLRunLoopContainsSource(rl, source, RLSTR("fourth")));
    RLRelease(source);
}
END_TEST

START_TEST(adding_and_removing_twice_schedules_and_cancels_once)
{
    RLRunLoopSourceRef source = make_scheduled_source();
    RLRunLoopRemoveSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(scheduled, 1);
    RLRunLoopRemoveSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopRemoveSource(rl, source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(cancelled, 1);
    RLRelease(source);
}
END_TEST

START_TEST(common_timers_and_observers_join_a_later_common_mode)
{
    atomic_int fired = 0, observed = 0;
    RLRunLoopTimerRef timer = make_timer(0, 3600, count_timer, &fired);
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopEntry, 1, 0, count_activity, &observed);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopCommonModes);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopCommonModes);
    RLRunLoopAddCommonMode(rl, RLSTR("later"));
    ck_assert(RLRunLoopContainsTimer(rl, timer, RLSTR("later")));
    ck_assert(RLRunLoopContainsTimer(rl, timer, kRLRunLoopCommonModes));
    ck_assert(RLRunLoopContainsObserver(rl, observer, RLSTR("later")));
    ck_assert(RLRunLoopContainsObserver(rl, observer, kRLRunLoopDefaultMode));
    RLRunLoopRunInMode(RLSTR("later"), 0, 0);
    ck_assert_int_eq(fired, 1);
    ck_assert_int_eq(observed, 1);
    RLRunLoopRemoveObserver(rl, observer, kRLRunLoopCommonModes);
    RLRunLoopRemoveTimer(rl, timer, kRLRunLoopCommonModes);
    ck_assert(!RLRunLoopContainsTimer(rl, timer, RLSTR("later")));
    ck_assert(!RLRunLoopContainsObserver(rl, observer, RLSTR("later")));
    ck_assert(RLRunLoopTimerIsValid(timer));
    ck_assert(RLRunLoopObserverIsValid(observer));
    drop_timer(timer);
    drop_observer(observer);
}
END_TEST

static void *make_other_common_when_waiting(UNUSED void *info)
{
    await_waiting(rl);
    RLRunLoopAddCommonMode(rl, RLSTR("other"));
    return NULL;
}

/* A source that was signalled, or a function that was posted, while only the default mode was common. */
START_TEST(common_work_is_done_by_a_loop_that_sleeps_in_a_mode_made_common)
{
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL), source = make_source(0, stop_current, NULL);
    RLRunLoopAddSource(rl, keeper, RLSTR("other"));
    RLRunLoopAddSource(rl, source, kRLRunLoopCommonModes);
    if (_i)
        RLRunLoopSourceSignal(source);
    else
        RLRunLoopPerformFunction(rl, kRLRunLoopCommonModes, stop_current, NULL);
    pthread_t thread = start_thread(make_other_common_when_waiting, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 1e9, 0), kRLRunLoopRunStopped);
    join_thread(thread);
    drop_source(source);
    drop_source(keeper);
}
END_TEST

static gate timer_has_fired;
static atomic_bool schedule_waits;

static void wait_for_timer(UNUSED void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode)
{
    if (schedule_waits)
        gate_pass(&timer_has_fired);
}

static void let_schedule_return(UNUSED RLRunLoopTimerRef timer, UNUSED void *info)
{
    gate_open(&timer_has_fired);
    RLRunLoopStop(rl);
}

static void *make_other_common_when_asleep(UNUSED void *info)
{
    await_waiting(rl);
    while (!is_asleep(getpid()))
        sched_yield();
    RLRunLoopAddCommonMode(rl, RLSTR("other"));
    return NULL;
}

/* Other timers of the mode fire while the thread that makes it common is in the schedule function of a source. */
START_TEST(common_timers_do_not_wait_for_schedule_when_a_mode_is_made_common)
{
    RLRunLoopSourceContext context = {.info = &timer_has_fired, .schedule = wait_for_timer, .perform = do_nothing};
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL), source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent(), 0, let_schedule_return, NULL);
    gate_init(&timer_has_fired);
    RLRunLoopAddSource(rl, keeper, RLSTR("other"));
    RLRunLoopAddSource(rl, source, kRLRunLoopCommonModes);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopCommonModes);
    schedule_waits = true;
    pthread_t thread = start_thread(make_other_common_when_asleep, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 1e9, 0), kRLRunLoopRunStopped);
    join_thread(thread);
    drop_timer(timer);
    drop_source(source);
    drop_source(keeper);
}
END_TEST

START_TEST(invalidated_common_items_leave_every_mode)
{
    RLRunLoopSourceRef source = make_scheduled_source();
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 3600, 0, count_timer, NULL);
    RLRunLoopAddCommonMode(rl, RLSTR("second"));
    RLRunLoopAddSource(rl, source, kRLRunLoopCommonModes);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopCommonModes);
    RLRunLoopSourceInvalidate(source);
    RLRunLoopTimerInvalidate(timer);
    ck_assert_int_eq(cancelled, 2);
    ck_assert(!RLRunLoopContainsSource(rl, source, kRLRunLoopCommonModes));
    ck_assert(!RLRunLoopContainsTimer(rl, timer, kRLRunLoopCommonModes));
    ck_assert_double_eq(RLRunLoopGetNextTimerFireDate(rl, RLSTR("second")), 0);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("second"), 10, 0), kRLRunLoopRunFinished);
    RLRelease(source);
    RLRelease(timer);
}
END_TEST

START_TEST(thousands_of_modes_are_usable)
{
    enum { modes = SCALED(3000) };
    atomic_int performed = 0;
    RLRunLoopSourceRef source = make_source(0, count_perform, &performed);
    for (int i = 0; i < modes; i++) {
        char name[32];
        snprintf(name, sizeof name, "mode %d", i);
        RLStringRef mode = RLStringCreateWithCString(NULL, name, kRLStringEncodingASCII);
        RLRunLoopAddSource(rl, source, mode);
        RLRunLoopSourceSignal(source);
        ck_assert_int_eq(RLRunLoopRunInMode(mode, 10, 1), kRLRunLoopRunHandledSource);
        RLRelease(mode);
    }
    ck_assert_int_eq(performed, modes);
    drop_source(source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("run-modes");
    TCase *first = add_case(suite, "first", 20);
    tcase_add_test(first, the_main_loop_is_the_same_when_another_thread_gets_it_first);
    TCase *tcase = add_case(suite, "modes", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, every_thread_has_one_loop_and_the_first_thread_has_the_main_one);
    tcase_add_test(tcase, the_named_modes_differ);
    tcase_add_test(tcase, modes_are_compared_by_their_text);
    tcase_add_test(tcase, mode_names_of_any_bytes_are_different_modes);
    tcase_add_test(tcase, copying_all_modes_returns_every_mode_ever_used);
    tcase_add_test(tcase, the_current_mode_is_null_outside_runs);
    tcase_add_test(tcase, a_source_in_the_common_modes_is_scheduled_into_each_member);
    tcase_add_test(tcase, adding_and_removing_twice_schedules_and_cancels_once);
    tcase_add_test(tcase, common_timers_and_observers_join_a_later_common_mode);
    tcase_add_loop_test(tcase, common_work_is_done_by_a_loop_that_sleeps_in_a_mode_made_common, 0, 2);
    tcase_add_test(tcase, common_timers_do_not_wait_for_schedule_when_a_mode_is_made_common);
    tcase_add_test(tcase, invalidated_common_items_leave_every_mode);
    tcase_add_test(tcase, thousands_of_modes_are_usable);
    return suite;
}
