/* Checks mutable data, numbers, dates, formats, the remaining functions of strings, and the notification center. */
#include "harness.h"
#include <locale.h>

START_TEST(mutable_data_can_be_changed)
{
    RLMutableDataRef data = RLDataCreateMutable(NULL, 4);
    RLDataAppendBytes(data, (const uint8_t *)"hello", 5);
    RLDataAppendBytes(data, RLDataGetBytePtr(data), 5);
    RLDataReplaceBytes(data, (RLRange){0, 1}, (const uint8_t *)"J", 1);
    RLDataDeleteBytes(data, (RLRange){8, 2});
    ck_assert_mem_eq(RLDataGetBytePtr(data), "Jellohel", 8);
    RLDataIncreaseLength(data, 1);
    RLDataGetMutableBytePtr(data)[7] = '!';
    RLDataSetLength(data, 9);
    ck_assert_mem_eq(RLDataGetBytePtr(data), "Jellohe!", 9);
    RLDataRef copy = RLDataCreateCopy(NULL, data);
    RLMutableDataRef other = RLDataCreateMutableCopy(NULL, 0, data);
    ck_assert(copy != data && RLEqual(copy, other) && RLHash(copy) == RLHash(other));
    RLRange found = RLDataFind(data, other, (RLRange){0, 9}, kRLDataSearchBackwards);
    ck_assert(found.location == 0 && found.length == 9);
    RLDataSetLength(data, 0);
    ck_assert_int_eq(RLDataGetLength(copy), 9);
    ck_assert_int_eq(RLDataFind(copy, data, (RLRange){0, 9}, 0).location, -1);
    RLRelease(data);
    RLRelease(copy);
    RLRelease(other);
}
END_TEST

START_TEST(data_may_own_or_borrow_its_bytes)
{
    static const uint8_t lasting[] = "lasting";
    uint8_t *block = malloc(100);
    memset(block, 7, 100);
    RLDataRef given = RLDataCreateWithBytesNoCopy(NULL, block, 100, NULL);
    RLDataRef lent = RLDataCreateWithBytesNoCopy(NULL, lasting, 7, kRLAllocatorNull);
    ck_assert_ptr_eq(RLDataGetBytePtr(given), block);
    ck_assert_ptr_eq(RLDataGetBytePtr(lent), lasting);
    RLDataRef copy = RLDataCreateCopy(NULL, lent);
    ck_assert_ptr_ne(RLDataGetBytePtr(copy), lasting);
    RLRelease(given); /* frees the block, as AddressSanitizer verifies */
    RLRelease(lent);
    RLRelease(copy);
}
END_TEST

START_TEST(numbers_and_dates_return_their_values)
{
    int whole = 300, back = 0;
    double half = 0.5;
    int8_t small = 0;
    RLNumberRef number = RLNumberCreate(NULL, kRLNumberIntType, &whole);
    RLNumberRef other = RLNumberCreate(NULL, kRLNumberDoubleType, &half);
    ck_assert(RLNumberGetValue(number, kRLNumberIntType, &back) && back == 300);
    ck_assert(!RLNumberGetValue(number, kRLNumberSInt8Type, &small) && small == 44);
    ck_assert(!RLNumberIsFloatType(number) && RLNumberIsFloatType(other) && RLNumberGetByteSize(number) == 4);
    ck_assert_int_eq(RLNumberGetType(other), kRLNumberFloat64Type);
    ck_assert_int_eq(RLNumberCompare(other, number, NULL), kRLCompareLessThan);
    ck_assert(RLBooleanGetValue(kRLBooleanTrue) && !RLBooleanGetValue(kRLBooleanFalse));
    ck_assert_uint_eq(RLGetTypeID(kRLBooleanTrue), RLBooleanGetTypeID());
    float narrow = 0;
    ck_assert(RLNumberGetValue(kRLNumberNaN, kRLNumberFloatType, &narrow) && narrow != narrow); /* difference 5 */
    RLDateRef date = RLDateCreate(NULL, 1000), later = RLDateCreate(NULL, 1060.5);
    ck_assert_double_eq(RLDateGetTimeIntervalSinceDate(later, date), 60.5);
    ck_assert_double_eq(RLDateGetAbsoluteTime(date), 1000);
    ck_assert_int_eq(RLDateCompare(later, date, NULL), kRLCompareGreaterThan);
    ck_assert_double_eq(kRLAbsoluteTimeIntervalSince1904 - kRLAbsoluteTimeIntervalSince1970, 2082844800.0);
    RLRelease(number);
    RLRelease(other);
    RLRelease(date);
    RLRelease(later);
    ck_assert_ptr_null(RLNumberCreate(NULL, 17, &whole));
    assert_misuse("RLNumberCreate", "type", "not an RLNumberType");
    ck_assert_ptr_null(RLNumberCreate(NULL, kRLNumberIntType, NULL));
    assert_misuse("RLNumberCreate", "valuePtr", "NULL");
}
END_TEST

