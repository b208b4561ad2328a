/* Checks which error handler is called for misuse and on which thread, and what is printed: one line for misuse, nothing for
 * anything else. */
#include "harness.h"

#include <sys/mman.h>

/* Runs `body` with standard error redirected to a file, and returns what it wrote. */
static const char *standard_error_of(void (*body)(void))
{
    static char text[4096];
    int file = memfd_create("stderr", MFD_CLOEXEC), saved = dup(2);
    ck_assert_int_ge(file, 0);
    dup2(file, 2);
    body();
    dup2(saved, 2);
    close(saved);
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    ck_assert_int_ge(length, 0);
    text[length] = 0;
    close(file);
    return text;
}

static void add_a_timer_as_source(void)
{
    RLRunLoopTimerRef timer = make_timer(0, 0, count_timer, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), (RLRunLoopSourceRef)timer, kRLRunLoopDefaultMode);
    RLRelease(timer);
}

static void add_a_timer_as_source_without_handler(void)
{
    RLSetErrorHandler(NULL, NULL);
    add_a_timer_as_source();
}

START_TEST(the_default_handler_writes_one_line_to_standard_error)
{
    ck_assert_str_eq(standard_error_of(add_a_timer_as_source_without_handler),
                     "runloop: RLRunLoopAddSource: source: expected RLRunLoopSource, got RLRunLoopTimer\n");
}
END_TEST

START_TEST(an_error_handler_replaces_the_line_on_standard_error)
{
    ck_assert_str_eq(standard_error_of(add_a_timer_as_source), "");
    assert_misuse("RLRunLoopAddSource", "source", "expected RLRunLoopSource, got RLRunLoopTimer");
}
END_TEST

static pthread_t handled_on;
static int handled;
static void use_library_in_handler(const char *message, void *info)
{
    ck_assert_ptr_nonnull(strstr(message, "RLRunLoopWakeUp"));
    ck_assert_ptr_eq(info, &handled_on);
    handled_on = pthread_self();
    handled++;
    RLRelease(RLStringCreateWithCString(NULL, "in the handler", kRLStringEncodingUTF8));
    RLRunLoopWakeUp(RLRunLoopGetCurrent());
    RLSetErrorHandler(NULL, NULL); /* a handler may even replace itself */
}

static void *misuse_once(UNUSED void *info)
{
    RLSetErrorHandler(use_library_in_handler, &handled_on);
    RLRunLoopWakeUp(NULL);
    ck_assert(pthread_equal(handled_on, pthread_self()));
    return NULL;
}

START_TEST(an_error_handler_runs_on_the_misusing_thread_and_may_use_the_library)
{
    join_thread(start_thread(misuse_once, NULL));
    ck_assert_int_eq(handled, 1);
}
END_TEST

/* A handler is never called with another handler's info, even while a thread replaces both. */
static atomic_int mixed_up, handled_by_one, handled_by_other, misuse_over;
static void handler_one(UNUSED const char *message, void *info)
{
    handled_by_one++;
    mixed_up += info != (void *)&handled_by_one;
}
static void handler_other(UNUSED const char *message, void *info)
{
    handled_by_other++;
    mixed_up += info != (void *)&handled_by_other;
}
static void *replace_handlers(UNUSED void *info)
{
    while (!misuse_over) {
        RLSetErrorHandler(handler_one, &handled_by_one);
        RLSetErrorHandler(handler_other, &handled_by_other);
    }
    return NULL;
}
static void *misuse_often(UNUSED void *info)
{
    for (int i = 0; i < SCALED(10000); i++)
        RLRunLoopWakeUp(NULL);
    return NULL;
}

START_TEST(handler_and_info_are_replaced_together)
{
    RLSetErrorHandler(handler_one, &handled_by_one);
    pthread_t replacer = start_thread(replace_handlers, NULL), threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start_thread(misuse_often, NULL);
    for (int i = 0; i < 3; i++)
        join_thread(threads[i]);
    misuse_over = 1;
    join_thread(replacer);
    ck_assert_int_eq(mixed_up, 0);
    ck_assert_int_eq(handled_by_one + handled_by_other, 3 * SCALED(10000)); /* one diagnostic per misuse */
}
END_TEST

/* System failures and things that are allowed print nothing, not even to standard error. */
static void use_correctly(void)
{
    RLSetErrorHandler(NULL, NULL);
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopSourceRef source = make_source(0, do_nothing, NULL);
    RLRunLoopTimerRef timer = make_timer(HUGE_VAL, -1, count_timer, NULL);
    RLStringCreateWithCString(NULL, "\xff", kRLStringEncodingUTF8);
    RLRunLoopRemoveSource(rl, source, RLSTR("unknown"));
    RLRunLoopRemoveTimer(rl, timer, kRLRunLoopCommonModes);
    RLRunLoopSourceInvalidate(source);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    RLRunLoopStop(rl);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, -HUGE_VAL, 0);
    RLRunLoopCancelPerformFunction(rl, NULL, NULL);
    RLRelease(RLSTR("a constant"));
    RLRelease(source);
    RLRelease(timer);
}

