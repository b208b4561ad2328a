/* Checks the life of timers: when their info is released, and what their callbacks may do to themselves and to other timers. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }
static void poll_once(void) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0); }

struct record {
    struct lifetime life; /* first: the context's info is both */
    RLRunLoopTimerRef timer;
    int calls;
};

static void record_call(UNUSED RLRunLoopTimerRef timer, void *info) { ((struct record *)info)->calls++; }

static RLRunLoopTimerRef make_record(struct record *record, RLTimeInterval interval, RLRunLoopTimerCallBack callout)
{
    RLRunLoopTimerContext context = {.info = record, .retain = lifetime_retain, .release = lifetime_release};
    record->timer = RLRunLoopTimerCreate(NULL, 0, interval, 0, 0, callout, &context);
    ck_assert_ptr_nonnull(record->timer);
    ck_assert_int_eq(lifetime_held(&record->life), 1);
    return record->timer;
}

static void add_record(struct record *record, RLTimeInterval interval, RLRunLoopTimerCallBack callout)
{
    RLRunLoopAddTimer(rl, make_record(record, interval, callout), kRLRunLoopDefaultMode);
}

START_TEST(an_unused_timer_releases_its_info_when_freed)
{
    struct record record = {0};
    RLRelease(make_record(&record, 1, record_call));
    ck_assert_int_eq(record.life.releases, 1);
}
END_TEST

static void leave_alone(UNUSED RLRunLoopTimerRef timer) {}
static void add_and_remove(RLRunLoopTimerRef timer)
{
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopRemoveTimer(rl, timer, kRLRunLoopDefaultMode);
}
static void add_and_invalidate(RLRunLoopTimerRef timer)
{
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopTimerInvalidate(timer);
}
static void invalidate_in_other_mode(RLRunLoopTimerRef timer)
{
    RLRunLoopAddTimer(rl, timer, RLSTR("second"));
    RLRunLoopTimerInvalidate(timer);
}

/* The process has one thread, and the timers' contexts have no functions: RLRelease() has a shortcut for these. */
static void release_frees_after(void (*prepare)(RLRunLoopTimerRef))
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 10, 0, count_timer, NULL);
    prepare(timer);
    RLRelease(timer);
    ck_assert(!RLRunLoopTimerIsValid(timer));
    assert_misuse("RLRunLoopTimerIsValid", "timer", NULL); /* its memory is free */
}

START_TEST(the_last_reference_to_a_timer_in_no_loop_frees_it)
{
    release_frees_after(leave_alone);
    release_frees_after(add_and_remove);
    release_frees_after(add_and_invalidate);
    release_frees_after(invalidate_in_other_mode);
    /* Once the loop has searched for its next timer, timers that are due before that one are kept in order. */
    RLRunLoopTimerRef later = make_timer(RLAbsoluteTimeGetCurrent() + 1000, 0, count_timer, NULL);
    RLRunLoopAddTimer(rl, later, kRLRunLoopDefaultMode);
    poll_once();
    release_frees_after(add_and_remove);
    release_frees_after(add_and_invalidate);
    drop_timer(later);
}
END_TEST

START_TEST(invalidating_a_timer_releases_its_info_at_once_and_only_once)
{
    struct record record = {0};
    add_record(&record, 1, record_call);
    RLRunLoopAddTimer(rl, record.timer, RLSTR("second"));
    ck_assert_int_eq(record.life.retains, 1);
    RLRunLoopTimerInvalidate(record.timer);
    ck_assert_int_eq(record.life.releases, 1);
    RLRunLoopTimerContext context = {.version = 0};
    RLRunLoopTimerGetContext(record.timer, &context);
    ck_assert_ptr_null(context.info);
    ck_assert(!RLRunLoopTimerIsValid(record.timer));
    RLRunLoopTimerInvalidate(record.timer);
    poll_once();
    RLRelease(record.timer);
    ck_assert_int_eq(record.life.releases, 1);
    ck_assert_int_eq(record.calls, 0);
}
END_TEST

