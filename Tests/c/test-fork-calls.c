/* Checks fork() while another thread is in a callback of an item. That callback never returns in the child; there, invalidating
 * and releasing the item must release its info, whatever the callback had retained. */
#include "harness.h"

#include <signal.h>
#include <sys/wait.h>

static struct looper other;
static struct lifetime life;
static atomic_int called;
static gate may_return;

static void set_up(void)
{
    gate_init(&may_return);
    looper_start(&other);
}

static void wait_for_parent(void)
{
    if (called++ == 0)
        gate_pass(&may_return);
}

/* A test uses one of the first three, or both sources. */
static RLRunLoopTimerRef timer;
static RLRunLoopObserverRef observer;
static RLRunLoopSourceRef source, second;

static void drop_items(void)
{
    if (timer)
        drop_timer(timer);
    if (observer)
        drop_observer(observer);
    if (source)
        drop_source(source);
    if (second)
        drop_source(second);
}

static void drop_in_child(UNUSED void *info)
{
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    drop_items();
    child_assert(lifetime_held(&life) == 0);
}

static void drop_in_grandchild(void *info) { child_assert(run_in_child(drop_in_child, info) == 0); }

/* Forks while the callback runs on the other thread, and checks that a child and a grandchild can release everything. */
static void fork_and_drop(void)
{
    await_count(&called, 1);
    ck_assert_int_eq(run_in_child(drop_in_child, NULL), 0);
    ck_assert_int_eq(run_in_child(drop_in_grandchild, NULL), 0);
    ck_assert_int_gt(lifetime_held(&life), 0); /* the parent's callback is still running */
    gate_open(&may_return);
    looper_stop(&other);
    drop_items();
    ck_assert_int_eq(lifetime_held(&life), 0);
}

/* -- Timers: their context is retained for each callback -- */

static void wait_in_timer(UNUSED RLRunLoopTimerRef own, UNUSED void *info) { wait_for_parent(); }

static void make_waiting_timer(double interval)
{
    RLRunLoopTimerContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    timer = RLRunLoopTimerCreate(NULL, 0, interval, 0, 0, wait_in_timer, &context);
    RLRunLoopAddTimer(other.loop, timer, kRLRunLoopDefaultMode);
}

START_TEST(a_timer_firing_during_a_fork_releases_its_info)
{
    make_waiting_timer(_i ? 1e-3 : 0);
    fork_and_drop();
}
END_TEST

START_TEST(a_firing_timer_invalidated_before_the_fork_releases_its_info)
{
    make_waiting_timer(_i ? 1e-3 : 0);
    await_count(&called, 1);
    RLRunLoopTimerInvalidate(timer);
    fork_and_drop();
}
END_TEST

static void fire_again_in_child(UNUSED void *info)
{
    int before = called;
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    while (called == before)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, false);
    child_assert(lifetime_held(&life) == 1);
    drop_in_child(NULL);
}

START_TEST(a_timer_that_fires_again_in_the_child_releases_its_info)
{
    make_waiting_timer(1e-3);
    await_count(&called, 1);
    ck_assert_int_eq(run_in_child(fire_again_in_child, NULL), 0);
    fork_and_drop();
}
END_TEST

/* The last reference is released without an invalidation. */
static void release_in_child(UNUSED void *info)
{
    RLRelease(timer);
    child_assert(lifetime_held(&life) == 0);
}

START_TEST(a_firing_timer_that_the_child_only_releases_frees_its_info)
{
    make_waiting_timer(0);
    await_count(&called, 1);
    ck_assert_int_eq(run_in_child(release_in_child, NULL), 0);
    fork_and_drop();
}
END_TEST

/* -- Observers: their context is not retained for a callback, but its release may be deferred until the callback returns -- */

static void wait_in_observer(UNUSED RLRunLoopObserverRef own, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    wait_for_parent();
}

START_TEST(an_observer_called_during_a_fork_releases_its_info)
{
    RLRunLoopObserverContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    observer = RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeTimers, (_i & 1) != 0, 0, wait_in_observer, &context);
    RLRunLoopAddObserver(other.loop, observer, kRLRunLoopDefaultMode);
    RLRunLoopWakeUp(other.loop);
    await_count(&called, 1);
    if (_i & 2)
        RLRunLoopObserverInvalidate(observer);
    fork_and_drop();
}
END_TEST

