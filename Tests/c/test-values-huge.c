/* Checks values of sizes that no memory can hold: they are a failure of the system, not a crash. */
#include "harness.h"

START_TEST(values_larger_than_memory_are_refused)
{
    const void *values[1] = {NULL};
    const RLIndex most = (RLIndex)(~0UL >> 1);
    errno = 0;
    ck_assert_ptr_null(RLDataCreate(NULL, (const uint8_t *)"x", most));
    ck_assert_int_eq(errno, ENOMEM);
    errno = 0;
    ck_assert_ptr_null(RLArrayCreate(NULL, values, most / 8, NULL));
    ck_assert_int_eq(errno, ENOMEM);
    errno = 0;
    ck_assert_ptr_null(RLArrayCreate(NULL, values, most, NULL));
    ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("values-huge");
    TCase *tcase = add_case(suite, "huge", 20);
    tcase_add_test(tcase, values_larger_than_memory_are_refused);
    return suite;
}
