/* Checks every function that takes a handle, with every handle that is not of its kind: one diagnostic, the failure value, and
 * nothing changed. */
#include "harness.h"

/* One object of each kind, with the name that diagnostics give it. */
struct example {
    const char *kind;
    void *handle;
};
enum { STRING, DATA, ARRAY, LOOP, SOURCE, TIMER, OBSERVER, EXAMPLES };
static struct example examples[EXAMPLES];
static RLIndex counts_before[EXAMPLES];

static void make_examples(void)
{
    RLRunLoopSourceContext context = {.version = 0};
    examples[STRING] =
        (struct example){"RLString", (void *)RLStringCreateWithCString(NULL, "example", kRLStringEncodingUTF8)};
    examples[DATA] = (struct example){"RLData", (void *)RLDataCreate(NULL, (const uint8_t *)"abc", 3)};
    examples[ARRAY] = (struct example){"RLArray", (void *)RLArrayCreate(NULL, NULL, 0, NULL)};
    examples[LOOP] = (struct example){"RLRunLoop", RLRunLoopGetCurrent()};
    examples[SOURCE] = (struct example){"RLRunLoopSource", RLRunLoopSourceCreate(NULL, 3, &context)};
    examples[TIMER] =
        (struct example){"RLRunLoopTimer", make_timer(RLAbsoluteTimeGetCurrent() + 3600, 5, count_timer, NULL)};
    examples[OBSERVER] =
        (struct example){"RLRunLoopObserver", make_observer(kRLRunLoopEntry, 1, 3, count_activity, NULL)};
    for (int i = 0; i < EXAMPLES; i++)
        counts_before[i] = RLGetRetainCount(examples[i].handle);
}

static void check_and_drop_examples(void)
{
    for (int i = 0; i < EXAMPLES; i++)
        ck_assert_int_eq(RLGetRetainCount(examples[i].handle), counts_before[i]);
    ck_assert(RLRunLoopSourceIsValid(examples[SOURCE].handle));
    ck_assert(RLRunLoopTimerIsValid(examples[TIMER].handle));
    ck_assert(RLRunLoopObserverIsValid(examples[OBSERVER].handle));
    ck_assert(!RLRunLoopSourceIsSignalled(examples[SOURCE].handle));
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(RLRunLoopRunInMode(examples[STRING].handle, 10, 0), kRLRunLoopRunFinished);
    for (int i = 0; i < EXAMPLES; i++)
        if (i != LOOP)
            RLRelease(examples[i].handle);
}

static void *bad;              /* the handle under test */
static const char *got;        /* what a diagnostic must call it; NULL if it may be anything */
static const char *of_kind;    /* its kind; "" if it is no object */
static uint64_t no_object[16]; /* memory that never was an object */

static void check_report(const char *function, const char *parameter, const char *expected)
{
    char text[128];
    snprintf(text, sizeof text, "expected %s, got %s", expected, got ? got : "");
    assert_misuse(function, parameter, got ? text : NULL);
}