static void assert_format(RLStringRef string, const char *expected)
{
    ck_assert_ptr_nonnull(string);
    ck_assert_str_eq(RLStringGetCStringPtr(string, kRLStringEncodingUTF8), expected);
    RLRelease(string);
}

static RLStringRef format_with_list(RLStringRef format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    RLStringRef string = RLStringCreateWithFormatAndArguments(NULL, NULL, format, arguments);
    va_end(arguments);
    return string;
}

START_TEST(a_format_includes_all_of_a_long_string)
{
    enum { COUNT = 3001 };
    /* One byte, then two-byte characters: cut off at an even length, this is no valid string. */
    char expected[COUNT + 3] = "<a";
    for (int i = 2; i <= COUNT; i += 2)
        memcpy(expected + i, "\u00e9", 2);
    expected[COUNT + 1] = 0;
    RLStringRef text = RLStringCreateWithCString(NULL, expected + 1, kRLStringEncodingUTF8);
    RLStringRef description = RLCopyDescription(text);
    ck_assert(RLEqual(text, description));
    expected[COUNT + 1] = '>';
    expected[COUNT + 2] = 0;
    assert_format(RLStringCreateWithFormat(NULL, NULL, RLSTR("<%@>"), text), expected);
    RLRelease(description);
    RLRelease(text);
}
END_TEST

static void assert_described(RLTypeRef object, const char *part)
{
    RLStringRef description = RLCopyDescription(object);
    ck_assert_ptr_nonnull(description);
    if (strstr(RLStringGetCStringPtr(description, kRLStringEncodingUTF8), part) == NULL)
        ck_abort_msg("no %s in %s", part, RLStringGetCStringPtr(description, kRLStringEncodingUTF8));
    RLRelease(description);
}

static void assert_ascii(RLTypeRef object)
{
    RLStringRef description = RLCopyDescription(object);
    ck_assert_ptr_nonnull(description);
    const char *text = RLStringGetCStringPtr(description, kRLStringEncodingUTF8);
    for (const char *next = text; *next != 0; next++)
        if (*next < ' ' || *next > '~' || *next == ',')
            ck_abort_msg("%s", text);
    RLRelease(description);
}

static void assert_number(double value, const char *text)
{
    RLNumberRef number = RLNumberCreate(NULL, kRLNumberDoubleType, &value);
    assert_described(number, text);
    RLRelease(number);
}

/* The decimal point of German is a comma, that of Pashto a character of two bytes. The test compiles the locales, because few systems
 * have them. */
