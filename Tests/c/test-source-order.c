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

#if defined(__x86_64__) && !SANITIZED /* a sanitizer delays signal handlers */
#include <signal.h>
#include <ucontext.h>

/* The processor raises SIGTRAP after each instruction while this flag is set. */
enum { TRAP_FLAG = 0x100 };
#define SET_TRAP_FLAG() __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc")
#define CLEAR_TRAP_FLAG() __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc")

static RLRunLoopRef other_loop;
static gate lent;
static struct letter interrupting[4];
static int instructions_left;
static char performed[5];
static int performed_count;

static void signal_letters(const char *letters)
{
    for (const char *c = letters; *c; c++)
        RLRunLoopSourceSignal(interrupting[*c - 'A'].source);
}

/* Does little, because every instruction of the callback is interrupted as well. */
static void interrupted_performs(void *info)
{
    require(performed_count < 4);
    performed[performed_count++] = ((struct letter *)info)->name[0];
}

/* Signals two sources after as many instructions as remain. */
static void on_trap(UNUSED int number, UNUSED siginfo_t *info, void *context)
{
    if (instructions_left-- > 0)
        return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    signal_letters("CD");
}

/* Interrupts a pass, for which B and then A are signalled, at every 23rd instruction, by a handler that signals C and then D. `shared`
 * is in a second loop as well, and so has no bit of its own. */
static void interrupt_everywhere(const char *shared)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
    ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
    rl = RLRunLoopGetCurrent();
    for (int i = 0; i < 4; i++) {
        interrupting[i] =
            (struct letter){{(char)('A' + i), 0}, 0, make_source(0, interrupted_performs, &interrupting[i])};
        RLRunLoopAddSource(rl, interrupting[i].source, kRLRunLoopDefaultMode);
        if (*shared == 'A' + i)
            RLRunLoopAddSource(other_loop, interrupting[i].source, kRLRunLoopDefaultMode);
    }
    bool interrupted = true;
    for (int instructions = 0; interrupted; instructions += 23) {
        signal_letters("BA");
        instructions_left = instructions;
        SET_TRAP_FLAG();
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
        CLEAR_TRAP_FLAG();
        interrupted = instructions_left < 0;
        if (!interrupted)
            signal_letters("CD");
        for (int i = 0; i < 3; i++)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
        ck_assert_int_eq(performed_count, 4);
        ck_assert_str_eq(performed, "BACD");
        performed_count = 0;
    }
    for (int i = 0; i < 4; i++)
        drop_source(interrupting[i].source);
}

START_TEST(sources_signalled_at_any_instruction_of_a_pass_keep_their_order) { interrupt_everywhere(""); }
END_TEST

static void *lend_loop(void *may_end)
{
    other_loop = RLRunLoopGetCurrent();
    gate_open(&lent);
    gate_pass(may_end);
    return NULL;
}

START_TEST(sources_keep_their_order_beside_one_in_two_loops)
{
    gate may_end;
    gate_init(&may_end);
    gate_init(&lent);
    pthread_t thread = start_thread(lend_loop, &may_end);
    gate_pass(&lent);
    interrupt_everywhere(_i == 0 ? "A" : "B");
    gate_open(&may_end);
    join_thread(thread);
}
END_TEST
#endif

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source-order");
    TCase *tcase = add_case(suite, "signals", 30);
    tcase_add_test(tcase, sources_of_equal_order_perform_in_order_of_their_first_signals);
    tcase_add_test(tcase, a_source_that_signals_itself_does_not_keep_one_of_equal_order_waiting);
    tcase_add_test(tcase, a_source_signalled_before_it_comes_into_a_second_loop_is_performed_there);
#if defined(__x86_64__) && !SANITIZED
    tcase = add_case(suite, "interrupted", 60);
    tcase_add_test(tcase, sources_signalled_at_any_instruction_of_a_pass_keep_their_order);
    tcase_add_loop_test(tcase, sources_keep_their_order_beside_one_in_two_loops, 0, 2);
#endif
    return suite;
}
