/* Checks that nothing is lost if allocations fail while posted functions are taken out of the queue: the loop does not sleep before
 * it has called them, and they can be cancelled and are dropped at thread exit as usual. */
#include "harness.h"

/* How many more allocations of this thread will fail. */
static _Thread_local int failures;
/* AddressSanitizer allocates before it can check this access. */
__attribute__((no_sanitize("address"))) static bool must_fail(void)
{
    if (failures == 0)
        return false;
    failures--;
    return true;
}
#ifndef __has_feature
#define __has_feature(feature) 0 /* gcc */
#endif
#if !__has_feature(thread_sanitizer) /* which needs malloc for itself */
#include "../faults/failing-memory.h"
#endif

enum { POSTS = 100 };
static RLRunLoopRef rl;
static gate asleep;
static atomic_int called;

static void count_call(UNUSED void *info)
{
    if (++called == POSTS)
        RLRunLoopStop(rl);
}

/* Announces the first sleep. The pass after it finds posted functions, and has no memory for them. */
static void on_waiting(UNUSED RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    static int sleeps;
    if (activity == kRLRunLoopBeforeWaiting && sleeps++ == 0)
        gate_open(&asleep);
    if (activity == kRLRunLoopAfterWaiting && sleeps == 1)
        failures = *(int *)info;
}

static void *run(void *info)
{
    rl = RLRunLoopGetCurrent();
    RLRunLoopTimerRef keeper = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, NULL);
    RLRunLoopAddTimer(rl, keeper, kRLRunLoopDefaultMode);
    RLRunLoopObserverContext context = {.info = info};
    RLRunLoopObserverRef observer =
        RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeWaiting | kRLRunLoopAfterWaiting, 1, 0, on_waiting, &context);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e6, 0) == kRLRunLoopRunStopped);
    require(!must_fail() || SANITIZED);
    drop_observer(observer);
    drop_timer(keeper);
    return NULL;
}

START_TEST(posted_functions_are_called_once_memory_is_available_again)
{
    gate_init(&asleep);
    pthread_t thread = start_thread(run, &_i);
    gate_pass(&asleep);
    for (int i = 0; i < POSTS; i++)
        require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, count_call, NULL));
    join_thread(thread);
    ck_assert_int_eq(called, POSTS);
}
END_TEST

/* -- Functions that cannot be moved behind those that wait for another mode -- */

/* A loop's list of waiting functions has room for eight. So one that waits for another mode and eight new ones do not fit. */
enum { FIT = 8, NEVER = 1000000 };
static atomic_int released;

static void count_release(UNUSED void *info) { released++; }

/* Queues one function that the loop takes and keeps, and `count` that it has yet to take. */
static void queue(int count)
{
    rl = RLRunLoopGetCurrent();
    require(RLRunLoopPerformFunctionWithRelease(rl, RLSTR("other"), count_call, &called, count_release));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    for (int i = 0; i < count; i++)
        require(RLRunLoopPerformFunctionWithRelease(rl, kRLRunLoopDefaultMode, count_call, &called, count_release));
}

START_TEST(all_functions_are_cancelled_without_memory)
{
    queue(FIT);
    failures = NEVER;
    RLIndex cancelled = RLRunLoopCancelPerformFunction(rl, NULL, &called);
    failures = 0;
    ck_assert_int_eq(cancelled, FIT + 1);
    ck_assert_int_eq(released, FIT + 1);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    RLRunLoopRunInMode(RLSTR("other"), 0, 0);
    ck_assert_int_eq(called, 0);
}
END_TEST

START_TEST(more_functions_than_one_search_takes_are_cancelled_without_memory)
{
    queue(100);
    failures = NEVER;
    RLIndex cancelled = RLRunLoopCancelPerformFunction(rl, NULL, &called);
    failures = 0;
    ck_assert_int_eq(cancelled, 101);
    ck_assert_int_eq(released, 101);
}
END_TEST

