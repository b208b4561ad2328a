/* Checks what clients leave behind in the server when they go away. Pieces of a large request that wait in the socket for memory:
 * if the request will never be complete, they are dropped at once; if it is complete, it is delivered when there is memory, or
 * dropped when the server has no other descriptor left. And requests that the server keeps: they hold no descriptor. */
#include "message-port-payload.h"
#include <sys/prctl.h>

/* As many payloads of 1 MB as fit into the share of one peer, and one that takes the rest of it. */
enum { HELD = 51, REST = 200 * 1024 };
/* Sent in pieces, and small enough to be in the socket as a whole. */
enum { SMALL = 100 * 1024 };
enum { SOON = 10 };

/* A payload that is exempt from the limit for as long as it is sent fast enough. */
static struct payload exempt;

static void hold_all_memory(void)
{
    for (int count = 0; count < HELD + 1; count++) {
        struct payload payload = payload_of(count < HELD ? MEGABYTE : REST);
        send_all_up_to(&payload, PIECE_SIZE);
        turn();
    }
    exempt = payload_of(1500000000);
    send_all_up_to(&exempt, PIECE_SIZE);
    turn();
}

static void keep_the_exemption(void) { send_up_to(&exempt, exempt.sent + 4 * PIECE_SIZE); }

static void leave_behind(size_t length, size_t sent)
{
    struct payload payload = payload_of(length);
    send_up_to(&payload, sent);
    require(payload.sent == sent);
    close(payload.fd);
}

START_TEST(a_request_that_cannot_be_completed_keeps_no_descriptor)
{
    enum { GONE = 60 };
    begin_with_peer(0, echo);
    hold_all_memory();
    int before = open_descriptors();
    for (int count = 0; count < GONE; count++) {
        leave_behind(MEGABYTE, PIECE_SIZE);
        turn();
        keep_the_exemption();
    }
    for (double end = monotonic_seconds() + SOON; open_descriptors() > before && monotonic_seconds() < end;) {
        RLRunLoopRunInMode(MODE, 0.01, true);
        keep_the_exemption();
    }
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert_int_eq(take_diagnostics(), 0);
    expect_service();
    finish();
}
END_TEST

START_TEST(a_complete_request_of_a_client_that_is_gone_is_delivered)
{
    enum { GONE = 20 };
    begin_with_peer(0, echo);
    hold_all_memory();
    for (int count = 0; count < GONE; count++) {
        leave_behind(SMALL, SMALL);
        turn();
        keep_the_exemption();
    }
    ck_assert_int_eq(calls, 0);
    close(exempt.fd);
    for (double end = monotonic_seconds() + SOON; calls < GONE && monotonic_seconds() < end;)
        RLRunLoopRunInMode(MODE, 0.05, true);
    ck_assert_int_eq(calls, GONE);
    ck_assert_int_eq(take_diagnostics(), 0);
    finish();
}
END_TEST

/* What a client has sent before a payload that will never be complete, or after it has abandoned one, is complete. */
START_TEST(complete_requests_around_an_incomplete_one_are_delivered)
{
    enum { AROUND = 5 };
    begin_with_peer(0, echo);
    hold_all_memory();
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
    for (double end = monotonic_seconds() + SOON; calls < AROUND && monotonic_seconds() < end; keep_the_exemption())
        RLRunLoopRunInMode(MODE, 0.01, true);
    ck_assert_int_eq(calls, AROUND);
    ck_assert_int_eq(take_diagnostics(), 0);
    finish();
}
END_TEST

/* Then a client that is still there comes first. */
START_TEST(complete_requests_of_clients_that_are_gone_are_dropped_when_descriptors_run_out)
{
    enum { GONE = 500, DESCRIPTORS = 256 };
    int ends[2];
    begin_with_peer(0, echo);
    make_pipe(ends);
    pid_t hostile = fork_child();
    if (hostile == 0) {
        hold_all_memory();
        if (fork_child() == 0) /* another process, because this one may have to wait until it can connect */
            for (prctl(PR_SET_PDEATHSIG, SIGKILL);; usleep(1000))
                keep_the_exemption();
        for (int count = 0; count < GONE; count++)
            leave_behind(SMALL, SMALL);
        say_ready(ends[1]);
        pause();
    }
    rlim_t limit = limit_descriptors(DESCRIPTORS);
    turn_until_ready(ends[0]);
    ck_assert_int_gt(take_diagnostics(), 0);
    for (int round = 0; round < 3; round++)
        expect_service_of(limit);
    end_process(hostile, SIGKILL);
    take_diagnostics();
    limit_descriptors(limit);
    close_pipe(ends);
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

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-left-behind");
    TCase *tcase = add_case(suite, "left-behind", 60);
    tcase_add_test(tcase, a_request_that_cannot_be_completed_keeps_no_descriptor);
    tcase_add_test(tcase, a_complete_request_of_a_client_that_is_gone_is_delivered);
    tcase_add_loop_test(tcase, complete_requests_around_an_incomplete_one_are_delivered, 0, 2);
    tcase_add_test(tcase, complete_requests_of_clients_that_are_gone_are_dropped_when_descriptors_run_out);
    tcase_add_test(tcase, a_kept_request_of_a_client_that_is_gone_keeps_no_descriptor);
    return suite;
}
