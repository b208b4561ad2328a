/* Checks observers: their order, one-shot observers, removal and invalidation inside callbacks, and the life of their info. */
#include "harness.h"

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
}
static void tear_down(void) { drop_source(keeper); }

static void note_info(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    note(info);
}

static RLRunLoopObserverRef add_observer(RLOptionFlags activities, RLBoolean repeats, RLIndex order,
                                         RLRunLoopObserverCallBack callout, void *info)
{
    RLRunLoopObserverRef observer = make_observer(activities, repeats, order, callout, info);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    return observer;
}

static void run_once(void) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0); }

START_TEST(an_observer_returns_its_attributes)
{
    int info;
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopEntry | kRLRunLoopExit, 0, -12, note_info, &info);
    ck_assert_uint_eq(RLRunLoopObserverGetActivities(observer), kRLRunLoopEntry | kRLRunLoopExit);
    ck_assert(!RLRunLoopObserverDoesRepeat(observer));
    ck_assert_int_eq(RLRunLoopObserverGetOrder(observer), -12);
    ck_assert(RLRunLoopObserverIsValid(observer));
    RLRunLoopObserverContext context = {.version = 0};
    RLRunLoopObserverGetContext(observer, &context);
    ck_assert_ptr_eq(context.info, &info);
    RLRelease(observer);
}
END_TEST

START_TEST(an_observer_receives_only_the_requested_activities)
{
    atomic_int entries = 0, exits = 0;
    RLRunLoopObserverRef entry = add_observer(kRLRunLoopEntry, 1, 0, count_activity, &entries);
    RLRunLoopObserverRef exit_observer =
        add_observer(kRLRunLoopExit | kRLRunLoopBeforeWaiting, 1, 0, count_activity, &exits);
    run_once();
    run_once();
    ck_assert_int_eq(entries, 2);
    ck_assert_int_eq(exits, 2);
    drop_observer(entry);
    drop_observer(exit_observer);
}
END_TEST

START_TEST(observers_of_lower_order_are_called_first)
{
    RLRunLoopObserverRef observers[] = {add_observer(kRLRunLoopEntry, 1, 5, note_info, "5"),
                                        add_observer(kRLRunLoopEntry, 1, INT64_MAX, note_info, "max"),
                                        add_observer(kRLRunLoopEntry, 1, INT64_MIN, note_info, "min"),
                                        add_observer(kRLRunLoopEntry, 1, -5, note_info, "-5")};
    run_once();
    assert_notes("min -5 5 max");
    for (int i = 0; i < 4; i++)
        drop_observer(observers[i]);
}
END_TEST

/* -- Equal orders: in the order in which they were added to the mode ------------------------------------------------- */

#define OTHER RLSTR("other")

static RLRunLoopObserverRef trio[3];

static void make_trio(void)
{
    static const char *const names[] = {"a", "b", "c"};
    RLRunLoopAddSource(rl, keeper, OTHER);
    for (int i = 0; i < 3; i++)
        trio[i] = make_observer(kRLRunLoopEntry, 1, 0, note_info, (void *)names[i]);
}

static void add_to(RLRunLoopMode mode, int first, int second, int third)
{
    const int all[] = {first, second, third};
    for (int i = 0; i < 3; i++)
        RLRunLoopAddObserver(rl, trio[all[i]], mode);
}

static void drop_trio(void)
{
    for (int i = 0; i < 3; i++)
        drop_observer(trio[i]);
    run_once();
    assert_notes("");
}

START_TEST(observers_of_equal_order_are_called_in_the_order_added_to_each_mode)
{
    make_trio();
    add_to(kRLRunLoopDefaultMode, 2, 0, 1);
    add_to(OTHER, 1, 2, 0);
    run_once();
    RLRunLoopRunInMode(OTHER, 0, 0);
    assert_notes("c a b b c a");
    drop_trio();
}
END_TEST

