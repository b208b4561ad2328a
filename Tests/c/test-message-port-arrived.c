/* Checks that replies reach the callbacks of requests that were sent: if the server has ended since, and the port is used before
 * the loop runs, by one thread or by several; and if the program releases the port. */
#include "message-port-child.h"
#include <math.h>

enum { REQUESTS = 5 };
enum { ONE_WAY, PRIVATELY, ASYNC, CREATE, USES };

static int results[REQUESTS], called, asked;

static RLDataRef answer_and_end(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    if (++asked == REQUESTS)
        RLRunLoopStop(RLRunLoopGetCurrent());
    return RLRetain(data);
}

static void note_result(UNUSED RLMessagePortRef port, int32_t result, RLDataRef reply, UNUSED void *info)
{
    ck_assert(called < REQUESTS);
    ck_assert(result != kRLMessagePortSuccess || is_text(reply, "text"));
    results[called++] = result;
}

static void ask_all(void)
{
    RLDataRef data = text_data("text");
    for (int index = 0; index < REQUESTS; index++)
        ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, index, data, 20, 20, MODE, note_result, NULL),
                         kRLMessagePortSuccess);
    RLRelease(data);
}

static void expect_all_replies(void)
{
    while (called < REQUESTS)
        RLRunLoopRunInMode(MODE, 1, true);
    for (int index = 0; index < REQUESTS; index++)
        ck_assert_int_eq(results[index], kRLMessagePortSuccess);
}

static void ignore(UNUSED RLMessagePortRef port, UNUSED int32_t result, UNUSED RLDataRef reply, UNUSED void *info) {}

static void use_port(int use)
{
    int32_t result = kRLMessagePortIsInvalid;
    if (use == ONE_WAY)
        result = ask(remote, 1, "text", 20, NULL, NULL);
    if (use == PRIVATELY)
        result = ask(remote, 1, "text", 20, kRLMessagePortPrivateReplyMode, NULL);
    if (use == ASYNC)
        result = RLMessagePortSendRequestAsync(remote, 1, NULL, 20, 20, MODE, ignore, NULL);
    if (use == CREATE)
        ck_assert_ptr_null(RLMessagePortCreateRemote(NULL, NAME));
    ck_assert_int_eq(result, kRLMessagePortIsInvalid);
}

START_TEST(replies_of_a_server_that_has_ended_survive_the_use_of_the_port)
{
    begin_child(answer_and_end);
    ask_all();
    end_process(child, 0);
    child = 0;
    use_port(_i);
    ck_assert(!RLMessagePortIsValid(remote));
    expect_all_replies();
    end_child();
}
END_TEST

enum { THREADS = 4, ROUNDS = 100 };

static pthread_barrier_t together;

static void *use_together(void *seconds)
{
    pthread_barrier_wait(&together);
    double before = monotonic_seconds();
    require(ask(remote, 1, "text", 20, NULL, NULL) == kRLMessagePortIsInvalid);
    *(double *)seconds = monotonic_seconds() - before;
    return NULL;
}

/* Returns how long the slowest of the threads has taken. The loop runs meanwhile or, unless `runs_loop`, afterwards. */
static double use_by_threads(bool runs_loop)
{
    pthread_t threads[THREADS];
    double seconds[THREADS], slowest = 0;
    pthread_barrier_init(&together, NULL, THREADS + runs_loop);
    for (int index = 0; index < THREADS; index++)
        threads[index] = start_thread(use_together, &seconds[index]);
    if (runs_loop) {
        pthread_barrier_wait(&together);
        expect_all_replies();
    }
    for (int index = 0; index < THREADS; index++) {
        join_thread(threads[index]);
        slowest = fmax(slowest, seconds[index]);
    }
    pthread_barrier_destroy(&together);
    return slowest;
}

/* Each of the threads may be the one that receives a reply, or the one that finds that there are no more. None of them should
 * take the tenth of a second that is the limit if the server is not gone. */
START_TEST(replies_of_a_server_that_has_ended_survive_threads_that_use_the_port_together)
{
    int slow_rounds = 0;
    for (int round = 0; round < ROUNDS; round++) {
        begin_child(answer_and_end);
        called = 0;
        ask_all();
        end_process(child, 0);
        child = 0;
        slow_rounds += use_by_threads(_i) > 0.09;
        expect_all_replies();
        end_child();
    }
    ck_assert_int_lt(slow_rounds, ROUNDS / 2);
}
END_TEST

static void use_in_timer(UNUSED RLRunLoopTimerRef timer, UNUSED void *info)
{
    end_process(child, 0);
    child = 0;
    use_port(ONE_WAY);
}

/* The port is used while a thread waits for its reply. */
START_TEST(a_reply_of_a_server_that_has_ended_survives_a_timer_that_uses_the_port)
{
    RLDataRef reply = NULL;
    begin_child(answer_and_end);
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent(), 0, use_in_timer, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    for (int index = 1; index < REQUESTS; index++)
        ck_assert_int_eq(ask(remote, 1, "text", 20, NULL, NULL), kRLMessagePortSuccess);
    ck_assert_int_eq(ask(remote, 1, "text", 20, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "text"));
    RLRelease(reply);
    drop_timer(timer);
    end_child();
}
END_TEST

/* The request keeps the port until its callback has returned. */
START_TEST(a_request_with_a_callback_retains_the_port)
{
    begin_child(answer_and_end);
    ask_all();
    ck_assert_int_eq(RLGetRetainCount(remote), 1 + REQUESTS);
    RLRelease(remote);
    expect_all_replies();
    remote = NULL;
    end_process(child, 0);
    child = 0;
    end_child();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-arrived");
    TCase *tcase = add_case(suite, "arrived", 60);
    tcase_add_loop_test(tcase, replies_of_a_server_that_has_ended_survive_the_use_of_the_port, 0, USES);
    tcase_add_loop_test(tcase, replies_of_a_server_that_has_ended_survive_threads_that_use_the_port_together, 0, 2);
    tcase_add_test(tcase, a_reply_of_a_server_that_has_ended_survives_a_timer_that_uses_the_port);
    tcase_add_test(tcase, a_request_with_a_callback_retains_the_port);
    return suite;
}
