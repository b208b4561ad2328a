/* Checks that signalled sources of equal order perform in the order of their first signals, and that a source performs that was
 * signalled before it was added. */
#include "harness.h"

static RLRunLoopRef rl;

struct letter {
    char name[2];
    int again;
    RLRunLoopSourceRef source;
};

static void letter_performs(void *info)
{
    struct letter *letter = info;
    note(letter->name);
    if (letter->again-- > 0)
        RLRunLoopSourceSignal(letter->source);
}

/* Signals sources in the order `signals`, before they are added if `late`, and asserts that they perform in the order `expected`,
 * also in runs that return after each source. */
static void signal_and_run(const char *signals, int again, bool returning, bool late, const char *expected)
{
    struct letter letters[4];
    notes[0] = 0;
    for (int i = 0; i < 4; i++) {
        letters[i] = (struct letter){{(char)('A' + i), 0}, again, NULL};
        letters[i].source = make_source(0, letter_performs, &letters[i]);
        if (!late)
            RLRunLoopAddSource(rl, letters[i].source, kRLRunLoopDefaultMode);
    }
    for (const char *c = signals; *c; c++)
        RLRunLoopSourceSignal(letters[*c - 'A'].source);
    if (late)
        for (int i = 0; i < 4; i++)
            RLRunLoopAddSource(rl, letters[i].source, kRLRunLoopDefaultMode);
    while (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, returning) == kRLRunLoopRunHandledSource)
        ;
    if (!returning)
        for (int i = 0; i < again + 1; i++)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
    ck_assert_str_eq(notes, expected);
    for (int i = 0; i < 4; i++)
        drop_source(letters[i].source);
}

START_TEST(sources_of_equal_order_perform_in_order_of_their_first_signals)
{
    rl = RLRunLoopGetCurrent();
    for (int returning = 0; returning < 2; returning++) {
        for (int late = 0; late < 2; late++) {
            signal_and_run("CBA", 0, returning, late, "C B A");
            signal_and_run("BCA", 0, returning, late, "B C A");
            signal_and_run("CABC", 0, returning, late, "C A B");
            signal_and_run("DBACCABD", 0, returning, late, "D B A C");
            signal_and_run("CBA", 2, returning, late, "C B A C B A C B A");
        }
    }
}
END_TEST

START_TEST(a_source_that_signals_itself_does_not_keep_one_of_equal_order_waiting)
{
    rl = RLRunLoopGetCurrent();
    signal_and_run("AB", 3, true, false, "A B A B A B A B");
    /* Positions beyond the first word of the bitmap of pending signals. */
    RLRunLoopSourceRef others[100];
    for (int i = 0; i < 100; i++) {
        others[i] = make_source(0, do_nothing, NULL);
        RLRunLoopAddSource(rl, others[i], kRLRunLoopDefaultMode);
    }
    signal_and_run("DBCA", 2, true, false, "D B C A D B C A D B C A");
    for (int i = 0; i < 100; i++)
        drop_source(others[i]);
}
END_TEST

static RLRunLoopSourceRef shared;

static void note_text(void *text) { note(text); }

static void *run_second_loop(UNUSED void *unused)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), shared, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
    return NULL;
}

/* No bit of the second loop says that the source is signalled. */
START_TEST(a_source_signalled_before_it_comes_into_a_second_loop_is_performed_there)
{
    shared = make_source(0, note_text, "shared");
    RLRunLoopAddSource(RLRunLoopGetCurrent(), shared, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(shared);
    join_thread(start_thread(run_second_loop, NULL));
    ck_assert_str_eq(notes, "shared");
    drop_source(shared);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source-order");
    TCase *tcase = add_case(suite, "signals", 30);
    tcase_add_test(tcase, sources_of_equal_order_perform_in_order_of_their_first_signals);
    tcase_add_test(tcase, a_source_that_signals_itself_does_not_keep_one_of_equal_order_waiting);
    tcase_add_test(tcase, a_source_signalled_before_it_comes_into_a_second_loop_is_performed_there);
    return suite;
}
