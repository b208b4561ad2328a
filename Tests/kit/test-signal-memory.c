/* RLSignalCreate() without memory frees what it has allocated before the allocation that fails. */
#include "memory.h"

#include <malloc.h>
#include <signal.h>

static void heard(UNUSED RLSignalRef signal, UNUSED const RLSignalInfo *information, UNUSED void *info) {}

static RLSignalRef create(void)
{
    allocations = 0;
    armed = true;
    RLSignalRef signal = RLSignalCreate(NULL, SIGUSR2, 0, heard, NULL);
    armed = false;
    return signal;
}

/* A creation that does not repeat the failing allocation succeeds; what such a one keeps, it keeps once. */
START_TEST(failures_leave_no_memory_behind)
{
    enum { times = 1000, smallest = 16 };
    RLSignalRef signal;
    require(RLRunLoopGetCurrent() != NULL); /* some of its allocations may fail without consequences */
    for (fail_at = 1; (signal = create()) == NULL; fail_at++) {
        size_t before = mallinfo2().uordblks;
        for (int i = 0; i < times; i++)
            if ((signal = create()) != NULL)
                RLRelease(signal);
        size_t after = mallinfo2().uordblks;
        ck_assert_msg(after < before + times * smallest, "allocation %ld: %zu bytes", fail_at, after - before);
    }
    ck_assert_int_gt(fail_at, 4);
    RLRelease(signal);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("signal memory");
    TCase *all = add_case(suite, "memory", 30);
    if (!SANITIZED) /* a sanitizer's allocator does not count */
        tcase_add_test(all, failures_leave_no_memory_behind);
    return suite;
}
