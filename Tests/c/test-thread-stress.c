/* Stress test: many threads change the items of one running loop. Nothing may be lost or called twice, and every info must be
 * released. The tests are bounded by counts, not by time. */
#include "harness.h"

enum { THREADS = 4, COUNT = WITH_THREAD_SANITIZER ? 1000 : SCALED(10000) };
static struct looper looper;
static void start_looper(void) { looper_start(&looper); }
static void stop_looper(void) { looper_stop(&looper); }

static unsigned next_random(unsigned *state) { return (*state = *state * 1103515245 + 12345) >> 16; }

/* Returns when the loop has called everything that was posted before. */
static void drain(void)
{
    require(RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, do_nothing, NULL, HUGE_VAL));
}

/* -- All threads change timers, sources and observers of one running loop -- */

static atomic_int timer_calls, source_calls, observer_calls;
static struct lifetime timer_life, source_life, observer_life;

static void count_timer_call(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { timer_calls++; }
static void count_source_call(UNUSED void *info) { source_calls++; }
static void count_observer_call(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity,
                                UNUSED void *info)
{
    observer_calls++;
}

static void *change_timers(void *info)
{
    unsigned random = (unsigned)(uintptr_t)info + 1;
    RLRunLoopTimerContext context = {.info = &timer_life, .retain = lifetime_retain, .release = lifetime_release};
    for (int i = 0; i < COUNT; i++) {
        RLRunLoopTimerRef timer =
            RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + (next_random(&random) % 100) * 1e-5,
                                 next_random(&random) % 2 * 0.001, 0, 0, count_timer_call, &context);
        RLRunLoopAddTimer(looper.loop, timer, kRLRunLoopDefaultMode);
        if (next_random(&random) % 2)
            RLRunLoopTimerSetNextFireDate(timer, RLAbsoluteTimeGetCurrent() + (next_random(&random) % 100) * 1e-5);
        if (next_random(&random) % 4 == 0)
            RLRunLoopTimerSetTolerance(timer, 0.0001);
        if (next_random(&random) % 4 == 0)
            RLRunLoopRemoveTimer(looper.loop, timer, kRLRunLoopDefaultMode);
        RLRunLoopContainsTimer(looper.loop, timer, kRLRunLoopDefaultMode);
        RLRunLoopGetNextTimerFireDate(looper.loop, kRLRunLoopDefaultMode);
        drop_timer(timer);
    }
    return NULL;
}

START_TEST(four_threads_add_and_remove_timers)
{
    on_threads(THREADS, change_timers);
    drain();
    ck_assert_int_ge(timer_life.retains, THREADS * COUNT);
    ck_assert_int_eq(lifetime_held(&timer_life), 0);
    ck_assert_double_eq(RLRunLoopGetNextTimerFireDate(looper.loop, kRLRunLoopDefaultMode), 0);
}
END_TEST

/* Where a timer is queued that is already due when it is added during a timer pass depends on the running mode, which nested runs
 * change. */
static RLRunLoopTimerRef nester;
static atomic_int delayed_calls;

static void run_nested(UNUSED RLRunLoopTimerRef timer, UNUSED void *info)
{
    for (int i = 0; i < 100; i++)
        RLRunLoopRunInMode(RLSTR("inner"), 0, 0);
    RLRunLoopTimerSetNextFireDate(nester, 0);
}

static void *delay_by_nothing(UNUSED void *info)
{
    for (int i = 0; i < 4 * COUNT; i++)
        require(RLRunLoopPerformFunctionAfterDelay(looper.loop, i % 2 == 0 ? RLSTR("inner") : kRLRunLoopDefaultMode,
                                                   count_perform, &delayed_calls, 0));
    return NULL;
}

START_TEST(four_threads_add_due_timers_while_nested_runs_begin_and_end)
{
    nester = make_timer(0, 3600, run_nested, NULL);
    RLRunLoopAddTimer(looper.loop, nester, kRLRunLoopDefaultMode);
    on_threads(THREADS, delay_by_nothing);
    await_count(&delayed_calls, THREADS * 4 * COUNT);
    drop_timer(nester);
    drain();
    ck_assert_int_eq(delayed_calls, THREADS * 4 * COUNT);
}
END_TEST

/* All threads set, remove and add one timer, to this loop or another one; it is never in both. */
static RLRunLoopTimerRef shared_timer;
static struct looper second_looper;