/* Asserts that the call is reported, unless `bad` happens to be of the right kind. */
#define REPORTED(kind, function, parameter, ...)      \
    do {                                              \
        if (strcmp(of_kind, kind) != 0) {             \
            function(__VA_ARGS__);                    \
            check_report(#function, parameter, kind); \
        }                                             \
    } while (0)
#define REPORTED_AS(failure, kind, function, parameter, ...) \
    do {                                                     \
        if (strcmp(of_kind, kind) != 0) {                    \
            ck_assert(function(__VA_ARGS__) == (failure));   \
            check_report(#function, parameter, kind);        \
        }                                                    \
    } while (0)

static void for_each_bad_handle(void (*body)(void))
{
    bad = NULL;
    got = "NULL";
    of_kind = "";
    body();
    for (int i = 0; i < EXAMPLES; i++) {
        bad = examples[i].handle;
        got = of_kind = examples[i].kind;
        body();
    }
    of_kind = "";
    got = NULL;
    bad = no_object;
    body();
    bad = (char *)examples[DATA].handle + 1; /* an odd address */
    body();
}

/* A refused request leaves its info with the caller, so this function must not be called. */
static void abort_on_release(UNUSED void *info) { abort(); }

#define LOOP_EXAMPLE ((RLRunLoopRef)examples[LOOP].handle)
#define SOURCE_EXAMPLE ((RLRunLoopSourceRef)examples[SOURCE].handle)
#define TIMER_EXAMPLE ((RLRunLoopTimerRef)examples[TIMER].handle)
#define OBSERVER_EXAMPLE ((RLRunLoopObserverRef)examples[OBSERVER].handle)
#define MODE kRLRunLoopDefaultMode

static void pass_as_loop(void)
{
    REPORTED_AS(NULL, "RLRunLoop", RLRunLoopCopyCurrentMode, "rl", bad);
    REPORTED_AS(NULL, "RLRunLoop", RLRunLoopCopyAllModes, "rl", bad);
    REPORTED("RLRunLoop", RLRunLoopAddCommonMode, "rl", bad, RLSTR("common"));
    REPORTED_AS(0, "RLRunLoop", RLRunLoopGetNextTimerFireDate, "rl", bad, MODE);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopIsWaiting, "rl", bad);
    REPORTED("RLRunLoop", RLRunLoopWakeUp, "rl", bad);
    REPORTED("RLRunLoop", RLRunLoopStop, "rl", bad);
    REPORTED("RLRunLoop", RLRunLoopSetSpinInterval, "rl", bad, 0.001);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopGetSpinInterval, "rl", bad);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopContainsSource, "rl", bad, SOURCE_EXAMPLE, MODE);
    REPORTED("RLRunLoop", RLRunLoopAddSource, "rl", bad, SOURCE_EXAMPLE, MODE);
    REPORTED("RLRunLoop", RLRunLoopRemoveSource, "rl", bad, SOURCE_EXAMPLE, MODE);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopContainsObserver, "rl", bad, OBSERVER_EXAMPLE, MODE);
    REPORTED("RLRunLoop", RLRunLoopAddObserver, "rl", bad, OBSERVER_EXAMPLE, MODE);
    REPORTED("RLRunLoop", RLRunLoopRemoveObserver, "rl", bad, OBSERVER_EXAMPLE, MODE);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopContainsTimer, "rl", bad, TIMER_EXAMPLE, MODE);
    REPORTED("RLRunLoop", RLRunLoopAddTimer, "rl", bad, TIMER_EXAMPLE, MODE);
    REPORTED("RLRunLoop", RLRunLoopRemoveTimer, "rl", bad, TIMER_EXAMPLE, MODE);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopPerformFunction, "rl", bad, MODE, do_nothing, NULL);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopPerformFunctionWithRelease, "rl", bad, MODE, do_nothing, NULL,
                abort_on_release);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopPostFunction, "rl", bad, MODE, do_nothing, NULL);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopPostFunctionWithRelease, "rl", bad, MODE, do_nothing, NULL, abort_on_release);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopPerformFunctionAndWait, "rl", bad, MODE, do_nothing, NULL, 1);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopPerformFunctionAfterDelay, "rl", bad, MODE, do_nothing, NULL, 1);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopPerformFunctionAfterDelayWithRelease, "rl", bad, MODE, do_nothing, NULL, 1,
                abort_on_release);
    REPORTED_AS(0, "RLRunLoop", RLRunLoopCancelPerformFunction, "rl", bad, do_nothing, NULL);
}

static void pass_as_source(void)
{
    RLRunLoopSourceContext context = {.version = 0, .info = &context};
    REPORTED_AS(0, "RLRunLoopSource", RLRunLoopContainsSource, "source", LOOP_EXAMPLE, bad, MODE);
    REPORTED("RLRunLoopSource", RLRunLoopAddSource, "source", LOOP_EXAMPLE, bad, MODE);
    REPORTED("RLRunLoopSource", RLRunLoopRemoveSource, "source", LOOP_EXAMPLE, bad, MODE);
    REPORTED_AS(0, "RLRunLoopSource", RLRunLoopSourceGetOrder, "source", bad);
    REPORTED("RLRunLoopSource", RLRunLoopSourceInvalidate, "source", bad);
    REPORTED_AS(0, "RLRunLoopSource", RLRunLoopSourceIsValid, "source", bad);
    REPORTED("RLRunLoopSource", RLRunLoopSourceGetContext, "source", bad, &context);
    ck_assert_ptr_eq(context.info, strcmp(of_kind, "RLRunLoopSource") ? &context : context.info);
    REPORTED("RLRunLoopSource", RLRunLoopSourceSignal, "source", bad);
    REPORTED_AS(0, "RLRunLoopSource", RLRunLoopSourceIsSignalled, "source", bad);
}

