/* Checks wrong arguments other than handles: NULL, NaN, unknown versions, values out of range, and the common modes where one
 * mode is required. Each is reported once, and the function returns its failure value. */
#include "harness.h"

#include <limits.h>
#include <stdarg.h>

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

/* Asserts that the call returns its failure value, with errno EINVAL and one diagnostic. */
#define INVALID(failure, function, parameter, ...)     \
    do {                                               \
        errno = 0;                                     \
        ck_assert(function(__VA_ARGS__) == (failure)); \
        ck_assert_int_eq(errno, EINVAL);               \
        assert_misuse(#function, parameter, NULL);     \
    } while (0)
/* Asserts that the call makes one diagnostic. A return value is for the test to check. */
#define REPORTED(function, parameter, ...)         \
    do {                                           \
        function(__VA_ARGS__);                     \
        assert_misuse(#function, parameter, NULL); \
    } while (0)

static const RLStringEncoding WINDOWS = 0x0500;

static RLStringRef format_with_arguments(RLStringRef format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    RLStringRef string = RLStringCreateWithFormatAndArguments(NULL, NULL, format, arguments);
    va_end(arguments);
    return string;
}

START_TEST(wrong_string_arguments_are_reported)
{
    uint8_t bytes[4] = "abc";
    char buffer[8] = "before";
    INVALID(NULL, RLStringCreateWithCString, "cString", NULL, NULL, kRLStringEncodingUTF8);
    INVALID(NULL, RLStringCreateWithCString, "encoding", NULL, "a", WINDOWS);
    INVALID(NULL, RLStringCreateWithBytes, "bytes", NULL, NULL, 3, kRLStringEncodingUTF8, 0);
    INVALID(NULL, RLStringCreateWithBytes, "count", NULL, bytes, -1, kRLStringEncodingUTF8, 0);
    INVALID(NULL, RLStringCreateWithBytes, "count", NULL, bytes, LONG_MIN, kRLStringEncodingUTF8, 0);
    INVALID(NULL, RLStringCreateWithBytes, "encoding", NULL, bytes, 3, WINDOWS, 0);
    INVALID(NULL, RLStringMakeConstant, "cString", NULL);
    INVALID(NULL, RLStringCreateWithFormat, "format", NULL, NULL, NULL, 1);
    ck_assert_ptr_null(format_with_arguments(NULL, 1));
    assert_misuse("RLStringCreateWithFormatAndArguments", "format", NULL);
    ck_assert_ptr_null(RLStringGetCStringPtr(RLSTR("a"), WINDOWS));
    assert_misuse("RLStringGetCStringPtr", "encoding", NULL);
    ck_assert(!RLStringGetCString(RLSTR("a"), buffer, 8, WINDOWS));
    assert_misuse("RLStringGetCString", "encoding", NULL);
    ck_assert(!RLStringGetCString(RLSTR("a"), NULL, 8, kRLStringEncodingUTF8));
    assert_misuse("RLStringGetCString", "buffer", NULL);
    ck_assert_int_eq(RLStringCompare(RLSTR("a"), RLSTR("b"), 128), kRLCompareLessThan); /* treated as 0 */
    assert_misuse("RLStringCompare", "options", NULL);
}
END_TEST

static const RLRange outside_of_three[] = {{0, 4},        {3, 1},       {4, 0}, {-1, 1}, {0, -1}, {LONG_MIN, LONG_MIN},
                                           {1, LONG_MAX}, {LONG_MAX, 1}};
enum { OUTSIDE = sizeof outside_of_three / sizeof *outside_of_three };

START_TEST(wrong_data_arguments_are_reported)
{
    uint8_t buffer[8] = "before";
    INVALID(NULL, RLDataCreate, "bytes", NULL, NULL, 3);
    INVALID(NULL, RLDataCreate, "length", NULL, buffer, -1);
    INVALID(NULL, RLDataCreate, "length", NULL, buffer, LONG_MIN);
    RLDataRef three = RLDataCreate(NULL, (const uint8_t *)"abc", 3);
    for (int i = 0; i < OUTSIDE; i++)
        REPORTED(RLDataGetBytes, "range", three, outside_of_three[i], buffer);
    REPORTED(RLDataGetBytes, "buffer", three, ((RLRange){0, 3}), NULL);
    ck_assert_str_eq((char *)buffer, "before");
    RLRelease(three);
}
END_TEST

START_TEST(wrong_array_arguments_are_reported)
{
    const void *values[] = {kRLRunLoopDefaultMode, kRLRunLoopDefaultMode, kRLRunLoopDefaultMode};
    RLArrayCallBacks unknown_version = {.version = 1};
    INVALID(NULL, RLArrayCreate, "values", NULL, NULL, 3, NULL);
    INVALID(NULL, RLArrayCreate, "count", NULL, values, -1, NULL);
    INVALID(NULL, RLArrayCreate, "callBacks", NULL, values, 3, &unknown_version);
    RLArrayRef three = RLArrayCreate(NULL, values, 3, &kRLTypeArrayCallBacks);
    static const RLIndex outside[] = {-1, 3, LONG_MIN, LONG_MAX};
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(RLArrayGetValueAtIndex(three, outside[i]));
        assert_misuse("RLArrayGetValueAtIndex", "index", NULL);
    }
    for (int i = 0; i < OUTSIDE; i++) {
        ck_assert(!RLArrayContainsValue(three, outside_of_three[i], kRLRunLoopDefaultMode));
        assert_misuse("RLArrayContainsValue", "range", NULL);
    }
    RLRelease(three);
}
END_TEST

/* CF crashes here. These functions report their own name, and change nothing. */
START_TEST(null_in_collections_of_objects_is_reported)
{
    const void *values[] = {kRLRunLoopDefaultMode, NULL};
    RLStringRef text = RLSTR("there");
    INVALID(NULL, RLArrayCreate, "values", NULL, values, 2, &kRLTypeArrayCallBacks);
    INVALID(NULL, RLSetCreate, "values", NULL, values, 2, &kRLTypeSetCallBacks);
    INVALID(NULL, RLDictionaryCreate, "keys", NULL, values, values, 2, &kRLTypeDictionaryKeyCallBacks, NULL);
    INVALID(NULL, RLDictionaryCreate, "values", NULL, values, values, 2, NULL, &kRLTypeDictionaryValueCallBacks);
    RLMutableArrayRef array = RLArrayCreateMutable(NULL, 0, &kRLTypeArrayCallBacks);
    RLArrayRef plain = RLArrayCreate(NULL, values, 2, NULL);
    RLArrayAppendValue(array, text);
    REPORTED(RLArrayAppendValue, "value", array, NULL);
    REPORTED(RLArrayInsertValueAtIndex, "value", array, 0, NULL);
    REPORTED(RLArraySetValueAtIndex, "value", array, 0, NULL);
    REPORTED(RLArrayReplaceValues, "newValues", array, ((RLRange){0, 1}), values, 2);
    REPORTED(RLArrayAppendArray, "otherArray", array, plain, ((RLRange){0, 2}));
    ck_assert_int_eq(RLArrayGetCount(array), 1);
    ck_assert_ptr_eq(RLArrayGetValueAtIndex(array, 0), text);
    RLMutableSetRef set = RLSetCreateMutable(NULL, 0, &kRLTypeSetCallBacks);
    REPORTED(RLSetAddValue, "value", set, NULL);
    REPORTED(RLSetSetValue, "value", set, NULL);
    RLSetReplaceValue(set, NULL); /* CF does not check this either: there is nothing to replace */
    ck_assert_int_eq(RLSetGetCount(set), 0);
    RLSetAddValue(set, text);
    REPORTED(RLSetReplaceValue, "value", set, NULL);
    RLMutableDictionaryRef dictionary =
        RLDictionaryCreateMutable(NULL, 0, &kRLTypeDictionaryKeyCallBacks, &kRLTypeDictionaryValueCallBacks);
    RLDictionarySetValue(dictionary, text, text);
    REPORTED(RLDictionaryAddValue, "value", dictionary, kRLRunLoopDefaultMode, NULL);
    REPORTED(RLDictionarySetValue, "key", dictionary, NULL, text);
    REPORTED(RLDictionaryReplaceValue, "value", dictionary, text, NULL);
    /* As in CF, these store nothing, and are not reported. */
    RLDictionaryAddValue(dictionary, text, NULL);
    RLDictionaryReplaceValue(dictionary, kRLRunLoopDefaultMode, NULL);
    ck_assert_int_eq(RLDictionaryGetCount(dictionary), 1);
    ck_assert_ptr_eq(RLDictionaryGetValue(dictionary, text), text);
    RLRelease(array);
    RLRelease(plain);
    RLRelease(set);
    RLRelease(dictionary);
}
END_TEST

static const RLIndex unknown_versions[] = {-1, 2, 3, LONG_MIN, LONG_MAX};

START_TEST(wrong_source_arguments_are_reported)
{
    struct lifetime life = {0};
    RLRunLoopSourceContext1 context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    INVALID(NULL, RLRunLoopSourceCreate, "context", NULL, 0, NULL);
    for (int i = 0; i < 5; i++) {
        context.version = unknown_versions[i];
        INVALID(NULL, RLRunLoopSourceCreate, "context", NULL, 0, (RLRunLoopSourceContext *)&context);
    }
    context.version = 1; /* without getPort */
    INVALID(NULL, RLRunLoopSourceCreate, "context", NULL, 0, (RLRunLoopSourceContext *)&context);
    ck_assert_int_eq(life.retains, 0);

    RLRunLoopSourceRef source = make_source(0, do_nothing, &life);
    REPORTED(RLRunLoopSourceGetContext, "context", source, NULL);
    for (int i = 0; i < 5; i++) {
        RLRunLoopSourceContext got = {.version = unknown_versions[i], .info = &got};
        REPORTED(RLRunLoopSourceGetContext, "context", source, &got);
        ck_assert_ptr_eq(got.info, &got);
        ck_assert_int_eq(got.version, unknown_versions[i]);
    }
    RLRelease(source);
}
END_TEST

START_TEST(wrong_timer_arguments_are_reported)
{
    struct lifetime life = {0};
    RLRunLoopTimerContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release}, got;
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 1000;
    INVALID(NULL, RLRunLoopTimerCreate, "fireDate", NULL, NAN, 0, 0, 0, count_timer, &context);
    /* A timer that was freed leaves memory for the next one, which must make no difference. */
    drop_timer(make_timer(date, 0, count_timer, &life));
    INVALID(NULL, RLRunLoopTimerCreate, "fireDate", NULL, NAN, 0, 0, 0, count_timer, NULL);
    INVALID(NULL, RLRunLoopTimerCreate, "interval", NULL, 0, NAN, 0, 0, count_timer, &context);
    INVALID(NULL, RLRunLoopTimerCreate, "interval", NULL, 0, -NAN, 0, 0, count_timer, &context);
    INVALID(NULL, RLRunLoopTimerCreateWithDelay, "callout", NULL, 0, 0, NULL, &context);
    context.version = 1;
    INVALID(NULL, RLRunLoopTimerCreate, "context", NULL, 0, 0, 0, 0, count_timer, &context);
    ck_assert_int_eq(life.retains, 0);

    RLRunLoopTimerRef timer = make_timer(date, 10, count_timer, NULL);
    REPORTED(RLRunLoopTimerSetNextFireDate, "fireDate", timer, NAN);
    ck_assert_double_eq_tol(RLRunLoopTimerGetNextFireDate(timer), date, 1e-5);
    RLRunLoopTimerSetTolerance(timer, 2);
    REPORTED(RLRunLoopTimerSetTolerance, "tolerance", timer, NAN);
    ck_assert_double_eq(RLRunLoopTimerGetTolerance(timer), 0);
    REPORTED(RLRunLoopTimerGetContext, "context", timer, NULL);
    got = (RLRunLoopTimerContext){.version = 7, .info = &got};
    REPORTED(RLRunLoopTimerGetContext, "context", timer, &got);
    ck_assert_ptr_eq(got.info, &got);
    RLRelease(timer);
}
END_TEST

