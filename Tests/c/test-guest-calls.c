/* Checks that a guest's functions may be called in any order and place: nested, in callbacks, in children of fork(), without
 * descriptors, and while other threads post work. */
#include "guest.h"
#include <sys/resource.h>

static RLRunLoopRef guest;
static RLRunLoopTimerRef timer;
static int ends[2];
static atomic_int counted, posted, ticked;

static void post(void) { require(RLRunLoopPostFunction(guest, kRLRunLoopDefaultMode, count_function, &counted)); }

static void *post_on_thread(void *info)
{
    post();
    return info;
}

/* -- Calls in any order ------------------------------------------------------------------------------------------------ */

START_TEST(guest_functions_may_be_called_in_any_order)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopLeaveGuest();
    ck_assert_int_eq(dispatch(), kRLRunLoopRunFinished);
    require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, count_function, &counted));
    ck_assert_int_eq(dispatch(), kRLRunLoopRunTimedOut);
    prepare();
    int fd = state.fd;
    prepare();
    ck_assert_int_eq(state.fd, fd);
    RLRunLoopLeaveGuest();
    RLRunLoopLeaveGuest();
    RLRunLoopWakeUp(rl);
    ck_assert(!readable());
    prepare();
    ck_assert_int_eq(state.fd, fd);
    ck_assert(!readable());
    require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, count_function, &counted));
    ck_assert(readable());
    prepare();
    prepare();
    ck_assert(readable() && state.timeout == 0);
    dispatch();
    dispatch();
    ck_assert(!readable());
    ck_assert_int_eq(atomic_load(&counted), 2);
    RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, count_function, &counted);
    RLRunLoopLeaveGuest();
    ck_assert(!readable());
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(atomic_load(&counted), 3);
}
END_TEST

START_TEST(a_guest_loop_can_also_be_run)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.01, 0, count_timer, &counted);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    prepare();
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(atomic_load(&counted), 1);
    /* The run ended the host's wait, and the host has to dispatch before it can wait again. */
    ck_assert(readable());
    dispatch();
    ck_assert(!readable());
    RLRunLoopWakeUp(rl);
    ck_assert(readable());
    drop_timer(timer);
}
END_TEST

/* A callback in which the host runs its own loop for a while. */
static void nested_host(void *info UNUSED)
{
    note("begin");
    prepare();
    require(RLRunLoopPostFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, count_function, &counted));
    while (atomic_load(&counted) == 0) {
        await_readable();
        dispatch();
    }
    ck_assert(!readable());
    note("end");
}

START_TEST(a_nested_host_loop_can_dispatch_the_guest)
{
    prepare();
    require(RLRunLoopPostFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, nested_host, NULL));
    ck_assert_int_eq(dispatch(), kRLRunLoopRunTimedOut);
    assert_notes("begin end");
    ck_assert(!readable());
}
END_TEST

static void prepare_then_wake(void *info UNUSED)
{
    prepare();
    RLRunLoopWakeUp(RLRunLoopGetCurrent());
}
static void prepare_only(void *info)
{
    prepare();
    RLRunLoopTimerSetNextFireDate(info, RLAbsoluteTimeGetCurrent() + 0.02);
}

START_TEST(a_run_continues_after_a_callback_prepares_the_guest)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopObserverRef passes = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_activity, &counted);
    RLRunLoopAddObserver(rl, passes, kRLRunLoopDefaultMode);
    timer = make_timer(RLAbsoluteTimeGetCurrent() + 1000, 0, count_timer, &posted);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, prepare_then_wake, NULL));
    require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, prepare_only, timer));
    /* The run ends after the timer has fired. */
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0), kRLRunLoopRunFinished);
    /* The run slept, and did not spin. */
    ck_assert_int_ge(atomic_load(&counted), 2);
    ck_assert_int_le(atomic_load(&counted), 8);
    drop_observer(passes);
    drop_timer(timer);
}
END_TEST

static void leave_in_callback(void *info UNUSED)
{
    RLRunLoopLeaveGuest();
    prepare();
    RLRunLoopLeaveGuest();
}

START_TEST(a_callback_may_leave_the_guest)
{
    prepare();
    require(RLRunLoopPostFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, leave_in_callback, NULL));
    dispatch();
    RLRunLoopWakeUp(RLRunLoopGetCurrent());
    ck_assert(!readable());
}
END_TEST

START_TEST(observers_see_a_run_without_a_wait)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopObserverRef all = note_activities(rl, kRLRunLoopDefaultMode);
    prepare();
    require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, do_nothing, NULL));
    prepare();
    dispatch();
    assert_notes("En BT BS Ex");
    drop_observer(all);
}
END_TEST