static void pass_as_timer(void)
{
    RLRunLoopTimerContext context = {.version = 0, .info = &context};
    REPORTED_AS(0, "RLRunLoopTimer", RLRunLoopContainsTimer, "timer", LOOP_EXAMPLE, bad, MODE);
    REPORTED("RLRunLoopTimer", RLRunLoopAddTimer, "timer", LOOP_EXAMPLE, bad, MODE);
    REPORTED("RLRunLoopTimer", RLRunLoopRemoveTimer, "timer", LOOP_EXAMPLE, bad, MODE);
    REPORTED_AS(0, "RLRunLoopTimer", RLRunLoopTimerGetNextFireDate, "timer", bad);
    REPORTED("RLRunLoopTimer", RLRunLoopTimerSetNextFireDate, "timer", bad, 0);
    REPORTED("RLRunLoopTimer", RLRunLoopTimerSetNextFireDelay, "timer", bad, 0);
    REPORTED_AS(0, "RLRunLoopTimer", RLRunLoopTimerGetInterval, "timer", bad);
    REPORTED_AS(0, "RLRunLoopTimer", RLRunLoopTimerDoesRepeat, "timer", bad);
    REPORTED_AS(0, "RLRunLoopTimer", RLRunLoopTimerGetOrder, "timer", bad);
    REPORTED("RLRunLoopTimer", RLRunLoopTimerInvalidate, "timer", bad);
    REPORTED_AS(0, "RLRunLoopTimer", RLRunLoopTimerIsValid, "timer", bad);
    REPORTED("RLRunLoopTimer", RLRunLoopTimerGetContext, "timer", bad, &context);
    ck_assert_ptr_eq(context.info, &context);
    REPORTED_AS(0, "RLRunLoopTimer", RLRunLoopTimerGetTolerance, "timer", bad);
    REPORTED("RLRunLoopTimer", RLRunLoopTimerSetTolerance, "timer", bad, 1);
}

static void pass_as_observer(void)
{
    RLRunLoopObserverContext context = {.version = 0, .info = &context};
    REPORTED_AS(0, "RLRunLoopObserver", RLRunLoopContainsObserver, "observer", LOOP_EXAMPLE, bad, MODE);
    REPORTED("RLRunLoopObserver", RLRunLoopAddObserver, "observer", LOOP_EXAMPLE, bad, MODE);
    REPORTED("RLRunLoopObserver", RLRunLoopRemoveObserver, "observer", LOOP_EXAMPLE, bad, MODE);
    REPORTED_AS(0, "RLRunLoopObserver", RLRunLoopObserverGetActivities, "observer", bad);
    REPORTED_AS(0, "RLRunLoopObserver", RLRunLoopObserverDoesRepeat, "observer", bad);
    REPORTED_AS(0, "RLRunLoopObserver", RLRunLoopObserverGetOrder, "observer", bad);
    REPORTED("RLRunLoopObserver", RLRunLoopObserverInvalidate, "observer", bad);
    REPORTED_AS(0, "RLRunLoopObserver", RLRunLoopObserverIsValid, "observer", bad);
    REPORTED("RLRunLoopObserver", RLRunLoopObserverGetContext, "observer", bad, &context);
    ck_assert_ptr_eq(context.info, &context);
}

static void pass_as_mode(void)
{
    REPORTED("RLString", RLRunLoopAddCommonMode, "mode", LOOP_EXAMPLE, bad);
    REPORTED_AS(0, "RLString", RLRunLoopGetNextTimerFireDate, "mode", LOOP_EXAMPLE, bad);
    REPORTED_AS(kRLRunLoopRunFinished, "RLString", RLRunLoopRunInMode, "mode", bad, 10, 0);
    REPORTED_AS(0, "RLString", RLRunLoopContainsSource, "mode", LOOP_EXAMPLE, SOURCE_EXAMPLE, bad);
    REPORTED("RLString", RLRunLoopAddSource, "mode", LOOP_EXAMPLE, SOURCE_EXAMPLE, bad);
    REPORTED("RLString", RLRunLoopRemoveSource, "mode", LOOP_EXAMPLE, SOURCE_EXAMPLE, bad);
    REPORTED_AS(0, "RLString", RLRunLoopContainsObserver, "mode", LOOP_EXAMPLE, OBSERVER_EXAMPLE, bad);
    REPORTED("RLString", RLRunLoopAddObserver, "mode", LOOP_EXAMPLE, OBSERVER_EXAMPLE, bad);
    REPORTED("RLString", RLRunLoopRemoveObserver, "mode", LOOP_EXAMPLE, OBSERVER_EXAMPLE, bad);
    REPORTED_AS(0, "RLString", RLRunLoopContainsTimer, "mode", LOOP_EXAMPLE, TIMER_EXAMPLE, bad);
    REPORTED("RLString", RLRunLoopAddTimer, "mode", LOOP_EXAMPLE, TIMER_EXAMPLE, bad);
    REPORTED("RLString", RLRunLoopRemoveTimer, "mode", LOOP_EXAMPLE, TIMER_EXAMPLE, bad);
}

