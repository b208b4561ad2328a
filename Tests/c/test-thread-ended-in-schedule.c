/* Checks pthread_exit() in the callbacks that adding and removing a source calls: schedule, cancel, equal and hash. The library
 * releases what it held for them, and completes an invalidation. */
#include "harness.h"

enum { SOURCES = 3 };

static RLRunLoopRef main_loop;
static RLRunLoopSourceRef sources[SOURCES];
static struct lifetime lives[SOURCES];
static RLRunLoopMode first, second;
static RLIndex first_count, second_count;
static atomic_int calls_left; /* the last of these callbacks ends the thread; 0: none does */
static atomic_int cancels;

static void called(void)
{
    if (calls_left > 0 && --calls_left == 0)
        pthread_exit(NULL);
}

static void schedule(UNUSED void *info, UNUSED RLRunLoopRef rl, UNUSED RLRunLoopMode mode) { called(); }
static void cancel(UNUSED void *info, UNUSED RLRunLoopRef rl, UNUSED RLRunLoopMode mode)
{
    cancels++;
    called();
}

static RLRunLoopSourceRef newcomer; /* added to `first` in the next equal callback */
static RLBoolean equal(const void *one, const void *other)
{
    called();
    RLRunLoopSourceRef source = newcomer;
    newcomer = NULL;
    if (source)
        RLRunLoopAddSource(RLRunLoopGetCurrent(), source, first);
    return one == other;
}
static RLHashCode hash(UNUSED const void *info) { return 1; } /* all may be equal */

static void make_sources(bool has_equal)
{
    for (int i = 0; i < SOURCES; i++) {
        RLRunLoopSourceContext context = {.info = &lives[i],
                                          .retain = lifetime_retain,
                                          .release = lifetime_release,
                                          .schedule = has_equal ? NULL : schedule,
                                          .cancel = has_equal ? NULL : cancel,
                                          .equal = has_equal ? equal : NULL,
                                          .hash = has_equal ? hash : NULL,
                                          .perform = do_nothing};
        lives[i] = (struct lifetime){0};
        sources[i] = RLRunLoopSourceCreate(NULL, has_equal ? 0 : i, &context);
    }
}

static void set_up(void)
{
    main_loop = RLRunLoopGetCurrent();
    first = RLStringCreateWithCString(NULL, "first", kRLStringEncodingUTF8);
    second = RLStringCreateWithCString(NULL, "second", kRLStringEncodingUTF8);
    first_count = RLGetRetainCount(first);
    second_count = RLGetRetainCount(second);
}

/* The thread and its loop have ended: only the references of the test may be left. */
static void assert_nothing_held(void)
{
    ck_assert_int_eq(calls_left, 0);
    for (int i = 0; i < SOURCES; i++) {
        if (!sources[i])
            continue;
        ck_assert_int_eq(RLGetRetainCount(sources[i]), 1);
        RLRelease(sources[i]);
    }
    for (int i = 0; i < SOURCES; i++)
        ck_assert_int_eq(lifetime_held(&lives[i]), 0);
    ck_assert_int_eq(RLGetRetainCount(first), first_count);
    ck_assert_int_eq(RLGetRetainCount(second), second_count);
}

/* -- schedule and cancel -- */

static void make_common(RLRunLoopRef rl)
{
    RLRunLoopAddCommonMode(rl, first);
    RLRunLoopAddCommonMode(rl, second);
}

static void *add(UNUSED void *info)
{
    make_common(RLRunLoopGetCurrent());
    calls_left = 2;
    RLRunLoopAddSource(RLRunLoopGetCurrent(), sources[0], kRLRunLoopCommonModes);
    ck_abort_msg("returned");
}

static void *remove_last_reference(UNUSED void *info)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    make_common(rl);
    RLRunLoopAddSource(rl, sources[0], kRLRunLoopCommonModes);
    RLRunLoopSourceRef source = sources[0];
    RLRetain(source);
    RLRelease(sources[0]);
    sources[0] = NULL;
    calls_left = 2;
    RLRelease(source); /* only the loop has a reference now */
    RLRunLoopRemoveSource(rl, source, kRLRunLoopCommonModes);
    ck_abort_msg("returned");
}

