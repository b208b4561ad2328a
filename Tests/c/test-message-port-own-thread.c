/* Checks requests that are completed by a callback on the thread that waits for the reply, in each step of a pass: the wait ends
 * immediately. If the loop goes to sleep instead, a test hangs until its time limit. */
#include "guest.h"
#include "message-port.h"

#define OTHER_MODE RLSTR("other")

static struct server server;
static RLMessagePortRef remote;
static RLMessagePortRequestRef kept;

static void answer(void)
{
    RLDataRef reply = text_data("late");
    require(RLMessagePortRequestReply(kept, reply));
    RLRelease(reply);
    RLRelease(kept);
    kept = NULL;
}

/* Request 1 is answered when the test says so, at the latest when request 2 arrives. */
static RLDataRef keep(RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    if (id == 1)
        kept = RLMessagePortCopyRequest(local);
    else
        answer();
    return NULL;
}

static void begin(void)
{
    use_own_directory();
    serve(&server, NAME, keep, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server.source, OTHER_MODE);
    remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_nonnull(remote);
}

static void end(void)
{
    RLRelease(remote);
    end_server(&server);
    remove_own_directory();
}

/* ---- what completes the request ---- */

static void drop(void)
{
    RLRelease(kept);
    kept = NULL;
}

static void invalidate(void)
{
    RLMessagePortInvalidate(remote);
    drop();
}

static void ask_in_turn(void) { ck_assert_int_eq(ask(remote, 2, NULL, 1e9, OTHER_MODE, NULL), kRLMessagePortSuccess); }

static void run_nested(void)
{
    ck_assert_int_eq(ask(remote, 2, NULL, 1e9, NULL, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(RLRunLoopRunInMode(OTHER_MODE, 1e9, true), kRLRunLoopRunHandledSource);
}

static const struct completion {
    void (*complete)(void);
    int32_t result;
} completions[] = {{answer, kRLMessagePortSuccess},
                   {drop, kRLMessagePortTransportError},
                   {invalidate, kRLMessagePortBecameInvalidError},
                   {ask_in_turn, kRLMessagePortSuccess},
                   {run_nested, kRLMessagePortSuccess}};

/* ---- the step in which that happens ---- */

static const struct completion *completion;

static void complete(UNUSED void *info)
{
    if (kept)
        completion->complete();
}

static void complete_in_timer(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { complete(NULL); }

/* Completes the request or, with `posts`, queues a function that does so later in the same pass, before sources are performed. */
static void act(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *posts)
{
    if (kept && posts)
        RLRunLoopPerformFunction(RLRunLoopGetCurrent(), MODE, complete, NULL);
    else
        complete(NULL);
}

static const RLOptionFlags activities[] = {kRLRunLoopBeforeTimers, kRLRunLoopBeforeTimers, kRLRunLoopBeforeSources,
                                           kRLRunLoopBeforeWaiting};

enum { COMPLETIONS = sizeof completions / sizeof *completions, STEPS = sizeof activities / sizeof *activities + 1 };

static RLRunLoopObserverRef observer;
static RLRunLoopTimerRef timer;

static void complete_in_step(int step)
{
    if (step == STEPS - 1) {
        timer = make_timer(RLAbsoluteTimeGetCurrent(), 1e-3, complete_in_timer, NULL);
        RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    } else {
        observer = make_observer(activities[step], true, 0, act, step == 0 ? &observer : NULL);
        RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, MODE);
    }
}

static void end_step(void)
{
    if (timer)
        drop_timer(timer);
    if (observer)
        drop_observer(observer);
}

/* ---- who waits ---- */

START_TEST(a_request_that_waits_ends)
{
    RLDataRef reply = NULL;
    completion = &completions[_i % COMPLETIONS];
    complete_in_step(_i / COMPLETIONS);
    ck_assert_int_eq(ask(remote, 1, NULL, 1e9, MODE, &reply), completion->result);
    ck_assert_int_eq(reply != NULL, completion->result == kRLMessagePortSuccess);
    if (reply)
        RLRelease(reply);
    end_step();
}
END_TEST

static void note_result(UNUSED RLMessagePortRef port, int32_t result, UNUSED RLDataRef reply, void *info)
{
    *(int32_t *)info = result;
    note("called");
}

START_TEST(a_request_with_a_callback_ends)
{
    int32_t result = 1;
    completion = &completions[_i % COMPLETIONS];
    complete_in_step(_i / COMPLETIONS);
    ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, 1, NULL, 1, 1e9, MODE, note_result, &result), 0);
    while (result == 1)
        ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e9, true), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(result, completion->result);
    assert_notes("called");
    end_step();
}
END_TEST

static void stop_and_answer(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, UNUSED void *info)
{
    if (!kept)
        return;
    RLRunLoopStop(RLRunLoopGetCurrent());
    answer();
}

START_TEST(a_stop_of_a_guest_that_waits_is_reported_to_its_host)
{
    prepare();
    observer = make_observer(kRLRunLoopBeforeWaiting, true, 0, stop_and_answer, NULL);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, MODE);
    ck_assert_int_eq(ask(remote, 1, NULL, 1e9, MODE, NULL), kRLMessagePortSuccess);
    prepare();
    ck_assert(readable());
    ck_assert_int_eq(dispatch(), kRLRunLoopRunStopped);
    ck_assert(!readable());
    ck_assert_int_eq(dispatch(), kRLRunLoopRunTimedOut);
    drop_observer(observer);
}
END_TEST

/* ---- a thread that ends while it waits ---- */

static void end_thread(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { pthread_exit(NULL); }

/* The request no longer waits in the mode, so the mode is empty. */
static void run_again(void *result, UNUSED RLRunLoopRef rl, UNUSED RLRunLoopMode mode)
{
    *(int32_t *)result = RLRunLoopRunInMode(OTHER_MODE, 1e9, false);
}

static void *ask_and_end(void *result)
{
    RLRunLoopSourceContext context = {.info = result, .perform = do_nothing, .cancel = run_again};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    RLRelease(source);
    RLRunLoopTimerRef end = make_timer(RLAbsoluteTimeGetCurrent(), 0, end_thread, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), end, OTHER_MODE);
    RLRelease(end);
    ask(remote, 1, NULL, 1e9, OTHER_MODE, NULL);
    return NULL;
}

START_TEST(a_request_that_ended_with_its_thread_does_not_keep_a_mode_running)
{
    int32_t result = 0;
    join_thread(start_thread(ask_and_end, &result));
    ck_assert_int_eq(result, kRLRunLoopRunFinished);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-own-thread");
    TCase *tcase = add_case(suite, "own thread", 20);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_loop_test(tcase, a_request_that_waits_ends, 0, COMPLETIONS * STEPS);
    tcase_add_loop_test(tcase, a_request_with_a_callback_ends, 0, COMPLETIONS * STEPS);
    tcase_add_test(tcase, a_stop_of_a_guest_that_waits_is_reported_to_its_host);
    tcase_add_test(tcase, a_request_that_ended_with_its_thread_does_not_keep_a_mode_running);
    return suite;
}