/* Functions that queue work take a string, an array or a set of modes. Their diagnostic has its own text, and errno is EINVAL. */
#define MODES_REPORTED(function, ...)            \
    do {                                         \
        errno = 0;                               \
        ck_assert(function(__VA_ARGS__) == 0);   \
        ck_assert_int_eq(errno, EINVAL);         \
        assert_misuse(#function, "modes", NULL); \
    } while (0)

static void pass_as_modes(void)
{
    if (strcmp(of_kind, "RLString") == 0 || strcmp(of_kind, "RLArray") == 0 || strcmp(of_kind, "RLSet") == 0)
        return;
    MODES_REPORTED(RLRunLoopPerformFunction, LOOP_EXAMPLE, bad, do_nothing, NULL);
    MODES_REPORTED(RLRunLoopPerformFunctionWithRelease, LOOP_EXAMPLE, bad, do_nothing, NULL, abort_on_release);
    MODES_REPORTED(RLRunLoopPostFunction, LOOP_EXAMPLE, bad, do_nothing, NULL);
    MODES_REPORTED(RLRunLoopPostFunctionWithRelease, LOOP_EXAMPLE, bad, do_nothing, NULL, abort_on_release);
    MODES_REPORTED(RLRunLoopPerformFunctionAfterDelay, LOOP_EXAMPLE, bad, do_nothing, NULL, 1);
    MODES_REPORTED(RLRunLoopPerformFunctionAfterDelayWithRelease, LOOP_EXAMPLE, bad, do_nothing, NULL, 1,
                   abort_on_release);
}

static void pass_as_value(void)
{
    char buffer[8] = "before";
    REPORTED_AS(0, "RLString", RLStringGetLength, "string", bad);
    REPORTED_AS(0, "RLString", RLStringGetByteCount, "string", bad);
    REPORTED_AS(NULL, "RLString", RLStringGetCStringPtr, "string", bad, kRLStringEncodingUTF8);
    REPORTED_AS(0, "RLString", RLStringGetCString, "string", bad, buffer, 8, kRLStringEncodingUTF8);
    REPORTED_AS(kRLCompareEqualTo, "RLString", RLStringCompare, "string1", bad, RLSTR("a"), 0);
    REPORTED_AS(kRLCompareEqualTo, "RLString", RLStringCompare, "string2", RLSTR("a"), bad, 0);
    REPORTED_AS(0, "RLData", RLDataGetLength, "data", bad);
    REPORTED_AS(NULL, "RLData", RLDataGetBytePtr, "data", bad);
    memcpy(buffer, "before", 7);
    REPORTED("RLData", RLDataGetBytes, "data", bad, (RLRange){0, 3}, (uint8_t *)buffer);
    ck_assert_str_eq(buffer, "before");
    REPORTED_AS(0, "RLArray", RLArrayGetCount, "array", bad);
    REPORTED_AS(NULL, "RLArray", RLArrayGetValueAtIndex, "array", bad, 0);
    REPORTED_AS(0, "RLArray", RLArrayContainsValue, "array", bad, (RLRange){0, 0}, NULL);
}

#define OBJECT_REPORTED(failure, function, parameter, ...) \
    do {                                                   \
        ck_assert(function(__VA_ARGS__) == (failure));     \
        assert_misuse(#function, parameter, NULL);         \
    } while (0)

static void pass_as_object(void)
{
    if (of_kind[0])
        return; /* every kind is an object */
    OBJECT_REPORTED(NULL, RLRetain, "object", bad);
    OBJECT_REPORTED(0, RLGetRetainCount, "object", bad);
    OBJECT_REPORTED(0, RLGetTypeID, "object", bad);
    OBJECT_REPORTED(0, RLEqual, "object1", bad, examples[DATA].handle);
    OBJECT_REPORTED(0, RLEqual, "object2", examples[DATA].handle, bad);
    OBJECT_REPORTED(0, RLHash, "object", bad);
    OBJECT_REPORTED(NULL, RLCopyDescription, "object", bad);
    RLRelease(bad);
    assert_misuse("RLRelease", "object", NULL);
}

#define HANDLE_TEST(name)                                                         \
    START_TEST(name##_of_the_wrong_kind) { for_each_bad_handle(pass_as_##name); } \
    END_TEST
HANDLE_TEST(loop)
HANDLE_TEST(source)
HANDLE_TEST(timer)
HANDLE_TEST(observer)
HANDLE_TEST(mode)
HANDLE_TEST(modes)
HANDLE_TEST(value)
HANDLE_TEST(object)

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("misuse-handles");
    TCase *tcase = add_case(suite, "handles", 20);
    tcase_add_checked_fixture(tcase, make_examples, check_and_drop_examples);
    tcase_add_test(tcase, loop_of_the_wrong_kind);
    tcase_add_test(tcase, source_of_the_wrong_kind);
    tcase_add_test(tcase, timer_of_the_wrong_kind);
    tcase_add_test(tcase, observer_of_the_wrong_kind);
    tcase_add_test(tcase, mode_of_the_wrong_kind);
    tcase_add_test(tcase, modes_of_the_wrong_kind);
    tcase_add_test(tcase, value_of_the_wrong_kind);
    tcase_add_test(tcase, object_of_the_wrong_kind);
    return suite;
}