START_TEST(descriptions_have_a_decimal_point_in_every_locale)
{
    static const char *const names[] = {"C", "de_DE", "ps_AF"}, *const points[] = {".", ",", "\u066b"};
    char command[200];
    snprintf(command, sizeof command, "localedef -i %s -f UTF-8 $TMPDIR/%s >/dev/null 2>&1", names[_i], names[_i]);
    require(setenv("LOCPATH", getenv("TMPDIR") ? getenv("TMPDIR") : "/", 1) == 0);
    if (_i > 0 && system(command) != 0)
        return; /* the sources of the locales are not installed */
    require(setlocale(LC_NUMERIC, names[_i]) != NULL);
    ck_assert_str_eq(localeconv()->decimal_point, points[_i]);
    RLRunLoopTimerRef timer = make_timer(1e9, 0.5, count_timer, NULL);
    assert_described(timer, " interval=0.500 ");
    drop_timer(timer);
    assert_number(-0.5, "-0.5");
    assert_number(12345.0625, "12345.0625");
    assert_number(1e300, "1.0000000000000001e+300");
    assert_number(1e20, "1e+20");
    assert_number(-HUGE_VAL, "-inf");
    assert_number(NAN, "nan");
    RLDateRef date = RLDateCreate(NULL, -1e100);
    assert_described(date, "-1000000000000000015902891109759918046836080856394528138978");
    RLRelease(date);
    /* Where the number is cut off, the point may be incomplete. */
    for (double time = -1e57; time > -1e65; time *= 10) {
        date = RLDateCreate(NULL, time);
        assert_ascii(date);
        RLRelease(date);
    }
}
END_TEST

START_TEST(formats_work_as_in_printf)
{
    char expected[512];
    snprintf(expected, sizeof expected, "%-8s|%+.3e|%#x|%400d|%Lg|%hhd|%p", "left", 1234.5, 255, 7, 2.5L, 300,
             (void *)expected);
    assert_format(RLStringCreateWithFormat(NULL, NULL, RLSTR("%-8s|%+.3e|%#x|%400d|%Lg|%hhd|%p"), "left", 1234.5, 255,
                                           7, 2.5L, 300, (void *)expected),
                  expected);
    assert_format(format_with_list(RLSTR("%@ and %@%%"), RLSTR("one"), NULL), "one and (null)%");
    assert_format(RLStringCreateWithFormat(NULL, NULL, RLSTR("%.*s|%*d|%*.*f"), -1, "all", -5, 3, 8, -1, 2.5),
                  "all|3    |2.500000");
    errno = 0;
    ck_assert_ptr_null(RLStringCreateWithFormat(NULL, NULL, RLSTR("%1$d"), 1));
    ck_assert_int_eq(errno, EINVAL);
    errno = 0;
    ck_assert_ptr_null(
        RLStringCreateWithFormat(NULL, NULL, RLSTR("%00000000000000000000000000000000000000000000000000d"), 1));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_null(RLStringCreateWithFormat(NULL, NULL, RLSTR("%99999999999s|%S"), "a", u"b"));
    ck_assert_int_eq(errno, EOVERFLOW);
    int stored = 7;
    assert_format(RLStringCreateWithFormat(NULL, NULL, RLSTR("a%nb"), &stored), "ab");
    ck_assert_int_eq(stored, 7);
    assert_format(RLStringCreateWithFormat(NULL, NULL, RLSTR("<%C%C|%C%C|%Cx%C>"), 0xDE00, 0xD83D, 0xD83D, 0xDE00,
                                           0xD83D, 0xDE00),
                  "<|\xF0\x9F\x98\x80|x>");
    assert_format(RLStringCreateWithFormat(NULL, NULL, RLSTR("%C%c"), 0xFEFF, 'a'), "\uFEFFa");
    assert_format(RLStringCreateWithFormat(NULL, NULL, RLSTR("\uFEFF%.0c|%3.0c"), 'a', 'b'), "\uFEFFa|  b");
    ck_assert_ptr_null(RLStringCreateWithFormat(NULL, NULL, NULL));
    assert_misuse("RLStringCreateWithFormat", "format", NULL);
}
END_TEST

