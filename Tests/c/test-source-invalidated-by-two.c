/* Checks two threads that invalidate one source at the same time: once RLRunLoopSourceInvalidate() has returned on a loop's own
 * thread, the source does not perform there again, however far the other thread has got. */
#include "harness.h"

enum { LOOPERS = 3, ROUNDS = SCALED(400) };

static int ends[2];
static int ready_port(UNUSED void *info) { return ends[0]; }

static RLRunLoopSourceRef source;
static atomic_int round_asked, round_done;

static void *invalidate_each_round(UNUSED void *info)
{
    for (int round = 1; round <= ROUNDS; round++) {
        await_count(&round_asked, round);
        RLRunLoopSourceInvalidate(source);
        round_done = round;
    }
    return NULL;
}

/* The descriptor stays readable, so each pass performs the source as long as the loop has it. The other loops give the other
 * thread something to do before it reaches this loop. */
START_TEST(a_source_invalidated_by_two_threads_does_not_perform_afterwards)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    struct looper loopers[LOOPERS];
    atomic_int performed = 0;
    make_pipe(ends);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    for (int i = 0; i < LOOPERS; i++)
        looper_start(&loopers[i]);
    pthread_t other = start_thread(invalidate_each_round, NULL);
    RLRunLoopTimerRef keeper = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, &performed);
    RLRunLoopAddTimer(rl, keeper, kRLRunLoopDefaultMode);
    for (int round = 1; round <= ROUNDS; round++) {
        source = make_port_source(0, ready_port, count_perform, &performed);
        RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
        for (int i = 0; i < LOOPERS; i++)
            RLRunLoopAddSource(loopers[i].loop, source, RLSTR("never run"));
        round_asked = round;
        while (RLRunLoopSourceIsValid(source))
            ;
        RLRunLoopSourceInvalidate(source);
        performed = 0;
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
        ck_assert_msg(performed == 0, "performed in round %d", round);
        await_count(&round_done, round);
        RLRelease(source);
    }
    join_thread(other);
    for (int i = 0; i < LOOPERS; i++)
        looper_stop(&loopers[i]);
    drop_timer(keeper);
    close_pipe(ends);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source-invalidated-by-two");
    TCase *tcase = add_case(suite, "invalidated", 30);
    tcase_add_test(tcase, a_source_invalidated_by_two_threads_does_not_perform_afterwards);
    return suite;
}
