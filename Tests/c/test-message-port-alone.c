/* Checks waiting for a reply in a mode in which there is nothing else: events in that mode are handled as in any other sleep, and
 * what ends a sleep ends this one. A test hangs until its time limit if the wait misses an event. */
#include "message-port-child.h"
#include "message-port-meanwhile.h"

#include <sys/resource.h>

static RLMessagePortRequestRef kept;

static RLDataRef keep_one(RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    if (id == 1) { /* answered when request 2 arrives */
        kept = RLMessagePortCopyRequest(local);
        return NULL;
    }
    if (id == 2 && kept) {
        require(RLMessagePortRequestReply(kept, data));
        RLRelease(kept);
        kept = NULL;
    }
    return RLRetain(data);
}

static void begin(void)
{
    begin_child(keep_one);
    main_loop = RLRunLoopGetCurrent();
    sem_init(&served, 0, 0);
    /* The first request makes the loop watch the connection in the mode. */
    ck_assert_int_eq(ask(remote, 0, "x", 20, MODE, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(ask(remote, 0, "x", 20, kRLMessagePortPrivateReplyMode, NULL), kRLMessagePortSuccess);
}

static void ask_as_well(void)
{
    RLDataRef reply = NULL;
    for (int round = 0; round < 100; round++) {
        require(ask(remote, 0, "mine", 20, round & 1 ? MODE : kRLMessagePortPrivateReplyMode, &reply) ==
                kRLMessagePortSuccess);
        require(is_text(reply, "mine"));
        RLRelease(reply);
    }
}

static void act_when_waiting(void (*action)(void))
{
    await_waiting(main_loop);
    RLStringRef name = RLRunLoopCopyCurrentMode(main_loop);
    require(name && RLEqual(name, mode));
    RLRelease(name);
    action();
    require(ask(remote, 2, "done", 0, NULL, NULL) == kRLMessagePortSuccess);
}

static void *helper(void *action)
{
    act_when_waiting(*(void (**)(void))action);
    return NULL;
}

static void wait_while(void (*action)(void))
{
    pthread_t thread;
    RLDataRef reply = NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, helper, &action), 0);
    ck_assert_int_eq(ask(remote, 1, "x", 1e9, mode, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "done"));
    RLRelease(reply);
    pthread_join(thread, NULL);
    /* None of this affects the next request. */
    ck_assert_int_eq(ask(remote, 0, "next", 20, mode, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "next"));
    RLRelease(reply);
}

static RLRunLoopMode modes[2];
static void (*const actions[])(void) = {MEANWHILE, ask_as_well};

START_TEST(events_are_handled_while_a_reply_is_awaited)
{
    modes[0] = MODE;
    modes[1] = kRLMessagePortPrivateReplyMode;
    mode = modes[_i & 1];
    for (int round = 0; round < SCALED(20); round++)
        wait_while(actions[_i / 2]);
}
END_TEST

/* ---- what ends the wait, or belongs to an outer run ---- */

static void stop_main(void) { RLRunLoopStop(main_loop); }

static void ask_in_perform(UNUSED void *info)
{
    wait_while(stop_main);
    note("asked");
}

static void never(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { note("timer"); }

/* Makes an outer run, which lasts until it is stopped. */
static void run_until_stopped(void (*ask_in_it)(void *))
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, never, NULL);
    RLRunLoopAddTimer(main_loop, timer, MODE);
    RLRunLoopPerformFunction(main_loop, MODE, ask_in_it, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e6, false), kRLRunLoopRunStopped);
    assert_notes("asked");
    drop_timer(timer);
}

START_TEST(a_stop_while_a_reply_is_awaited_stops_the_outer_run)
{
    mode = _i ? RLSTR("other") : kRLMessagePortPrivateReplyMode;
    run_until_stopped(ask_in_perform);
}
END_TEST

static sem_t held_main, may_continue;

static void hold(UNUSED void *info)
{
    sem_post(&held_main);
    while (sem_wait(&may_continue) != 0)
        ;
}

/* The pass that performs a source polls afterwards, and finds both the stop and the reply to request 1, which the child sent
 * before its reply to "x". */
static void stop_and_let_the_reply_arrive(void)
{
    RLRunLoopSourceRef source = make_source(0, hold, NULL);
    RLRunLoopAddSource(main_loop, source, mode);
    RLRunLoopSourceSignal(source);
    RLRunLoopWakeUp(main_loop);
    while (sem_wait(&held_main) != 0)
        ;
    RLRunLoopStop(main_loop);
    require(ask(remote, 2, "done", 0, NULL, NULL) == kRLMessagePortSuccess);
    require(ask(remote, 0, "x", 20, MODE, NULL) == kRLMessagePortSuccess);
    drop_source(source);
    sem_post(&may_continue);
}

static void ask_while_stopped(UNUSED void *info)
{
    wait_while(stop_and_let_the_reply_arrive);
    note("asked");
}