START_TEST(an_observer_that_is_removed_and_added_comes_last)
{
    make_trio();
    add_to(kRLRunLoopDefaultMode, 0, 1, 2);
    add_to(OTHER, 0, 1, 2);
    add_to(OTHER, 0, 1, 2); /* already there: no effect */
    RLRunLoopRemoveObserver(rl, trio[0], kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(rl, trio[0], kRLRunLoopDefaultMode);
    RLRunLoopObserverRef early = add_observer(kRLRunLoopEntry, 1, -1, note_info, "early");
    run_once();
    RLRunLoopRunInMode(OTHER, 0, 0);
    assert_notes("early b c a a b c");
    drop_observer(early);
    drop_trio();
}
END_TEST

START_TEST(observers_of_the_common_modes_are_ordered_in_each_mode)
{
    make_trio();
    RLRunLoopAddCommonMode(rl, OTHER);
    RLRunLoopAddObserver(rl, trio[1], OTHER);
    add_to(kRLRunLoopCommonModes, 0, 1, 2);
    run_once();
    RLRunLoopRunInMode(OTHER, 0, 0);
    assert_notes("a b c b a c");
    RLRunLoopRemoveObserver(rl, trio[0], OTHER); /* from one of the common modes, and then into all of them again */
    RLRunLoopAddObserver(rl, trio[0], kRLRunLoopCommonModes);
    run_once();
    RLRunLoopRunInMode(OTHER, 0, 0);
    assert_notes("a b c b c a");
    drop_trio();
}
END_TEST

START_TEST(a_mode_that_becomes_common_orders_common_observers_after_its_own)
{
    make_trio();
    RLRunLoopAddObserver(rl, trio[2], OTHER);
    add_to(kRLRunLoopCommonModes, 1, 2, 0);
    RLRunLoopAddCommonMode(rl, OTHER);
    RLRunLoopRunInMode(OTHER, 0, 0);
    assert_notes("c b a");
    RLRunLoopRemoveObserver(rl, trio[1], kRLRunLoopCommonModes);
    run_once();
    RLRunLoopRunInMode(OTHER, 0, 0);
    assert_notes("c a c a");
    drop_trio();
}
END_TEST

static void check_valid(RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    ck_assert(RLRunLoopObserverIsValid(observer));
    note(info);
}

START_TEST(a_one_shot_observer_is_called_once_and_then_invalid)
{
    RLRunLoopObserverRef observer = add_observer(kRLRunLoopAllActivities, 0, 0, check_valid, "once");
    run_once();
    run_once();
    assert_notes("once");
    ck_assert(!RLRunLoopObserverIsValid(observer));
    ck_assert(!RLRunLoopContainsObserver(rl, observer, kRLRunLoopDefaultMode));
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    ck_assert(!RLRunLoopContainsObserver(rl, observer, kRLRunLoopDefaultMode));
    RLRelease(observer);
}
END_TEST

static void invalidate_self(RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    note(info);
    RLRunLoopObserverInvalidate(observer);
    ck_assert(!RLRunLoopObserverIsValid(observer));
}

static void invalidate_and_release_self(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    invalidate_self(observer, activity, info);
    RLRelease(observer);
}

START_TEST(an_observer_that_invalidates_itself_is_not_even_called_for_the_exit)
{
    RLRunLoopObserverRef observer = add_observer(kRLRunLoopEntry | kRLRunLoopExit, 1, 0, invalidate_self, "I");
    add_observer(kRLRunLoopEntry | kRLRunLoopExit, 1, 1, invalidate_and_release_self, "R");
    run_once();
    run_once();
    assert_notes("I R");
    RLRelease(observer);
}
END_TEST

static RLRunLoopObserverRef victim;

static void invalidate_victim(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    note(info);
    RLRunLoopObserverInvalidate(victim);
}

static void remove_victim(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    note(info);
    RLRunLoopRemoveObserver(rl, victim, kRLRunLoopDefaultMode);
}

static void invalidate_and_release_victim(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity,
                                          void *info)
{
    note(info);
    drop_observer(victim);
}

START_TEST(an_observer_invalidated_by_an_earlier_one_is_not_called)
{
    RLRunLoopObserverRef first = add_observer(kRLRunLoopEntry, 0, 0, invalidate_victim, "first");
    victim = add_observer(kRLRunLoopEntry, 1, 1, note_info, "victim");
    run_once();
    assert_notes("first");
    RLRelease(first);
    RLRelease(victim);
}
END_TEST

START_TEST(an_observer_released_by_an_earlier_one_is_not_touched)
{
    RLRunLoopObserverRef first = add_observer(kRLRunLoopEntry, 0, 0, invalidate_and_release_victim, "first");
    victim = add_observer(kRLRunLoopEntry, 1, 1, note_info, "victim");
    run_once();
    assert_notes("first");
    RLRelease(first);
}
END_TEST

START_TEST(an_observer_removed_by_an_earlier_one_is_not_called_for_the_next_activity)
{
    RLRunLoopObserverRef first = add_observer(kRLRunLoopEntry, 0, 0, remove_victim, "first");
    victim = add_observer(kRLRunLoopEntry | kRLRunLoopBeforeTimers, 1, 1, note_info, "victim");
    run_once();
    ck_assert_msg(strcmp(notes, "first") == 0 || strcmp(notes, "first victim") == 0, "%s", notes);
    notes[0] = 0;
    ck_assert(RLRunLoopObserverIsValid(victim));
    RLRelease(first);
    drop_observer(victim);
}
END_TEST

static void add_victim(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    note(info);
    RLRunLoopAddObserver(rl, victim, kRLRunLoopDefaultMode);
}

START_TEST(an_observer_added_in_a_callback_is_notified_of_the_next_activity)
{
    victim = make_observer(kRLRunLoopEntry | kRLRunLoopExit, 1, 1, note_info, "added");
    RLRunLoopObserverRef first = add_observer(kRLRunLoopEntry, 1, 0, add_victim, "adder");
    run_once();
    assert_notes("adder added"); /* at Exit, not at Entry */
    RLRunLoopRemoveObserver(rl, first, kRLRunLoopDefaultMode);
    run_once();
    assert_notes("added added");
    drop_observer(first);
    drop_observer(victim);
}
END_TEST

static RLRunLoopObserverRef make_living_observer(struct lifetime *life, RLRunLoopObserverCallBack callout)
{
    RLRunLoopObserverContext context = {.info = life, .retain = lifetime_retain, .release = lifetime_release};
    return RLRunLoopObserverCreate(NULL, kRLRunLoopEntry, 1, 0, callout, &context);
}

static void check_released_now(RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    RLRunLoopObserverInvalidate(observer);
    ck_assert_int_eq(((struct lifetime *)info)->releases, 1);
}

START_TEST(invalidating_an_observer_releases_its_info_at_once)
{
    struct lifetime life = {0};
    RLRunLoopObserverRef observer = make_living_observer(&life, check_released_now);
    ck_assert_int_eq(life.retains, 1);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(rl, observer, RLSTR("other"));
    run_once();
    ck_assert_int_eq(life.releases, 1);
    RLRunLoopObserverContext context = {.version = 0};
    RLRunLoopObserverGetContext(observer, &context);
    ck_assert_ptr_null(context.info);
    RLRunLoopObserverInvalidate(observer);
    RLRelease(observer);
    ck_assert_int_eq(life.retains, 1);
    ck_assert_int_eq(life.releases, 1);
}
END_TEST

START_TEST(removing_the_last_reference_to_an_observer_releases_its_info)
{
    struct lifetime life = {0};
    RLRunLoopObserverRef observer = make_living_observer(&life, count_activity);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    RLRelease(observer);
    ck_assert_int_eq(life.releases, 0);
    RLRunLoopRemoveObserver(rl, observer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(life.releases, 1);
}
END_TEST

START_TEST(a_thousand_observers_are_added_and_removed)
{
    enum { observers = 1000 };
    static RLRunLoopObserverRef all[observers];
    atomic_int called = 0;
    for (int i = 0; i < observers; i++)
        all[i] = add_observer(kRLRunLoopEntry, i % 2, i % 7, count_activity, &called);
    run_once();
    ck_assert_int_eq(called, observers);
    run_once();
    ck_assert_int_eq(called, observers + observers / 2);
    for (int i = 0; i < observers; i++)
        drop_observer(all[i]);
    run_once();
    ck_assert_int_eq(called, observers + observers / 2);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("observer-activities");
    TCase *tcase = add_case(suite, "observers", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, an_observer_returns_its_attributes);
    tcase_add_test(tcase, an_observer_receives_only_the_requested_activities);
    tcase_add_test(tcase, observers_of_lower_order_are_called_first);
    tcase_add_test(tcase, observers_of_equal_order_are_called_in_the_order_added_to_each_mode);
    tcase_add_test(tcase, an_observer_that_is_removed_and_added_comes_last);
    tcase_add_test(tcase, observers_of_the_common_modes_are_ordered_in_each_mode);
    tcase_add_test(tcase, a_mode_that_becomes_common_orders_common_observers_after_its_own);
    tcase_add_test(tcase, a_one_shot_observer_is_called_once_and_then_invalid);
    tcase_add_test(tcase, an_observer_that_invalidates_itself_is_not_even_called_for_the_exit);
    tcase_add_test(tcase, an_observer_invalidated_by_an_earlier_one_is_not_called);
    tcase_add_test(tcase, an_observer_released_by_an_earlier_one_is_not_touched);
    tcase_add_test(tcase, an_observer_removed_by_an_earlier_one_is_not_called_for_the_next_activity);
    tcase_add_test(tcase, an_observer_added_in_a_callback_is_notified_of_the_next_activity);
    tcase_add_test(tcase, invalidating_an_observer_releases_its_info_at_once);
    tcase_add_test(tcase, removing_the_last_reference_to_an_observer_releases_its_info);
    tcase_add_test(tcase, a_thousand_observers_are_added_and_removed);
    return suite;
}
