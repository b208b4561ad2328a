/* Checks strings: lengths, encodings, comparison, constants. Misuse is in test-misuse-*.c. */
#include "harness.h"

static RLStringRef string(const char *text) { return RLStringCreateWithCString(NULL, text, kRLStringEncodingUTF8); }

START_TEST(strings_count_units_and_bytes)
{
    static const struct {
        const char *text;
        int units, bytes;
    } cases[] = {{"", 0, 0},       {"abc", 3, 3},        {"\u00e9", 1, 2},
                 {"\u20ac", 1, 3}, {"\U0001F600", 2, 4}, {"a\u00e9\u20ac\U0001F600z", 6, 11}};
    for (int i = 0; i < 6; i++) {
        RLStringRef made = string(cases[i].text);
        char buffer[32];
        ck_assert_int_eq(RLStringGetLength(made), cases[i].units);
        ck_assert_int_eq(RLStringGetByteCount(made), cases[i].bytes);
        ck_assert_str_eq(RLStringGetCStringPtr(made, kRLStringEncodingUTF8), cases[i].text);
        ck_assert(RLStringGetCString(made, buffer, cases[i].bytes + 1, kRLStringEncodingUTF8));
        ck_assert_str_eq(buffer, cases[i].text);
        memset(buffer, 'x', sizeof buffer);
        ck_assert(!RLStringGetCString(made, buffer, cases[i].bytes, kRLStringEncodingUTF8));
        ck_assert_int_eq(buffer[0], cases[i].bytes > 0 ? 0 : 'x'); /* an empty string, if there is room for one */
        ck_assert_int_eq(buffer[cases[i].bytes], 'x');
        bool ascii = cases[i].units == cases[i].bytes;
        ck_assert_int_eq(RLStringGetCStringPtr(made, kRLStringEncodingASCII) != NULL, ascii);
        ck_assert_int_eq(RLStringGetCString(made, buffer, sizeof buffer, kRLStringEncodingASCII), ascii);
        RLRelease(made);
    }
}
END_TEST

START_TEST(bytes_that_are_not_utf8_make_no_string)
{
    static const char *const bad[] = {"\x80",
                                      "\xc3",
                                      "\xc0\x80",
                                      "\xe2\x82",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xe0\x80\x80",
                                      "\xf0\x80\x80\x80",
                                      "\xff",
                                      "ok\xc3(",
                                      "\xf0\x9f\x98",
                                      "\xc3\xa9\xa9"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        errno = 0;
        ck_assert_ptr_null(string(bad[i]));
        ck_assert_int_eq(errno, EILSEQ);
        ck_assert_ptr_null(
            RLStringCreateWithBytes(NULL, (const uint8_t *)bad[i], (RLIndex)strlen(bad[i]), kRLStringEncodingUTF8, 0));
        ck_assert_ptr_null(RLStringMakeConstant(bad[i]));
    }
}
END_TEST

START_TEST(strings_of_bytes_may_hold_zeros)
{
    RLStringRef made = RLStringCreateWithBytes(NULL, (const uint8_t *)"a\0b", 3, kRLStringEncodingUTF8, 0);
    RLStringRef shorter = string("a"), empty = RLStringCreateWithBytes(NULL, NULL, 0, kRLStringEncodingASCII, 0);
    ck_assert_int_eq(RLStringGetLength(made), 3);
    ck_assert(memcmp(RLStringGetCStringPtr(made, kRLStringEncodingUTF8), "a\0b", 4) == 0);
    ck_assert(!RLEqual(made, shorter));
    ck_assert_int_eq(RLStringCompare(made, shorter, 0), kRLCompareGreaterThan);
    ck_assert_int_eq(RLStringGetLength(empty), 0);
    RLRelease(made);
    RLRelease(shorter);
    RLRelease(empty);
}
END_TEST