START_TEST(strings_can_be_examined_and_converted)
{
    RLStringRef string = RLSTR("12.5 na\xC3\xAFve");
    ck_assert(RLStringHasPrefix(string, RLSTR("12.")) && !RLStringHasPrefix(string, RLSTR("2.")));
    ck_assert(RLStringHasSuffix(string, RLSTR("ve")) && !RLStringHasSuffix(string, RLSTR("v")));
    ck_assert(!RLStringHasPrefix(string, RLSTR("")) && !RLStringHasSuffix(string, RLSTR("")));
    ck_assert_int_eq(RLStringGetIntValue(string), 12);
    ck_assert_int_eq(RLStringGetIntValue(RLSTR("99999999999")), INT32_MAX);
    ck_assert_double_eq(RLStringGetDoubleValue(string), 12.5);
    ck_assert_int_eq(RLStringGetMaximumSizeForEncoding(5, kRLStringEncodingUTF8), 15);
    ck_assert_int_eq(RLStringGetMaximumSizeForEncoding(INT64_MAX, kRLStringEncodingUTF8), -1);
    ck_assert_uint_eq(RLStringGetSystemEncoding(), kRLStringEncodingUTF8);
    RLDataRef data = RLStringCreateExternalRepresentation(NULL, string, kRLStringEncodingASCII, '?');
    ck_assert_int_eq(RLDataGetLength(data), 10);
    ck_assert_mem_eq(RLDataGetBytePtr(data), "12.5 na?ve", 10);
    RLStringRef back = RLStringCreateFromExternalRepresentation(NULL, data, kRLStringEncodingASCII);
    ck_assert_int_eq(RLStringGetLength(back), 10);
    RLStringRef copy = RLStringCreateCopy(NULL, back);
    ck_assert_ptr_eq(copy, back);
    RLStringRef taken = RLStringCreateWithCStringNoCopy(NULL, strdup("taken"), kRLStringEncodingUTF8, NULL);
    RLStringRef kept = RLStringCreateWithCStringNoCopy(NULL, "kept", kRLStringEncodingUTF8, kRLAllocatorNull);
    ck_assert(RLStringGetByteCount(taken) == 5 && RLStringGetByteCount(kept) == 4);
    RLRelease(data);
    RLRelease(back);
    RLRelease(copy);
    RLRelease(taken);
    RLRelease(kept);
}
END_TEST

START_TEST(misuse_of_mutable_data_is_reported)
{
    RLMutableDataRef fixed = (RLMutableDataRef)RLDataCreate(NULL, (const uint8_t *)"abc", 3);
    RLDataAppendBytes(fixed, (const uint8_t *)"d", 1);
    assert_misuse("RLDataAppendBytes", "data", "not mutable");
    ck_assert_ptr_null(RLDataGetMutableBytePtr(fixed));
    assert_misuse("RLDataGetMutableBytePtr", "data", "not mutable");
    RLMutableDataRef data = RLDataCreateMutable(NULL, 0);
    RLDataDeleteBytes(data, (RLRange){0, 1});
    assert_misuse("RLDataDeleteBytes", "range", "out of bounds");
    RLDataSetLength(data, -1);
    assert_misuse("RLDataSetLength", "length", "negative");
#if !SANITIZED /* whose realloc ends the program */
    errno = 0;
    RLDataIncreaseLength(data, INT64_MAX - 100);
    ck_assert_int_eq(errno, ENOMEM);
#endif
    ck_assert_int_eq(RLDataGetLength(data), 0);
    RLRelease(fixed);
    RLRelease(data);
}
END_TEST

/* ---- Notifications ---- */

static RLNotificationCenterRef center;

static void note_notification(RLNotificationCenterRef from, void *observer, RLNotificationName name, const void *object,
                              RLDictionaryRef info)
{
    ck_assert(from == center && (info == NULL || RLDictionaryGetCount(info) == 1));
    note(observer);
    note(RLStringGetCStringPtr(name, kRLStringEncodingUTF8));
    if (object != NULL)
        note(object);
}

