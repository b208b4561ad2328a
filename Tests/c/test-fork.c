/* Checks that after fork() the child can continue with the forking thread's loop, and that the parent is not disturbed. */
#include "harness.h"

#include <sys/wait.h>

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }
static int run_default(double seconds, int returning)
{
    return RLRunLoopRunInMode(kRLRunLoopDefaultMode, seconds, (RLBoolean)returning);
}

/* What both processes use: a source, a timer, a pipe, functions. */
struct kit {
    RLRunLoopRef loop;
    RLRunLoopSourceRef source, pipe_source;
    atomic_int performed, pipe_performed, fired, functions;
    int ends[2];
};

static int kit_port(void *info) { return ((struct kit *)info)->ends[0]; }
static void kit_read(void *info)
{
    struct kit *kit = info;
    char byte;
    if (read(kit->ends[0], &byte, 1) == 1)
        kit->pipe_performed++;
}

static void make_kit(struct kit *kit)
{
    *kit = (struct kit){.loop = RLRunLoopGetCurrent()};
    ck_assert_int_eq(pipe(kit->ends), 0);
    kit->source = make_source(0, count_perform, &kit->performed);
    kit->pipe_source = make_port_source(0, kit_port, kit_read, kit);
    RLRunLoopAddSource(kit->loop, kit->source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(kit->loop, kit->pipe_source, kRLRunLoopDefaultMode);
    run_default(0, 0); /* creates the loop's kernel objects */
}

static void drop_kit(struct kit *kit)
{
    drop_source(kit->source);
    drop_source(kit->pipe_source);
    close(kit->ends[0]);
    close(kit->ends[1]);
}

static void *wake_from_thread(void *info)
{
    struct kit *kit = info;
    await_waiting(kit->loop);
    RLRunLoopSourceSignal(kit->source);
    RLRunLoopWakeUp(kit->loop);
    return NULL;
}

/* Uses every feature of a loop, on the current thread's loop. Returns what does not work, or NULL. */
static const char *use_kit(struct kit *kit)
{
    pthread_t thread;
    int before = kit->performed, pipe_before = kit->pipe_performed, fired = kit->fired, functions = kit->functions;
    if (RLRunLoopGetCurrent() != kit->loop)
        return "the current loop is another";
    RLRunLoopSourceSignal(kit->source);
    if (run_default(1e9, 1) != kRLRunLoopRunHandledSource || kit->performed != before + 1)
        return "signalled source";
    if (write(kit->ends[1], "x", 1) != 1 || run_default(1e9, 1) != kRLRunLoopRunHandledSource ||
        kit->pipe_performed != pipe_before + 1)
        return "pipe";
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + 0.005, 0, 0, 0, count_timer,
                                                   &(RLRunLoopTimerContext){.info = &kit->fired});
    RLRunLoopAddTimer(kit->loop, timer, kRLRunLoopDefaultMode);
    while (kit->fired == fired)
        if (run_default(0.01, 0) != kRLRunLoopRunTimedOut)
            return "timer";
    RLRelease(timer);
    RLRunLoopPerformFunction(kit->loop, kRLRunLoopDefaultMode, count_perform, &kit->functions);
    if (run_default(0, 0) != kRLRunLoopRunTimedOut || kit->functions != functions + 1)
        return "function";
    if (pthread_create(&thread, NULL, wake_from_thread, kit) != 0)
        return "thread";
    if (run_default(1e9, 1) != kRLRunLoopRunHandledSource)
        return "wake-up";
    pthread_join(thread, NULL);
    return NULL;
}

static void use_kit_in_child(void *info)
{
    const char *problem = use_kit(info);
    if (problem) {
        fprintf(stderr, "in the child: %s\n", problem);
        _exit(1);
    }
}

static void assert_kit_works(struct kit *kit)
{
    const char *problem = use_kit(kit);
    ck_assert_msg(problem == NULL, "in the parent: %s", problem);
}

