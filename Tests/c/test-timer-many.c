/* Checks many timers: the order of their dates, cancelling, changing dates, and tolerances that save wake-ups. */
#include "harness.h"
#include <malloc.h>

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

enum { TIMERS = SCALED(100000) };

/* One of many timers; its date is the key. */
struct entry {
    RLRunLoopTimerRef timer;
    RLAbsoluteTime date;
    int calls;
};
static struct entry entries[TIMERS];
static RLAbsoluteTime last_date;
static int calls, out_of_order, early;

static void check_order(UNUSED RLRunLoopTimerRef timer, void *info)
{
    struct entry *entry = info;
    out_of_order += entry->date < last_date - 1e-6;           /* a double cannot distinguish closer dates */
    early += RLAbsoluteTimeGetCurrent() < entry->date - 5e-4; /* the wall clock may be slewed meanwhile */
    last_date = entry->date;
    entry->calls++;
    calls++;
}

static uint64_t random_state = 0x9E3779B97F4A7C15;
static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static void add_entries(RLAbsoluteTime start, double spread)
{
    for (int i = 0; i < TIMERS; i++) {
        entries[i].date = start + spread * (double)(next_random() % 1000003) / 1000003;
        entries[i].timer = make_timer(entries[i].date, 0, check_order, &entries[i]);
        RLRunLoopAddTimer(rl, entries[i].timer, kRLRunLoopDefaultMode);
    }
}

static void check_each_called(int (*wanted)(int index))
{
    int wrong = 0;
    for (int i = 0; i < TIMERS; i++)
        wrong += entries[i].calls != wanted(i);
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_eq(out_of_order, 0);
    ck_assert_int_eq(early, 0);
}

static int once(UNUSED int index) { return 1; }
static int once_if_odd(int index) { return index % 2; }

static void release_all(void)
{
    for (int i = 0; i < TIMERS; i++)
        RLRelease(entries[i].timer);
}

static atomic_int wake_ups;

START_TEST(random_dates_that_are_all_past_fire_in_order_in_one_pass)
{
    add_entries(RLAbsoluteTimeGetCurrent() - 100, 99);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    check_each_called(once);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
    release_all();
}
END_TEST

START_TEST(random_dates_ahead_fire_in_order_of_date)
{
    add_entries(RLAbsoluteTimeGetCurrent(), 0.5);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    check_each_called(once);
    release_all();
}
END_TEST

START_TEST(cancelling_half_of_many_timers_leaves_the_other_half)
{
    add_entries(RLAbsoluteTimeGetCurrent() + 0.01, 0.2);
    for (int i = 0; i < TIMERS; i += 2)
        RLRunLoopTimerInvalidate(entries[i].timer);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    /* Timers that are cancelled before they are due are never called, and nothing was called before the loop ran. */
    check_each_called(once_if_odd);
    release_all();
}
END_TEST

