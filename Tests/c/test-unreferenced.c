/* Checks sources and timers that do not keep their modes from being empty. test-run-emptied.c checks that another thread may
 * empty a mode in this way. */
#include "guest.h"

#define INNER RLSTR("inner")

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

static RLRunLoopRunResult run_for(RLTimeInterval seconds)
{
    return RLRunLoopRunInMode(kRLRunLoopDefaultMode, seconds, 0);
}

static bool is_empty(RLRunLoopMode mode) { return RLRunLoopRunInMode(mode, 0, 0) == kRLRunLoopRunFinished; }

static RLRunLoopSourceRef add_source(void (*perform)(void *info), void *info, RLRunLoopMode mode)
{
    RLRunLoopSourceRef source = make_source(0, perform, info);
    RLRunLoopAddSource(rl, source, mode);
    return source;
}

static RLRunLoopTimerRef add_timer(RLTimeInterval delay, RLTimeInterval interval, atomic_int *count)
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + delay, interval, count_timer, count);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    return timer;
}

START_TEST(unreferenced_items_alone_in_a_mode_are_not_called)
{
    atomic_int performed = 0, fired = 0;
    RLRunLoopSourceRef source = add_source(count_perform, &performed, kRLRunLoopDefaultMode);
    RLRunLoopTimerRef timer = add_timer(-1, 0, &fired);
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    RLRunLoopSourceSetKeepsModeRunning(source, 0);
    RLRunLoopTimerSetKeepsModeRunning(timer, 0);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(run_for(1e10), kRLRunLoopRunFinished);
    ck_assert_int_eq(errno, 0);
    assert_notes("");
    RLRunLoopSourceSetKeepsModeRunning(source, 1);
    ck_assert_int_eq(run_for(0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(performed, 1);
    ck_assert_int_eq(fired, 1);
    drop_observer(observer);
    drop_timer(timer);
    drop_source(source);
}
END_TEST

/* A one-shot timer of the simplest kind ends the run; the repeating timer has been called by then. */
START_TEST(unreferenced_items_are_called_while_another_item_keeps_the_run_going)
{
    atomic_int ticks = 0, last = 0, performed = 0;
    RLRunLoopSourceRef source = add_source(count_perform, &performed, kRLRunLoopDefaultMode);
    RLRunLoopTimerRef ticking = add_timer(0.001, 0.001, &ticks), keeper = add_timer(0.02, 0, &last);
    RLRunLoopTimerSetKeepsModeRunning(ticking, 0);
    RLRunLoopSourceSetKeepsModeRunning(source, 0);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(run_for(1e10), kRLRunLoopRunFinished);
    ck_assert_int_eq(last, 1);
    ck_assert_int_eq(performed, 1);
    ck_assert_int_ge(ticks, 1);
    ck_assert(RLRunLoopTimerIsValid(ticking) && RLRunLoopContainsTimer(rl, ticking, kRLRunLoopDefaultMode));
    drop_timer(keeper);
    drop_timer(ticking);
    drop_source(source);
}
END_TEST

static void unreference_source(void *info) { RLRunLoopSourceSetKeepsModeRunning(*(RLRunLoopSourceRef *)info, 0); }
static void unreference_timer(RLRunLoopTimerRef timer, UNUSED void *info)
{
    RLRunLoopTimerSetKeepsModeRunning(timer, 0);
}

START_TEST(a_callback_may_end_its_run_by_unreferencing_its_item)
{
    static RLRunLoopSourceRef source;
    source = add_source(unreference_source, &source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(run_for(1e10), kRLRunLoopRunFinished);
    RLRunLoopTimerRef timer = make_timer(0, 1e6, unreference_timer, NULL);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(run_for(1e10), kRLRunLoopRunFinished);
    RLRunLoopTimerSetKeepsModeRunning(timer, 1);
    ck_assert(!is_empty(kRLRunLoopDefaultMode));
    drop_timer(timer);
    drop_source(source);
}
END_TEST

/* The counts stay correct while items are added to modes, removed, fire, and are changed at any point in between. */
START_TEST(every_mode_counts_its_referenced_items)
{
    RLRunLoopSourceRef source = make_source(0, do_nothing, NULL);
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, NULL);
    RLRunLoopSourceSetKeepsModeRunning(source, 0);
    RLRunLoopTimerSetKeepsModeRunning(timer, 0);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, timer, INNER);
    RLRunLoopAddSource(rl, source, INNER);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopCommonModes);
    ck_assert(is_empty(kRLRunLoopDefaultMode) && is_empty(INNER));
    RLRunLoopTimerSetKeepsModeRunning(timer, 1);
    ck_assert(!is_empty(kRLRunLoopDefaultMode) && !is_empty(INNER));
    RLRunLoopRemoveTimer(rl, timer, INNER);
    ck_assert(!is_empty(kRLRunLoopDefaultMode) && is_empty(INNER));
    RLRunLoopSourceSetKeepsModeRunning(source, 1);
    RLRunLoopTimerSetKeepsModeRunning(timer, 0);
    ck_assert(!is_empty(kRLRunLoopDefaultMode) && !is_empty(INNER));
    RLRunLoopRemoveSource(rl, source, kRLRunLoopDefaultMode);
    ck_assert(is_empty(kRLRunLoopDefaultMode) && !is_empty(INNER));
    drop_source(source);
    drop_timer(timer);
    ck_assert(is_empty(kRLRunLoopDefaultMode) && is_empty(INNER));
    atomic_int fired = 0;
    RLRunLoopTimerRef shot = add_timer(-1, 0, &fired), keeper = add_timer(1e6, 0, &fired);
    RLRunLoopTimerSetKeepsModeRunning(shot, 0);
    ck_assert_int_eq(run_for(0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(fired, 1);
    ck_assert(!RLRunLoopTimerIsValid(shot) && !is_empty(kRLRunLoopDefaultMode));
    drop_timer(keeper);
    ck_assert(is_empty(kRLRunLoopDefaultMode));
    RLRelease(shot);
}
END_TEST

/* A mode that becomes common receives unreferenced items as well. */
START_TEST(a_mode_that_becomes_common_receives_unreferenced_items)
{
    RLRunLoopSourceRef source = make_source(0, do_nothing, NULL);
    RLRunLoopSourceSetKeepsModeRunning(source, 0);
    RLRunLoopAddSource(rl, source, kRLRunLoopCommonModes);
    RLRunLoopAddCommonMode(rl, INNER);
    ck_assert(is_empty(INNER));
    RLRunLoopSourceSetKeepsModeRunning(source, 1);
    ck_assert(!is_empty(INNER));
    drop_source(source);
}
END_TEST

static void run_inner(void *info)
{
    ck_assert_int_eq(RLRunLoopRunInMode(INNER, 1e10, 0), kRLRunLoopRunFinished);
    atomic_fetch_add((atomic_int *)info, 1);
}

START_TEST(a_nested_run_with_only_unreferenced_items_ends)
{
    atomic_int ran = 0, fired = 0;
    RLRunLoopSourceRef source = add_source(run_inner, &ran, kRLRunLoopDefaultMode);
    RLRunLoopTimerRef timer = add_timer(1e6, 0, &fired);
    RLRunLoopAddTimer(rl, timer, INNER);
    RLRunLoopTimerSetKeepsModeRunning(timer, 0);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(run_for(0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(ran, 1);
    drop_timer(timer);
    drop_source(source);
}
END_TEST

/* -- Other threads -- */

struct sleeper {
    pthread_t thread;
    RLRunLoopRef loop;
    RLRunLoopSourceRef source;
    gate ready;
    RLRunLoopRunResult result;
};

static void *sleep_with_source(void *info)
{
    struct sleeper *sleeper = info;
    sleeper->loop = RLRunLoopGetCurrent();
    RLRetain(sleeper->loop);
    RLRunLoopAddSource(sleeper->loop, sleeper->source, kRLRunLoopDefaultMode);
    gate_open(&sleeper->ready);
    sleeper->result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0);
    return NULL;
}

/* Each loop counts the source separately. */
START_TEST(unreferencing_a_source_of_several_loops_ends_all_their_runs)
{
    enum { LOOPS = 3 };
    struct sleeper sleepers[LOOPS];
    int ends[2];
    make_pipe(ends);
    struct watch watch = {.fd = ends[0]};
    RLRunLoopSourceRef source =
        _i ? make_port_source(0, watch_port, watch_perform, &watch) : make_source(0, do_nothing, NULL);
    RLRunLoopSourceRef other = make_source(0, do_nothing, &watch);
    for (int i = 0; i < LOOPS; i++) {
        sleepers[i].source = source;
        gate_init(&sleepers[i].ready);
        sleepers[i].thread = start_thread(sleep_with_source, &sleepers[i]);
        gate_pass(&sleepers[i].ready);
    }
    /* One of the loops has another item, and therefore sleeps on. */
    RLRunLoopAddSource(sleepers[1].loop, other, kRLRunLoopDefaultMode);
    RLRunLoopSourceSetKeepsModeRunning(source, 0);
    for (int i = 0; i < LOOPS; i += 2) {
        join_thread(sleepers[i].thread);
        ck_assert_int_eq(sleepers[i].result, kRLRunLoopRunFinished);
    }
    await_waiting(sleepers[1].loop);
    RLRunLoopSourceSetKeepsModeRunning(source, 1);
    RLRunLoopSourceSetKeepsModeRunning(other, 0);
    await_waiting(sleepers[1].loop);
    RLRunLoopSourceInvalidate(source);
    join_thread(sleepers[1].thread);
    ck_assert_int_eq(sleepers[1].result, kRLRunLoopRunFinished);
    for (int i = 0; i < LOOPS; i++)
        RLRelease(sleepers[i].loop);
    RLRelease(source);
    drop_source(other);
    close_pipe(ends);
}
END_TEST

static RLRunLoopSourceRef shared;
static RLRunLoopTimerRef shared_timer;
static atomic_bool is_over;

static void *toggle(UNUSED void *info)
{
    for (unsigned i = 0; !atomic_load(&is_over); i++) {
        RLRunLoopSourceSetKeepsModeRunning(shared, i & 1);
        RLRunLoopTimerSetKeepsModeRunning(shared_timer, i >> 1 & 1);
    }
    return NULL;
}

/* Two threads change items that a third one adds, removes and runs. In the end the count of each mode is correct. */
START_TEST(counts_are_correct_after_threads_change_the_setting_concurrently)
{
    shared = make_source(0, do_nothing, NULL);
    shared_timer = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, NULL);
    RLRunLoopSourceRef keeper = add_source(do_nothing, &rl, kRLRunLoopDefaultMode);
    pthread_t threads[] = {start_thread(toggle, NULL), start_thread(toggle, NULL)};
    for (int i = 0; i < SCALED(2000); i++) {
        RLRunLoopMode mode = i % 3 ? kRLRunLoopDefaultMode : i % 2 ? INNER : kRLRunLoopCommonModes;
        RLRunLoopAddSource(rl, shared, mode);
        RLRunLoopAddTimer(rl, shared_timer, mode);
        if (i % 16 == 0)
            ck_assert_int_eq(run_for(0), kRLRunLoopRunTimedOut);
        if (i % 5) {
            RLRunLoopRemoveTimer(rl, shared_timer, mode);
            RLRunLoopRemoveSource(rl, shared, mode);
        }
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++)
        join_thread(threads[i]);
    drop_source(keeper);
    RLRunLoopAddSource(rl, shared, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, shared_timer, INNER);
    RLRunLoopRemoveSource(rl, shared, INNER);
    RLRunLoopRemoveTimer(rl, shared_timer, kRLRunLoopCommonModes);
    RLRunLoopRemoveTimer(rl, shared_timer, kRLRunLoopDefaultMode);
    for (int i = 0; i < 4; i++) {
        RLRunLoopSourceSetKeepsModeRunning(shared, i & 1);
        RLRunLoopTimerSetKeepsModeRunning(shared_timer, i & 2);
        ck_assert_int_eq(is_empty(kRLRunLoopDefaultMode), !(i & 1));
        ck_assert_int_eq(is_empty(INNER), !(i & 2));
    }
    drop_source(shared);
    drop_timer(shared_timer);
}
END_TEST

/* The setting moves with an item to another loop. */
START_TEST(an_unreferenced_item_stays_unreferenced_in_another_loop)
{
    struct looper looper;
    atomic_int fired = 0;
    looper_start(&looper);
    RLRunLoopSourceRef source = add_source(do_nothing, NULL, kRLRunLoopDefaultMode);
    RLRunLoopTimerRef timer = add_timer(1e6, 0, &fired);
    RLRunLoopSourceSetKeepsModeRunning(source, 0);
    RLRunLoopTimerSetKeepsModeRunning(timer, 0);
    RLRunLoopRemoveSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopRemoveTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(looper.loop, source, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(looper.loop, timer, kRLRunLoopDefaultMode);
    /* The other loop's run ends although it has both items. */
    drop_source(looper.keeper);
    join_thread(looper.thread);
    /* That thread's exit has removed them from its loop. */
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    ck_assert(is_empty(kRLRunLoopDefaultMode));
    RLRunLoopTimerSetKeepsModeRunning(timer, 1);
    ck_assert(!is_empty(kRLRunLoopDefaultMode));
    drop_source(source);
    drop_timer(timer);
}
END_TEST

static void *make_it_keep(void *info)
{
    RLRunLoopSourceSetKeepsModeRunning(info, 1);
    return NULL;
}

/* A host waits for a mode that is empty, and must be notified when the mode is not empty anymore. */
START_TEST(a_host_is_notified_when_referencing_an_item_fills_the_mode)
{
    atomic_int performed = 0;
    RLRunLoopSourceRef source = add_source(count_perform, &performed, kRLRunLoopDefaultMode);
    RLRunLoopSourceSetKeepsModeRunning(source, 0);
    prepare();
    RLRunLoopSourceSignal(source);
    ck_assert(!readable());
    pthread_t thread = start_thread(make_it_keep, source);
    await_readable();
    dispatch();
    ck_assert_int_eq(performed, 1);
    join_thread(thread);
    RLRunLoopLeaveGuest();
    drop_source(source);
}
END_TEST

static void look_in_child(UNUSED void *info)
{
    child_assert(is_empty(kRLRunLoopDefaultMode));
    RLRunLoopSourceSetKeepsModeRunning(shared, 1);
    child_assert(!is_empty(kRLRunLoopDefaultMode));
}

START_TEST(an_unreferenced_item_stays_unreferenced_in_the_child_of_a_fork)
{
    shared = add_source(do_nothing, NULL, kRLRunLoopDefaultMode);
    RLRunLoopSourceSetKeepsModeRunning(shared, 0);
    ck_assert_int_eq(run_in_child(look_in_child, NULL), 0);
    drop_source(shared);
}
END_TEST

START_TEST(misuse_of_keeps_mode_running_is_reported)
{
    RLRunLoopTimerRef timer = make_timer(0, 0, count_timer, NULL);
    RLRunLoopSourceSetKeepsModeRunning((RLRunLoopSourceRef)timer, 0);
    assert_misuse("RLRunLoopSourceSetKeepsModeRunning", "source", NULL);
    RLRunLoopTimerSetKeepsModeRunning(NULL, 0);
    assert_misuse("RLRunLoopTimerSetKeepsModeRunning", "timer", NULL);
    drop_timer(timer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("unreferenced");
    TCase *tcase = add_case(suite, "unreferenced", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, unreferenced_items_alone_in_a_mode_are_not_called);
    tcase_add_test(tcase, unreferenced_items_are_called_while_another_item_keeps_the_run_going);
    tcase_add_test(tcase, a_callback_may_end_its_run_by_unreferencing_its_item);
    tcase_add_test(tcase, every_mode_counts_its_referenced_items);
    tcase_add_test(tcase, a_mode_that_becomes_common_receives_unreferenced_items);
    tcase_add_test(tcase, a_nested_run_with_only_unreferenced_items_ends);
    tcase_add_loop_test(tcase, unreferencing_a_source_of_several_loops_ends_all_their_runs, 0, 2);
    tcase_add_test(tcase, counts_are_correct_after_threads_change_the_setting_concurrently);
    tcase_add_test(tcase, an_unreferenced_item_stays_unreferenced_in_another_loop);
    tcase_add_test(tcase, a_host_is_notified_when_referencing_an_item_fills_the_mode);
    tcase_add_test(tcase, an_unreferenced_item_stays_unreferenced_in_the_child_of_a_fork);
    tcase_add_test(tcase, misuse_of_keeps_mode_running_is_reported);
    return suite;
}
