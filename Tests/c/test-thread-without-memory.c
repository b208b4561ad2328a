/* Checks threads for which memory runs out. If a thread gets no loop, the next one gets the loop that it would have had; if it
 * gets no object, it does not ask for more memory the next time. */
#include "harness.h"
#include <pthread.h>

/* Which of this thread's next allocations fails, counted from 1; 0: none. */
static _Thread_local int failing;
/* Whether all of this thread's allocations fail, and the size of the largest one. */
static _Thread_local bool fails_always;
static _Thread_local size_t largest;
/* AddressSanitizer allocates before it can check this access. */
UNUSED __attribute__((no_sanitize("address"))) static bool must_fail_for(size_t size)
{
    bool fails = fails_always || (failing > 0 && --failing == 0);
    if (size > largest)
        largest = size;
    if (fails)
        errno = ENOMEM;
    return fails;
}
#ifndef __has_feature
#define __has_feature(feature) 0 /* gcc */
#endif
#if !__has_feature(thread_sanitizer) /* which needs malloc for itself */
#define must_fail() must_fail_for(size)
#include "../faults/failing-memory.h"
#define MEMORY_FAILS true
#else
#define MEMORY_FAILS false
#endif

/* In each thread, glibc has memory for the values of 32 keys, and allocates memory for those of further keys. This takes the first 32
 * keys before the library can, so that the library's key needs an allocation. */
__attribute__((constructor)) static void take_keys(void)
{
    pthread_key_t key;
    for (int count = 0; count < 32; count++)
        require(pthread_key_create(&key, NULL) == 0);
}

static void *get_loop(UNUSED void *info) { return RLRunLoopGetCurrent(); }

/* Returns a pointer other than NULL if the thread got no loop, because its allocation with this number failed. */
static int number;
static void *fail_to_get_loop(void *info)
{
    errno = 0;
    failing = number;
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    bool has_failed = failing == 0;
    failing = 0;
    require((loop == NULL) == has_failed && (loop != NULL || errno == ENOMEM));
    return has_failed ? &number : info;
}

static void *result_of(void *(*body)(void *))
{
    void *result;
    pthread_t thread;
    require(pthread_create(&thread, NULL, body, NULL) == 0 && pthread_join(thread, &result) == 0);
    return result;
}

/* The memory of a loop is used again when its thread has ended. If the next thread fails to get a loop, the one after it gets that
 * memory. In between, using the handle of the ended loop is still reported. */
START_TEST(a_thread_that_gets_no_loop_leaves_it_to_the_next)
{
    void *loop = result_of(get_loop);
    ck_assert_ptr_nonnull(loop);
    for (number = 1; MEMORY_FAILS && result_of(fail_to_get_loop) != NULL; number++) {
        RLRunLoopStop(loop);
        ck_assert_int_eq(take_diagnostics(), 1);
        ck_assert_ptr_eq(result_of(get_loop), loop);
    }
    ck_assert(!MEMORY_FAILS || number > 2);
}
END_TEST

static void *create_after_failures(UNUSED void *info)
{
    require(RLRunLoopGetCurrent() != NULL);
    fails_always = true;
    for (int count = 0; count < 20; count++) {
        errno = 0;
        require(RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, count_timer, NULL) == NULL && errno == ENOMEM);
    }
    fails_always = false;
    largest = 0;
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, count_timer, NULL);
    require(timer != NULL && largest < 8192);
    RLRelease(timer);
    return NULL;
}

/* Memory for timers is allocated in chunks, each twice as large as the one before. Chunks that could not be allocated do not count. */
START_TEST(a_thread_that_gets_no_memory_asks_for_as_little_again)
{
    if (MEMORY_FAILS)
        result_of(create_after_failures);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-without-memory");
    TCase *tcase = add_case(suite, "threads", 10);
    tcase_add_test(tcase, a_thread_that_gets_no_loop_leaves_it_to_the_next);
    tcase_add_test(tcase, a_thread_that_gets_no_memory_asks_for_as_little_again);
    return suite;
}