START_TEST(wrong_observer_arguments_are_reported)
{
    struct lifetime life = {0};
    RLRunLoopObserverContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release}, got;
    context.version = -1;
    INVALID(NULL, RLRunLoopObserverCreate, "context", NULL, kRLRunLoopEntry, 1, 0, count_activity, &context);
    ck_assert_int_eq(life.retains, 0);
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopEntry, 1, 0, count_activity, NULL);
    REPORTED(RLRunLoopObserverGetContext, "context", observer, NULL);
    got = (RLRunLoopObserverContext){.version = 1, .info = &got};
    REPORTED(RLRunLoopObserverGetContext, "context", observer, &got);
    ck_assert_ptr_eq(got.info, &got);
    RLRelease(observer);
}
END_TEST

START_TEST(wrong_run_arguments_are_reported)
{
    atomic_int performed = 0;
    RLRunLoopSourceRef source = make_source(0, count_perform, &performed);
    RLRunLoopAddSource(rl, source, kRLRunLoopCommonModes);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopCommonModes, 10, 0), kRLRunLoopRunFinished);
    assert_misuse("RLRunLoopRunInMode", "mode", NULL);
    ck_assert_int_eq(performed, 0);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, NAN, 0), kRLRunLoopRunTimedOut); /* treated as 0 */
    assert_misuse("RLRunLoopRunInMode", "seconds", NULL);
    ck_assert_int_eq(performed, 1);
    REPORTED(RLRunLoopAddCommonMode, "mode", rl, kRLRunLoopCommonModes);
    drop_source(source);
}
END_TEST

