/* Checks runs inside callbacks of runs: what is re-entered and what is not, and which run RLRunLoopStop() ends. */
#include "harness.h"

static RLRunLoopRef rl;
/* Keeps the modes used here from being empty: an inner run ends for the reason under test. */
static RLRunLoopSourceRef keeper;

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, keeper, RLSTR("inner"));
}

static void tear_down(void) { drop_source(keeper); }

static RLRunLoopSourceRef add_signalled_source(void (*perform)(void *), void *info)
{
    RLRunLoopSourceRef source = make_source(1, perform, info);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    return source;
}

/* Returns the result of a run in which `perform` is called once. */
static int32_t run_around(void (*perform)(void *), RLTimeInterval seconds)
{
    RLRunLoopSourceRef source = add_signalled_source(perform, NULL);
    int32_t result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, seconds, 0);
    drop_source(source);
    return result;
}

struct dive {
    RLRunLoopSourceRef source;
    int depth, deepest, stopped;
};

static void dive_deeper(void *info)
{
    struct dive *dive = info;
    if (++dive->depth == dive->deepest) {
        RLRunLoopStop(rl); /* ends only the innermost run; each callback stops the run that called it */
        return;
    }
    RLRunLoopSourceSignal(dive->source);
    if (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0) == kRLRunLoopRunStopped)
        dive->stopped++;
    RLRunLoopStop(rl);
}

START_TEST(fifty_nested_runs_each_stopped_by_its_own_stop)
{
    struct dive dive = {.deepest = 50};
    dive.source = add_signalled_source(dive_deeper, &dive);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    ck_assert_int_eq(dive.depth, 50);
    ck_assert_int_eq(dive.stopped, 49);
    drop_source(dive.source);
}
END_TEST

static void *dive_on_this_stack(void *deepest)
{
    rl = RLRunLoopGetCurrent();
    struct dive dive = {.deepest = (int)(intptr_t)deepest};
    dive.source = add_signalled_source(dive_deeper, &dive);
    require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0) == kRLRunLoopRunStopped);
    require(dive.stopped == dive.deepest - 1);
    require(RLRunLoopContainsSource(rl, dive.source, kRLRunLoopDefaultMode));
    require(RLGetRetainCount(dive.source) == 2); /* this function and the loop */
    drop_source(dive.source);
    return NULL;
}

/* More runs than 16 bits can count. They take 40 MB of stack, and many times that with a sanitizer. */
START_TEST(seventy_thousand_nested_runs_of_one_source)
{
    pthread_attr_t attributes;
    pthread_t thread;
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, (size_t)256 << 20), 0);
    void *deepest = (void *)(intptr_t)(SANITIZED ? 1000 : 70000);
    ck_assert_int_eq(pthread_create(&thread, &attributes, dive_on_this_stack, deepest), 0);
    join_thread(thread);
    pthread_attr_destroy(&attributes);
}
END_TEST

static void stop_the_inner(UNUSED void *info)
{
    RLRunLoopPerformFunction(rl, RLSTR("inner"), stop_current, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("inner"), 1e9, 0), kRLRunLoopRunStopped);
}

START_TEST(a_stop_of_the_inner_run_does_not_stop_the_outer)
{
    ck_assert_int_eq(run_around(stop_the_inner, 0.1), kRLRunLoopRunTimedOut);
}
END_TEST

/* Two stops in one callback count as one: they must not end the outer run, too. */
static void stop_twice(UNUSED void *info)
{
    RLRunLoopStop(rl);
    RLRunLoopStop(rl);
}

static void run_inner_stopped_twice(UNUSED void *info)
{
    RLRunLoopPerformFunction(rl, RLSTR("inner"), stop_twice, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("inner"), 1e9, 0), kRLRunLoopRunStopped);
}

START_TEST(two_stops_of_one_run_end_only_that_run)
{
    ck_assert_int_eq(run_around(run_inner_stopped_twice, 0.1), kRLRunLoopRunTimedOut);
}
END_TEST

static void stop_outer_after_inner(UNUSED void *info)
{
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("inner"), 0, 0), kRLRunLoopRunTimedOut);
    RLRunLoopStop(rl);
}

START_TEST(a_stop_after_an_inner_run_stops_the_outer)
{
    ck_assert_int_eq(run_around(stop_outer_after_inner, 1e9), kRLRunLoopRunStopped);
}
END_TEST

/* A stop that is meant for the outer run, made before the inner run begins, must not end the inner run. */
static void stop_outer_before_inner(UNUSED void *info)
{
    RLRunLoopStop(rl);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("inner"), 0.1, 0), kRLRunLoopRunTimedOut);
}

START_TEST(a_stop_of_the_outer_run_survives_an_inner_run)
{
    ck_assert_int_eq(run_around(stop_outer_before_inner, 1e9), kRLRunLoopRunStopped);
}
END_TEST

static void note_mode_now(void)
{
    RLStringRef mode = RLRunLoopCopyCurrentMode(rl);
    char name[64] = "none";
    if (mode) {
        RLStringGetCString(mode, name, sizeof name, kRLStringEncodingUTF8);
        RLRelease(mode);
    }
    ck_assert(!RLRunLoopIsWaiting(rl));
    note(name);
}

