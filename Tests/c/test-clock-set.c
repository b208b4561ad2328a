/* Checks that timers made right after the wall clock was set go by the new clock, that they work in 1970, and how often the
 * clocks are read. The program's own clock_gettime() takes precedence over libc's: it counts its calls, and shifts the wall clock
 * without touching the machine's. */
#include "harness.h"
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_long wall_set_by, fine_reads, coarse_reads;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    bool is_coarse = clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE;
    atomic_fetch_add(is_coarse ? &coarse_reads : &fine_reads, 1);
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        time->tv_sec += wall_set_by;
    return result;
}

static RLAbsoluteTime called;
static void note_time(RLRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    called = RLAbsoluteTimeGetCurrent();
}

/* A timer that went by the old clock would be an hour late, and the test's time limit would end the test. */
START_TEST(a_timer_created_right_after_a_clock_change_uses_the_new_clock)
{
    static const long hours[] = {1, -1, 2, -2, 0};
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLAbsoluteTimeGetCurrent();
    for (size_t i = 0; i < sizeof hours / sizeof *hours; i++) {
        wall_set_by = 3600 * hours[i];
        RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 0.002;
        RLRunLoopTimerRef timer = make_timer(date, 0, note_time, NULL);
        RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
        ck_assert_double_ge(called, date);
        RLRelease(timer);
    }
}
END_TEST

static double monotonic_now(void)
{
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double called_after;
static void note_monotonic_time(UNUSED RLRunLoopTimerRef timer, void *begin)
{
    called_after = monotonic_now() - *(double *)begin;
    RLRunLoopStop(RLRunLoopGetCurrent());
}

/* By the new clock, the first timer would be due an hour early, or late. A call between the change and the run, for another timer,
 * must not change that. */
START_TEST(a_timer_keeps_its_time_when_the_clock_is_set)
{
    static const char *const calls[] = {"none", "add", "move"};
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    long hours = _i / 3 % 2 ? 1 : -1;
    const char *call = calls[_i % 3];
    bool is_moved = _i >= 6;
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent();
    double begin = monotonic_now();
    RLRunLoopTimerRef timer = make_timer(start + (is_moved ? 5000 : 0.05), 0, note_monotonic_time, &begin);
    RLRunLoopTimerRef other = make_timer(start + 9000, 0, note_monotonic_time, NULL);
    RLRunLoopTimerRef last = make_timer(start + 9000, 0, note_monotonic_time, NULL);
    RLRunLoopAddTimer(rl, other, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    if (is_moved)
        RLRunLoopTimerSetNextFireDate(timer, start + 0.05);
    wall_set_by += 3600 * hours;
    start = RLAbsoluteTimeGetCurrent();
    if (strcmp(call, "add") == 0)
        RLRunLoopAddTimer(rl, last, kRLRunLoopDefaultMode);
    if (strcmp(call, "move") == 0)
        RLRunLoopTimerSetNextFireDate(other, start + 9000);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    ck_assert_double_ge(called_after, 0.0499);
    drop_timer(timer);
    drop_timer(other);
    drop_timer(last);
}
END_TEST

static RLRunLoopTimerRef other_timer;
static void make_other_due_and_set_clock(UNUSED RLRunLoopTimerRef timer, UNUSED void *info)
{
    RLRunLoopTimerSetNextFireDate(other_timer, RLAbsoluteTimeGetCurrent() - 1);
    wall_set_by -= 3600;
    RLAbsoluteTimeGetCurrent();
}

/* The timer waits for the next pass because its date is before this one. By the new clock, it would be due in an hour. */
START_TEST(a_timer_that_a_callback_makes_due_before_the_clock_is_set_fires_in_the_next_pass)
{
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent();
    double begin = monotonic_now();
    other_timer = make_timer(start + 5000, 0, note_monotonic_time, &begin);
    RLRunLoopTimerRef timer = make_timer(start, 0, make_other_due_and_set_clock, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), other_timer, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    drop_timer(timer);
    drop_timer(other_timer);
}
END_TEST

/* Emulated clocks may never agree. If each call computed the deadlines of all timers, the test's time limit would end the test. */
START_TEST(moving_a_timer_is_cheap_even_if_the_clock_is_set_before_each_call)
{
    enum { MANY = SCALED(200000) };
    RLRunLoopTimerRef *timers = calloc(MANY, sizeof *timers);
    require(timers != NULL);
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent();
    for (int i = 0; i < MANY; i++) {
        timers[i] = make_timer(start + 9000, 0, note_time, NULL);
        RLRunLoopAddTimer(RLRunLoopGetCurrent(), timers[i], kRLRunLoopDefaultMode);
    }
    for (int i = 0; i < MANY; i++) {
        wall_set_by += i % 2 ? 1 : -1;
        RLRunLoopTimerSetNextFireDate(timers[i], RLAbsoluteTimeGetCurrent() + 9000);
    }
    ck_assert(fabs(RLRunLoopGetNextTimerFireDate(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode) - start - 9000) < 60);
    for (int i = 0; i < MANY; i++)
        drop_timer(timers[i]);
    free(timers);
}
END_TEST

/* A machine without a clock battery starts in 1970, until it has asked the network for the time. */
START_TEST(timers_work_when_the_wall_clock_says_1970)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    wall_set_by = 100 - now.tv_sec;
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    ck_assert_double_lt(RLAbsoluteTimeGetCurrent(), -978307000); /* in seconds since 2001 */
    static const RLAbsoluteTime dates[] = {INFINITY, 1e300, 4e9, 0};
    RLRunLoopTimerRef timers[5];
    atomic_int calls = 0;
    for (int i = 0; i < 4; i++)
        timers[i] = make_timer(dates[i], i % 2 ? 1 : 0, count_timer, &calls);
    RLRunLoopTimerContext context = {.info = &calls};
    timers[4] = RLRunLoopTimerCreateRearmable(NULL, count_timer, &context);
    for (int i = 0; i < 5; i++)
        RLRunLoopAddTimer(rl, timers[i], kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(calls, 0);
    ck_assert(RLRunLoopGetNextTimerFireDate(rl, kRLRunLoopDefaultMode) == 0); /* of timers[3], due in 2001 */
    RLRunLoopTimerSetNextFireDate(timers[0], RLAbsoluteTimeGetCurrent());
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(calls, 1);
    for (int i = 0; i < 5; i++)
        drop_timer(timers[i]);
}
END_TEST

START_TEST(getting_the_current_time_reads_the_precise_clock_once)
{
    RLAbsoluteTimeGetCurrent();
    fine_reads = coarse_reads = 0;
    for (int i = 0; i < 100; i++)
        RLAbsoluteTimeGetCurrent();
    ck_assert_int_eq(fine_reads, 100);
    ck_assert_int_ge(coarse_reads, 200);
    ck_assert_int_le(coarse_reads, 1500);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("clock-set");
    TCase *tcase = add_case(suite, "clock", 20);
    tcase_add_test(tcase, a_timer_created_right_after_a_clock_change_uses_the_new_clock);
    tcase_add_loop_test(tcase, a_timer_keeps_its_time_when_the_clock_is_set, 0, 12);
    tcase_add_test(tcase, a_timer_that_a_callback_makes_due_before_the_clock_is_set_fires_in_the_next_pass);
    tcase_add_test(tcase, moving_a_timer_is_cheap_even_if_the_clock_is_set_before_each_call);
    tcase_add_test(tcase, timers_work_when_the_wall_clock_says_1970);
    tcase_add_test(tcase, getting_the_current_time_reads_the_precise_clock_once);
    return suite;
}
