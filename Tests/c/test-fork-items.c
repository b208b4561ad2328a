/* Checks timers and observers of loops whose threads do not exist in the child of a fork(): there they can be added to another
 * loop. A port that such a thread was using can be invalidated, and releases its info. */
#include "harness.h"

#include <signal.h>
#include <sys/wait.h>

static struct looper other;
static RLRunLoopTimerRef timer;
static RLRunLoopObserverRef observer;
static atomic_int fired, observed, called;
static gate may_return;

static void set_up(void)
{
    gate_init(&may_return);
    looper_start(&other);
}

static void count_observed(UNUSED RLRunLoopObserverRef own, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    observed++;
}

static void use_items_in_child(UNUSED void *info)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    int fired_before = fired, observed_before = observed;
    if (timer) {
        RLRunLoopTimerSetNextFireDate(timer, 0); /* in the loop in which it still is */
        RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
        child_assert(RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
        child_assert(!RLRunLoopContainsTimer(other.loop, timer, kRLRunLoopDefaultMode));
        RLRunLoopTimerSetNextFireDate(timer, 0);
    }
    if (observer) {
        RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
        child_assert(RLRunLoopContainsObserver(rl, observer, kRLRunLoopDefaultMode));
    }
    RLRunLoopTimerRef keeper = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, &called);
    RLRunLoopAddTimer(rl, keeper, kRLRunLoopDefaultMode);
    while (timer && fired == fired_before)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, false);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
    child_assert(observer == NULL || observed > observed_before);
    if (timer)
        drop_timer(timer);
    if (observer)
        drop_observer(observer);
}

static void use_items_in_grandchild(void *info) { child_assert(run_in_child(use_items_in_child, info) == 0); }

START_TEST(items_of_other_threads_loops_can_be_added_in_the_child)
{
    timer = make_timer(1e9, 1e-3, count_timer, &fired);
    observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_observed, NULL);
    RLRunLoopAddTimer(other.loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(other.loop, observer, RLSTR("second"));
    ck_assert_int_eq(run_in_child(use_items_in_child, NULL), 0);
    ck_assert_int_eq(run_in_child(use_items_in_grandchild, NULL), 0);
    ck_assert(RLRunLoopContainsTimer(other.loop, timer, kRLRunLoopDefaultMode)); /* still in the parent's loop */
    drop_timer(timer);
    drop_observer(observer);
    looper_stop(&other);
}
END_TEST

/* In the parent this callback waits; in the child it never returns. */
static void wait_in_timer(UNUSED RLRunLoopTimerRef own, UNUSED void *info)
{
    fired++;
    if (called++ == 0)
        gate_pass(&may_return);
}

START_TEST(a_timer_firing_on_another_thread_during_a_fork_fires_again_in_the_child)
{
    timer = make_timer(0, 1e-3, wait_in_timer, NULL);
    RLRunLoopAddTimer(other.loop, timer, kRLRunLoopDefaultMode);
    await_count(&called, 1);
    ck_assert_int_eq(run_in_child(use_items_in_child, NULL), 0);
    gate_open(&may_return);
    await_count(&fired, 2);
    looper_stop(&other);
    drop_timer(timer);
}
END_TEST

static void wait_in_observer(UNUSED RLRunLoopObserverRef own, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    observed++;
    if (called++ == 0)
        gate_pass(&may_return);
}

START_TEST(an_observer_called_on_another_thread_during_a_fork_is_called_again_in_the_child)
{
    observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, wait_in_observer, NULL);
    RLRunLoopAddObserver(other.loop, observer, kRLRunLoopDefaultMode);
    RLRunLoopWakeUp(other.loop);
    await_count(&called, 1);
    ck_assert_int_eq(run_in_child(use_items_in_child, NULL), 0);
    gate_open(&may_return);
    looper_stop(&other);
    drop_observer(observer);
}
END_TEST

