/* Checks large payloads of one client that together exceed its share of the server's memory: each of them arrives, whatever the
 * client sends after it. */
#include "message-port-payload.h"

/* More than the share of a process that is the only client. */
enum { LARGE = 60 * MEGABYTE, GREEDY = 2, MOST_BEFORE = 10 };

static int greedy_calls;
static bool has_come;

static RLDataRef note_payload(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    if (RLDataGetLength(data) == LARGE)
        greedy_calls++;
    else
        has_come = true;
    return NULL;
}

/* One connection sends one payload. Older connections send payloads again and again, so that one of theirs is always waiting. */
static void send_beside_greedy(void)
{
    struct payload payloads[GREEDY + 1];
    struct pollfd room[GREEDY + 1];
    for (int index = 0; index <= GREEDY; index++) {
        payloads[index] = payload_of(index < GREEDY ? LARGE : LARGE + 1);
        room[index] = (struct pollfd){payloads[index].fd, POLLOUT, 0};
    }
    for (int count = GREEDY + 1;; poll(room, (nfds_t)count, -1)) {
        for (int index = 0; index < count; index++) {
            send_up_to(&payloads[index], payloads[index].length);
            if (payloads[index].sent < payloads[index].length)
                continue;
            payloads[index].sent = 0;
            payloads[index].has_begun = false;
            if (index == GREEDY)
                count--;
        }
    }
}

START_TEST(all_large_payloads_of_one_client_arrive)
{
    use_own_directory();
    peer_user = _i ? OTHER_USER : 0;
    greedy_calls = 0;
    has_come = false;
    serve_peers(note_payload);
    pid_t client = fork_child();
    if (client == 0)
        send_beside_greedy();
    while (!has_come && greedy_calls <= MOST_BEFORE)
        RLRunLoopRunInMode(MODE, 0.05, true);
    ck_assert(has_come);
    end_process(client, SIGKILL);
    finish();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-turns");
    TCase *tcase = add_case(suite, "turns", 60);
    tcase_add_loop_test(tcase, all_large_payloads_of_one_client_arrive, 0, peer_users());
    return suite;
}
