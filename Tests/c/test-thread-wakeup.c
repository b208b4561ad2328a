/* Checks that no wake-up is ever lost: tokens are passed between loops by RLRunLoopSourceSignal() and RLRunLoopWakeUp(), and a
 * lost one hangs the test until its time limit. */
#include "harness.h"

#include <sched.h>

/* One loop of a ring. `token` is not atomic on purpose: what is written before the signal must be visible to the perform. */
struct station {
    struct looper looper;
    RLRunLoopSourceRef source;
    struct station *next;
    int token, seen;
    gate *finished;
};

enum { ROUNDS = SCALED(20000), STATIONS_AT_MOST = 4 };

static void hand_on(struct station *to, int token)
{
    to->token = token;
    RLRunLoopSourceSignal(to->source);
    RLRunLoopWakeUp(to->looper.loop);
}

static void receive(void *info)
{
    struct station *station = info;
    int token = station->token;
    station->seen++;
    if (token == 0)
        gate_open(station->finished);
    else
        hand_on(station->next, token - 1);
}

static void send_one_token_round(int stations, double spin)
{
    struct station ring[STATIONS_AT_MOST] = {0};
    gate finished;
    gate_init(&finished);
    for (int i = 0; i < stations; i++) {
        looper_start(&ring[i].looper);
        ring[i].next = &ring[(i + 1) % stations];
        ring[i].finished = &finished;
        ring[i].source = make_source(0, receive, &ring[i]);
        RLRunLoopSetSpinInterval(ring[i].looper.loop, spin);
        RLRunLoopAddSource(ring[i].looper.loop, ring[i].source, kRLRunLoopDefaultMode);
    }
    hand_on(&ring[0], ROUNDS);
    gate_pass(&finished);
    int seen = 0;
    for (int i = 0; i < stations; i++) {
        looper_stop(&ring[i].looper);
        drop_source(ring[i].source);
        seen += ring[i].seen;
    }
    ck_assert_int_eq(seen, ROUNDS + 1);
}

START_TEST(a_token_between_two_loops_always_comes_back) { send_one_token_round(2, 0); }
END_TEST

START_TEST(a_token_between_four_loops_always_comes_back) { send_one_token_round(4, 0); }
END_TEST

START_TEST(a_token_between_two_spinning_loops_always_comes_back) { send_one_token_round(2, 50e-6); }
END_TEST

/* The loops poll for about as long as a token takes, so that the sleep and the wake-up meet at their most delicate point. */
START_TEST(a_token_between_loops_that_have_just_stopped_spinning_always_comes_back) { send_one_token_round(2, 2e-6); }
END_TEST

START_TEST(a_loop_that_passes_the_token_to_itself_receives_it) { send_one_token_round(1, 0); }
END_TEST

/* The token is a function that each loop posts to the next one. */
static void receive_post(void *info)
{
    struct station *station = info;
    if (station->token-- == 0)
        gate_open(station->finished);
    else {
        station->next->token = station->token;
        if (!RLRunLoopPostFunction(station->next->looper.loop, kRLRunLoopDefaultMode, receive_post, station->next))
            abort();
    }
}

START_TEST(a_posted_token_between_two_loops_always_comes_back)
{
    struct station pair[2] = {0};
    gate finished;
    gate_init(&finished);
    for (int i = 0; i < 2; i++) {
        looper_start(&pair[i].looper);
        pair[i].next = &pair[1 - i];
        pair[i].finished = &finished;
    }
    pair[0].token = ROUNDS;
    ck_assert(RLRunLoopPostFunction(pair[0].looper.loop, kRLRunLoopDefaultMode, receive_post, &pair[0]));
    gate_pass(&finished);
    looper_stop(&pair[0].looper);
    looper_stop(&pair[1].looper);
}
END_TEST

/* Several threads each wait until their signal was served before they send the next one: every signal must be served. */
enum { SIGNALLERS = 4, SIGNALS = SCALED(5000) };

struct signaller {
    struct looper *looper;
    RLRunLoopSourceRef source;
    atomic_int asked, served;
};

static void serve(void *info)
{
    struct signaller *signaller = info;
    atomic_store(&signaller->served, atomic_load(&signaller->asked));
}

