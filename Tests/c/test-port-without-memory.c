/* A first port that cannot be created for lack of memory does not keep later ones from being created: the port is the first
 * object of its thread, so the library makes its own preparations in the same call. */
#include "harness.h"

/* How many of this thread's allocations succeed before all others fail; negative: none fails. */
static _Thread_local int left = -1;
/* AddressSanitizer allocates before it can check this access. */
__attribute__((no_sanitize("address"))) UNUSED static bool must_fail(void)
{
    if (left > 0)
        left--;
    return left == 0;
}
#ifndef __has_feature
#define __has_feature(feature) 0 /* gcc */
#endif
#if !__has_feature(thread_sanitizer) /* which needs malloc for itself */
#include "../faults/failing-memory.h"
#endif

static void ignore_message(UNUSED RLPortRef port, UNUSED RLPortMessageRef message, UNUSED void *info) {}

static void *create_ports(void *info)
{
    left = *(int *)info;
    RLPortRef first = RLPortCreate(NULL, ignore_message, NULL, NULL);
    left = -1;
    if (first == NULL)
        require(errno == ENOMEM);
    else
        RLRelease(first);
    RLPortRef second = RLPortCreate(NULL, ignore_message, NULL, NULL);
    require(second != NULL);
    RLRelease(second);
    return NULL;
}

START_TEST(a_port_can_be_created_once_memory_is_available_again)
{
    int successes = _i + 1;
    join_thread(start_thread(create_ports, &successes));
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("port without memory");
    tcase_add_loop_test(add_case(suite, "ports", 20), a_port_can_be_created_once_memory_is_available_again, -1, 6);
    return suite;
}
