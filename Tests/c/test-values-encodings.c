/* Checks strings in other encodings: misuse, and what does not fit. Tests/conformance compares the rest with CF. */
#include "harness.h"

static RLStringRef cafe(void) { return RLStringCreateWithCString(NULL, "caf\xE9", kRLStringEncodingISOLatin1); }

START_TEST(bytes_that_are_invalid_in_the_encoding_make_no_string)
{
    const uint8_t half[] = {0xD8, 0x3D}, odd[] = {0, 'a', 0}, beyond[] = {0, 0x11, 0, 0};
    RLStringRef string = RLStringCreateWithBytes(NULL, odd, 3, kRLStringEncodingUTF16BE, 0);
    ck_assert_str_eq(RLStringGetCStringPtr(string, kRLStringEncodingUTF8), "a");
    RLRelease(string);
    errno = 0;
    ck_assert_ptr_null(RLStringCreateWithBytes(NULL, half, 2, kRLStringEncodingUTF16BE, 0));
    ck_assert_int_eq(errno, EILSEQ);
    ck_assert_ptr_null(RLStringCreateWithBytes(NULL, odd, 1, kRLStringEncodingUTF16BE, 0));
    ck_assert_ptr_null(RLStringCreateWithBytes(NULL, odd, 3, kRLStringEncodingUTF32, 0));
    ck_assert_ptr_null(RLStringCreateWithBytes(NULL, beyond, 4, kRLStringEncodingUTF32BE, 0));
    ck_assert_ptr_null(RLStringCreateWithBytes(NULL, odd, 3, 12345, 0));
    assert_misuse("RLStringCreateWithBytes", "encoding", "not one of the kRLStringEncoding constants");
}
END_TEST

START_TEST(a_buffer_receives_whole_characters_only)
{
    uint8_t buffer[8] = {0};
    RLIndex used = -1;
    RLStringRef string = cafe();
    ck_assert_int_eq(RLStringGetBytes(string, (RLRange){0, 4}, kRLStringEncodingUTF8, 0, 0, buffer, 4, &used), 3);
    ck_assert_int_eq(used, 3);
    ck_assert_int_eq(buffer[3], 0);
    ck_assert_int_eq(RLStringGetBytes(string, (RLRange){3, 1}, kRLStringEncodingUTF16LE, 0, 0, buffer, 8, &used), 1);
    ck_assert(used == 2 && buffer[0] == 0xE9 && buffer[1] == 0);
    ck_assert_int_eq(RLStringGetBytes(string, (RLRange){4, 0}, kRLStringEncodingUTF8, 0, 0, buffer, 8, NULL), 0);
    RLRelease(string);
}
END_TEST

START_TEST(half_of_a_surrogate_pair_exists_in_utf16_only)
{
    uint8_t buffer[8];
    RLIndex used = -1;
    RLStringRef string = RLStringCreateWithCString(NULL, "\xF0\x9F\x98\x80", kRLStringEncodingUTF8);
    ck_assert_int_eq(RLStringGetBytes(string, (RLRange){0, 1}, kRLStringEncodingUTF32LE, 0, 0, buffer, 8, &used), 0);
    ck_assert_int_eq(used, 0);
    ck_assert_int_eq(RLStringGetBytes(string, (RLRange){1, 1}, kRLStringEncodingUTF16LE, 0, 0, buffer, 8, &used), 1);
    ck_assert(used == 2 && buffer[0] == 0x00 && buffer[1] == 0xDE);
    RLRelease(string);
}
END_TEST

START_TEST(misuse_of_string_encodings_and_searches_is_reported)
{
    RLIndex used = -1;
    uint8_t buffer[8];
    RLStringRef string = cafe();
    ck_assert_int_eq(RLStringGetBytes(NULL, (RLRange){0, 0}, kRLStringEncodingUTF8, 0, 0, buffer, 8, &used), 0);
    assert_misuse("RLStringGetBytes", "string", NULL);
    ck_assert_int_eq(used, 0);
    ck_assert_int_eq(RLStringGetBytes(string, (RLRange){2, 3}, kRLStringEncodingUTF8, 0, 0, buffer, 8, &used), 0);
    assert_misuse("RLStringGetBytes", "range", "out of bounds");
    ck_assert_int_eq(RLStringGetBytes(string, (RLRange){0, 4}, kRLStringEncodingUTF8, 0, 0, buffer, -1, &used), 0);
    assert_misuse("RLStringGetBytes", "maxBufLen", "negative");
    ck_assert_int_eq(RLStringFind(string, string, 64).location, 0);
    assert_misuse("RLStringFind", "options", "contains an unsupported option");
    ck_assert_int_eq(RLStringFind(string, NULL, 0).location, kRLNotFound);
    assert_misuse("RLStringFind", "stringToFind", NULL);
    ck_assert_int_eq(RLStringCompare(string, string, 512), kRLCompareEqualTo);
    assert_misuse("RLStringCompare", "options", "contains an unsupported option");
    ck_assert_ptr_null(RLStringCreateArrayBySeparatingStrings(NULL, string, NULL));
    assert_misuse("RLStringCreateArrayBySeparatingStrings", "separatorString", NULL);
    RLRelease(string);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("values: encodings");
    TCase *all = add_case(suite, "encodings", 10);
    tcase_add_test(all, bytes_that_are_invalid_in_the_encoding_make_no_string);
    tcase_add_test(all, a_buffer_receives_whole_characters_only);
    tcase_add_test(all, half_of_a_surrogate_pair_exists_in_utf16_only);
    tcase_add_test(all, misuse_of_string_encodings_and_searches_is_reported);
    return suite;
}
