/* The last reference of a timer goes, and at any instruction of that another thread takes one, which it may while a loop keeps the timer:
 * then that reference counts, and the timer lives. */
#include "interrupt.h"

static RLRunLoopTimerRef timer;
static gate begin, added;
static atomic_int other_number;
static atomic_bool is_wanted, is_over, is_done;
/* What the other thread does when it is told to, and what the timer is like. */
static void (*deed)(void);
static bool is_other_loop, is_due;

static void retain_fired(RLRunLoopTimerRef fired, UNUSED void *info) { RLRetain(fired); }

static void add_timer(RLTimeInterval delay)
{
    timer = make_timer(RLAbsoluteTimeGetCurrent() + delay, 0, retain_fired, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
}

static void *other_thread(UNUSED void *unused)
{
    atomic_store(&other_number, gettid());
    for (;;) {
        gate_pass(&begin);
        if (atomic_load(&is_over))
            return NULL;
        if (is_other_loop)
            add_timer(is_due ? 0 : 3600);
        gate_open(&added);
        while (!atomic_load(&is_wanted))
            ;
        deed();
        atomic_store(&is_done, true);
    }
}

/* Unless the thread that was interrupted has a lock that the other one needs: then it goes on. */
static void let_other_do_it(void)
{
    atomic_store(&is_wanted, true);
    while (!atomic_load(&is_done) && !is_asleep(other_number))
        ;
}

static void release_timer(void) { RLRelease(timer); }

/* For each instruction of the release. */
static void release_meanwhile(void (*what)(void), int loops)
{
    deed = what;
    gate_init(&begin);
    gate_init(&added);
    pthread_t other = start_thread(other_thread, NULL);
    /* From here on this thread has a loop, and room for timers that it frees. */
    add_timer(3600);
    drop_timer(timer);
    int count = 0;
    for (bool has_more = true; has_more; count++) {
        atomic_store(&is_wanted, false);
        atomic_store(&is_done, false);
        gate_open(&begin);
        gate_pass(&added);
        if (!is_other_loop)
            add_timer(3600);
        has_more = interrupt_behind(count, release_timer, let_other_do_it);
        while (!atomic_load(&is_done))
            ;
        if (RLGetRetainCount(timer) != 1 + loops)
            ck_abort_msg("behind %d instructions: %ld references", count, (long)RLGetRetainCount(timer));
        RLRunLoopTimerInvalidate(timer);
        RLRelease(timer);
    }
    require(!CAN_INTERRUPT || count > 20);
    atomic_store(&is_over, true);
    gate_open(&begin);
    join_thread(other);
    ck_assert_int_eq(take_diagnostics(), 0);
}

static void retain(void) { RLRetain(timer); }

START_TEST(a_reference_taken_while_the_loop_keeps_the_timer) { release_meanwhile(retain, 1); }
END_TEST

static void retain_and_invalidate(void)
{
    RLRetain(timer);
    RLRunLoopTimerInvalidate(timer);
}

START_TEST(a_reference_taken_before_the_timer_is_invalidated)
{
    is_other_loop = true;
    release_meanwhile(retain_and_invalidate, 0);
}
END_TEST

static void fire(void) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false); }

START_TEST(a_reference_taken_by_the_callback)
{
    is_other_loop = is_due = true;
    release_meanwhile(fire, 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("timer-released");
    TCase *tcase = add_case(suite, "released", 60);
    tcase_add_test(tcase, a_reference_taken_while_the_loop_keeps_the_timer);
    tcase_add_test(tcase, a_reference_taken_before_the_timer_is_invalidated);
    tcase_add_test(tcase, a_reference_taken_by_the_callback);
    return suite;
}