START_TEST(a_notification_reaches_the_observers_of_its_name)
{
    center = RLNotificationCenterGetLocalCenter();
    ck_assert_uint_eq(RLGetTypeID(center), RLNotificationCenterGetTypeID());
    RLNotificationCenterAddObserver(center, "one", note_notification, RLSTR("news"), NULL,
                                    RLNotificationSuspensionBehaviorDeliverImmediately);
    RLNotificationCenterAddObserver(center, "two", note_notification, NULL, "thing", 0);
    const void *key = RLSTR("key");
    RLDictionaryRef info = RLDictionaryCreate(NULL, &key, &key, 1, NULL, NULL);
    RLNotificationCenterPostNotification(center, RLSTR("news"), "thing", info, 1);
    assert_notes("one news thing two news thing");
    RLNotificationCenterPostNotificationWithOptions(center, RLSTR("more"), NULL, NULL,
                                                    kRLNotificationDeliverImmediately);
    assert_notes("");
    RLNotificationCenterRemoveObserver(center, "one", RLSTR("news"), NULL);
    RLNotificationCenterPostNotification(center, RLSTR("news"), "thing", NULL, 1);
    assert_notes("two news thing");
    RLNotificationCenterRemoveEveryObserver(center, "two");
    RLNotificationCenterPostNotification(center, RLSTR("news"), "thing", NULL, 1);
    assert_notes("");
    RLRelease(info);
    RLNotificationCenterAddObserver(center, "one", NULL, RLSTR("news"), NULL, 0);
    assert_misuse("RLNotificationCenterAddObserver", "callBack", "NULL");
    RLNotificationCenterPostNotification(center, NULL, NULL, NULL, 1);
    assert_misuse("RLNotificationCenterPostNotification", "name", "expected RLString, got NULL");
}
END_TEST

static atomic_int news_count;
static void count_news(RLNotificationCenterRef from UNUSED, void *observer UNUSED, RLNotificationName name UNUSED,
                       const void *object UNUSED, RLDictionaryRef info UNUSED)
{
    news_count++;
}

static void *add_and_remove_observers(void *info)
{
    for (int i = 0; i < SCALED(2000); i++) {
        RLNotificationCenterAddObserver(center, info, count_news, RLSTR("news"), NULL, 0);
        RLNotificationCenterPostNotification(center, RLSTR("news"), NULL, NULL, 1);
        RLNotificationCenterRemoveEveryObserver(center, info);
    }
    return NULL;
}

START_TEST(threads_may_add_remove_and_notify_observers_at_once)
{
    center = RLNotificationCenterGetLocalCenter();
    on_threads(4, add_and_remove_observers);
    ck_assert_int_ge(news_count, 4 * SCALED(2000));
    int before = news_count;
    RLNotificationCenterPostNotification(center, RLSTR("news"), NULL, NULL, 1);
    ck_assert_int_eq(news_count, before);
}
END_TEST

static void post_in_child(void *info UNUSED)
{
    int before = news_count;
    RLNotificationCenterPostNotification(center, RLSTR("news"), NULL, NULL, 1);
    child_assert(news_count == before + 1);
}

START_TEST(the_child_of_a_fork_keeps_the_notification_observers)
{
    center = RLNotificationCenterGetLocalCenter();
    RLNotificationCenterAddObserver(center, NULL, count_news, NULL, NULL, 0);
    ck_assert_int_eq(run_in_child(post_in_child, NULL), 0);
}
END_TEST

START_TEST(without_libdispatch_the_main_queue_is_not_served)
{
#if !SANITIZED /* ThreadSanitizer brings libdispatch along */
    errno = 0;
    ck_assert(!RLRunLoopSetServicesDispatchMainQueue(1));
    ck_assert_int_eq(errno, ENOSYS);
    ck_assert(RLRunLoopSetServicesDispatchMainQueue(0));
#endif
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("values-plain");
    TCase *values = add_case(suite, "values", 10);
    tcase_add_test(values, mutable_data_can_be_changed);
    tcase_add_test(values, data_may_own_or_borrow_its_bytes);
    tcase_add_test(values, numbers_and_dates_return_their_values);
    tcase_add_test(values, a_format_includes_all_of_a_long_string);
    tcase_add_test(values, formats_work_as_in_printf);
    tcase_add_test(values, strings_can_be_examined_and_converted);
    tcase_add_test(values, misuse_of_mutable_data_is_reported);
    TCase *locales = add_case(suite, "locales", 60);
    tcase_add_loop_test(locales, descriptions_have_a_decimal_point_in_every_locale, 0, 3);
    TCase *notifications = add_case(suite, "notifications", 30);
    tcase_add_test(notifications, a_notification_reaches_the_observers_of_its_name);
    tcase_add_test(notifications, threads_may_add_remove_and_notify_observers_at_once);
    tcase_add_test(notifications, the_child_of_a_fork_keeps_the_notification_observers);
    tcase_add_test(notifications, without_libdispatch_the_main_queue_is_not_served);
    return suite;
}