START_TEST(strings_are_compared_by_code_point)
{
    /* U+FF61 sorts before U+1F600 by code point and after it by UTF-16 unit. */
    const char *const ascending[] = {"", "A", "a", "aa", "b", "\u00e9", "\u20ac", "\uff61", "\U0001F600"};
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) {
            RLStringRef one = string(ascending[i]), other = string(ascending[j]);
            ck_assert_int_eq(RLStringCompare(one, other, 0), (i > j) - (i < j));
            ck_assert_int_eq(RLEqual(one, other), i == j);
            ck_assert(i != j || RLHash(one) == RLHash(other));
            RLRelease(one);
            RLRelease(other);
        }
}
END_TEST

/* CF computes with 64 bits, so there the strings of the second pair are equal, too. */
START_TEST(numeric_comparison_handles_numbers_of_any_length)
{
    static const char *const pairs[][2] = {{"x18446744073709551615", "x18446744073709551616"},
                                           {"0", "18446744073709551616"},
                                           {"99999999999999999999999", "100000000000000000000000"}};
    for (int i = 0; i < 3; i++) {
        RLStringRef less = RLStringCreateWithCString(NULL, pairs[i][0], kRLStringEncodingUTF8);
        RLStringRef more = RLStringCreateWithCString(NULL, pairs[i][1], kRLStringEncodingUTF8);
        ck_assert_int_eq(RLStringCompare(less, more, kRLCompareNumerically), kRLCompareLessThan);
        ck_assert_int_eq(RLStringCompare(more, less, kRLCompareNumerically), kRLCompareGreaterThan);
        RLRelease(less);
        RLRelease(more);
    }
}
END_TEST

START_TEST(a_string_copies_its_characters)
{
    char text[] = "before";
    RLStringRef made = string(text);
    memcpy(text, "after!", 6);
    ck_assert_str_eq(RLStringGetCStringPtr(made, kRLStringEncodingUTF8), "before");
    RLRelease(made);
}
END_TEST

START_TEST(equal_constant_strings_are_one_object)
{
    char text[] = "interned";
    RLStringRef made = string(text);
    ck_assert_ptr_eq(RLSTR("interned"), RLStringMakeConstant(text));
    ck_assert_ptr_ne(RLSTR("interned"), RLSTR("interned too"));
    ck_assert(RLEqual(RLSTR("interned"), made));
    ck_assert_uint_eq(RLHash(RLSTR("interned")), RLHash(made));
    RLRelease(made);
}
END_TEST

enum { NAMES = SCALED(5000) };
static RLStringRef interned[4][NAMES];
static void *intern_many(void *info)
{
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        ((RLStringRef *)info)[i] = RLStringMakeConstant(name);
    }
    return NULL;
}

START_TEST(four_threads_intern_the_same_strings)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = start_thread(intern_many, interned[i]);
    for (int i = 0; i < 4; i++)
        join_thread(threads[i]);
    int different = 0;
    for (int i = 0; i < NAMES; i++)
        for (int thread = 0; thread < 4; thread++)
            different += interned[thread][i] == NULL || interned[thread][i] != interned[0][i];
    ck_assert_int_eq(different, 0);
    ck_assert_str_eq(RLStringGetCStringPtr(interned[3][7], kRLStringEncodingUTF8), "name 7");
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("values-strings");
    TCase *tcase = add_case(suite, "strings", 20);
    tcase_add_test(tcase, strings_count_units_and_bytes);
    tcase_add_test(tcase, bytes_that_are_not_utf8_make_no_string);
    tcase_add_test(tcase, strings_of_bytes_may_hold_zeros);
    tcase_add_test(tcase, strings_are_compared_by_code_point);
    tcase_add_test(tcase, numeric_comparison_handles_numbers_of_any_length);
    tcase_add_test(tcase, a_string_copies_its_characters);
    tcase_add_test(tcase, equal_constant_strings_are_one_object);
    tcase_add_test(tcase, four_threads_intern_the_same_strings);
    return suite;
}