static void *change_shared_timer(void *info)
{
    unsigned random = (unsigned)(uintptr_t)info + 1;
    for (int i = 0; i < COUNT; i++) {
        RLRunLoopRef loop = next_random(&random) % 2 ? looper.loop : second_looper.loop;
        switch (next_random(&random) % 8) {
        case 0:
            RLRunLoopRemoveTimer(loop, shared_timer, kRLRunLoopDefaultMode);
            break;
        case 1:
            RLRunLoopTimerSetTolerance(shared_timer, (next_random(&random) % 3) * 1e-5);
            break;
        case 2:
            RLRunLoopTimerGetNextFireDate(shared_timer);
            break;
        case 3:
            RLRunLoopAddTimer(loop, shared_timer, kRLRunLoopCommonModes);
            break;
        case 4:
            RLRunLoopContainsTimer(loop, shared_timer, kRLRunLoopDefaultMode);
            break;
        case 5:
            RLRunLoopTimerSetNextFireDate(shared_timer,
                                          RLAbsoluteTimeGetCurrent() + (next_random(&random) % 10) * 1e-5);
            break;
        default:
            RLRunLoopAddTimer(loop, shared_timer, kRLRunLoopDefaultMode);
            break;
        }
    }
    return NULL;
}

START_TEST(one_timer_changed_by_four_threads_and_two_loops_keeps_firing)
{
    RLRunLoopTimerContext context = {.info = &timer_life, .retain = lifetime_retain, .release = lifetime_release};
    looper_start(&second_looper);
    shared_timer = RLRunLoopTimerCreate(NULL, 0, 2e-5, 0, 0, count_timer_call, &context);
    on_threads(THREADS, change_shared_timer);
    ck_assert(RLRunLoopTimerIsValid(shared_timer));
    for (int i = 0; i < 2; i++) { /* removed from whatever it is in */
        RLRunLoopRemoveTimer(i ? looper.loop : second_looper.loop, shared_timer, kRLRunLoopDefaultMode);
        RLRunLoopRemoveTimer(i ? looper.loop : second_looper.loop, shared_timer, kRLRunLoopCommonModes);
    }
    drain();
    int before = timer_calls;
    RLRunLoopTimerSetNextFireDate(shared_timer, 0);
    RLRunLoopAddTimer(looper.loop, shared_timer, kRLRunLoopDefaultMode);
    await_count(&timer_calls, before + 3);
    looper_stop(&second_looper);
    drop_timer(shared_timer);
    drain();
    ck_assert_int_eq(lifetime_held(&timer_life), 0);
}
END_TEST

static void *change_sources(void *info)
{
    unsigned random = (unsigned)(uintptr_t)info + 1;
    for (int i = 0; i < COUNT; i++) {
        int own_info; /* different infos: an equal source would not be added */
        RLRunLoopSourceContext context = {.info = &own_info, .perform = count_source_call};
        RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, (RLIndex)(next_random(&random) % 8), &context);
        RLRunLoopSourceSignal(source);
        RLRunLoopAddSource(looper.loop, source, kRLRunLoopDefaultMode);
        RLRunLoopSourceSignal(source);
        RLRunLoopWakeUp(looper.loop);
        if (next_random(&random) % 4 == 0)
            RLRunLoopRemoveSource(looper.loop, source, kRLRunLoopDefaultMode);
        RLRunLoopContainsSource(looper.loop, source, kRLRunLoopDefaultMode);
        drop_source(source);
    }
    return NULL;
}

START_TEST(four_threads_add_and_remove_sources)
{
    on_threads(THREADS, change_sources);
    drain();
    ck_assert_int_le(source_calls, THREADS * COUNT * 2);
}
END_TEST

/* All threads add and remove a source that stays valid: the calls of schedule and cancel must stay balanced. */
static atomic_int schedules, cancels;
static void count_schedule(UNUSED void *info, UNUSED RLRunLoopRef rl, UNUSED RLRunLoopMode mode) { schedules++; }
static void count_cancel(UNUSED void *info, UNUSED RLRunLoopRef rl, UNUSED RLRunLoopMode mode) { cancels++; }
static RLRunLoopSourceRef shared_source;

static void *toggle_shared_source(UNUSED void *info)
{
    for (int i = 0; i < COUNT; i++) {
        RLRunLoopAddSource(looper.loop, shared_source, kRLRunLoopDefaultMode);
        RLRunLoopSourceSignal(shared_source);
        RLRunLoopRemoveSource(looper.loop, shared_source, kRLRunLoopDefaultMode);
    }
    return NULL;
}

START_TEST(one_source_toggled_by_four_threads_is_scheduled_and_cancelled_equally_often)
{
    RLRunLoopSourceContext context = {.info = &source_life,
                                      .retain = lifetime_retain,
                                      .release = lifetime_release,
                                      .schedule = count_schedule,
                                      .cancel = count_cancel,
                                      .perform = count_source_call};
    shared_source = RLRunLoopSourceCreate(NULL, 0, &context);
    on_threads(THREADS, toggle_shared_source);
    drain();
    ck_assert_int_eq(schedules, cancels);
    ck_assert_int_gt(schedules, 0);
    ck_assert(!RLRunLoopContainsSource(looper.loop, shared_source, kRLRunLoopDefaultMode));
    drop_source(shared_source);
    drain();
    ck_assert_int_eq(lifetime_held(&source_life), 0);
}
END_TEST

