/* RLScheduleSource: this thread's loop keeps the source, and the program does not. */
#include "kit.h"

static struct lifetime life;
static int performs;
static void perform(UNUSED void *info) { performs++; }

static RLRunLoopSourceRef make(void)
{
    RLRunLoopSourceContext context = {
        .info = &life, .retain = lifetime_retain, .release = lifetime_release, .perform = perform};
    return RLRunLoopSourceCreate(NULL, 0, &context);
}

START_TEST(the_loop_keeps_a_scheduled_source)
{
    RLRunLoopSourceRef made = make(), source = RLScheduleSource(made);
    ck_assert_ptr_eq(source, made);
    ck_assert(RLRunLoopContainsSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode));
    ck_assert_int_eq(RLGetRetainCount(source), 1);
    RLRunLoopSourceSignal(source);
    run_passes();
    ck_assert_int_eq(performs, 1);
    ck_assert_ptr_eq(RLScheduleSource((RLRunLoopSourceRef)RLRetain(source)), source); /* it is already in the loop */
    ck_assert_int_eq(RLGetRetainCount(source), 1);
    RLRunLoopSourceInvalidate(source);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

START_TEST(null_and_invalid_sources_are_not_scheduled)
{
    errno = EMFILE; /* the reason why there is no source */
    ck_assert_ptr_null(RLScheduleSource(NULL));
    ck_assert_int_eq(errno, EMFILE);
    RLRunLoopSourceRef source = make();
    RLRunLoopSourceInvalidate(source);
    ck_assert_ptr_null(RLScheduleSource(source));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

static void *schedule_it(void *source)
{
    ck_assert_ptr_eq(RLScheduleSource(source), source);
    RLRunLoopSourceSignal(source);
    run_passes();
    return NULL;
}
START_TEST(thread_exit_releases_a_scheduled_source)
{
    join_thread(start_thread(schedule_it, make()));
    ck_assert_int_eq(performs, 1);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

static RLStringRef text;
static void schedule_text(void) { ck_assert_ptr_null(RLScheduleSource((RLRunLoopSourceRef)text)); }
START_TEST(an_object_that_is_not_a_source_is_not_released)
{
    text = RLStringCreateWithCString(NULL, "text", kRLStringEncodingUTF8);
    assert_reports(schedule_text, "runloop: RLScheduleSource: source: not a source");
    ck_assert_int_eq(RLGetRetainCount(text), 1);
    RLRelease(text);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("scheduling");
    TCase *all = add_case(suite, "scheduling", 10);
    tcase_add_test(all, the_loop_keeps_a_scheduled_source);
    tcase_add_test(all, null_and_invalid_sources_are_not_scheduled);
    tcase_add_test(all, thread_exit_releases_a_scheduled_source);
    tcase_add_test(all, an_object_that_is_not_a_source_is_not_released);
    return suite;
}