START_TEST(a_one_shot_timer_releases_its_info_after_its_callback)
{
    struct record record = {0};
    add_record(&record, 0, record_call);
    RLRelease(record.timer); /* the loop has the last reference */
    ck_assert_int_eq(lifetime_held(&record.life), 1);
    poll_once();
    ck_assert_int_eq(record.calls, 1);
    ck_assert_int_eq(lifetime_held(&record.life), 0);
}
END_TEST

START_TEST(removing_the_last_reference_to_a_timer_releases_its_info)
{
    struct record record = {0};
    add_record(&record, 1, record_call);
    RLRelease(record.timer);
    RLRunLoopRemoveTimer(rl, record.timer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(record.life.releases, 1);
}
END_TEST

static void invalidate_self(RLRunLoopTimerRef timer, void *info)
{
    struct record *record = info;
    record->calls++;
    ck_assert(RLRunLoopTimerIsValid(timer));
    int held = lifetime_held(&record->life);
    RLRunLoopTimerInvalidate(timer);
    ck_assert_int_eq(lifetime_held(&record->life), held - 1); /* immediately, not after the callback */
    ck_assert(!RLRunLoopTimerIsValid(timer));
    ck_assert(!RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
    RLRunLoopTimerSetNextFireDate(timer, 0);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    ck_assert(!RLRunLoopContainsTimer(rl, timer, kRLRunLoopDefaultMode));
}

static void invalidate_and_release_self(RLRunLoopTimerRef timer, void *info)
{
    invalidate_self(timer, info);
    RLRelease(timer);
    ck_assert(!RLRunLoopTimerIsValid(timer)); /* the loop holds it until the callback returns */
}

START_TEST(a_timer_may_invalidate_itself_in_its_callback)
{
    struct record records[2] = {0};
    add_record(&records[0], 0, invalidate_self);
    add_record(&records[1], 0.000001, invalidate_self);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(records[i].calls, 1);
        ck_assert_int_eq(lifetime_held(&records[i].life), 0);
        RLRelease(records[i].timer);
    }
}
END_TEST

START_TEST(a_timer_may_invalidate_and_release_itself_in_its_callback)
{
    struct record records[2] = {0};
    add_record(&records[0], 0, invalidate_and_release_self);
    add_record(&records[1], 0.000001, invalidate_and_release_self);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(records[0].calls + records[1].calls, 2);
    ck_assert_int_eq(lifetime_held(&records[0].life) + lifetime_held(&records[1].life), 0);
}
END_TEST

static void release_own_reference(RLRunLoopTimerRef timer, void *info)
{
    struct record *record = info;
    if (record->calls++ == 0)
        RLRelease(timer);
    if (record->calls == 3)
        RLRunLoopStop(rl);
}

START_TEST(a_timer_that_releases_itself_in_its_callback_stays_with_the_loop)
{
    struct record record = {0};
    add_record(&record, 0.001, release_own_reference);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    ck_assert_int_eq(record.calls, 3);
    ck_assert_int_eq(lifetime_held(&record.life), 1);
    RLRunLoopTimerInvalidate(record.timer);
    ck_assert_int_eq(lifetime_held(&record.life), 0);
}
END_TEST

static void remove_and_release_self(RLRunLoopTimerRef timer, void *info)
{
    ((struct record *)info)->calls++;
    RLRunLoopRemoveTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRelease(timer);
}

START_TEST(a_timer_may_remove_and_release_itself_in_its_callback)
{
    struct record records[2] = {0};
    add_record(&records[0], 0, remove_and_release_self);
    add_record(&records[1], 0.001, remove_and_release_self);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(records[i].calls, 1);
        ck_assert_int_eq(lifetime_held(&records[i].life), 0);
    }
}
END_TEST

static void remove_self_and_return(RLRunLoopTimerRef timer, void *info)
{
    if (((struct record *)info)->calls++ == 0) {
        RLRunLoopRemoveTimer(rl, timer, kRLRunLoopDefaultMode);
        RLRunLoopAddTimer(rl, timer, RLSTR("second"));
    }
}

START_TEST(a_repeating_timer_moved_to_another_mode_in_its_callback_keeps_firing)
{
    struct record record = {0};
    add_record(&record, 0.001, remove_self_and_return);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    while (record.calls < 3)
        ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("second"), 0.002, 0), kRLRunLoopRunTimedOut);
    drop_timer(record.timer);
}
END_TEST

