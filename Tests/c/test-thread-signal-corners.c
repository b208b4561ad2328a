/* Checks signals and wake-ups at delicate moments: a waker that is interrupted anywhere, a source in two loops or on its way
 * between them, many sources whose neighbors are added and removed, and a wake-up that a nested run consumes. A lost one hangs
 * the test until its time limit. */
#include "harness.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

/* The source of one asker. Its perform answers what was asked. */
struct question {
    RLRunLoopSourceRef source;
    atomic_int asked, answered, performs;
};

static void answer(void *info)
{
    struct question *question = info;
    question->performs++;
    atomic_store(&question->answered, atomic_load(&question->asked));
}

static void make_question(struct question *question, RLIndex order)
{
    *question = (struct question){.source = make_source(order, answer, question)};
}

/* Asks, wakes, and waits for the answer, by polling at first, which keeps the round trip short. */
static void ask(struct question *question, int number, RLRunLoopRef first, RLRunLoopRef second)
{
    atomic_store(&question->asked, number);
    RLRunLoopSourceSignal(question->source);
    RLRunLoopWakeUp(first);
    if (second)
        RLRunLoopWakeUp(second);
    for (int look = 0; atomic_load(&question->answered) < number; look++)
        if (look > 1000)
            sched_yield();
}

/* -- A waker interrupted at any instruction -- */

static volatile sig_atomic_t interruptions;
static void waste_time(UNUSED int number)
{
    interruptions++;
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do /* longer than the loop polls before it sleeps, so what the waker has read is outdated */
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + (now.tv_nsec - begin.tv_nsec) < 30000);
}