START_TEST(wrong_spin_intervals_are_reported)
{
    RLRunLoopSetSpinInterval(rl, 0.001);
    REPORTED(RLRunLoopSetSpinInterval, "seconds", rl, NAN);
    REPORTED(RLRunLoopSetSpinInterval, "seconds", rl, -1);
    REPORTED(RLRunLoopSetSpinInterval, "seconds", rl, -HUGE_VAL);
    ck_assert_double_eq_tol(RLRunLoopGetSpinInterval(rl), 0.001, 1e-9);
}
END_TEST

START_TEST(wrong_perform_arguments_are_reported)
{
    struct lifetime life = {0};
    RLRunLoopMode mode = kRLRunLoopDefaultMode;
    INVALID(0, RLRunLoopPerformFunction, "function", rl, mode, NULL, NULL);
    INVALID(0, RLRunLoopPerformFunctionWithRelease, "function", rl, mode, NULL, &life, lifetime_end);
    INVALID(0, RLRunLoopPostFunction, "function", rl, mode, NULL, NULL);
    INVALID(0, RLRunLoopPostFunctionWithRelease, "function", rl, mode, NULL, &life, lifetime_end);
    INVALID(0, RLRunLoopPerformFunctionAndWait, "function", rl, mode, NULL, NULL, 1);
    INVALID(0, RLRunLoopPerformFunctionAndWait, "timeout", rl, mode, do_nothing, NULL, NAN);
    INVALID(0, RLRunLoopPerformFunctionAfterDelay, "function", rl, mode, NULL, NULL, 1);
    INVALID(0, RLRunLoopPerformFunctionAfterDelay, "delay", rl, mode, do_nothing, NULL, NAN);
    INVALID(0, RLRunLoopPerformFunctionAfterDelayWithRelease, "function", rl, mode, NULL, &life, 1, lifetime_end);
    INVALID(0, RLRunLoopPerformFunctionAfterDelayWithRelease, "delay", rl, mode, do_nothing, &life, NAN, lifetime_end);
    ck_assert_int_eq(life.releases, 0);
    ck_assert_int_eq(RLRunLoopRunInMode(mode, 10, 0), kRLRunLoopRunFinished); /* nothing was queued */
}
END_TEST