static struct record *other;
static void (*end_other)(RLRunLoopTimerRef);
static void call_end_other(RLRunLoopTimerRef timer, void *info)
{
    record_call(timer, info);
    end_other(other->timer);
}
static void remove_timer(RLRunLoopTimerRef timer) { RLRunLoopRemoveTimer(rl, timer, kRLRunLoopDefaultMode); }

static void postpone_timer(RLRunLoopTimerRef timer)
{
    RLRunLoopTimerSetNextFireDate(timer, RLAbsoluteTimeGetCurrent() + 3600);
}

/* Both timers are due in one batch, and the first one's callback ends the second: the second must not be called. */
static void first_ends_second(void (*end)(RLRunLoopTimerRef), bool second_is_released)
{
    struct record first = {0}, second = {0};
    end_other = end;
    other = &second;
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent();
    add_record(&second, 0, record_call);
    RLRunLoopTimerSetNextFireDate(second.timer, now + 0.002);
    add_record(&first, 0, call_end_other);
    RLRunLoopTimerSetNextFireDate(first.timer, now + 0.001);
    spin_until(now + 0.003);
    poll_once();
    poll_once();
    ck_assert_int_eq(first.calls, 1);
    ck_assert_int_eq(second.calls, 0);
    RLRelease(first.timer);
    if (!second_is_released)
        drop_timer(second.timer);
    ck_assert_int_eq(lifetime_held(&second.life), 0);
    ck_assert_int_eq(lifetime_held(&first.life), 0);
}

START_TEST(a_timer_invalidated_by_another_of_the_batch_does_not_fire)
{
    first_ends_second(RLRunLoopTimerInvalidate, false);
}
END_TEST

START_TEST(a_timer_invalidated_and_released_by_another_of_the_batch_does_not_fire)
{
    first_ends_second(drop_timer, true);
}
END_TEST

START_TEST(a_timer_removed_by_another_of_the_batch_does_not_fire) { first_ends_second(remove_timer, false); }
END_TEST

START_TEST(a_timer_postponed_by_another_of_the_batch_does_not_fire) { first_ends_second(postpone_timer, false); }
END_TEST