START_TEST(the_child_of_a_fork_uses_its_loop_without_disturbing_the_parent)
{
    struct kit kit;
    make_kit(&kit);
    ck_assert_int_eq(run_in_child(use_kit_in_child, &kit), 0);
    int performed = kit.performed;
    ck_assert_int_eq(run_default(0.02, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(kit.performed, performed); /* nothing that the child did has any effect here */
    assert_kit_works(&kit);
    ck_assert_int_eq(run_in_child(use_kit_in_child, &kit), 0); /* a second child */
    drop_kit(&kit);
}
END_TEST

static void fork_twice(void *info)
{
    use_kit_in_child(info);
    child_assert(run_in_child(use_kit_in_child, info) == 0);
    use_kit_in_child(info);
}

START_TEST(a_grandchild_can_use_the_loop)
{
    struct kit kit;
    make_kit(&kit);
    ck_assert_int_eq(run_in_child(fork_twice, &kit), 0);
    assert_kit_works(&kit);
    drop_kit(&kit);
}
END_TEST

/* The child removes its source. If parent and child shared an epoll set, the source would be lost in the parent, too. */
static void invalidate_in_child(void *info)
{
    struct kit *kit = info;
    RLRunLoopSourceInvalidate(kit->pipe_source);
    child_assert(run_default(0, 0) == kRLRunLoopRunTimedOut);
    RLRunLoopSourceInvalidate(kit->source);
    child_assert(run_default(0, 0) == kRLRunLoopRunFinished);
}

START_TEST(invalidating_in_the_child_does_not_unwatch_in_the_parent)
{
    struct kit kit;
    make_kit(&kit);
    ck_assert_int_eq(run_in_child(invalidate_in_child, &kit), 0);
    assert_kit_works(&kit);
    drop_kit(&kit);
}
END_TEST

static void exit_normally(void *info)
{
    use_kit_in_child(info);
    drop_kit(info);
}

START_TEST(closing_everything_in_the_child_does_not_close_in_the_parent)
{
    struct kit kit;
    make_kit(&kit);
    int descriptors = open_descriptors();
    ck_assert_int_eq(run_in_child(exit_normally, &kit), 0);
    ck_assert_int_eq(open_descriptors(), descriptors);
    assert_kit_works(&kit);
    drop_kit(&kit);
}
END_TEST

static void check_main_is_mine(void *info)
{
    use_kit_in_child(info);
    child_assert(RLRunLoopGetMain() == RLRunLoopGetCurrent());
}

static void *fork_on_this_thread(UNUSED void *info)
{
    struct kit kit;
    make_kit(&kit);
    ck_assert_int_eq(run_in_child(check_main_is_mine, &kit), 0);
    assert_kit_works(&kit);
    ck_assert_ptr_ne(RLRunLoopGetMain(), RLRunLoopGetCurrent());
    drop_kit(&kit);
    return NULL;
}

START_TEST(a_thread_other_than_the_main_thread_may_fork)
{
    struct kit kit;
    make_kit(&kit);
    join_thread(start_thread(fork_on_this_thread, NULL));
    assert_kit_works(&kit);
    drop_kit(&kit);
}
END_TEST

static atomic_int child_status;
static void fork_in_callback(void *info)
{
    child_status = run_in_child(use_kit_in_child, info); /* a nested run, in the child */
}

START_TEST(a_callback_may_fork)
{
    struct kit kit;
    make_kit(&kit);
    child_status = -1;
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, fork_in_callback, &kit);
    ck_assert_int_eq(run_default(0, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(child_status, 0);
    assert_kit_works(&kit);
    drop_kit(&kit);
}
END_TEST

static pid_t forked;
static void fork_and_return(UNUSED void *info)
{
    fflush(NULL);
    forked = fork_child();
}

/* The run itself returns twice, once in each process. */
START_TEST(a_run_that_forks_continues_in_both_processes)
{
    struct kit kit;
    int status = -1, go_ahead[2];
    char byte = 0;
    make_kit(&kit);
    ck_assert_int_eq(pipe(go_ahead), 0);
    RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, fork_and_return, NULL);
    int result = run_default(0.02, 0);
    if (forked == 0) {
        child_assert(result == kRLRunLoopRunTimedOut);
        /* Once the parent's run is over, since it would read from the same pipe. */
        child_assert(read(go_ahead[0], &byte, 1) == 1);
        use_kit_in_child(&kit);
        _exit(0);
    }
    ck_assert_int_eq(write(go_ahead[1], &byte, 1), 1);
    ck_assert_int_eq(waitpid(forked, &status, 0), forked);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(result, kRLRunLoopRunTimedOut);
    assert_kit_works(&kit);
    drop_kit(&kit);
    close(go_ahead[0]);
    close(go_ahead[1]);
}
END_TEST

/* Other threads are inside the library at the time of the fork: the locks that they hold must not block the child. */
static struct looper busy;
static atomic_int busy_over, busy_timer_calls;
static void *keep_busy(UNUSED void *info)
{
    while (!busy_over) {
        RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 1e-5, 0, count_timer, &busy_timer_calls);
        RLRunLoopAddTimer(busy.loop, timer, kRLRunLoopDefaultMode);
        RLRunLoopPostFunction(busy.loop, kRLRunLoopDefaultMode, do_nothing, NULL);
        RLRunLoopPostFunction(rl, RLSTR("never run"), do_nothing, &busy);
        RLRunLoopCancelPerformFunction(rl, do_nothing, &busy);
        drop_timer(timer);
    }
    return NULL;
}

static void use_new_things_in_child(void *info)
{
    use_kit_in_child(info);
    struct looper fresh;
    looper_start(&fresh);
    looper_stop(&fresh);
    RLStringMakeConstant("a constant of the child's");
    child_assert(!RLRunLoopIsWaiting(busy.loop)); /* its thread does not exist here */
    RLRunLoopWakeUp(busy.loop);
    RLRunLoopStop(busy.loop);
    RLRunLoopPostFunction(busy.loop, kRLRunLoopDefaultMode, do_nothing, NULL);
}

START_TEST(a_thread_may_fork_while_other_threads_are_busy)
{
    struct kit kit;
    make_kit(&kit);
    looper_start(&busy);
    RLRetain(busy.loop); /* the children own a reference, too */
    pthread_t thread = start_thread(keep_busy, NULL);
    for (int i = 0; i < SCALED(50); i++)
        ck_assert_int_eq(run_in_child(use_new_things_in_child, &kit), 0);
    busy_over = 1;
    join_thread(thread);
    looper_stop(&busy);
    RLRelease(busy.loop);
    assert_kit_works(&kit);
    drop_kit(&kit);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("fork");
    TCase *tcase = add_case(suite, "fork", 60);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, the_child_of_a_fork_uses_its_loop_without_disturbing_the_parent);
    tcase_add_test(tcase, a_grandchild_can_use_the_loop);
    tcase_add_test(tcase, invalidating_in_the_child_does_not_unwatch_in_the_parent);
    tcase_add_test(tcase, closing_everything_in_the_child_does_not_close_in_the_parent);
    tcase_add_test(tcase, a_thread_other_than_the_main_thread_may_fork);
    tcase_add_test(tcase, a_callback_may_fork);
    tcase_add_test(tcase, a_run_that_forks_continues_in_both_processes);
    tcase_add_test(tcase, a_thread_may_fork_while_other_threads_are_busy);
    return suite;
}