START_TEST(a_stop_that_arrives_with_the_reply_stops_the_outer_run)
{
    mode = _i ? RLSTR("other") : kRLMessagePortPrivateReplyMode;
    sem_init(&held_main, 0, 0);
    sem_init(&may_continue, 0, 0);
    run_until_stopped(ask_while_stopped);
}
END_TEST

static void stop_current_run(UNUSED void *info) { RLRunLoopStop(RLRunLoopGetCurrent()); }

/* The loop has no epoll descriptor yet, and cannot open one. */
static void ask_without_descriptors(UNUSED void *info)
{
    struct rlimit limit, none;
    require(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    require(setrlimit(RLIMIT_NOFILE, &none) == 0);
    ck_assert_int_eq(ask(remote, 0, "x", 20, MODE, NULL), kRLMessagePortTransportError);
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

START_TEST(a_stop_of_an_earlier_run_does_not_stop_a_later_one)
{
    begin_child(keep_one);
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopPerformFunction(rl, MODE, stop_current_run, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e6, false), kRLRunLoopRunStopped);
    RLRunLoopPerformFunction(rl, MODE, ask_without_descriptors, NULL);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e6, false), kRLRunLoopRunFinished);
    end_child();
}
END_TEST

static void post_to_run_outside(void) { RLRunLoopPostFunction(main_loop, MODE, stop_current, NULL); }

static void ask_while_posted(UNUSED void *info)
{
    wait_while(post_to_run_outside);
    note("asked");
}

START_TEST(work_of_the_outer_run_is_not_done_while_a_reply_is_awaited)
{
    mode = kRLMessagePortPrivateReplyMode;
    run_until_stopped(ask_while_posted);
}
END_TEST

static void *invalidate_when_waiting(UNUSED void *info)
{
    await_waiting(main_loop);
    RLMessagePortInvalidate(remote);
    return NULL;
}

START_TEST(invalidation_ends_the_wait_for_a_reply)
{
    pthread_t thread;
    mode = _i ? MODE : kRLMessagePortPrivateReplyMode;
    ck_assert_int_eq(pthread_create(&thread, NULL, invalidate_when_waiting, NULL), 0);
    ck_assert_int_eq(ask(remote, 1, "x", 1e9, mode, NULL), kRLMessagePortBecameInvalidError);
    pthread_join(thread, NULL);
}
END_TEST

static void *kill_when_waiting(UNUSED void *info)
{
    await_waiting(main_loop);
    kill(child, SIGKILL);
    return NULL;
}

START_TEST(death_of_the_server_ends_the_wait_for_a_reply)
{
    pthread_t thread;
    mode = _i ? MODE : kRLMessagePortPrivateReplyMode;
    ck_assert_int_eq(pthread_create(&thread, NULL, kill_when_waiting, NULL), 0);
    ck_assert_int_eq(ask(remote, 1, "x", 1e9, mode, NULL), kRLMessagePortBecameInvalidError);
    pthread_join(thread, NULL);
    ck_assert(!RLMessagePortIsValid(remote));
}
END_TEST

START_TEST(the_deadline_ends_the_wait_for_a_reply)
{
    RLDataRef reply = NULL;
    mode = _i ? MODE : kRLMessagePortPrivateReplyMode;
    double before = monotonic_seconds();
    ck_assert_int_eq(ask(remote, 1, "x", 0.02, mode, NULL), kRLMessagePortReceiveTimeout);
    ck_assert(monotonic_seconds() - before >= 0.02);
    /* The reply to the first request arrives now, and is ignored. */
    ck_assert_int_eq(ask(remote, 2, "y", 20, mode, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "y"));
    RLRelease(reply);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-alone");
    TCase *tcase = add_case(suite, "alone", 60);
    tcase_add_checked_fixture(tcase, begin, end_child);
    tcase_add_loop_test(tcase, events_are_handled_while_a_reply_is_awaited, 0,
                        2 * (int)(sizeof actions / sizeof *actions));
    tcase_add_loop_test(tcase, a_stop_while_a_reply_is_awaited_stops_the_outer_run, 0, 2);
    tcase_add_loop_test(tcase, a_stop_that_arrives_with_the_reply_stops_the_outer_run, 0, 2);
    tcase_add_test(tcase, work_of_the_outer_run_is_not_done_while_a_reply_is_awaited);
    tcase_add_loop_test(tcase, invalidation_ends_the_wait_for_a_reply, 0, 2);
    tcase_add_loop_test(tcase, death_of_the_server_ends_the_wait_for_a_reply, 0, 2);
    tcase_add_loop_test(tcase, the_deadline_ends_the_wait_for_a_reply, 0, 2);
    tcase_add_test(add_case(suite, "stale", 60), a_stop_of_an_earlier_run_does_not_stop_a_later_one);
    return suite;
}
