/* Checks that replies which wait for room, because their client does not read, are freed once they have been sent, or can never
 * be sent. */
#include "message-port.h"

enum { REQUESTS = 400, LARGE = 80000 };

static int handled;
static int has_sent[2], may_read[2];

static RLDataRef answer_large(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data,
                              UNUSED void *info)
{
    static const uint8_t bytes[LARGE];
    handled++;
    return RLDataCreate(NULL, bytes, sizeof bytes);
}

static void count_reply(UNUSED RLMessagePortRef port, int32_t result, RLDataRef reply, void *info)
{
    require(result == kRLMessagePortSuccess && RLDataGetLength(reply) == LARGE);
    ++*(int *)info;
}

static void write_byte(int fd) { require(write(fd, "x", 1) == 1); }
static void await_byte(int fd)
{
    char byte;
    require(read(fd, &byte, 1) == 1);
}

/* Sends requests without reading, until the server has no room for replies and stops reading as well. Reports how many these
 * were, and reads when it is told to. */
static void ask_many(void)
{
    int replies = 0, sent = 0;
    RLMessagePortRef port = RLMessagePortCreateRemote(NULL, NAME);
    require(port != NULL);
    while (sent < REQUESTS &&
           RLMessagePortSendRequestAsync(port, 1, NULL, 0.5, HUGE_VAL, MODE, count_reply, &replies) == 0)
        sent++;
    require(write(has_sent[1], &sent, sizeof sent) == sizeof sent);
    await_byte(may_read[0]);
    while (replies < sent)
        RLRunLoopRunInMode(MODE, 20, true);
    _exit(0);
}

/* The descriptor of a version-1 source that notices when the client writes or ends. */
static int client_end(void *info) { return *(int *)info; }

START_TEST(queued_replies_are_freed)
{
    struct server server;
    serve(&server, NAME, answer_large, NULL);
    require(pipe2(has_sent, O_CLOEXEC) == 0 && pipe2(may_read, O_CLOEXEC) == 0);
    RLRunLoopSourceRef source = make_port_source(0, client_end, stop_current, &has_sent[0]);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    RLRunLoopRunInMode(MODE, 0, false);
    int descriptors = open_descriptors();

    pid_t client = fork_child();
    if (client == 0)
        ask_many();
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 20, false), kRLRunLoopRunStopped);
    int sent;
    require(read(has_sent[0], &sent, sizeof sent) == sizeof sent);
    for (int before = -1; before < handled;) {
        before = handled;
        RLRunLoopRunInMode(MODE, 0, false);
    }
    /* Some requests are unread, so some replies are waiting. */
    ck_assert_int_lt(handled, sent);
    ck_assert_int_le(open_descriptors(), descriptors + 1);
    if (_i)
        kill(client, SIGKILL);
    else
        write_byte(may_read[1]);
    while (waitpid(client, NULL, WNOHANG) == 0)
        RLRunLoopRunInMode(MODE, 0.005, false);
    if (_i == 0)
        ck_assert_int_eq(handled, sent);
    /* What the client had sent is still handled, one request per pass. */
    for (int pass = 0; pass < 2000 && open_descriptors() != descriptors; pass++)
        RLRunLoopRunInMode(MODE, 0.001, false);
    ck_assert_int_eq(open_descriptors(), descriptors);
    drop_source(source);
    end_server(&server);
    close_pipe(has_sent);
    close_pipe(may_read);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-waiting-replies");
    TCase *tcase = add_case(suite, "replies", 30);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_loop_test(tcase, queued_replies_are_freed, 0, 2);
    return suite;
}