/* -- Life --------------------------------------------------------------------------------------------------------------- */

static void *be_a_guest(void *info UNUSED)
{
    prepare();
    RLRunLoopWakeUp(RLRunLoopGetCurrent());
    return NULL;
}

START_TEST(thread_exit_closes_the_guest_descriptors)
{
    int before = open_descriptors();
    for (int i = 0; i < 3; i++)
        join_thread(start_thread(be_a_guest, NULL));
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

START_TEST(the_guest_descriptor_survives_a_replaced_epoll)
{
    int spare[2];
    struct watch first = {.reads = true}, second = {.reads = true};
    make_pipe(ends);
    make_pipe(spare);
    watch_fd(&first, ends[0], 0);
    watch_fd(&second, spare[0], 0);
    prepare();
    int fd = state.fd, duplicate = dup(ends[0]);
    /* epoll keeps reporting the file because a duplicate is open. After a few waits the loop replaces its epoll. */
    require(write(ends[1], "x", 1) == 1);
    close(ends[0]);
    drop_source(first.source);
    for (int pass = 0; pass < 8; pass++)
        dispatch();
    ck_assert(!readable());
    prepare();
    ck_assert_int_eq(state.fd, fd);
    require(write(spare[1], "x", 1) == 1);
    ck_assert(readable());
    dispatch();
    ck_assert_int_eq(atomic_load(&second.performed), 1);
    ck_assert(!readable());
    drop_source(second.source);
    close(duplicate);
    close(ends[1]);
    close_pipe(spare);
}
END_TEST

static void in_child(void *info)
{
    child_assert(RLRunLoopDispatchGuest(kRLRunLoopDefaultMode) == kRLRunLoopRunTimedOut);
    child_assert(atomic_load(&counted) == 1);
    prepare();
    child_assert(!readable());
    join_thread(start_thread(post_on_thread, info));
    await_readable();
    dispatch();
    child_assert(atomic_load(&counted) == 2 && !readable());
    _exit(0);
}

START_TEST(the_child_of_a_fork_can_prepare_the_guest_again)
{
    guest = RLRunLoopGetCurrent();
    prepare();
    post();
    ck_assert_int_eq(run_in_child(in_child, NULL), 0);
    ck_assert(readable());
    dispatch();
    ck_assert(!readable());
    ck_assert_int_eq(atomic_load(&counted), 1);
}
END_TEST

START_TEST(preparing_a_guest_fails_without_descriptors_and_works_later)
{
    struct rlimit limit, none;
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    getrlimit(RLIMIT_NOFILE, &limit);
    int next = dup(0);
    close(next);
    /* Preparing takes four descriptors. Those that a failed attempt opened are used by the next one. */
    for (int room = 0; room < 4; room++) {
        none = limit;
        none.rlim_cur = (rlim_t)(next + room);
        setrlimit(RLIMIT_NOFILE, &none);
        RLRunLoopGuestState kept = {.version = 0, .fd = -7};
        errno = 0;
        int done = RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, kRLRunLoopGuestTimerInDescriptor, &kept), error = errno;
        setrlimit(RLIMIT_NOFILE, &limit);
        ck_assert_int_eq(done, 0);
        ck_assert_int_eq(error, EMFILE);
        ck_assert_int_eq(kept.fd, -7);
        ck_assert_int_eq(dispatch(), kRLRunLoopRunFinished);
        RLRunLoopLeaveGuest();
    }
    prepare();
    RLRunLoopWakeUp(rl);
    ck_assert(readable());
}
END_TEST

START_TEST(a_guest_can_be_prepared_again_after_all_descriptors_were_closed)
{
    guest = RLRunLoopGetCurrent();
    make_pipe(ends);
    struct watch watch = {.reads = true};
    watch_fd(&watch, ends[0], 0);
    prepare();
    for (int fd = 3; fd < 64; fd++)
        if (fd != ends[0] && fd != ends[1])
            close(fd);
    dispatch();
    prepare();
    ck_assert(!readable());
    require(write(ends[1], "x", 1) == 1);
    ck_assert(readable());
    dispatch();
    ck_assert_int_eq(atomic_load(&watch.performed), 1);
    post();
    ck_assert(readable());
    drop_source(watch.source);
}
END_TEST

