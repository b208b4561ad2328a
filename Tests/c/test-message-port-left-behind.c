/* Checks what clients leave behind in the server when they go away. Pieces of a large request that wait in the socket for memory:
 * they no longer wait, and are delivered if they complete the request. And requests that the server keeps. None of them holds a
 * descriptor. */
#include "message-port-payload.h"

/* Sent in pieces, and small enough to be in the socket as a whole. */
enum { SMALL = 100 * 1024 };
enum { SOON = 10 };

/* Plays `count` clients, each of which sends a part of a request, as far as it fits into the socket, and waits for memory before it
 * disconnects. Expects that they leave no descriptor behind. */
static void leave_behind(int count, size_t length, size_t part)
{
    struct payload payloads[count];
    int before = open_descriptors();
    for (int index = 0; index < count; index++) {
        payloads[index] = payload_of(length);
        send_up_to(&payloads[index], part);
        turn();
        send_up_to(&payloads[index], part);
    }
    ck_assert_int_eq(calls, 0);
    for (int index = 0; index < count; index++)
        close(payloads[index].fd);
    for (double end = monotonic_seconds() + SOON; open_descriptors() > before && monotonic_seconds() < end;)
        RLRunLoopRunInMode(MODE, 0.01, true);
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert_int_eq(take_diagnostics(), 0);
}

/* Not even for a moment does the server have memory for all of them. */
START_TEST(requests_that_cannot_be_completed_are_dropped)
{
    begin_with_peer(0, echo);
    hold_memory(true);
    long before = most_resident_megabytes();
    leave_behind(300, MEGABYTE, MEGABYTE - 1);
    if (!SANITIZED)
        ck_assert_int_lt(most_resident_megabytes() - before, 20);
    ck_assert_int_eq(calls, 0);
    expect_service();
    finish();
}
END_TEST

START_TEST(complete_requests_of_clients_that_are_gone_are_delivered)
{
    begin_with_peer(0, echo);
    hold_memory(true);
    leave_behind(20, SMALL, SMALL);
    ck_assert_int_eq(calls, 20);
    expect_service();
    finish();
}
END_TEST

/* What a client has sent before a payload that will never be complete, or after it has abandoned one, is complete. */
START_TEST(complete_requests_around_an_incomplete_one_are_delivered)
{
    enum { AROUND = 5 };
    begin_with_peer(0, echo);
    hold_memory(true);
    struct payload payload = payload_of(MEGABYTE);
    struct head small = request(0, INLINE), abandoned = {.magic = MAGIC, .kind = ABANDONED, .deadline = ~0ull};
    small.id = 0;
    for (int count = 0; count < AROUND && _i == 0; count++)
        throw_packet(payload.fd, &small, sizeof small, NULL, 0);
    send_up_to(&payload, PIECE_SIZE);
    if (_i == 1)
        throw_packet(payload.fd, &abandoned, sizeof abandoned, NULL, 0);
    for (int count = 0; count < AROUND && _i == 1; count++)
        throw_packet(payload.fd, &small, sizeof small, NULL, 0);
    close(payload.fd);
    for (double end = monotonic_seconds() + SOON; calls < AROUND && monotonic_seconds() < end;)
        RLRunLoopRunInMode(MODE, 0.01, true);
    ck_assert_int_eq(calls, AROUND);
    ck_assert_int_eq(take_diagnostics(), 0);
    finish();
}
END_TEST

/* ---- requests that were received and are kept ---- */

enum { KEPT = 20 };

static RLMessagePortRequestRef kept[KEPT];

static RLDataRef keep(RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    kept[id] = RLMessagePortCopyRequest(local);
    return NULL;
}

START_TEST(a_kept_request_of_a_client_that_is_gone_keeps_no_descriptor)
{
    begin_with_peer(0, keep);
    int before = open_descriptors();
    for (int count = 0; count < KEPT; count++) {
        struct head head = request(0, INLINE);
        int fd = plain_socket();
        greet(fd);
        head.message = count;
        throw_packet(fd, &head, sizeof head, NULL, 0);
        while (kept[count] == NULL)
            turn();
        close(fd);
    }
    for (double end = monotonic_seconds() + SOON; open_descriptors() > before && monotonic_seconds() < end;)
        RLRunLoopRunInMode(MODE, 0.01, true);
    ck_assert_int_eq(open_descriptors(), before);
    for (int count = 0; count < KEPT; count++) {
        ck_assert(RLMessagePortRequestGetRemainingTime(kept[count]) == 0);
        ck_assert(RLMessagePortRequestReply(kept[count], NULL));
        RLRelease(kept[count]);
    }
    ck_assert_int_eq(take_diagnostics(), 0);
    finish();
}
END_TEST