static void add_and_note(UNUSED RLRunLoopTimerRef timer, void *info)
{
    note("adder");
    RLRunLoopAddTimer(rl, ((struct record *)info)->timer, kRLRunLoopDefaultMode);
}
static void note_added(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { note("added"); }

START_TEST(a_due_timer_added_in_a_callback_fires_once)
{
    struct record added = {0};
    make_record(&added, 0, note_added);
    RLRunLoopTimerRef adder = make_timer(0, 0, add_and_note, &added);
    RLRunLoopAddTimer(rl, adder, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    assert_notes("adder added");
    RLRelease(adder);
    RLRelease(added.timer);
}
END_TEST

/* A timer that always adds another due timer must not keep the loop in one pass forever. */
static void add_another_due(UNUSED RLRunLoopTimerRef timer, void *info)
{
    count_perform(info);
    RLRunLoopTimerRef next = make_timer(0, 0, add_another_due, info);
    RLRunLoopAddTimer(rl, next, kRLRunLoopDefaultMode);
    RLRelease(next);
}

START_TEST(timers_that_add_due_timers_do_not_keep_a_pass_from_ending)
{
    atomic_int calls = 0;
    add_another_due(NULL, &calls);
    for (int pass = 0; pass < 5; pass++)
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_ge(calls, 2);
}
END_TEST

static bool moves_next;

static void note_call(UNUSED RLRunLoopTimerRef timer, void *info) { note(info); }

static void add_next(UNUSED RLRunLoopTimerRef timer, void *info)
{
    note(info);
    RLRunLoopTimerRef next = make_timer(moves_next ? RLAbsoluteTimeGetCurrent() + 1000 : 0, 0, note_call, "next");
    RLRunLoopAddTimer(rl, next, kRLRunLoopDefaultMode);
    if (moves_next)
        RLRunLoopTimerSetNextFireDate(next, 0);
    RLRelease(next);
}

/* A timer that becomes due in a pass waits for the next pass, too, if the only timer that was due has a tolerance. Such a timer
 * is queued apart from the others, whose queue has room that a cancelled timer has left. */
START_TEST(a_timer_made_due_by_one_with_a_tolerance_waits_for_the_next_pass)
{
    moves_next = _i;
    RLRunLoopTimerRef cancelled = make_timer(RLAbsoluteTimeGetCurrent() + 1000, 0, note_call, "cancelled");
    RLRunLoopAddTimer(rl, cancelled, kRLRunLoopDefaultMode);
    drop_timer(cancelled);
    RLRunLoopTimerRef tolerant = make_timer(0, 0, add_next, "tolerant");
    RLRunLoopTimerSetTolerance(tolerant, 1);
    RLRunLoopAddTimer(rl, tolerant, kRLRunLoopDefaultMode);
    RLRelease(tolerant);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    assert_notes("tolerant");
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    assert_notes("next");
}
END_TEST

enum { SHARED = 2000 };
static RLRunLoopTimerRef shared[SHARED];
static void fail_call(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { ck_abort_msg("a far timer was called"); }

static void *release_shared(UNUSED void *argument)
{
    for (int i = 0; i < SHARED; i++)
        RLRelease(shared[i]);
    return NULL;
}

static int compare_handles(const void *left, const void *right)
{
    const RLRunLoopTimerRef *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Each thread has a reference to each timer, and releases it at any time. The memory of a timer that was freed twice would be
 * used twice. */
START_TEST(invalidated_timers_are_released_by_two_threads)
{
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < SHARED; i++) {
            shared[i] = make_timer(RLAbsoluteTimeGetCurrent() + 3600, 0, fail_call, NULL);
            RLRunLoopAddTimer(rl, shared[i], kRLRunLoopDefaultMode);
            RLRetain(shared[i]);
        }
        qsort(shared, SHARED, sizeof *shared, compare_handles);
        for (int i = 1; i < SHARED; i++)
            ck_assert_ptr_ne(shared[i - 1], shared[i]);
        pthread_t thread;
        if (round % 2)
            for (int i = 0; i < SHARED; i++)
                RLRunLoopTimerInvalidate(shared[i]);
        ck_assert_int_eq(pthread_create(&thread, NULL, release_shared, NULL), 0);
        for (int i = 0; i < SHARED; i++) {
            RLRunLoopTimerInvalidate(shared[i]);
            RLRelease(shared[i]);
        }
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("timer-lifetime");
    TCase *tcase = add_case(suite, "lifetime", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, an_unused_timer_releases_its_info_when_freed);
    tcase_add_test(tcase, the_last_reference_to_a_timer_in_no_loop_frees_it);
    tcase_add_test(tcase, invalidating_a_timer_releases_its_info_at_once_and_only_once);
    tcase_add_test(tcase, a_one_shot_timer_releases_its_info_after_its_callback);
    tcase_add_test(tcase, removing_the_last_reference_to_a_timer_releases_its_info);
    tcase_add_test(tcase, a_timer_may_invalidate_itself_in_its_callback);
    tcase_add_test(tcase, a_timer_may_invalidate_and_release_itself_in_its_callback);
    tcase_add_test(tcase, a_timer_that_releases_itself_in_its_callback_stays_with_the_loop);
    tcase_add_test(tcase, a_timer_may_remove_and_release_itself_in_its_callback);
    tcase_add_test(tcase, a_repeating_timer_moved_to_another_mode_in_its_callback_keeps_firing);
    tcase_add_test(tcase, a_timer_invalidated_by_another_of_the_batch_does_not_fire);
    tcase_add_test(tcase, a_timer_invalidated_and_released_by_another_of_the_batch_does_not_fire);
    tcase_add_test(tcase, a_timer_removed_by_another_of_the_batch_does_not_fire);
    tcase_add_test(tcase, a_timer_postponed_by_another_of_the_batch_does_not_fire);
    tcase_add_test(tcase, a_due_timer_added_in_a_callback_fires_once);
    tcase_add_test(tcase, timers_that_add_due_timers_do_not_keep_a_pass_from_ending);
    tcase_add_loop_test(tcase, a_timer_made_due_by_one_with_a_tolerance_waits_for_the_next_pass, 0, 2);
    tcase_add_test(tcase, invalidated_timers_are_released_by_two_threads);
    return suite;
}
