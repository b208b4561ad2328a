/* Checks that large payloads of a client that has used up its memory wait for nothing else, and nothing else for them. */
#include "message-port-payload.h"

/* ---- several loops serve the port ---- */

enum { LOOPS = 9, SENDERS = 3, ENOUGH = 4000, FEW = 2, ROUNDS = 40, AT_ONCE = 60 };

static atomic_bool is_over;

static void *serve_too(UNUSED void *info)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server.source, MODE);
    while (!is_over)
        RLRunLoopRunInMode(MODE, 0.05, false);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), server.source, MODE);
    return NULL;
}

static RLDataRef count_call(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    atomic_fetch_add(&calls, 1);
    return NULL;
}

/* Sends payload after payload on several connections, for which there is only the exemption. */
static void hold_and_send(void)
{
    struct payload payloads[SENDERS];
    struct pollfd room[SENDERS];
    hold_memory(false);
    for (int index = 0; index < SENDERS; index++) {
        payloads[index] = payload_of((size_t)(100 + 7 * index) * 1024);
        payloads[index].id = 0;
        room[index] = (struct pollfd){payloads[index].fd, POLLOUT, 0};
    }
    for (;; poll(room, SENDERS, -1))
        for (int index = 0; index < SENDERS; index++) {
            struct payload *payload = &payloads[index];
            send_up_to(payload, payload->length);
            if (payload->sent == payload->length) {
                payload->sent = 0;
                payload->has_begun = false;
            }
        }
}

/* Each connection sends a few payloads, one that has to wait, the notice that it will not follow, and a request with a reply. */
static int send_one_after_the_other(void)
{
    struct payload payload = payload_of(INLINE_LIMIT + 1);
    struct head abandoned = {.magic = MAGIC, .kind = ABANDONED, .deadline = ~0ull}, asking = request(0, INLINE);
    payload.id = 0;
    for (int count = 0; count < FEW; count++, payload.has_begun = false, payload.sent = 0)
        push_up_to(&payload, payload.length);
    payload.length = 1200000000;
    push_up_to(&payload, 1000);
    throw_packet(payload.fd, &abandoned, sizeof abandoned, NULL, 0);
    throw_packet(payload.fd, &asking, sizeof asking, NULL, 0);
    return payload.fd;
}

static void send_rounds(void)
{
    for (int round = 0; round < SCALED(ROUNDS); round++) {
        struct pollfd replies[AT_ONCE];
        struct payload exempt = payload_of(1500000000);
        push_up_to(&exempt, MEGABYTE);
        for (int index = 0; index < AT_ONCE; index++)
            replies[index] = (struct pollfd){send_one_after_the_other(), POLLIN, 0};
        push_up_to(&exempt, 3 * MEGABYTE);
        close(exempt.fd);
        for (int index = 0; index < AT_ONCE; index++) {
            child_assert(poll(&replies[index], 1, 20000) == 1);
            close(replies[index].fd);
        }
    }
    _exit(0);
}

static void start_loops(pthread_t *threads)
{
    for (int index = 0; index < LOOPS - 1; index++)
        threads[index] = start_thread(serve_too, NULL);
}

static void end_loops(pthread_t *threads)
{
    is_over = true;
    for (int index = 0; index < LOOPS - 1; index++)
        join_thread(threads[index]);
}

/* A loop that is late to release the memory of a payload leaves the next one alone, which another loop receives meanwhile. */
START_TEST(several_loops_receive_payloads_one_after_the_other)
{
    pthread_t threads[LOOPS - 1];
    int status = -1;
    begin_with_peer(0, echo);
    start_loops(threads);
    pid_t child = fork_child();
    if (child == 0)
        send_rounds();
    while (waitpid(child, &status, WNOHANG) == 0)
        RLRunLoopRunInMode(MODE, 0.05, false);
    ck_assert_int_eq(status, 0);
    end_loops(threads);
    ck_assert_int_eq(take_diagnostics(), 0);
    finish();
}
END_TEST

START_TEST(several_loops_leave_none_waiting)
{
    pthread_t threads[LOOPS - 1];
    begin_with_peer(0, count_call);
    start_loops(threads);
    pid_t child = fork_child();
    if (child == 0)
        hold_and_send();
    while (calls < SCALED(ENOUGH))
        RLRunLoopRunInMode(MODE, 0.05, false);
    end_process(child, SIGKILL);
    end_loops(threads);
    ck_assert_int_eq(take_diagnostics(), 0);
    finish();
}
END_TEST

/* ---- other payloads of the process ---- */

/* There is memory for the small payload, but not enough for the large one, which waits. */
START_TEST(a_small_payload_does_not_wait_for_a_large_one)
{
    begin_with_peer(0, echo);
    struct payload exempt = payload_of(1500000000), ends = payload_of(31 * MEGABYTE);
    struct payload large = payload_of(64 * MEGABYTE), small = payload_of(2 * MEGABYTE);
    send_all_up_to(&exempt, 70 * MEGABYTE);
    send_all_up_to(&ends, 20 * MEGABYTE);
    ck_assert(!send_until_it_waits(&large));
    ck_assert(send_until_it_waits(&small));
    ck_assert(!send_until_it_waits(&large));
    send_all_up_to(&ends, ends.length);
    ck_assert(send_until_it_waits(&large));
    ck_assert_int_eq(calls, 3);
    finish();
}
END_TEST

/* ---- other requests on the same connection ---- */

static void serve_nothing(int ready)
{
    struct server silent;
    serve(&silent, RLSTR("com.example.silent"), echo, NULL);
    say_ready(ready);
    pause();
}

/* The small requests were sent before the large one that waits. If _i is 1, they are received while the server's thread waits to
 * send, before its loop can deliver them. */
START_TEST(earlier_requests_do_not_wait)
{
    enum { EARLIER = 3 };
    static uint8_t bytes[4 * MEGABYTE];
    int ready;
    begin_with_peer(0, echo);
    hold_memory(true);
    struct payload payload = payload_of(MEGABYTE);
    turn();
    pid_t silent = start_server_process(serve_nothing, &ready);
    struct head head = request(0, INLINE);
    head.id = 0;
    for (int count = 0; count < EARLIER; count++)
        throw_packet(payload.fd, &head, sizeof head, NULL, 0);
    send_up_to(&payload, 2 * PIECE_SIZE);
    if (_i == 1) {
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, RLSTR("com.example.silent"));
        RLDataRef large = RLDataCreateWithBytesNoCopy(NULL, bytes, sizeof bytes, kRLAllocatorNull);
        ck_assert_int_eq(RLMessagePortSendRequest(remote, 0, large, 0.1, 0, NULL, NULL), kRLMessagePortSendTimeout);
        ck_assert_int_eq(calls, 0);
        RLRelease(large);
        RLRelease(remote);
    }
    while (calls < EARLIER)
        RLRunLoopRunInMode(MODE, 0.05, true);
    end_process(silent, SIGKILL);
    close(ready);
    finish();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-memory");
    TCase *tcase = add_case(suite, "memory", 60);
    tcase_add_test(tcase, several_loops_leave_none_waiting);
    tcase_add_test(tcase, several_loops_receive_payloads_one_after_the_other);
    tcase_add_test(tcase, a_small_payload_does_not_wait_for_a_large_one);
    tcase_add_loop_test(tcase, earlier_requests_do_not_wait, 0, 2);
    return suite;
}