static void *signal_and_await(void *info)
{
    struct signaller *signaller = info;
    for (int i = 1; i <= SIGNALS; i++) {
        atomic_store(&signaller->asked, i);
        RLRunLoopSourceSignal(signaller->source);
        RLRunLoopWakeUp(signaller->looper->loop);
        await_count(&signaller->served, i);
    }
    return NULL;
}

static void signal_storm(double spin)
{
    struct looper looper;
    struct signaller signallers[SIGNALLERS] = {0};
    pthread_t threads[SIGNALLERS];
    looper_start(&looper);
    RLRunLoopSetSpinInterval(looper.loop, spin);
    for (int i = 0; i < SIGNALLERS; i++) {
        signallers[i].looper = &looper;
        signallers[i].source = make_source(i, serve, &signallers[i]);
        RLRunLoopAddSource(looper.loop, signallers[i].source, kRLRunLoopDefaultMode);
        threads[i] = start_thread(signal_and_await, &signallers[i]);
    }
    for (int i = 0; i < SIGNALLERS; i++) {
        join_thread(threads[i]);
        drop_source(signallers[i].source);
    }
    looper_stop(&looper);
}

START_TEST(every_signal_of_four_threads_is_served) { signal_storm(0); }
END_TEST

START_TEST(every_signal_of_four_threads_is_served_by_a_spinning_loop) { signal_storm(20e-6); }
END_TEST

/* Many threads signal one source without waiting: signals may coalesce, but at least one perform must follow the last signal. */
static atomic_int storm_value, storm_seen;
static void see_storm(UNUSED void *info) { atomic_store(&storm_seen, atomic_load(&storm_value)); }

struct storm {
    struct looper *looper;
    RLRunLoopSourceRef source;
};

static void *add_to_storm(void *info)
{
    struct storm *storm = info;
    for (int i = 0; i < SIGNALS; i++) {
        atomic_fetch_add(&storm_value, 1);
        RLRunLoopSourceSignal(storm->source);
        RLRunLoopWakeUp(storm->looper->loop);
    }
    return NULL;
}

START_TEST(after_a_storm_the_last_signal_is_served)
{
    struct looper looper;
    pthread_t threads[SIGNALLERS];
    looper_start(&looper);
    struct storm storm = {&looper, make_source(0, see_storm, NULL)};
    RLRunLoopAddSource(looper.loop, storm.source, kRLRunLoopDefaultMode);
    for (int i = 0; i < SIGNALLERS; i++)
        threads[i] = start_thread(add_to_storm, &storm);
    await_count(&storm_seen, SIGNALLERS * SIGNALS);
    for (int i = 0; i < SIGNALLERS; i++)
        join_thread(threads[i]);
    looper_stop(&looper);
    drop_source(storm.source);
}
END_TEST

/* Each stop ends at most one run. The stopped thread runs again and again, two runs deep, until all stoppers are done. */
enum { STOPPERS = 4, STOPS = SCALED(5000) };
static atomic_int stoppers_running, ended_by_stop;
static RLRunLoopRef stopped_loop;

static void *stop_often(UNUSED void *info)
{
    for (int i = 0; i < STOPS; i++) {
        RLRunLoopStop(stopped_loop);
        if (i % 16 == 0)
            sched_yield();
    }
    atomic_fetch_sub(&stoppers_running, 1);
    RLRunLoopStop(stopped_loop); /* at least one more, in case the loop has gone to sleep meanwhile */
    return NULL;
}

static void run_nested(UNUSED void *info)
{
    if (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0) == kRLRunLoopRunStopped)
        ended_by_stop++;
}

START_TEST(each_of_many_concurrent_stops_ends_at_most_one_run)
{
    pthread_t threads[STOPPERS];
    RLRunLoopSourceRef source = make_source(0, run_nested, NULL);
    stopped_loop = RLRunLoopGetCurrent();
    RLRunLoopAddSource(stopped_loop, source, kRLRunLoopDefaultMode);
    stoppers_running = STOPPERS;
    for (int i = 0; i < STOPPERS; i++)
        threads[i] = start_thread(stop_often, NULL);
    while (stoppers_running > 0) {
        RLRunLoopSourceSignal(source);
        if (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0) == kRLRunLoopRunStopped)
            ended_by_stop++;
    }
    for (int i = 0; i < STOPPERS; i++)
        join_thread(threads[i]);
    ck_assert_int_le(ended_by_stop, STOPPERS * (STOPS + 1));
    /* Nothing is left over: nothing stops the next run. */
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.02, 0), kRLRunLoopRunTimedOut);
    drop_source(source);
}
END_TEST