static timer_t interrupt_this_thread_every(long nanoseconds)
{
    timer_t timer;
    struct sigaction action = {.sa_handler = waste_time, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    sigaction(SIGUSR2, &action, NULL);
    require(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec period = {{0, nanoseconds}, {0, nanoseconds}};
    require(timer_settime(timer, 0, &period, NULL) == 0);
    return timer;
}

static void ask_while_interrupted(double spin)
{
    struct looper looper;
    struct question question;
    looper_start(&looper);
    RLRunLoopSetSpinInterval(looper.loop, spin);
    make_question(&question, 1);
    RLRunLoopAddSource(looper.loop, question.source, kRLRunLoopDefaultMode);
    timer_t timer = interrupt_this_thread_every(100000);
    for (int i = 1; i <= SCALED(100000); i++)
        ask(&question, i, looper.loop, NULL);
    timer_delete(timer);
    ck_assert_int_gt(interruptions, 0);
    looper_stop(&looper);
    drop_source(question.source);
}

START_TEST(a_waker_interrupted_anywhere_wakes_a_loop_that_spins_a_little) { ask_while_interrupted(5e-6); }
END_TEST

START_TEST(a_waker_interrupted_anywhere_wakes_a_loop_that_sleeps) { ask_while_interrupted(0); }
END_TEST

/* -- One source, two loops -- */

START_TEST(a_source_in_two_loops_is_performed_by_one_of_them)
{
    struct looper loopers[2];
    struct question question;
    make_question(&question, 1);
    for (int i = 0; i < 2; i++) {
        looper_start(&loopers[i]);
        RLRunLoopAddSource(loopers[i].loop, question.source, kRLRunLoopDefaultMode);
    }
    for (int i = 1; i <= SCALED(5000); i++)
        ask(&question, i, loopers[i % 2].loop, i % 3 ? NULL : loopers[1 - i % 2].loop);
    for (int i = 0; i < 2; i++)
        looper_stop(&loopers[i]);
    ck_assert_int_eq(question.performs, SCALED(5000)); /* each signal by exactly one of them */
    drop_source(question.source);
}
END_TEST

struct mover {
    struct looper *loopers;
    RLRunLoopSourceRef source;
    atomic_int over;
};

static void *move_to_and_fro(void *info)
{
    struct mover *mover = info;
    for (int to = 1; !mover->over; to = 1 - to) {
        RLRunLoopAddSource(mover->loopers[to].loop, mover->source, kRLRunLoopDefaultMode);
        RLRunLoopRemoveSource(mover->loopers[1 - to].loop, mover->source, kRLRunLoopDefaultMode);
    }
    return NULL;
}

START_TEST(a_source_that_moves_between_two_loops_loses_no_signal)
{
    struct looper loopers[2];
    struct question question;
    make_question(&question, 1);
    struct mover mover = {.loopers = loopers, .source = question.source};
    looper_start(&loopers[0]);
    looper_start(&loopers[1]);
    RLRunLoopAddSource(loopers[0].loop, question.source, kRLRunLoopDefaultMode);
    pthread_t thread = start_thread(move_to_and_fro, &mover);
    /* Wakes both: the source is in one of them or on its way, and adding it wakes, too. */
    for (int i = 1; i <= SCALED(5000); i++)
        ask(&question, i, loopers[0].loop, loopers[1].loop);
    mover.over = 1;
    join_thread(thread);
    looper_stop(&loopers[0]);
    looper_stop(&loopers[1]);
    drop_source(question.source);
}
END_TEST

/* -- Many sources of one loop -- */

enum { QUESTIONS = 500, ASKERS = 3 };
static struct question questions[QUESTIONS];
static struct looper busy;
static atomic_int churn_over;

static void *ask_one_of_many(void *info)
{
    unsigned random = (unsigned)(uintptr_t)info;
    for (int i = 1; i <= SCALED(5000); i++) {
        random = random * 1103515245 + 12345;
        /* Each asker has a third of the sources to itself. */
        struct question *question = &questions[(random >> 16) % (QUESTIONS / ASKERS) * ASKERS + (uintptr_t)info];
        ask(question, atomic_load(&question->asked) + 1, busy.loop, NULL);
    }
    return NULL;
}

/* Beside these, other sources are added and removed, signalled or not, so that their slots are reused. */
static void *churn(UNUSED void *info)
{
    static atomic_int infos[64];
    RLRunLoopSourceRef sources[64] = {NULL};
    for (unsigned i = 0; !churn_over; i = (i + 7) % 64) {
        if (sources[i])
            drop_source(sources[i]);
        sources[i] = make_source((RLIndex)i, count_perform, &infos[i]);
        RLRunLoopSourceSignal(sources[i]);
        RLRunLoopAddSource(busy.loop, sources[i], kRLRunLoopDefaultMode);
        RLRunLoopSourceSignal(sources[i]);
    }
    for (int i = 0; i < 64; i++)
        if (sources[i])
            drop_source(sources[i]);
    return NULL;
}

START_TEST(signals_for_five_hundred_sources_arrive_while_others_are_added_and_removed)
{
    pthread_t askers[ASKERS];
    looper_start(&busy);
    for (int i = 0; i < QUESTIONS; i++) {
        make_question(&questions[i], i % 10);
        RLRunLoopAddSource(busy.loop, questions[i].source, kRLRunLoopDefaultMode);
    }
    pthread_t churner = start_thread(churn, NULL);
    for (uintptr_t i = 0; i < ASKERS; i++)
        askers[i] = start_thread(ask_one_of_many, (void *)i);
    for (int i = 0; i < ASKERS; i++)
        join_thread(askers[i]);
    churn_over = 1;
    join_thread(churner);
    looper_stop(&busy);
    for (int i = 0; i < QUESTIONS; i++) {
        require(questions[i].answered == questions[i].asked);
        drop_source(questions[i].source);
    }
}
END_TEST

/* -- A wake-up for the outer run that arrives during a nested one -- */

static RLRunLoopRef rl;
static struct question outer_question;
static int nestings;
static pthread_t outer_asker;

static void *ask_outer(UNUSED void *info)
{
    await_waiting(rl); /* in the nested run */
    atomic_store(&outer_question.asked, 1);
    RLRunLoopSourceSignal(outer_question.source);
    RLRunLoopWakeUp(rl);
    return NULL;
}

static void run_nested_once(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    if (nestings++ > 0)
        return;
    outer_asker = start_thread(ask_outer, NULL);
    /* The nested run ends by itself: a stop or a posted function would be another wake-up, and would hide the loss of this one. */
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("inner"), 0.2, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(outer_question.performs, 0); /* its mode has not run */
}

/* The observer is notified of BeforeWaiting, so when its nested run has ended, the outer run goes to sleep next. */
START_TEST(a_wake_up_consumed_by_a_run_nested_in_before_waiting_prevents_the_sleep)
{
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    rl = RLRunLoopGetCurrent();
    make_question(&outer_question, 1);
    RLRunLoopAddSource(rl, outer_question.source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, keeper, RLSTR("inner"));
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeWaiting, 1, 0, run_nested_once, NULL);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(outer_question.performs, 1);
    join_thread(outer_asker);
    drop_observer(observer);
    drop_source(keeper);
    drop_source(outer_question.source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-signal-corners");
    TCase *tcase = add_case(suite, "corners", 60);
    tcase_add_test(tcase, a_waker_interrupted_anywhere_wakes_a_loop_that_spins_a_little);
    tcase_add_test(tcase, a_waker_interrupted_anywhere_wakes_a_loop_that_sleeps);
    tcase_add_test(tcase, a_source_in_two_loops_is_performed_by_one_of_them);
    tcase_add_test(tcase, a_source_that_moves_between_two_loops_loses_no_signal);
    tcase_add_test(tcase, signals_for_five_hundred_sources_arrive_while_others_are_added_and_removed);
    tcase_add_test(tcase, a_wake_up_consumed_by_a_run_nested_in_before_waiting_prevents_the_sleep);
    return suite;
}
