/* Checks fork() while other threads are inside the library, whose locks must not stay locked in the child. Also checks what the
 * child can do with the loops of threads that it does not have. */
#include "harness.h"

#include <signal.h>
#include <ucontext.h>

static RLRunLoopTimerRef timer;
static atomic_bool is_over;
static atomic_int reads;

static void *make_a_timer(UNUSED void *info)
{
    atomic_int never;
    timer = make_timer(1e9, 1, count_timer, &never);
    return NULL;
}

static void *read_timer(UNUSED void *info)
{
    for (; !is_over; reads++)
        RLRunLoopTimerGetNextFireDate(timer);
    return NULL;
}

static void read_timer_in_child(UNUSED void *info)
{
    signal(SIGALRM, SIG_DFL);
    alarm(20); /* ends a child that waits for a lock which no thread will unlock */
    child_assert(RLRunLoopTimerGetNextFireDate(timer) == 1e9);
}

/* The timer was made by a thread that has ended, and is in no loop: its lock is that of a loop without a thread. */
START_TEST(items_of_exited_threads_are_not_locked_in_the_child)
{
    RLRunLoopGetCurrent();
    join_thread(start_thread(make_a_timer, NULL));
    pthread_t readers[2] = {start_thread(read_timer, NULL), start_thread(read_timer, NULL)};
    int status = 0;
    await_count(&reads, 1);
    for (int i = 0; i < SCALED(400) && status == 0; i++)
        status = run_in_child(read_timer_in_child, NULL);
    is_over = true;
    join_thread(readers[0]);
    join_thread(readers[1]);
    ck_assert_int_eq(status, 0);
    drop_timer(timer);
}
END_TEST

static void use_loop_of_no_thread(void *info)
{
    struct looper *looper = info;
    struct lifetime life = {0};
    errno = 0;
    child_assert(!RLRunLoopPostFunction(looper->loop, kRLRunLoopDefaultMode, do_nothing, NULL));
    child_assert(errno == ESRCH);
    errno = 0;
    child_assert(!RLRunLoopPerformFunctionAndWait(looper->loop, kRLRunLoopDefaultMode, do_nothing, NULL, 5));
    child_assert(errno == ESRCH);
    errno = 0;
    child_assert(!RLRunLoopPerformFunctionAfterDelay(looper->loop, kRLRunLoopDefaultMode, do_nothing, NULL, 0));
    child_assert(errno == ESRCH);
    child_assert(
        !RLRunLoopPerformFunctionWithRelease(looper->loop, kRLRunLoopDefaultMode, do_nothing, &life, lifetime_end));
    child_assert(life.releases == 0);
    RLRunLoopWakeUp(looper->loop);
    RLRunLoopStop(looper->loop);
}

START_TEST(loops_of_missing_threads_refuse_functions_in_the_child)
{
    struct looper looper;
    looper_start(&looper);
    await_waiting(looper.loop);
    ck_assert_int_eq(run_in_child(use_loop_of_no_thread, &looper), 0);
    looper_stop(&looper);
}
END_TEST

static void ignore_line(UNUSED const char *message, UNUSED void *info) {}

static void *make_strings_and_diagnostics(UNUSED void *info)
{
    for (; !is_over; reads++) {
        RLStringMakeConstant("a string");
        RLSetErrorHandler(ignore_line, NULL);
        RLArrayGetCount(NULL);
    }
    return NULL;
}

static void make_strings_and_diagnostics_in_child(UNUSED void *info)
{
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    RLStringMakeConstant("another string");
    RLSetErrorHandler(ignore_line, NULL);
    child_assert(RLArrayGetCount(NULL) == 0);
}

START_TEST(strings_and_diagnostics_are_not_locked_in_a_child_without_loops)
{
    pthread_t threads[2] = {start_thread(make_strings_and_diagnostics, NULL),
                            start_thread(make_strings_and_diagnostics, NULL)};
    int status = 0;
    await_count(&reads, 1);
    for (int i = 0; i < SCALED(400) && status == 0; i++)
        status = run_in_child(make_strings_and_diagnostics_in_child, NULL);
    is_over = true;
    join_thread(threads[0]);
    join_thread(threads[1]);
    ck_assert_int_eq(status, 0);
}
END_TEST

#if defined(__x86_64__) && !SANITIZED
static RLRunLoopRef loop;
static gate forks, held_up, forked;
static bool holds_up;
static unsigned char memory_before[256];
enum { TRAP_FLAG = 0x100 };

/* Executed after each instruction until the thread has stored something into its loop; then it stops the thread there. */
static void hold_up_after_a_store(UNUSED int number, UNUSED siginfo_t *details, void *context)
{
    ucontext_t *registers = context;
    if (memcmp(memory_before, loop, sizeof memory_before) == 0) {
        registers->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
        return;
    }
    registers->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    gate_open(&held_up);
    gate_pass(&forked);
}

static void *begin_to_lock_own_loop(UNUSED void *info)
{
    make_a_timer(NULL);
    loop = RLRunLoopGetCurrent();
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopContainsTimer(loop, timer, kRLRunLoopDefaultMode);
    reads++;
    gate_pass(&forks);
    memcpy(memory_before, loop, sizeof memory_before);
    raise(SIGTRAP);
    RLRunLoopContainsTimer(loop, timer, kRLRunLoopDefaultMode);
    return NULL;
}

/* Runs as the last prepare handler, since it was registered before those of the library. */
static void let_it_begin(void)
{
    if (!holds_up)
        return;
    gate_open(&forks);
    gate_pass(&held_up);
}

START_TEST(a_loop_about_to_be_locked_during_a_fork_is_not_locked_in_the_child)
{
    gate_init(&forks);
    gate_init(&held_up);
    gate_init(&forked);
    ck_assert_int_eq(pthread_atfork(let_it_begin, NULL, NULL), 0);
    struct sigaction action = {.sa_sigaction = hold_up_after_a_store, .sa_flags = SA_SIGINFO};
    ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
    pthread_t thread = start_thread(begin_to_lock_own_loop, NULL);
    await_count(&reads, 1);
    holds_up = true;
    int status = run_in_child(read_timer_in_child, NULL);
    holds_up = false;
    gate_open(&forked);
    join_thread(thread);
    ck_assert_int_eq(status, 0);
    drop_timer(timer);
}
END_TEST
#endif

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("fork-locks");
    TCase *tcase = add_case(suite, "fork", 60);
#if defined(__x86_64__) && !SANITIZED
    tcase_add_test(tcase, a_loop_about_to_be_locked_during_a_fork_is_not_locked_in_the_child);
#endif
    tcase_add_test(tcase, items_of_exited_threads_are_not_locked_in_the_child);
    tcase_add_test(tcase, strings_and_diagnostics_are_not_locked_in_a_child_without_loops);
    tcase_add_test(tcase, loops_of_missing_threads_refuse_functions_in_the_child);
    return suite;
}