START_TEST(nothing_but_misuse_is_printed) { ck_assert_str_eq(standard_error_of(use_correctly), ""); }
END_TEST

static void show_a_string_and_null(void)
{
    RLShow(RLSTR("shown text"));
    RLShow(NULL);
}

START_TEST(show_writes_a_line_to_standard_error)
{
    const char *text = standard_error_of(show_a_string_and_null);
    ck_assert_ptr_nonnull(strstr(text, "shown text"));
    ck_assert_ptr_nonnull(strstr(text, "\n(null)\n"));
}
END_TEST

static char long_text[3001];

static RLStringRef describe_at_length(UNUSED const void *info)
{
    return RLStringCreateWithCString(NULL, long_text, kRLStringEncodingUTF8);
}

static void show_long_ones(void)
{
    RLRunLoopTimerContext context = {.copyDescription = describe_at_length};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 1, 0, 0, count_timer, &context);
    static const size_t lengths[] = {999, 1000, 1001};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memset(long_text, 'a' + (int)i, sizeof long_text - 1);
        RLStringRef string =
            RLStringCreateWithBytes(NULL, (uint8_t *)long_text, (RLIndex)lengths[i], kRLStringEncodingUTF8, 0);
        RLShow(string);
        RLRelease(string);
    }
    RLShow(timer);
    RLRelease(timer);
}

START_TEST(show_writes_long_strings_completely_with_a_newline)
{
    const char *text = standard_error_of(show_long_ones);
    static const size_t lengths[] = {999, 1000, 1001};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        ck_assert_uint_eq(strcspn(text, "\n"), lengths[i]);
        ck_assert_int_eq(text[lengths[i] - 1], 'a' + (int)i);
        text += lengths[i] + 1;
    }
    ck_assert_uint_eq(strcspn(text, "\n"), 1000);
    ck_assert_uint_eq(strlen(text), 1001);
}
END_TEST

/* A library built on this one can report its own misuse and failures. */
static void report_misuse_without_handler(void)
{
    RLSetErrorHandler(NULL, NULL);
    RLReportError("OtherCreate", "size", "negative", 1);
}

START_TEST(errors_reported_by_another_library_reach_the_same_handler)
{
    errno = ERANGE;
    RLReportError("OtherRun", "memory", "none is left", 0);
    ck_assert_int_eq(errno, ERANGE);
    assert_misuse("OtherRun", "memory", "none is left");
    RLReportError("OtherCreate", "size", "negative", 1);
    ck_assert_int_eq(errno, EINVAL);
    assert_misuse("OtherCreate", "size", "negative");
    RLReportError("OtherRun", NULL, "none is left", 0);
    assert_misuse("RLReportError", "parameter", "NULL");
    ck_assert_str_eq(standard_error_of(report_misuse_without_handler), "runloop: OtherCreate: size: negative\n");
}
END_TEST

static void report_at_length(void)
{
    memset(long_text, 'x', sizeof long_text - 1);
    RLSetErrorHandler(NULL, NULL);
    RLReportError("F", "p", long_text, 1);
}

START_TEST(a_long_report_of_another_library_is_truncated)
{
    ck_assert_uint_eq(strlen(standard_error_of(report_at_length)), 1001);
}
END_TEST

START_TEST(an_unknown_value_of_the_environment_variable_is_reported_once)
{
    setenv("RUNLOOP_MISUSE", "", 1); /* as if it were not set */
    RLRunLoopWakeUp(NULL);
    ck_assert_int_eq(take_diagnostics(), 1);
    setenv("RUNLOOP_MISUSE", "1", 1);
    RLRunLoopWakeUp(NULL);
    ck_assert_int_eq(take_diagnostics(), 2);
    RLRunLoopWakeUp(NULL);
    ck_assert_int_eq(take_diagnostics(), 1);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("misuse-handler");
    TCase *tcase = add_case(suite, "handler", 20);
    tcase_add_test(tcase, an_unknown_value_of_the_environment_variable_is_reported_once);
    tcase_add_test(tcase, the_default_handler_writes_one_line_to_standard_error);
    tcase_add_test(tcase, an_error_handler_replaces_the_line_on_standard_error);
    tcase_add_test(tcase, an_error_handler_runs_on_the_misusing_thread_and_may_use_the_library);
    tcase_add_test(tcase, handler_and_info_are_replaced_together);
    tcase_add_test(tcase, errors_reported_by_another_library_reach_the_same_handler);
    tcase_add_test(tcase, a_long_report_of_another_library_is_truncated);
    tcase_add_test(tcase, nothing_but_misuse_is_printed);
    tcase_add_test(tcase, show_writes_a_line_to_standard_error);
    tcase_add_test(tcase, show_writes_long_strings_completely_with_a_newline);
    return suite;
}
