/* Checks that what another thread changes while a loop is about to sleep counts for that sleep. At that point, after it has
 * checked its timers and sources, the loop's thread queries its timer slack; the prctl() of this program lets the other thread
 * act then. */
#include "harness.h"

#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>

static RLRunLoopRef rl;
static gate on_the_way, changed;
static atomic_bool is_armed;

int prctl(int option, ...);
int prctl(int option, ...)
{
    va_list rest;
    va_start(rest, option);
    unsigned long argument = va_arg(rest, unsigned long);
    va_end(rest);
    if (atomic_exchange(&is_armed, false)) {
        gate_open(&on_the_way);
        gate_pass(&changed);
    }
    return (int)syscall(SYS_prctl, option, argument, 0, 0, 0);
}

static void stop_by_timer(RLRunLoopTimerRef timer, void *info)
{
    count_timer(timer, info);
    RLRunLoopStop(rl);
}

static void (*change)(void *info);

static void *change_on_the_way(void *info)
{
    gate_pass(&on_the_way);
    change(info);
    gate_open(&changed);
    return NULL;
}

/* Runs until the loop is stopped. Returns true if the last resort stopped it, a timer that is due after ten seconds. */
static bool overslept(void (*what)(void *info), void *info)
{
    atomic_int late = 0;
    gate_init(&on_the_way);
    gate_init(&changed);
    rl = RLRunLoopGetCurrent();
    RLRunLoopTimerRef last_resort = make_timer(RLAbsoluteTimeGetCurrent() + 10, 0, stop_by_timer, &late);
    RLRunLoopAddTimer(rl, last_resort, kRLRunLoopDefaultMode);
    change = what;
    pthread_t thread = start_thread(change_on_the_way, info);
    is_armed = true;
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    ck_assert_msg(!is_armed, "the loop's thread did not ask for its timer slack: this test sees nothing");
    join_thread(thread);
    drop_timer(last_resort);
    return late > 0;
}

/* -- Timers -- */

static atomic_int fired;

static void add_a_timer(void *timer) { RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode); }

START_TEST(a_timer_added_while_the_loop_goes_to_sleep_is_on_time)
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent(), 0, stop_by_timer, &fired);
    ck_assert(!overslept(add_a_timer, (void *)timer));
    ck_assert_int_eq(fired, 1);
    drop_timer(timer);
}
END_TEST

static void delay_a_stop(void *info)
{
    require(RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, stop_current, info, 0.001));
}

START_TEST(a_delayed_function_added_while_the_loop_goes_to_sleep_is_on_time)
{
    ck_assert(!overslept(delay_a_stop, NULL));
}
END_TEST

/* -- Descriptors -- */

static int ends[2];
static int port(UNUSED void *info) { return ends[0]; }

static void read_and_stop(UNUSED void *info)
{
    char byte;
    require(read(ends[0], &byte, 1) == 1);
    RLRunLoopStop(rl);
}

static void add_a_source(void *source)
{
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    require(write(ends[1], "x", 1) == 1);
}

START_TEST(a_descriptor_added_while_the_loop_goes_to_sleep_is_watched)
{
    make_pipe(ends);
    RLRunLoopSourceRef source = make_port_source(0, port, read_and_stop, NULL);
    ck_assert(!overslept(add_a_source, source));
    drop_source(source);
    close_pipe(ends);
}
END_TEST

/* -- A sleep that is adjusted does not end -- */

static long voluntary_switches(pid_t tid)
{
    char path[64], line[128];
    long count = -1;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)tid);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1)
            break;
    if (status)
        fclose(status);
    return count;
}

enum { ADJUSTMENTS = 20 };
static pid_t loop_tid;

static void *adjust_and_stop(UNUSED void *info)
{
    RLRunLoopTimerRef timers[ADJUSTMENTS];
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 1e6;
    for (int i = 0; i < ADJUSTMENTS; i++) {
        atomic_int never;
        await_waiting(rl);
        long before = voluntary_switches(loop_tid);
        timers[i] = make_timer(date - i, 0, count_timer, &never);
        RLRunLoopAddTimer(rl, timers[i], kRLRunLoopDefaultMode);
        while (voluntary_switches(loop_tid) <= before)
            sched_yield(); /* it sleeps again, or is about to */
    }
    RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, stop_current, NULL);
    for (int i = 0; i < ADJUSTMENTS; i++)
        drop_timer(timers[i]);
    return NULL;
}

START_TEST(timers_in_the_far_future_cause_no_pass_of_a_loop_asleep_in_epoll)
{
    atomic_int passes = 0;
    struct watch watch = {0};
    rl = RLRunLoopGetCurrent();
    loop_tid = (pid_t)syscall(SYS_gettid);
    make_pipe(ends);
    watch_fd(&watch, ends[0], 0);
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_activity, &passes);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    pthread_t thread = start_thread(adjust_and_stop, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    join_thread(thread);
    ck_assert_int_le(passes, 2); /* the first pass, and that for the function that stops the loop */
    drop_observer(observer);
    drop_source(watch.source);
    close_pipe(ends);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("wakeup-adjust");
    TCase *tcase = add_case(suite, "adjust", 60);
    tcase_add_test(tcase, a_timer_added_while_the_loop_goes_to_sleep_is_on_time);
    tcase_add_test(tcase, a_delayed_function_added_while_the_loop_goes_to_sleep_is_on_time);
    tcase_add_test(tcase, a_descriptor_added_while_the_loop_goes_to_sleep_is_watched);
    tcase_add_test(tcase, timers_in_the_far_future_cause_no_pass_of_a_loop_asleep_in_epoll);
    return suite;
}
