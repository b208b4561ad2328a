/* Checks a waker that is held up between its change of the loop's wake word and its system call, until the loop has woken by
 * itself, has slept in another way, or has ended. The waker steps through the call one instruction at a time (the trap flag), and
 * is held up after each number of instructions in turn. */
#include "harness.h"

#include <sched.h>
#include <signal.h>
#include <ucontext.h>

static RLRunLoopRef loop;
static int ends[2];
static gate ready, proceed, held_up;
static atomic_bool is_waking;
static int port(UNUSED void *info) { return ends[0]; }

/* Sleeps in epoll, then on the wake word in a mode without descriptors, and ends. */
UNUSED static void *sleep_in_both_ways(UNUSED void *info)
{
    atomic_int never;
    loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    RLRunLoopSourceRef source = make_port_source(0, port, do_nothing, NULL);
    RLRunLoopTimerRef keeper = make_timer(1e9, 0, count_timer, &never);
    RLRunLoopAddSource(loop, source, RLSTR("ports"));
    RLRunLoopAddTimer(loop, keeper, kRLRunLoopDefaultMode);
    RLRelease(source);
    RLRelease(keeper);
    gate_open(&ready);
    /* Repeated until the waker has seen the loop asleep: on a busy machine it may miss that many times. */
    do {
        RLRunLoopRunInMode(RLSTR("ports"), 0.01, 0);
    } while (!is_waking);
    gate_pass(&proceed); /* the waker is in the middle of its wake-up, or has made it */
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.002, 0);
    gate_open(&held_up);
    return NULL;
}

#if defined(__x86_64__) && !SANITIZED
static atomic_int steps_left;
enum { TRAP_FLAG = 0x100 };

static void step(UNUSED int number, UNUSED siginfo_t *details, void *context)
{
    ucontext_t *registers = context;
    if (steps_left-- > 0) {
        registers->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
        return;
    }
    registers->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    gate_open(&proceed);
    gate_pass(&held_up);
}

/* Returns false if the call ended before the waker was held up. */
static bool wake_late_by(int steps)
{
    is_waking = false;
    pthread_t sleeper = start_thread(sleep_in_both_ways, NULL);
    gate_pass(&ready);
    await_waiting(loop);
    is_waking = true;
    steps_left = steps;
    raise(SIGTRAP);
    RLRunLoopWakeUp(loop);
    bool was_held_up = steps_left < 0;
    if (!was_held_up)
        steps_left = 0;
    join_thread(sleeper);
    RLRelease(loop);
    return was_held_up;
}

START_TEST(a_waker_held_up_anywhere_does_not_keep_the_thread_from_exiting)
{
    gate_init(&ready);
    gate_init(&proceed);
    gate_init(&held_up);
    make_pipe(ends);
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
    /* From the return of raise() on, until the call ends before the waker can be held up. */
    int steps = 0;
    while (steps < 1000 && wake_late_by(steps))
        steps++;
    ck_assert_int_gt(steps, 10);
    close_pipe(ends);
}
END_TEST
#endif

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("wakeup-late");
    TCase *tcase UNUSED = add_case(suite, "late", 30);
#if defined(__x86_64__) && !SANITIZED
    tcase_add_test(tcase, a_waker_held_up_anywhere_does_not_keep_the_thread_from_exiting);
#endif
    return suite;
}