static void *make_mode_common(UNUSED void *info)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    for (int i = 0; i < SOURCES; i++)
        RLRunLoopAddSource(rl, sources[i], kRLRunLoopCommonModes);
    calls_left = 2;
    RLRunLoopAddCommonMode(rl, first);
    ck_abort_msg("returned");
}

static void *invalidate(UNUSED void *info)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    make_common(rl);
    RLRunLoopAddSource(rl, sources[0], kRLRunLoopCommonModes);
    calls_left = 1;
    RLRunLoopSourceInvalidate(sources[0]);
    ck_abort_msg("returned");
}

static void *(*const in_schedule[])(void *) = {add, remove_last_reference, make_mode_common};
START_TEST(a_thread_that_ends_in_schedule_or_cancel_leaks_no_reference)
{
    make_sources(false);
    join_thread(start_thread(in_schedule[_i], NULL));
    assert_nothing_held();
}
END_TEST

START_TEST(an_invalidation_is_completed_if_the_thread_ends_in_cancel)
{
    make_sources(false);
    RLRunLoopAddSource(main_loop, sources[0], kRLRunLoopDefaultMode);
    join_thread(start_thread(invalidate, NULL));
    ck_assert(!RLRunLoopSourceIsValid(sources[0]));
    ck_assert(!RLRunLoopContainsSource(main_loop, sources[0], kRLRunLoopDefaultMode));
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
    ck_assert_int_ge(cancels, 2); /* the one that ended the thread, and that of the main loop */
    assert_nothing_held();
}
END_TEST

/* -- equal -- */

static void add_two(RLRunLoopRef rl, RLRunLoopMode mode)
{
    RLRunLoopAddSource(rl, sources[0], mode);
    RLRunLoopAddSource(rl, sources[1], mode);
}

static void *compare_in(void (*call)(RLRunLoopRef, RLRunLoopSourceRef, RLRunLoopMode))
{
    add_two(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode);
    calls_left = 2;
    call(RLRunLoopGetCurrent(), sources[2], kRLRunLoopDefaultMode);
    ck_abort_msg("returned");
}

static void look_for(RLRunLoopRef rl, RLRunLoopSourceRef source, RLRunLoopMode mode)
{
    RLRunLoopContainsSource(rl, source, mode);
}

static void *compare_to_add(UNUSED void *info) { return compare_in(RLRunLoopAddSource); }
static void *compare_to_remove(UNUSED void *info) { return compare_in(RLRunLoopRemoveSource); }
static void *compare_to_ask(UNUSED void *info) { return compare_in(look_for); }

static void *compare_to_make_common(UNUSED void *info)
{
    add_two(RLRunLoopGetCurrent(), kRLRunLoopCommonModes);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), sources[2], first);
    calls_left = 2;
    RLRunLoopAddCommonMode(RLRunLoopGetCurrent(), first);
    ck_abort_msg("returned");
}

/* The thread ends in a callback that follows those in which the newcomer itself is compared. */
static void *compare_newcomer_to_add(UNUSED void *info)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), sources[0], first);
    newcomer = sources[1];
    calls_left = 3;
    RLRunLoopAddSource(RLRunLoopGetCurrent(), sources[2], first);
    ck_abort_msg("returned");
}

static void *compare_newcomer_to_make_common(UNUSED void *info)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), sources[0], kRLRunLoopCommonModes);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), sources[2], first);
    newcomer = sources[1];
    calls_left = 4;
    RLRunLoopAddCommonMode(RLRunLoopGetCurrent(), first);
    ck_abort_msg("returned");
}

static void *(*const in_equal[])(void *) = {
    compare_to_add,         compare_to_remove,       compare_to_ask,
    compare_to_make_common, compare_newcomer_to_add, compare_newcomer_to_make_common,
};
START_TEST(a_thread_that_ends_in_equal_or_hash_leaks_no_reference)
{
    make_sources(true);
    join_thread(start_thread(in_equal[_i], NULL));
    assert_nothing_held();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-ended-in-schedule");
    TCase *tcase = add_case(suite, "ended", 20);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_loop_test(tcase, a_thread_that_ends_in_schedule_or_cancel_leaks_no_reference, 0, 3);
    tcase_add_test(tcase, an_invalidation_is_completed_if_the_thread_ends_in_cancel);
    tcase_add_loop_test(tcase, a_thread_that_ends_in_equal_or_hash_leaks_no_reference, 0, 6);
    return suite;
}
