/* Checks that nothing is lost if allocations fail while a loop takes posted functions, and that the loop does not sleep before it
 * has called them. */
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

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("post without memory");
    tcase_add_loop_test(add_case(suite, "posts", 20), posted_functions_are_called_once_memory_is_available_again, 0, 6);
    return suite;
}