/* -- Sources: the running callback has a reference to them -- */

static void wait_in_perform(UNUSED void *info) { wait_for_parent(); }

/* Bits of _i: 0: a second source of the same batch waits; 1: the source is in another loop, too; 2: it is invalidated before the
 * fork. */
START_TEST(a_source_performing_during_a_fork_releases_its_info)
{
    RLRunLoopSourceContext context = {
        .info = &life, .retain = lifetime_retain, .release = lifetime_release, .perform = wait_in_perform};
    RLRunLoopRef own = RLRunLoopGetCurrent();
    source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(_i & 2 ? own : other.loop, source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(other.loop, source, kRLRunLoopDefaultMode);
    if (_i & 1) {
        second = RLRunLoopSourceCreate(NULL, 1, &context);
        RLRunLoopAddSource(other.loop, second, kRLRunLoopDefaultMode);
        RLRunLoopSourceSignal(second);
    }
    RLRunLoopSourceSignal(source);
    RLRunLoopWakeUp(other.loop);
    await_count(&called, 1);
    if (_i & 4)
        RLRunLoopSourceInvalidate(source);
    fork_and_drop();
}
END_TEST

static int ends[2];
static int get_port(UNUSED void *info) { return ends[0]; }

START_TEST(a_version_1_source_performing_during_a_fork_releases_its_info)
{
    RLRunLoopSourceContext1 context = {.version = 1,
                                       .info = &life,
                                       .retain = lifetime_retain,
                                       .release = lifetime_release,
                                       .getPort = get_port,
                                       .perform = wait_in_perform};
    make_pipe(ends);
    source = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
    RLRunLoopAddSource(other.loop, source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    await_count(&called, 1);
    if (_i == 1)
        RLRunLoopSourceInvalidate(source);
    if (_i == 2)
        RLRunLoopRemoveSource(other.loop, source, kRLRunLoopDefaultMode);
    fork_and_drop();
    close_pipe(ends);
}
END_TEST

/* -- schedule and cancel: the thread that calls them has a reference to the source -- */

static void wait_in_schedule(UNUSED void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode)
{
    wait_for_parent();
}

static void add_source(void *info) { RLRunLoopAddSource(RLRunLoopGetCurrent(), info, kRLRunLoopDefaultMode); }
static void remove_source(void *info) { RLRunLoopRemoveSource(RLRunLoopGetCurrent(), info, kRLRunLoopDefaultMode); }
static void invalidate_source(void *info) { RLRunLoopSourceInvalidate(info); }

START_TEST(a_source_added_or_removed_during_a_fork_releases_its_info)
{
    static void (*const acts[])(void *) = {add_source, remove_source, invalidate_source};
    RLRunLoopSourceContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    if (_i == 0)
        context.schedule = wait_in_schedule;
    else
        context.cancel = wait_in_schedule;
    source = RLRunLoopSourceCreate(NULL, 0, &context);
    if (_i > 0)
        RLRunLoopAddSource(other.loop, source, kRLRunLoopDefaultMode);
    RLRunLoopPerformFunction(other.loop, kRLRunLoopDefaultMode, acts[_i], (void *)source);
    RLRunLoopWakeUp(other.loop);
    fork_and_drop();
}
END_TEST

/* -- equal, and schedule of sources that a new common mode receives: the thread has references to several sources -- */

static RLBoolean wait_in_equal(UNUSED const void *one, UNUSED const void *two)
{
    wait_for_parent();
    return 0;
}
static RLHashCode same_hash(UNUSED const void *info) { return 5; }

START_TEST(sources_compared_during_a_fork_release_their_infos)
{
    RLRunLoopSourceContext context = {.info = &life,
                                      .retain = lifetime_retain,
                                      .release = lifetime_release,
                                      .equal = wait_in_equal,
                                      .hash = same_hash};
    source = RLRunLoopSourceCreate(NULL, 0, &context);
    second = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(other.loop, source, kRLRunLoopDefaultMode);
    RLRunLoopPerformFunction(other.loop, kRLRunLoopDefaultMode, _i ? remove_source : add_source, (void *)second);
    RLRunLoopWakeUp(other.loop);
    fork_and_drop();
}
END_TEST

static void add_common_mode(UNUSED void *info) { RLRunLoopAddCommonMode(RLRunLoopGetCurrent(), RLSTR("new")); }

START_TEST(sources_joining_a_common_mode_during_a_fork_release_their_infos)
{
    RLRunLoopSourceContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    second = RLRunLoopSourceCreate(NULL, 0, &context);
    context.schedule = wait_in_schedule;
    source = RLRunLoopSourceCreate(NULL, 0, &context);
    called = 1; /* only the second call of schedule waits */
    RLRunLoopAddSource(other.loop, source, kRLRunLoopCommonModes);
    RLRunLoopAddSource(other.loop, second, kRLRunLoopCommonModes);
    called = 0;
    RLRunLoopPerformFunction(other.loop, kRLRunLoopDefaultMode, add_common_mode, NULL);
    RLRunLoopWakeUp(other.loop);
    fork_and_drop();
}
END_TEST

/* -- Functions: cancelling one releases its info -- */

static void wait_in_function(UNUSED void *info) { wait_for_parent(); }
static void end_life(void *info) { lifetime_release(info); }

static void cancel_in_child(UNUSED void *info)
{
    child_assert(RLRunLoopCancelPerformFunction(other.loop, wait_in_function, &life) == 2);
    child_assert(lifetime_held(&life) == 0);
    child_assert(RLRunLoopCancelPerformFunction(other.loop, wait_in_function, &life) == 0);
}

START_TEST(a_function_running_during_a_fork_can_be_cancelled_in_the_child)
{
    for (int i = 0; i < 2; i++) {
        lifetime_retain(&life);
        if (_i)
            RLRunLoopPerformFunctionAfterDelayWithRelease(other.loop, kRLRunLoopDefaultMode, wait_in_function, &life, 0,
                                                          end_life);
        else
            RLRunLoopPostFunctionWithRelease(other.loop, kRLRunLoopDefaultMode, wait_in_function, &life, end_life);
    }
    await_count(&called, 1);
    ck_assert_int_eq(run_in_child(cancel_in_child, NULL), 0);
    gate_open(&may_return);
    await_count(&called, 2);
    looper_stop(&other);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

/* -- A port's invalidation callback -- */

static pid_t forked;
static void fork_at_the_end(UNUSED RLPortRef own, UNUSED void *info) { forked = fork_child(); }
static void ignore_message(UNUSED RLPortRef own, UNUSED RLPortMessageRef message, UNUSED void *info) {}

START_TEST(the_invalidation_callback_of_a_last_release_may_fork)
{
    int status;
    RLPortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLPortRef port = RLPortCreate(NULL, ignore_message, &context, NULL);
    RLPortSetInvalidationCallBack(port, fork_at_the_end);
    RLRelease(port);
    if (forked == 0) {
        child_assert(lifetime_held(&life) == 0);
        _exit(0);
    }
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_eq(waitpid(forked, &status, 0), forked);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("fork-calls");
    TCase *tcase = add_case(suite, "calls", 30);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_loop_test(tcase, a_timer_firing_during_a_fork_releases_its_info, 0, 2);
    tcase_add_loop_test(tcase, a_firing_timer_invalidated_before_the_fork_releases_its_info, 0, 2);
    tcase_add_test(tcase, a_timer_that_fires_again_in_the_child_releases_its_info);
    tcase_add_test(tcase, a_firing_timer_that_the_child_only_releases_frees_its_info);
    tcase_add_loop_test(tcase, an_observer_called_during_a_fork_releases_its_info, 0, 4);
    tcase_add_loop_test(tcase, a_source_performing_during_a_fork_releases_its_info, 0, 8);
    tcase_add_loop_test(tcase, a_version_1_source_performing_during_a_fork_releases_its_info, 0, 3);
    tcase_add_loop_test(tcase, a_source_added_or_removed_during_a_fork_releases_its_info, 0, 3);
    tcase_add_loop_test(tcase, sources_compared_during_a_fork_release_their_infos, 0, 2);
    tcase_add_test(tcase, sources_joining_a_common_mode_during_a_fork_release_their_infos);
    tcase_add_loop_test(tcase, a_function_running_during_a_fork_can_be_cancelled_in_the_child, 0, 2);
    tcase_add_test(tcase, the_invalidation_callback_of_a_last_release_may_fork);
    return suite;
}
