/* Checks RUNLOOP_MISUSE=abort: misuse aborts the process after its line has been printed. */
#include "harness.h"

#include <signal.h>

/* In a sanitizer build, the Swift runtime may have installed its own crash handler. */
static void abort_by_default(void) { signal(SIGABRT, SIG_DFL); }

START_TEST(a_null_handle_aborts) { RLRunLoopWakeUp(NULL); }
END_TEST

START_TEST(a_handle_of_the_wrong_kind_aborts)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), (RLRunLoopSourceRef)RLRunLoopGetCurrent(), kRLRunLoopDefaultMode);
}
END_TEST

START_TEST(nan_aborts) { RLRunLoopTimerCreate(NULL, NAN, 0, 0, 0, count_timer, NULL); }
END_TEST

static void wake_null(UNUSED void *info) { RLRunLoopWakeUp(NULL); }

START_TEST(misuse_in_a_callback_aborts)
{
    RLRunLoopPerformFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, wake_null, NULL);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
}
END_TEST

START_TEST(misuse_reported_by_another_library_aborts) { RLReportError("OtherCreate", "size", "negative", 1); }
END_TEST

/* Shows by its signal that it was called, which has to be before the abort. */
static void raise_user_signal(UNUSED const char *message, UNUSED void *info)
{
    signal(SIGUSR1, SIG_DFL);
    raise(SIGUSR1);
}

START_TEST(the_handler_is_called_before_the_abort)
{
    RLSetErrorHandler(raise_user_signal, NULL);
    RLRunLoopWakeUp(NULL);
}
END_TEST

START_TEST(errors_other_than_misuse_do_not_abort)
{
    ck_assert_ptr_null(RLStringCreateWithCString(NULL, "\xff", kRLStringEncodingUTF8));
    RLReportError("OtherRun", "memory", "none is left", 0);
    ck_assert_int_eq(take_diagnostics(), 1);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
}
END_TEST

Suite *suite_under_test(void)
{
    /* Set in the environment from the very start, so that it does not matter when the library reads it. */
    if (getenv("RUNLOOP_MISUSE") == NULL) {
        setenv("RUNLOOP_MISUSE", "abort", 1);
        execl("/proc/self/exe", "test-misuse-abort", (char *)NULL);
        abort();
    }
    Suite *suite = suite_create("misuse-abort");
    TCase *tcase = add_case(suite, "abort", 20);
    tcase_add_checked_fixture(tcase, abort_by_default, NULL);
    tcase_add_test_raise_signal(tcase, a_null_handle_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, a_handle_of_the_wrong_kind_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, nan_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, misuse_in_a_callback_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, misuse_reported_by_another_library_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, the_handler_is_called_before_the_abort, SIGUSR1);
    tcase_add_test(tcase, errors_other_than_misuse_do_not_abort);
    return suite;
}