/* A stop while the loop is certainly inside a run is never lost either. */
START_TEST(every_stop_of_a_running_loop_stops_it)
{
    RLRunLoopSourceRef source = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    for (int round = 0; round < SCALED(2000); round++) {
        RLRunLoopPerformFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, stop_current, NULL);
        if (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0) != kRLRunLoopRunStopped)
            ck_abort();
    }
    drop_source(source);
}
END_TEST

START_TEST(the_spin_interval_is_stored_and_clamped)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    ck_assert_double_eq(RLRunLoopGetSpinInterval(rl), 0);
    RLRunLoopSetSpinInterval(rl, 25e-6);
    ck_assert_double_eq_tol(RLRunLoopGetSpinInterval(rl), 25e-6, 1e-9);
    RLRunLoopSetSpinInterval(rl, 7);
    ck_assert_double_eq_tol(RLRunLoopGetSpinInterval(rl), 1, 1e-9);
    RLRunLoopSetSpinInterval(rl, HUGE_VAL);
    ck_assert_double_eq_tol(RLRunLoopGetSpinInterval(rl), 1, 1e-9);
    RLRunLoopSetSpinInterval(rl, 0);
    ck_assert_double_eq(RLRunLoopGetSpinInterval(rl), 0);
}
END_TEST

/* Returns the processor time of this thread while its loop has nothing to do for 0.1 s, and may poll for a wake-up all the time. */
static double processor_time_of_a_spinning_run(void)
{
    atomic_int never;
    RLRunLoopTimerRef keeper = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, &never);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), keeper, kRLRunLoopDefaultMode);
    RLRunLoopSetSpinInterval(RLRunLoopGetCurrent(), 1);
    struct timespec before, after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    drop_timer(keeper);
    return (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) * 1e-9;
}

static void bind_to(int processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
}

/* Finds the first two processors that this process may use. Returns false if there is only one. */
static bool find_two_processors(int found[2])
{
    cpu_set_t all;
    int count = 0;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    for (int processor = 0; processor < CPU_SETSIZE && count < 2; processor++)
        if (CPU_ISSET(processor, &all))
            found[count++] = processor;
    return count == 2;
}

START_TEST(a_process_bound_to_one_processor_sleeps_at_once)
{
    int processors[2];
    find_two_processors(processors);
    bind_to(processors[0]);
    ck_assert_double_lt(processor_time_of_a_spinning_run(), 0.02);
}
END_TEST

static void *make_loop_bound_to(void *processor)
{
    bind_to(*(int *)processor);
    RLRunLoopGetCurrent();
    return NULL;
}

START_TEST(threads_bound_to_different_processors_still_spin)
{
    int processors[2];
    if (!find_two_processors(processors))
        return;
    bind_to(processors[0]);
    pthread_join(start_thread(make_loop_bound_to, &processors[1]), NULL);
    ck_assert_double_gt(processor_time_of_a_spinning_run(), 0.002);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-wakeup");
    TCase *tcase = add_case(suite, "wakeup", 60);
    tcase_add_test(tcase, a_token_between_two_loops_always_comes_back);
    tcase_add_test(tcase, a_token_between_four_loops_always_comes_back);
    tcase_add_test(tcase, a_token_between_two_spinning_loops_always_comes_back);
    tcase_add_test(tcase, a_token_between_loops_that_have_just_stopped_spinning_always_comes_back);
    tcase_add_test(tcase, a_loop_that_passes_the_token_to_itself_receives_it);
    tcase_add_test(tcase, a_posted_token_between_two_loops_always_comes_back);
    tcase_add_test(tcase, every_signal_of_four_threads_is_served);
    tcase_add_test(tcase, every_signal_of_four_threads_is_served_by_a_spinning_loop);
    tcase_add_test(tcase, after_a_storm_the_last_signal_is_served);
    tcase_add_test(tcase, each_of_many_concurrent_stops_ends_at_most_one_run);
    tcase_add_test(tcase, every_stop_of_a_running_loop_stops_it);
    tcase_add_test(tcase, the_spin_interval_is_stored_and_clamped);
    tcase_add_test(tcase, a_process_bound_to_one_processor_sleeps_at_once);
    tcase_add_test(tcase, threads_bound_to_different_processors_still_spin);
    return suite;
}