static RLRunLoopRef rl;
static void move_and_wait(UNUSED RLRunLoopTimerRef own, UNUSED void *info)
{
    if (RLRunLoopGetCurrent() == rl) {
        fired++;
        return;
    }
    RLRunLoopRemoveTimer(other.loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    called++;
    gate_pass(&may_return);
}

static void await_timer_in_child(UNUSED void *info)
{
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    child_assert(RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
    while (fired == 0)
        child_assert(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, false) == kRLRunLoopRunTimedOut);
    drop_timer(timer);
}

START_TEST(a_timer_that_its_callback_moved_to_the_forking_loop_fires_in_the_child)
{
    rl = RLRunLoopGetCurrent();
    timer = make_timer(0, 1e-3, move_and_wait, NULL);
    RLRunLoopAddTimer(other.loop, timer, kRLRunLoopDefaultMode);
    await_count(&called, 1);
    ck_assert_int_eq(run_in_child(await_timer_in_child, NULL), 0);
    gate_open(&may_return);
    looper_stop(&other);
    drop_timer(timer);
}
END_TEST

/* The reverse: the callback continues in the child, and the timer is in a loop without a thread. */
static pid_t forked;
static void move_away_and_fork(UNUSED RLRunLoopTimerRef own, UNUSED void *info)
{
    fired++;
    if (called++ > 0)
        return;
    RLRunLoopRemoveTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(other.loop, timer, kRLRunLoopDefaultMode);
    fflush(NULL);
    forked = fork_child();
    if (forked > 0)
        return;
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    child_assert(RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
}

START_TEST(a_timer_moved_away_by_a_forking_callback_can_be_added_in_the_child)
{
    int status;
    rl = RLRunLoopGetCurrent();
    timer = make_timer(0, 1e-3, move_away_and_fork, NULL);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
    if (forked == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(20);
        while (fired < 3)
            child_assert(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, false) == kRLRunLoopRunTimedOut);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(forked, &status, 0), forked);
    ck_assert_int_eq(status, 0);
    await_count(&fired, 2); /* in the other loop */
    looper_stop(&other);
    drop_timer(timer);
}
END_TEST

static gate is_ending;
static void wait_in_cancel(UNUSED void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode)
{
    gate_open(&is_ending);
    gate_pass(&may_return);
}

START_TEST(items_of_a_loop_whose_thread_was_exiting_can_be_added_in_the_child)
{
    RLRunLoopSourceContext context = {.cancel = wait_in_cancel};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    gate_init(&is_ending);
    timer = make_timer(1e9, 1e-3, count_timer, &fired);
    observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_observed, NULL);
    RLRunLoopAddTimer(other.loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(other.loop, observer, RLSTR("second"));
    RLRunLoopAddSource(other.loop, source, kRLRunLoopDefaultMode);
    RLRunLoopPostFunction(other.loop, kRLRunLoopDefaultMode, stop_current, NULL);
    gate_pass(&is_ending);
    ck_assert_int_eq(run_in_child(use_items_in_child, NULL), 0);
    gate_open(&may_return);
    join_thread(other.thread);
    drop_source(other.keeper);
    drop_timer(timer);
    drop_observer(observer);
    drop_source(source);
}
END_TEST

/* -- Ports -- */

static RLPortRef port;
static struct lifetime life;

static void wait_in_message(UNUSED RLPortRef own, UNUSED RLPortMessageRef message, UNUSED void *info)
{
    called++;
    gate_pass(&may_return);
}

static void end_port_in_child(UNUSED void *info)
{
    RLPortInvalidate(port);
    child_assert(lifetime_held(&life) == 0);
}

START_TEST(a_port_delivering_on_another_thread_during_a_fork_releases_its_info)
{
    RLPortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    port = RLPortCreate(NULL, wait_in_message, &context, NULL);
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, NULL);
    RLRunLoopAddSource(other.loop, source, kRLRunLoopDefaultMode);
    ck_assert(RLPortMessageSendBeforeDate(message, RLAbsoluteTimeGetCurrent() + 60));
    await_count(&called, 1);
    ck_assert_int_eq(run_in_child(end_port_in_child, NULL), 0);
    gate_open(&may_return);
    looper_stop(&other);
    RLPortInvalidate(port);
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLRelease(message);
    RLRelease(source);
    RLRelease(port);
}
END_TEST