START_TEST(modes_that_are_not_strings_are_reported)
{
    RLDataRef no_mode = RLDataCreate(NULL, NULL, 0);
    const void *values[] = {kRLRunLoopDefaultMode, no_mode};
    RLArrayRef modes = RLArrayCreate(NULL, values, 2, &kRLTypeArrayCallBacks);
    INVALID(0, RLRunLoopPerformFunction, "modes", rl, modes, do_nothing, NULL);
    INVALID(0, RLRunLoopPostFunction, "modes", rl, modes, do_nothing, NULL);
    INVALID(0, RLRunLoopPerformFunctionAfterDelay, "modes", rl, modes, do_nothing, NULL, 0);
    RLSetRef set = RLSetCreate(NULL, values, 2, &kRLTypeSetCallBacks), empty = RLSetCreate(NULL, NULL, 0, NULL);
    INVALID(0, RLRunLoopPerformFunction, "modes", rl, set, do_nothing, NULL);
    INVALID(0, RLRunLoopPerformFunction, "modes", rl, empty, do_nothing, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunFinished);
    RLRelease(set);
    RLRelease(empty);
    RLRelease(modes);
    RLRelease(no_mode);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("misuse-arguments");
    TCase *tcase = add_case(suite, "arguments", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, wrong_string_arguments_are_reported);
    tcase_add_test(tcase, wrong_data_arguments_are_reported);
    tcase_add_test(tcase, wrong_array_arguments_are_reported);
    tcase_add_test(tcase, null_in_collections_of_objects_is_reported);
    tcase_add_test(tcase, wrong_source_arguments_are_reported);
    tcase_add_test(tcase, wrong_timer_arguments_are_reported);
    tcase_add_test(tcase, wrong_observer_arguments_are_reported);
    tcase_add_test(tcase, wrong_run_arguments_are_reported);
    tcase_add_test(tcase, wrong_spin_intervals_are_reported);
    tcase_add_test(tcase, wrong_perform_arguments_are_reported);
    tcase_add_test(tcase, modes_that_are_not_strings_are_reported);
    return suite;
}