static void *change_observers(void *info)
{
    unsigned random = (unsigned)(uintptr_t)info + 1;
    RLRunLoopObserverContext context = {.info = &observer_life, .retain = lifetime_retain, .release = lifetime_release};
    for (int i = 0; i < COUNT; i++) {
        RLRunLoopObserverRef observer =
            RLRunLoopObserverCreate(NULL, kRLRunLoopAllActivities, next_random(&random) % 2,
                                    (RLIndex)(next_random(&random) % 8), count_observer_call, &context);
        RLRunLoopAddObserver(looper.loop, observer, kRLRunLoopDefaultMode);
        if (next_random(&random) % 2)
            RLRunLoopWakeUp(looper.loop);
        if (next_random(&random) % 4 == 0)
            RLRunLoopRemoveObserver(looper.loop, observer, kRLRunLoopDefaultMode);
        drop_observer(observer);
    }
    return NULL;
}

START_TEST(four_threads_add_and_remove_observers)
{
    on_threads(THREADS, change_observers);
    drain();
    ck_assert_int_ge(observer_life.retains, THREADS * COUNT);
    ck_assert_int_eq(lifetime_held(&observer_life), 0);
}
END_TEST

/* -- Descriptors that another thread adds, removes and closes -- */

static int first_of(void *info) { return ((int *)info)[0]; }
static atomic_int pipe_reads;
static void read_byte(void *info)
{
    char byte;
    if (read(((int *)info)[0], &byte, 1) == 1)
        pipe_reads++;
}

static void *watch_pipes(UNUSED void *info)
{
    for (int i = 0; i < SCALED(2000); i++) {
        int *ends = calloc(2, sizeof *ends);
        if (pipe(ends) != 0)
            abort();
        RLRunLoopSourceRef source = make_port_source(0, first_of, read_byte, ends);
        RLRunLoopAddSource(looper.loop, source, kRLRunLoopDefaultMode);
        int before = pipe_reads;
        if (write(ends[1], "x", 1) != 1)
            abort();
        await_count(&pipe_reads, before + 1);
        drop_source(source);
        drain(); /* no perform runs after this, so the ends may be closed */
        close(ends[0]);
        close(ends[1]);
        free(ends);
    }
    return NULL;
}

START_TEST(pipes_are_watched_and_closed_from_another_thread)
{
    join_thread(start_thread(watch_pipes, NULL));
    ck_assert_int_eq(pipe_reads, SCALED(2000));
}
END_TEST

/* -- Modes -- */

static void *change_modes(void *info)
{
    for (int i = 0; i < SCALED(1000); i++) {
        char name[32];
        snprintf(name, sizeof name, "mode %d", i);
        RLStringRef mode = RLStringCreateWithCString(NULL, name, kRLStringEncodingASCII);
        if ((uintptr_t)info % 2)
            RLRunLoopAddCommonMode(looper.loop, mode);
        RLRunLoopPerformFunction(looper.loop, mode, do_nothing, NULL);
        RLStringRef current = RLRunLoopCopyCurrentMode(looper.loop);
        if (current)
            RLRelease(current);
        RLRelease(mode);
        if (i % 100 == 0) {
            RLArrayRef modes = RLRunLoopCopyAllModes(looper.loop);
            if (modes == NULL || RLArrayGetCount(modes) < 1)
                abort();
            RLRelease(modes);
        }
    }
    return NULL;
}

START_TEST(four_threads_add_modes)
{
    RLRunLoopSourceRef source = make_source(3, do_nothing, &schedules);
    RLRunLoopAddSource(looper.loop, source, kRLRunLoopCommonModes);
    on_threads(THREADS, change_modes);
    ck_assert(RLRunLoopContainsSource(looper.loop, source, RLSTR("mode 7")));
    drop_source(source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-stress");
    TCase *tcase = add_case(suite, "stress", 60);
    tcase_add_checked_fixture(tcase, start_looper, stop_looper);
    tcase_add_test(tcase, four_threads_add_and_remove_timers);
    tcase_add_test(tcase, four_threads_add_due_timers_while_nested_runs_begin_and_end);
    tcase_add_test(tcase, one_timer_changed_by_four_threads_and_two_loops_keeps_firing);
    tcase_add_test(tcase, four_threads_add_and_remove_sources);
    tcase_add_test(tcase, one_source_toggled_by_four_threads_is_scheduled_and_cancelled_equally_often);
    tcase_add_test(tcase, four_threads_add_and_remove_observers);
    tcase_add_test(tcase, pipes_are_watched_and_closed_from_another_thread);
    tcase_add_test(tcase, four_threads_add_modes);
    return suite;
}
