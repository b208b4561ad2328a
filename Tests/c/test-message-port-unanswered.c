/* Checks requests to another process that are answered late or never, or whose thread is interrupted meanwhile. */
#include "message-port-child.h"
#include <sys/time.h>

static RLDataRef answer(RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    static int waiting;
    switch (id) {
    case 4: /* not in time */
        usleep(100000);
        break;
    case 5:
        kill(getpid(), SIGKILL);
        break;
    case 8:
        RLMessagePortInvalidate(local);
        RLRunLoopStop(RLRunLoopGetCurrent());
        return text_data("too late");
    case 9: /* dies when four clients are waiting for it */
        RLMessagePortCopyRequest(local);
        if (++waiting == 4)
            kill(getpid(), SIGKILL);
        return NULL;
    }
    return RLRetain(data);
}

static void begin(void) { begin_child(answer); }

START_TEST(a_late_reply_is_dropped)
{
    RLDataRef reply = (RLDataRef)&child;
    ck_assert_int_eq(ask(remote, 4, "late", 0.01, MODE, &reply), kRLMessagePortReceiveTimeout);
    ck_assert_ptr_eq(reply, &child);
    ck_assert_int_eq(ask(remote, 1, "next", 10, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "next"));
    RLRelease(reply);
}
END_TEST

static void note_end(UNUSED RLMessagePortRef port, UNUSED void *info) { note("end"); }

START_TEST(a_server_killed_during_a_request_ends_the_wait)
{
    RLMessagePortSetInvalidationCallBack(remote, note_end);
    double before = monotonic_seconds();
    ck_assert_int_eq(ask(remote, 5, "x", 1e9, MODE, NULL), kRLMessagePortBecameInvalidError);
    ck_assert(monotonic_seconds() - before < 10);
    assert_notes("end");
    ck_assert(!RLMessagePortIsValid(remote));
    ck_assert_int_eq(ask(remote, 1, "x", 1, MODE, NULL), kRLMessagePortIsInvalid);
    end_process(child, SIGKILL);
    child = 0;
    /* The name is free immediately, whatever files the crash left behind. */
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL);
    ck_assert_ptr_nonnull(port);
    RLRelease(port);
}
END_TEST

static void *wait_for_the_dead(void *info)
{
    RLRunLoopMode mode = (intptr_t)info & 1 ? MODE : kRLMessagePortPrivateReplyMode;
    require(ask(remote, 9, "x", 1e9, mode, NULL) == kRLMessagePortBecameInvalidError);
    return NULL;
}

/* Two threads share a connection; two processes have one each. */
START_TEST(all_clients_are_notified_when_the_server_is_killed)
{
    pid_t others[2];
    for (intptr_t index = 0; index < 2; index++) {
        others[index] = fork_child();
        if (others[index] == 0) {
            remote = RLMessagePortCreateRemote(NULL, NAME);
            wait_for_the_dead((void *)index);
            _exit(0);
        }
    }
    on_threads(2, wait_for_the_dead);
    end_process(others[0], 0);
    end_process(others[1], 0);
    end_process(child, SIGKILL);
    child = 0;
}
END_TEST

START_TEST(a_server_that_exits_in_its_callback_ends_the_wait)
{
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, 8, "x", 1e9, MODE, &reply), kRLMessagePortBecameInvalidError);
    ck_assert_ptr_null(reply);
    end_process(child, 0);
    child = 0;
    ck_assert_int_eq(name_files(), 0);
}
END_TEST

static void stop_loop(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { RLRunLoopStop(RLRunLoopGetCurrent()); }

static void ask_in_vain(UNUSED void *info)
{
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, 4, "slow", 20, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "slow"));
    RLRelease(reply);
    note("answered");
}

/* A stop during a request is meant for the outer run: the request still receives its reply. */
START_TEST(a_stop_during_a_request_stops_the_outer_run)
{
    RLRunLoopSourceRef source = make_source(0, ask_in_vain, NULL);
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.01, 0, stop_loop, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e9, false), kRLRunLoopRunStopped);
    assert_notes("answered");
    drop_timer(timer);
    drop_source(source);
}
END_TEST

static RLRunLoopRef loop_to_stop;

static void stop_by_signal(UNUSED int number) { RLRunLoopStop(loop_to_stop); }

static void ask_alone(UNUSED void *info)
{
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    RLDataRef reply = NULL;
    ck_assert_int_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
    ck_assert_int_eq(ask(remote, 4, "slow", 20, kRLMessagePortPrivateReplyMode, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "slow"));
    RLRelease(reply);
    note("answered");
}

/* The only thread of a process waits for a reply without running its loop: a signal handler interrupts that wait as well. */
START_TEST(a_stop_by_a_signal_handler_during_a_request_stops_the_outer_run)
{
    struct sigaction action = {.sa_handler = stop_by_signal, .sa_flags = SA_RESTART};
    RLRunLoopSourceRef source = make_source(0, ask_alone, NULL);
    loop_to_stop = RLRunLoopGetCurrent();
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    RLRunLoopAddSource(loop_to_stop, source, MODE);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e9, false), kRLRunLoopRunStopped);
    assert_notes("answered");
    drop_source(source);
}
END_TEST

START_TEST(a_running_loop_notices_the_death_of_the_server)
{
    RLMessagePortSetInvalidationCallBack(remote, note_end);
    ck_assert_int_eq(ask(remote, 1, "x", 10, MODE, NULL), kRLMessagePortSuccess);
    end_process(child, SIGKILL);
    child = 0;
    atomic_int fired = 0;
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 10, 0, count_timer, &fired);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    while (RLMessagePortIsValid(remote))
        RLRunLoopRunInMode(MODE, 0.05, false);
    assert_notes("end");
    drop_timer(timer);
}
END_TEST

/* Requests that a stopped server does not read stay in the kernel until its buffer is full. */
START_TEST(a_full_queue_is_a_send_timeout)
{
    kill(child, SIGSTOP);
    int sent = 0, result;
    while ((result = RLMessagePortSendRequest(remote, 1, NULL, 0, 0, NULL, NULL)) == kRLMessagePortSuccess)
        sent++;
    ck_assert_int_eq(result, kRLMessagePortSendTimeout);
    ck_assert_int_gt(sent, 10);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, NULL, 0.05, 1, MODE, NULL), kRLMessagePortSendTimeout);
    kill(child, SIGCONT);
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, 1, "after", 10, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "after"));
    RLRelease(reply);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-unanswered");
    TCase *tcase = add_case(suite, "unanswered", 60);
    tcase_add_checked_fixture(tcase, begin, end_child);
    tcase_add_test(tcase, a_late_reply_is_dropped);
    tcase_add_test(tcase, a_server_killed_during_a_request_ends_the_wait);
    tcase_add_test(tcase, all_clients_are_notified_when_the_server_is_killed);
    tcase_add_test(tcase, a_server_that_exits_in_its_callback_ends_the_wait);
    tcase_add_test(tcase, a_stop_during_a_request_stops_the_outer_run);
    tcase_add_test(tcase, a_stop_by_a_signal_handler_during_a_request_stops_the_outer_run);
    tcase_add_test(tcase, a_running_loop_notices_the_death_of_the_server);
    tcase_add_test(tcase, a_full_queue_is_a_send_timeout);
    return suite;
}