START_TEST(a_mode_is_empty_once_its_functions_were_cancelled_without_memory)
{
    require(RLRunLoopPerformFunction(RLRunLoopGetCurrent(), RLSTR("other"), count_call, NULL));
    queue(FIT);
    failures = NEVER;
    RLRunLoopCancelPerformFunction(rl, NULL, &called);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    failures = 0;
    ck_assert_int_eq(result, kRLRunLoopRunFinished);
}
END_TEST

/* Called on the waiting thread, just before it queues its function. */
static void forbid_memory(UNUSED const void *object, uint32_t kind, UNUSED uint64_t number,
                          UNUSED void (*function)(void), UNUSED const void *info)
{
    if (kind == kRLRunLoopProbeFunction)
        failures = NEVER;
}

static void *wait_in_vain(UNUSED void *info)
{
    static const RLRunLoopProbe probe = {.sent = forbid_memory};
    require(RLRunLoopSetProbe(&probe));
    errno = 0;
    require(!RLRunLoopPerformFunctionAndWait(rl, kRLRunLoopDefaultMode, count_call, NULL, 0.01));
    require(errno == ETIMEDOUT);
    failures = 0;
    require(RLRunLoopSetProbe(NULL));
    return NULL;
}

START_TEST(a_thread_without_memory_waits_no_longer_than_its_time_limit)
{
    queue(FIT - 1);
    join_thread(start_thread(wait_in_vain, NULL));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(called, FIT - 1);
}
END_TEST

START_TEST(a_mode_with_functions_is_not_empty_without_memory)
{
    queue(FIT);
    failures = NEVER;
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    failures = 0;
    ck_assert_int_eq(result, kRLRunLoopRunTimedOut);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(called, FIT);
}
END_TEST

static void *end_without_memory(UNUSED void *info)
{
    queue(FIT);
    failures = NEVER;
    return NULL;
}

static void end_in_batch(UNUSED void *info)
{
    for (int i = 0; i < FIT; i++)
        require(RLRunLoopPerformFunctionWithRelease(rl, RLSTR("other"), count_call, NULL, count_release));
    failures = NEVER;
    pthread_exit(NULL);
}

/* Ends its thread in a batch of which one function is for another mode and two are still to be called. */
static void *end_in_batch_without_memory(UNUSED void *info)
{
    queue(0);
    require(RLRunLoopPerformFunctionWithRelease(rl, RLSTR("other"), count_call, NULL, count_release));
    require(RLRunLoopPerformFunctionWithRelease(rl, kRLRunLoopDefaultMode, end_in_batch, NULL, count_release));
    for (int i = 0; i < 2; i++)
        require(RLRunLoopPerformFunctionWithRelease(rl, kRLRunLoopDefaultMode, count_call, NULL, count_release));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    return NULL;
}

/* The dynamic linker never frees what it allocates for a library that it loads, by way of the malloc() of this file. */
const char *__lsan_default_suppressions(void) { return "leak:ld-linux"; }

static void *exit_thread(UNUSED void *info) { pthread_exit(NULL); }

START_TEST(all_functions_are_dropped_at_thread_exit_without_memory)
{
    join_thread(start_thread(exit_thread, NULL)); /* the first pthread_exit() loads libgcc_s */
    join_thread(start_thread(_i == 0 ? end_without_memory : end_in_batch_without_memory, NULL));
    ck_assert_int_eq(called, 0);
    ck_assert_int_eq(released, FIT + (_i == 0 ? 1 : 5));
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("post without memory");
    TCase *tcase = add_case(suite, "in the inbox", 5);
    tcase_add_test(tcase, all_functions_are_cancelled_without_memory);
    tcase_add_test(tcase, more_functions_than_one_search_takes_are_cancelled_without_memory);
    tcase_add_test(tcase, a_mode_is_empty_once_its_functions_were_cancelled_without_memory);
    tcase_add_test(tcase, a_thread_without_memory_waits_no_longer_than_its_time_limit);
    tcase_add_test(tcase, a_mode_with_functions_is_not_empty_without_memory);
    tcase_add_loop_test(tcase, all_functions_are_dropped_at_thread_exit_without_memory, 0, 2);
    tcase_add_loop_test(add_case(suite, "posts", 20), posted_functions_are_called_once_memory_is_available_again, 0, 6);
    return suite;
}