START_TEST(misuse_of_guest_functions_is_reported)
{
    RLRunLoopGuestState wrong = {.version = 1}, right = {.version = 0};
    ck_assert_int_eq(RLRunLoopPrepareGuest(NULL, 0, &right), 0);
    assert_misuse("RLRunLoopPrepareGuest", "mode", NULL);
    ck_assert_int_eq(RLRunLoopPrepareGuest(kRLRunLoopCommonModes, 0, &right), 0);
    assert_misuse("RLRunLoopPrepareGuest", "mode", NULL);
    ck_assert_int_eq(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, 0, NULL), 0);
    assert_misuse("RLRunLoopPrepareGuest", "state", NULL);
    ck_assert_int_eq(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, 0, &wrong), 0);
    assert_misuse("RLRunLoopPrepareGuest", "state", NULL);
    ck_assert_int_eq(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, 4, &right), 0);
    assert_misuse("RLRunLoopPrepareGuest", "state", NULL);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(RLRunLoopDispatchGuest(NULL), kRLRunLoopRunFinished);
    assert_misuse("RLRunLoopDispatchGuest", "mode", NULL);
    ck_assert_int_eq(RLRunLoopDispatchGuest(kRLRunLoopCommonModes), kRLRunLoopRunFinished);
    assert_misuse("RLRunLoopDispatchGuest", "mode", NULL);
}
END_TEST

START_TEST(a_second_host_cannot_take_over_a_guest)
{
    RLRunLoopGuestState other = {.version = 0};
    ck_assert_int_eq(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, kRLRunLoopGuestNew, &state), 1);
    ck_assert_int_eq(RLRunLoopPrepareGuest(RLSTR("other"), kRLRunLoopGuestNew, &other), 0);
    ck_assert_int_eq(errno, EBUSY);
    ck_assert_int_eq(other.fd, 0);
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), keeper, kRLRunLoopDefaultMode);
    prepare();
    dispatch();
    ck_assert(!readable());
    RLRunLoopWakeUp(RLRunLoopGetCurrent());
    ck_assert(readable());
    RLRunLoopLeaveGuest();
    ck_assert_int_eq(RLRunLoopPrepareGuest(RLSTR("other"), kRLRunLoopGuestNew, &other), 1);
    RLRunLoopLeaveGuest();
    drop_source(keeper);
}
END_TEST

/* -- Under load ---------------------------------------------------------------------------------------------------------- */

#define ROUNDS SCALED(4000)

static void *hammer(void *number)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (number == NULL) {
            require(RLRunLoopPostFunction(guest, kRLRunLoopDefaultMode, count_function, &posted));
        } else {
            RLRunLoopTimerRef soon = make_timer(RLAbsoluteTimeGetCurrent(), 0, count_timer, &ticked);
            RLRunLoopAddTimer(guest, soon, kRLRunLoopDefaultMode);
            RLRelease(soon);
        }
    }
    return NULL;
}

START_TEST(a_guest_loses_no_post_or_timer_of_another_thread)
{
    guest = RLRunLoopGetCurrent();
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(guest, keeper, kRLRunLoopDefaultMode);
    prepare();
    pthread_t posts = start_thread(hammer, NULL), timers = start_thread(hammer, &counted);
    while (atomic_load(&posted) < ROUNDS || atomic_load(&ticked) < ROUNDS) {
        await_readable();
        dispatch();
        /* Some hosts prepare before each wait. */
        if (atomic_load(&posted) % 3 == 0)
            prepare();
    }
    join_thread(posts);
    join_thread(timers);
    dispatch();
    ck_assert(!readable());
    ck_assert_int_eq(atomic_load(&posted), ROUNDS);
    ck_assert_int_eq(atomic_load(&ticked), ROUNDS);
    drop_source(keeper);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("guest-calls");
    TCase *tcase = add_case(suite, "guest-calls", 20);
    tcase_add_test(tcase, guest_functions_may_be_called_in_any_order);
    tcase_add_test(tcase, a_guest_loop_can_also_be_run);
    tcase_add_test(tcase, a_nested_host_loop_can_dispatch_the_guest);
    tcase_add_test(tcase, a_run_continues_after_a_callback_prepares_the_guest);
    tcase_add_test(tcase, a_callback_may_leave_the_guest);
    tcase_add_test(tcase, observers_see_a_run_without_a_wait);
    tcase_add_test(tcase, thread_exit_closes_the_guest_descriptors);
    tcase_add_test(tcase, the_guest_descriptor_survives_a_replaced_epoll);
    tcase_add_test(tcase, the_child_of_a_fork_can_prepare_the_guest_again);
    tcase_add_test(tcase, preparing_a_guest_fails_without_descriptors_and_works_later);
    tcase_add_test(tcase, a_guest_can_be_prepared_again_after_all_descriptors_were_closed);
    tcase_add_test(tcase, misuse_of_guest_functions_is_reported);
    tcase_add_test(tcase, a_second_host_cannot_take_over_a_guest);
    tcase_add_test(tcase, a_guest_loses_no_post_or_timer_of_another_thread);
    return suite;
}