static void note_mode(UNUSED void *info) { note_mode_now(); }

static void run_other_mode(UNUSED void *info)
{
    note_mode_now();
    RLRunLoopPerformFunction(rl, RLSTR("inner"), note_mode, NULL);
    RLRunLoopRunInMode(RLSTR("inner"), 0, 0);
    note_mode_now();
}

START_TEST(the_current_mode_follows_the_innermost_run)
{
    RLRunLoopSourceRef source = make_source(1, run_other_mode, NULL);
    RLRunLoopAddSource(rl, source, RLSTR("outer"));
    RLRunLoopSourceSignal(source);
    note_mode_now();
    RLRunLoopRunInMode(RLSTR("outer"), 0, 0);
    note_mode_now();
    assert_notes("none outer inner outer none");
    drop_source(source);
}
END_TEST

static void note_and_stop_timer(UNUSED RLRunLoopTimerRef timer, void *info)
{
    note(info);
    RLRunLoopStop(rl);
}

static void run_nested_from_timer(UNUSED RLRunLoopTimerRef timer, UNUSED void *info)
{
    note("(");
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    note(")");
}

START_TEST(a_timer_is_not_reentered_but_others_fire_in_the_nested_run)
{
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent();
    RLRunLoopTimerRef outer = make_timer(now - 1, 0.001, run_nested_from_timer, NULL);
    RLRunLoopTimerRef other =
        make_timer(now + 0.05, 0, note_and_stop_timer, "T"); /* dozens of periods of the outer timer later */
    RLRunLoopAddTimer(rl, outer, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, other, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    assert_notes("( T )");
    ck_assert(!RLRunLoopTimerIsValid(other));
    drop_timer(outer);
    drop_timer(other);
}
END_TEST

/* Both timers are due in the same pass of the outer run. The nested run fires the second one, and the outer pass must notice
 * that. */
START_TEST(a_due_timer_fired_by_a_nested_run_is_not_fired_again_by_the_outer)
{
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent();
    RLRunLoopTimerRef outer = make_timer(now - 2, 0, run_nested_from_timer, NULL);
    RLRunLoopTimerRef other = make_timer(now - 1, 3600, note_and_stop_timer, "T");
    RLRunLoopAddTimer(rl, outer, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, other, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    assert_notes("( T )");
    ck_assert(RLRunLoopTimerIsValid(other));
    drop_timer(outer);
    drop_timer(other);
}
END_TEST

static void run_nested_from_observer(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity,
                                     UNUSED void *info)
{
    note("{");
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    note("}");
}

START_TEST(an_observer_is_not_reentered_but_others_are_called_in_the_nested_run)
{
    RLRunLoopObserverRef nesting = make_observer(kRLRunLoopBeforeTimers, 1, -1, run_nested_from_observer, NULL);
    RLRunLoopAddObserver(rl, nesting, kRLRunLoopDefaultMode);
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    assert_notes("En { En BT BS Ex } BT BS Ex");
    drop_observer(nesting);
    drop_observer(observer);
}
END_TEST

static void perform_again_inside(void *info)
{
    struct dive *dive = info;
    note("[");
    if (++dive->depth < 3) {
        RLRunLoopSourceSignal(dive->source);
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    }
    note("]");
}

START_TEST(a_perform_is_reentered_by_a_nested_run_of_its_mode)
{
    struct dive dive = {0};
    dive.source = add_signalled_source(perform_again_inside, &dive);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1), kRLRunLoopRunHandledSource);
    assert_notes("[ [ [ ] ] ]");
    drop_source(dive.source);
}
END_TEST

static void poll_the_same_mode(UNUSED void *info)
{
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
}

START_TEST(observers_are_called_again_in_a_run_nested_from_a_source)
{
    RLRunLoopSourceRef source = add_signalled_source(poll_the_same_mode, NULL);
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    assert_notes("En BT BS En BT BS Ex Ex");
    drop_observer(observer);
    drop_source(source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("run-nested");
    TCase *tcase = add_case(suite, "nested", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, fifty_nested_runs_each_stopped_by_its_own_stop);
    tcase_add_test(tcase, seventy_thousand_nested_runs_of_one_source);
    tcase_add_test(tcase, a_stop_of_the_inner_run_does_not_stop_the_outer);
    tcase_add_test(tcase, two_stops_of_one_run_end_only_that_run);
    tcase_add_test(tcase, a_stop_after_an_inner_run_stops_the_outer);
    tcase_add_test(tcase, a_stop_of_the_outer_run_survives_an_inner_run);
    tcase_add_test(tcase, the_current_mode_follows_the_innermost_run);
    tcase_add_test(tcase, a_timer_is_not_reentered_but_others_fire_in_the_nested_run);
    tcase_add_test(tcase, a_due_timer_fired_by_a_nested_run_is_not_fired_again_by_the_outer);
    tcase_add_test(tcase, an_observer_is_not_reentered_but_others_are_called_in_the_nested_run);
    tcase_add_test(tcase, a_perform_is_reentered_by_a_nested_run_of_its_mode);
    tcase_add_test(tcase, observers_are_called_again_in_a_run_nested_from_a_source);
    return suite;
}