START_TEST(resetting_every_date_reorders_the_timers)
{
    add_entries(RLAbsoluteTimeGetCurrent() + 3600, 1000);
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent() - 50;
    for (int i = 0; i < TIMERS; i++) {
        entries[i].date = start + 49.0 * (double)(next_random() % 1000003) / 1000003;
        RLRunLoopTimerSetNextFireDate(entries[i].timer, entries[i].date);
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    check_each_called(once);
    release_all();
}
END_TEST

START_TEST(timers_of_equal_dates_are_all_called)
{
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 0.01;
    for (int i = 0; i < TIMERS; i++) {
        entries[i].date = date;
        entries[i].timer = make_timer(date, 0, check_order, &entries[i]);
        RLRunLoopAddTimer(rl, entries[i].timer, kRLRunLoopDefaultMode);
    }
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    check_each_called(once);
    release_all();
}
END_TEST

static void invalidate_next(RLRunLoopTimerRef timer, void *info)
{
    struct entry *entry = info;
    check_order(timer, info);
    if ((entry - entries) % 2 == 0)
        RLRunLoopTimerInvalidate(entry[1].timer);
}
static int once_if_even(int index) { return index % 2 == 0; }

START_TEST(timers_invalidated_in_the_same_batch_are_not_called)
{
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent() - 1000;
    for (int i = 0; i < TIMERS; i++) { /* one second per thousand, in the order of the table */
        entries[i].date = start + i * 1e-3;
        entries[i].timer = make_timer(entries[i].date, 0, invalidate_next, &entries[i]);
        RLRunLoopAddTimer(rl, entries[i].timer, kRLRunLoopDefaultMode);
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    check_each_called(once_if_even);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
    release_all();
}
END_TEST

enum { MILLION = SCALED(1000000) };
static RLRunLoopTimerRef *million;

static size_t anonymous_bytes(void)
{
    unsigned long kilobytes = 0;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    require(file != NULL);
    while (fgets(line, sizeof line, file) && sscanf(line, "Anonymous: %lu kB", &kilobytes) != 1)
        ;
    fclose(file);
    require(kilobytes > 0);
    return kilobytes * 1024;
}

/* After a pass, what is left of a million timers that have fired (_i is 0) or were cancelled (1) is the memory of the objects and
 * their addresses, 72 bytes each. The memory of the queue, another 16 bytes each, is freed. */
START_TEST(the_queue_of_a_million_timers_is_freed)
{
    mallopt(M_MMAP_THRESHOLD, 128 * 1024); /* free(3) returns large blocks immediately */
    million = malloc(MILLION * sizeof *million);
    for (int i = 0; i < MILLION; i++)
        million[i] = NULL;
    size_t before = anonymous_bytes();
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent() + (_i == 0 ? -100 : 3600);
    for (int i = 0; i < MILLION; i++) {
        million[i] = make_timer(start + i * 1e-5, 0, count_timer, &wake_ups);
        RLRunLoopAddTimer(rl, million[i], kRLRunLoopDefaultMode);
    }
    for (int i = 0; _i == 1 && i < MILLION; i++)
        RLRunLoopTimerInvalidate(million[i]);
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    for (int i = 0; i < MILLION; i++) {
        ck_assert(!RLRunLoopTimerIsValid(million[i]));
        RLRelease(million[i]);
    }
    if (!SANITIZED)
        ck_assert_int_le((anonymous_bytes() - before) / MILLION, 80);
    free(million);
    drop_source(keeper);
}
END_TEST

static int wake_ups_of_scattered_timers(RLTimeInterval tolerance)
{
    enum { scattered = 20 };
    atomic_int fired = 0;
    RLRunLoopTimerRef timers[scattered];
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopAfterWaiting, 1, 0, count_activity, &wake_ups);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent() + 0.02;
    for (int i = 0; i < scattered; i++) { /* over 0.1 s, 5 ms apart */
        timers[i] = make_timer(start + i * 0.005, 0, count_timer, &fired);
        RLRunLoopTimerSetTolerance(timers[i], tolerance);
        RLRunLoopAddTimer(rl, timers[i], kRLRunLoopDefaultMode);
    }
    wake_ups = 0;
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(fired, scattered);
    for (int i = 0; i < scattered; i++)
        RLRelease(timers[i]);
    drop_observer(observer);
    return wake_ups;
}

START_TEST(tolerance_lets_one_wake_up_serve_several_timers)
{
    int with = wake_ups_of_scattered_timers(1);
    ck_assert_int_le(with, 3); /* all twenty fit into the first one's tolerance */
    ck_assert_int_ge(with, 1);
}
END_TEST

static void check_within_tolerance(RLRunLoopTimerRef timer, void *info)
{
    early += RLAbsoluteTimeGetCurrent() < RLRunLoopTimerGetNextFireDate(timer) - 5e-5;
    count_perform(info);
}

START_TEST(a_tolerance_never_makes_a_timer_early)
{
    atomic_int fired = 0;
    RLRunLoopTimerRef timers[10];
    for (int i = 0; i < 10; i++) {
        timers[i] = make_timer(RLAbsoluteTimeGetCurrent() + 0.01 + i * 0.003, 0, check_within_tolerance, &fired);
        RLRunLoopTimerSetTolerance(timers[i], 0.002 * (i % 4));
        RLRunLoopAddTimer(rl, timers[i], kRLRunLoopDefaultMode);
    }
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(fired, 10);
    ck_assert_int_eq(early, 0);
    for (int i = 0; i < 10; i++)
        RLRelease(timers[i]);
}
END_TEST

START_TEST(a_tolerance_is_stored_and_clamped)
{
    RLRunLoopTimerRef once_timer = make_timer(0, 0, check_order, NULL),
                      repeating = make_timer(0, 10, check_order, NULL);
    RLRunLoopTimerSetTolerance(once_timer, 77);
    ck_assert_double_eq(RLRunLoopTimerGetTolerance(once_timer), 77);
    RLRunLoopTimerSetTolerance(once_timer, -1);
    ck_assert_double_eq(RLRunLoopTimerGetTolerance(once_timer), 0);
    RLRunLoopTimerSetTolerance(repeating, 1.5);
    ck_assert_double_eq(RLRunLoopTimerGetTolerance(repeating), 1.5);
    RLRunLoopTimerSetTolerance(repeating, 77);
    ck_assert_double_eq(RLRunLoopTimerGetTolerance(repeating), 5);
    RLRelease(once_timer);
    RLRelease(repeating);
}
END_TEST

START_TEST(infinite_and_huge_tolerances_do_not_overflow)
{
    static const double tolerances[] = {1e10, 1e300, INFINITY};
    for (int i = 0; i < 3; i++) {
        atomic_int fired = 0, stopper = 0;
        RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.001, 0, count_timer, &fired);
        RLRunLoopTimerRef strict = make_timer(RLAbsoluteTimeGetCurrent() + 0.01, 0, count_timer, &stopper);
        RLRunLoopTimerSetTolerance(timer, tolerances[i]);
        RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
        RLRunLoopAddTimer(rl, strict, kRLRunLoopDefaultMode);
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
        ck_assert_int_eq(fired + stopper, 2);
        RLRelease(timer);
        RLRelease(strict);
    }
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("timer-many");
    TCase *tcase = add_case(suite, "many", 60);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, random_dates_that_are_all_past_fire_in_order_in_one_pass);
    tcase_add_test(tcase, random_dates_ahead_fire_in_order_of_date);
    tcase_add_test(tcase, cancelling_half_of_many_timers_leaves_the_other_half);
    tcase_add_test(tcase, resetting_every_date_reorders_the_timers);
    tcase_add_test(tcase, timers_of_equal_dates_are_all_called);
    tcase_add_test(tcase, timers_invalidated_in_the_same_batch_are_not_called);
    tcase_add_loop_test(tcase, the_queue_of_a_million_timers_is_freed, 0, 2);
    tcase_add_test(tcase, tolerance_lets_one_wake_up_serve_several_timers);
    tcase_add_test(tcase, a_tolerance_never_makes_a_timer_early);
    tcase_add_test(tcase, a_tolerance_is_stored_and_clamped);
    tcase_add_test(tcase, infinite_and_huge_tolerances_do_not_overflow);
    return suite;
}
