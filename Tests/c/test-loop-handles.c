/* Checks who owns a loop and its items: handles that outlive their thread, one release too many, a thread that ends with a great
 * many sources, and a retain in a callback while another thread releases. */
#include "harness.h"

#include <sched.h>

static RLRunLoopRef first;

/* -- The main thread's loop -- */

static pthread_t main_thread;

static void *get_loop(UNUSED void *info) { return RLRunLoopGetCurrent(); }

static void *look_at_main_loop(UNUSED void *info)
{
    void *loop;
    child_assert(pthread_join(main_thread, NULL) == 0);
    child_assert(pthread_join(start_thread(get_loop, NULL), &loop) == 0);
    child_assert(loop != first);
    child_assert(RLRunLoopGetMain() == first);
    errno = 0;
    child_assert(!RLRunLoopPostFunction(first, kRLRunLoopDefaultMode, do_nothing, NULL));
    child_assert(errno == ESRCH);
    _exit(0);
}

static void end_main_thread(UNUSED void *info)
{
    main_thread = pthread_self();
    first = RLRunLoopGetMain();
    child_assert(first == RLRunLoopGetCurrent());
    start_thread(look_at_main_loop, NULL);
    pthread_exit(NULL);
}

START_TEST(the_main_loop_stays_the_main_loop_when_its_thread_ends)
{
    ck_assert_int_eq(run_in_child(end_main_thread, NULL), 0);
}
END_TEST

/* -- One release too many -- */

START_TEST(an_overreleased_loop_stays_with_its_thread)
{
    void *other;
    first = RLRunLoopGetCurrent();
    RLRelease(first);
    assert_misuse("RLRelease", "object", NULL);
    pthread_t thread = start_thread(get_loop, NULL);
    ck_assert_int_eq(pthread_join(thread, &other), 0);
    ck_assert(other != first);
    ck_assert(RLRunLoopGetCurrent() == first);
    ck_assert(RLRunLoopPostFunction(first, kRLRunLoopDefaultMode, stop_current, NULL));
    RLRunLoopTimerRef timer = make_timer(1e9, 0, count_timer, NULL);
    RLRunLoopAddTimer(first, timer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunStopped);
    drop_timer(timer);
}
END_TEST

/* -- Many sources -- */

enum { MANY = 100000 };
static int infos[MANY]; /* sources with the same info would be equal */
static atomic_int released;
static void count_release(UNUSED const void *info) { released++; }

static void *add_many_sources(UNUSED void *info)
{
    for (int i = 0; i < MANY; i++) {
        RLRunLoopSourceContext context = {.info = &infos[i], .release = count_release, .perform = do_nothing};
        RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
        RLRelease(source);
    }
    return NULL;
}

START_TEST(a_thread_with_a_hundred_thousand_sources_exits_quickly)
{
    join_thread(start_thread(add_many_sources, NULL));
    ck_assert_int_eq(released, MANY);
}
END_TEST

/* -- A retain in a callback, a release elsewhere -- */

enum { ROUNDS = SCALED(100000) };
static atomic_int phase;
static int lost;

static void await_phase(int wanted)
{
    for (int looks = 0; phase != wanted; looks++)
        if (looks > 1000)
            sched_yield();
}

static void spin_shortly(int count)
{
    for (volatile int i = 0; i < count; i++) {}
}

static void retain_in_callback(RLRunLoopTimerRef timer, void *info)
{
    phase = 1;
    spin_shortly((int)(intptr_t)info % 60);
    /* The loop keeps the timer while its callback runs, so this thread needs no reference of its own. */
    RLRetain(timer);
    await_phase(2);
    if (RLGetRetainCount(timer) < 1) {
        lost++;
        RLRetain(timer);
    }
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
    phase = 3;
}

static void *release_elsewhere(UNUSED void *info)
{
    for (int round = 0; round < ROUNDS; round++) {
        phase = 0;
        RLRunLoopTimerRef timer = make_timer(0, 1000, retain_in_callback, (void *)(intptr_t)round);
        RLRunLoopAddTimer(first, timer, kRLRunLoopDefaultMode);
        RLRunLoopWakeUp(first);
        await_phase(1);
        spin_shortly(round / 60 % 40);
        RLRelease(timer);
        phase = 2;
        await_phase(3);
    }
    RLRunLoopStop(first);
    return NULL;
}

START_TEST(a_retain_in_a_callback_is_not_lost_to_a_concurrent_release)
{
    first = RLRunLoopGetCurrent();
    RLRunLoopTimerRef keeper = make_timer(1e9, 0, count_timer, NULL);
    RLRunLoopAddTimer(first, keeper, kRLRunLoopDefaultMode);
    pthread_t thread = start_thread(release_elsewhere, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    join_thread(thread);
    drop_timer(keeper);
    ck_assert_int_eq(lost, 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("loop-handles");
    TCase *quick = add_case(suite, "quick", 10);
    if (!SANITIZED) /* ThreadSanitizer does not recognize the main thread when it is joined */
        tcase_add_test(quick, the_main_loop_stays_the_main_loop_when_its_thread_ends);
    tcase_add_test(quick, an_overreleased_loop_stays_with_its_thread);
    tcase_add_test(quick, a_thread_with_a_hundred_thousand_sources_exits_quickly);
    TCase *races = add_case(suite, "races", 120);
    tcase_add_test(races, a_retain_in_a_callback_is_not_lost_to_a_concurrent_release);
    return suite;
}