/* ---- requests that wait because others are kept ---- */

enum { TO_KEEP = 5, LARGE = 8 * MEGABYTE, MOST = 64 / 8, GONE = 500, DESCRIPTORS = 256 };

static int kept_count;

static RLDataRef keep_some(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    if (id != TO_KEEP)
        return echo(local, id, data, info);
    RLMessagePortRequestRef request = RLMessagePortCopyRequest(local);
    if (kept_count < KEPT)
        kept[kept_count] = request;
    kept_count++;
    return NULL;
}

static struct payload payload_to_keep(void)
{
    struct payload payload = payload_of(LARGE);
    payload.message = TO_KEEP;
    return payload;
}

/* What a process may leave with the server does not depend on how often it connects. */
START_TEST(kept_requests_of_clients_that_are_gone_count_for_their_process)
{
    begin_with_peer(0, keep_some);
    for (int count = 0; count < MOST; count++) {
        struct payload payload = payload_to_keep();
        send_all_up_to(&payload, LARGE);
        turn();
        if (count % 2)
            close(payload.fd);
    }
    ck_assert_int_eq(kept_count, MOST);
    struct payload waiting = payload_to_keep(), gone = payload_to_keep();
    ck_assert(!send_until_it_waits(&waiting));
    ck_assert(!send_until_it_waits(&gone));
    close(gone.fd);
    turn();
    ck_assert_int_eq(kept_count, MOST);
    expect_service();
    RLRelease(kept[0]);
    ck_assert(send_until_it_waits(&waiting));
    ck_assert_int_eq(kept_count, MOST + 1);
    finish();
}
END_TEST

/* It makes little difference whether a process has 64 MB of unanswered requests or a few less. All connections of the port are checked
 * when that changes, so it must not change with each request. */
START_TEST(a_process_with_too_many_unanswered_requests_waits_until_there_are_fewer)
{
    enum { LARGE_ONES = 7, SMALL_ONES = 8, NEARLY_ENOUGH = 4 };
    begin_with_peer(0, keep_some);
    for (int count = 0; count < LARGE_ONES + SMALL_ONES; count++) {
        struct payload payload = payload_to_keep();
        payload.length = count < LARGE_ONES ? LARGE : MEGABYTE;
        send_all_up_to(&payload, payload.length);
        turn();
    }
    ck_assert_int_eq(kept_count, LARGE_ONES + SMALL_ONES);
    struct payload waiting = payload_to_keep();
    for (int count = 0; count < NEARLY_ENOUGH; count++)
        RLRelease(kept[LARGE_ONES + count]);
    ck_assert(!send_until_it_waits(&waiting));
    RLRelease(kept[LARGE_ONES + NEARLY_ENOUGH]);
    ck_assert(send_until_it_waits(&waiting));
    finish();
}
END_TEST

/* Although nothing more is read from its process. */
START_TEST(a_request_that_cannot_be_completed_takes_no_memory)
{
    enum { PART = 40 * MEGABYTE };
    begin_with_peer(0, keep_some);
    struct payload incomplete = payload_of(1500000000);
    long before = resident_megabytes();
    send_all_up_to(&incomplete, PART);
    for (int count = 0; count < MOST; count++) {
        struct payload payload = payload_to_keep();
        send_all_up_to(&payload, LARGE);
        turn();
    }
    ck_assert_int_eq(kept_count, MOST);
    close(incomplete.fd);
    turn();
    if (!SANITIZED)
        ck_assert_int_lt(resident_megabytes() - before, MOST * LARGE / MEGABYTE + PART / MEGABYTE / 2);
    finish();
}
END_TEST

/* Plays a client that sends small requests, of which the server keeps the first one, and goes away. */
static void send_and_leave(int requests, int32_t second)
{
    struct head head = request(0, INLINE);
    int fd = plain_socket();
    send_hello(fd);
    for (int count = 0; count < requests; count++) {
        head.message = count == 0 ? TO_KEEP : second;
        throw_packet(fd, &head, sizeof head, NULL, 0);
    }
    close(fd);
}

/* Uses up the server's descriptors with connections to clients that are gone, and whose second request waits for the first one to
 * be answered. */