/* The forking thread's own callback continues in the child. */
static void fork_in_message(UNUSED RLPortRef own, UNUSED RLPortMessageRef message, UNUSED void *info)
{
    forked = fork_child();
    if (forked == 0) {
        RLPortInvalidate(port);
        child_assert(lifetime_held(&life) == 1);
    }
}

START_TEST(a_port_keeps_its_info_until_a_forking_callback_returns)
{
    int status;
    RLPortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    port = RLPortCreate(NULL, fork_in_message, &context, NULL);
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    ck_assert(RLPortMessageSendBeforeDate(message, RLAbsoluteTimeGetCurrent() + 60));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
    if (forked == 0)
        _exit(lifetime_held(&life));
    ck_assert_int_eq(waitpid(forked, &status, 0), forked);
    ck_assert_int_eq(status, 0);
    RLPortInvalidate(port);
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLRelease(message);
    RLRelease(source);
    RLRelease(port);
    looper_stop(&other);
}
END_TEST

static void wait_in_invalidation(UNUSED RLPortRef own, UNUSED void *info)
{
    called++;
    gate_pass(&may_return);
}

static void *invalidate_port(UNUSED void *unused)
{
    RLPortInvalidate(port);
    return NULL;
}

static void find_port_ended(void *source)
{
    child_assert(!RLPortIsValid(port));
    child_assert(!RLRunLoopSourceIsValid(source));
    child_assert(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, false) == kRLRunLoopRunFinished);
    end_port_in_child(NULL);
    RLPortInvalidate(port);
    child_assert(life.releases == 1);
}

/* The other thread invalidates `port`, and so releases the queued message. The message has the last reference to `part`, whose
 * invalidation callback does not return. */
START_TEST(a_port_being_invalidated_during_a_fork_is_invalid_in_the_child)
{
    RLPortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    port = RLPortCreate(NULL, wait_in_message, &context, NULL);
    RLPortRef part = RLPortCreate(NULL, wait_in_message, NULL, NULL);
    RLPortSetInvalidationCallBack(part, wait_in_invalidation);
    RLArrayRef parts = RLArrayCreate(NULL, (const void **)&part, 1, &kRLTypeArrayCallBacks);
    RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, parts);
    ck_assert(RLPortMessageSendBeforeDate(message, RLAbsoluteTimeGetCurrent() + 60));
    RLRelease(message);
    RLRelease(parts);
    RLRelease(part);
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    pthread_t thread = start_thread(invalidate_port, NULL);
    await_count(&called, 1);
    ck_assert_int_eq(run_in_child(find_port_ended, source), 0);
    gate_open(&may_return);
    join_thread(thread);
    ck_assert(!RLRunLoopSourceIsValid(source));
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLRelease(source);
    RLRelease(port);
    looper_stop(&other);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("fork-items");
    TCase *tcase = add_case(suite, "items", 30);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, items_of_other_threads_loops_can_be_added_in_the_child);
    tcase_add_test(tcase, a_timer_firing_on_another_thread_during_a_fork_fires_again_in_the_child);
    tcase_add_test(tcase, an_observer_called_on_another_thread_during_a_fork_is_called_again_in_the_child);
    tcase_add_test(tcase, a_timer_that_its_callback_moved_to_the_forking_loop_fires_in_the_child);
    tcase_add_test(tcase, a_timer_moved_away_by_a_forking_callback_can_be_added_in_the_child);
    tcase_add_test(tcase, items_of_a_loop_whose_thread_was_exiting_can_be_added_in_the_child);
    tcase_add_test(tcase, a_port_delivering_on_another_thread_during_a_fork_releases_its_info);
    tcase_add_test(tcase, a_port_keeps_its_info_until_a_forking_callback_returns);
    tcase_add_test(tcase, a_port_being_invalidated_during_a_fork_is_invalid_in_the_child);
    return suite;
}