static pid_t start_to_leave_descriptors_behind(int *ends)
{
    RLMessagePortSetCapacity(server.port, 1);
    make_pipe(ends);
    pid_t hostile = fork_child();
    if (hostile != 0)
        return hostile;
    for (int count = 0; count < GONE; count++)
        send_and_leave(2, TO_KEEP);
    say_ready(ends[1]);
    pause();
    return 0;
}

/* This process has left more connections to the server than the hostile one, but all of them are closed, except for one. */
START_TEST(clients_of_the_process_that_has_most_are_disconnected)
{
    int ends[2];
    begin_with_peer(0, keep_some);
    RLMessagePortSetCapacity(server.port, 1);
    for (int count = 0; count < GONE; count++) {
        send_and_leave(1, 0);
        turn();
    }
    send_and_leave(2, 1);
    turn();
    ck_assert_int_eq(kept_count, GONE + 1);
    pid_t hostile = start_to_leave_descriptors_behind(ends);
    rlim_t limit = limit_descriptors(DESCRIPTORS);
    turn_until_ready(ends[0]);
    ck_assert_int_gt(take_diagnostics(), 0);
    end_process(hostile, SIGKILL);
    ck_assert_int_eq(calls, 0);
    RLMessagePortSetCapacity(server.port, 2);
    for (double end = monotonic_seconds() + SOON; calls == 0 && monotonic_seconds() < end;)
        turn();
    ck_assert_int_eq(calls, 1);
    take_diagnostics();
    limit_descriptors(limit);
    close_pipe(ends);
    finish();
}
END_TEST

START_TEST(clients_that_are_gone_are_disconnected_when_descriptors_run_out)
{
    int ends[2];
    begin_with_peer(_i, keep_some);
    pid_t hostile = start_to_leave_descriptors_behind(ends);
    rlim_t limit = limit_descriptors(DESCRIPTORS);
    turn_until_ready(ends[0]);
    int diagnostics = take_diagnostics();
    for (int round = 0; round < 3; round++)
        expect_service_of(limit);
    end_process(hostile, SIGKILL);
    /* One for each that was disconnected. */
    ck_assert(diagnostics > 0 && diagnostics + take_diagnostics() <= GONE);
    limit_descriptors(limit);
    close_pipe(ends);
    finish();
}
END_TEST

static bool is_connected(int fd) { return recv(fd, (char[1]){0}, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN; }

/* Even then, a client that has just been accepted has time to send its first packet. */
START_TEST(a_new_client_is_not_disconnected_for_the_next_one)
{
    int ends[2], survived = 0;
    begin_with_peer(0, keep_some);
    pid_t hostile = start_to_leave_descriptors_behind(ends);
    rlim_t limit = limit_descriptors(DESCRIPTORS);
    turn_until_ready(ends[0]);
    /* On a slow machine its time may be over when the next one comes. */
    for (int tries = 0; tries < 20 && survived == 0; tries++) {
        limit_descriptors(limit);
        int first = plain_socket(), second = plain_socket();
        limit_descriptors(DESCRIPTORS);
        turn();
        survived += is_connected(first) && is_connected(second);
        RLRunLoopRunInMode(MODE, 0.1, false);
    }
    ck_assert_int_eq(survived, 1);
    end_process(hostile, SIGKILL);
    take_diagnostics();
    limit_descriptors(limit);
    close_pipe(ends);
    finish();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-left-behind");
    TCase *tcase = add_case(suite, "left-behind", 60);
    tcase_add_test(tcase, requests_that_cannot_be_completed_are_dropped);
    tcase_add_test(tcase, complete_requests_of_clients_that_are_gone_are_delivered);
    tcase_add_loop_test(tcase, complete_requests_around_an_incomplete_one_are_delivered, 0, 2);
    tcase_add_test(tcase, a_kept_request_of_a_client_that_is_gone_keeps_no_descriptor);
    tcase_add_test(tcase, kept_requests_of_clients_that_are_gone_count_for_their_process);
    tcase_add_test(tcase, a_process_with_too_many_unanswered_requests_waits_until_there_are_fewer);
    tcase_add_test(tcase, a_request_that_cannot_be_completed_takes_no_memory);
    tcase_add_loop_test(tcase, clients_that_are_gone_are_disconnected_when_descriptors_run_out, 0, peer_users());
    tcase_add_test(tcase, clients_of_the_process_that_has_most_are_disconnected);
    tcase_add_test(tcase, a_new_client_is_not_disconnected_for_the_next_one);
    return suite;
}
