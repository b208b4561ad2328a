/* Checks processes that are killed at any moment: no name stays taken, no thread waits for a dead process, and no file is left
 * behind. */
#include "message-port.h"

static RLDataRef echo(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    return RLRetain(data);
}

static void wait_some(unsigned *seed, unsigned limit_microseconds)
{
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += (long)((unsigned)rand_r(seed) % (limit_microseconds * 1000));
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec);
}

static void serve_forever(int claimed)
{
    for (;;) {
        /* Claims the name, serves for a moment and releases it, again and again; is killed at any of these steps. */
        struct server server = {0};
        RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, echo, NULL, NULL);
        if (port == NULL)
            continue;
        require(write(claimed, "", 1) == 1);
        server.port = port;
        server.source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), server.source, MODE);
        RLRunLoopRunInMode(MODE, 0.0005, false);
        end_server(&server);
    }
}

START_TEST(a_server_killed_at_any_moment_frees_its_name)
{
    unsigned seed = 7;
    int asked = 0, connected = 0;
    for (int round = 0; round < SCALED(1000); round++) {
        int claims[2];
        char byte;
        ck_assert_int_eq(pipe(claims), 0);
        pid_t child = fork_child();
        if (child == 0) {
            serve_forever(claims[1]);
            _exit(1);
        }
        if (round % 4 == 1) /* waits for the claim, however long that takes */
            ck_assert_int_eq(read(claims[0], &byte, 1), 1);
        wait_some(&seed, 1500);
        if (round % 2) { /* a client sends a request meanwhile, and receives a reply or an error */
            RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
            if (remote == NULL)
                ck_assert_int_eq(errno, ECONNREFUSED);
            if (remote != NULL) {
                connected++;
                RLMessagePortSendRequest(remote, 1, NULL, 0, 0, NULL, NULL);
                kill(child, SIGKILL);
                int32_t result = ask(remote, 1, "x", 30, MODE, NULL);
                ck_assert(result == kRLMessagePortSuccess || result == kRLMessagePortIsInvalid ||
                          result == kRLMessagePortBecameInvalidError);
                asked += result == kRLMessagePortSuccess;
                RLRelease(remote);
            }
        }
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        close(claims[0]);
        close(claims[1]);
        ck_assert_ptr_null(RLMessagePortCreateRemote(NULL, NAME));
        ck_assert_int_eq(errno, ECONNREFUSED);
        RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, echo, NULL, NULL);
        ck_assert_msg(port != NULL, "round %d: %s", round, strerror(errno));
        RLRelease(port);
        ck_assert_int_eq(name_files(), 0);
    }
    ck_assert_int_gt(connected, 0);
    (void)asked;
}
END_TEST

/* Processes claim the same name again and again, and are killed: no two of them ever have it at the same time. */
static void contend(int fd)
{
    for (;;) {
        RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, echo, NULL, NULL);
        if (port == NULL) {
            child_assert(errno == EADDRINUSE);
            continue;
        }
        /* A file lock of another kind shows whether another process has the name, too. */
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        child_assert(fcntl(fd, F_SETLK, &lock) == 0);
        lock.l_type = F_UNLCK;
        child_assert(fcntl(fd, F_SETLK, &lock) == 0);
        RLRelease(port);
    }
}

START_TEST(a_contended_name_has_one_owner)
{
    unsigned seed = 11;
    char path[128];
    snprintf(path, sizeof path, "%s/witness", name_directory);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    for (int round = 0; round < SCALED(200); round++) {
        pid_t children[3];
        for (int index = 0; index < 3; index++) {
            children[index] = fork_child();
            if (children[index] == 0) {
                contend(fd);
                _exit(1);
            }
        }
        wait_some(&seed, 3000);
        for (int index = 0; index < 3; index++) {
            kill(children[index], SIGKILL);
            end_process(children[index], SIGKILL);
        }
    }
    close(fd);
    unlink(path);
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, echo, NULL, NULL);
    ck_assert_ptr_nonnull(port);
    RLRelease(port);
}
END_TEST

/* ---- a client that has not noticed the death of its server ---- */

static void serve_until_killed(int ready)
{
    struct server server;
    serve(&server, NAME, echo, NULL);
    say_ready(ready);
    RLRunLoopRun();
}

static int ends, replies;

static void count_end(UNUSED RLMessagePortRef port, UNUSED void *info) { ends++; }
static void count_reply(UNUSED RLMessagePortRef port, UNUSED int32_t result, UNUSED RLDataRef reply, UNUSED void *info)
{
    replies++;
}

/* Starts a server process that answers, and connects to it. */
static RLMessagePortRef connect_to_new(pid_t *child)
{
    int ready;
    *child = start_server_process(serve_until_killed, &ready);
    close(ready);
    RLMessagePortRef port = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_nonnull(port);
    RLMessagePortSetInvalidationCallBack(port, count_end);
    ck_assert_int_eq(ask(port, 1, "x", 30, kRLMessagePortPrivateReplyMode, NULL), kRLMessagePortSuccess);
    return port;
}

static int32_t ask_without_reply(RLMessagePortRef port) { return ask(port, 1, "x", 30, NULL, NULL); }
static int32_t ask_and_wait(RLMessagePortRef port) { return ask(port, 1, "x", 30, MODE, NULL); }
static int32_t ask_alone(RLMessagePortRef port) { return ask(port, 1, "x", 30, kRLMessagePortPrivateReplyMode, NULL); }
static int32_t ask_async(RLMessagePortRef port)
{
    return RLMessagePortSendRequestAsync(port, 1, NULL, 1, 30, MODE, count_reply, NULL);
}

static int32_t (*const ways[])(RLMessagePortRef) = {ask_without_reply, ask_and_wait, ask_alone, ask_async};

/* The result is not "the server went away before replying", so the request may safely be sent to another server. */
START_TEST(request_to_a_dead_server_was_not_sent)
{
    pid_t child;
    RLMessagePortRef port = connect_to_new(&child);
    end_process(child, SIGKILL);
    ends = replies = 0;
    ck_assert_int_eq(ways[_i](port), kRLMessagePortIsInvalid);
    ck_assert(!RLMessagePortIsValid(port));
    ck_assert_int_eq(ends, 1);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 0, false), kRLRunLoopRunFinished);
    ck_assert_int_eq(replies, 0);
    ck_assert_int_eq(ways[_i](port), kRLMessagePortIsInvalid);
    RLRelease(port);
}
END_TEST

START_TEST(a_new_remote_port_reaches_the_new_server)
{
    pid_t child;
    RLMessagePortRef port = connect_to_new(&child);
    ck_assert_ptr_eq(RLMessagePortCreateRemote(NULL, NAME), port);
    RLRelease(port);
    end_process(child, SIGKILL);
    ends = 0;
    ck_assert_ptr_null(RLMessagePortCreateRemote(NULL, NAME));
    ck_assert_int_eq(errno, ECONNREFUSED);
    ck_assert(!RLMessagePortIsValid(port));
    ck_assert_int_eq(ends, 1);
    RLRelease(port);

    port = connect_to_new(&child);
    end_process(child, SIGKILL);
    ends = 0;
    RLMessagePortRef next = connect_to_new(&child);
    ck_assert_ptr_ne(next, port);
    ck_assert_int_eq(ends, 1);
    RLRelease(port);
    RLRelease(next);
    end_process(child, SIGKILL);
}
END_TEST

/* Two processes send each other requests, and answer while they wait. */
static RLMessagePortRef other;
static int other_is_done;
enum { DONE = -1 };

static RLDataRef ask_back(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    char text[16];
    if (id == DONE)
        other_is_done = 1;
    if (id > 0)
        require(ask(other, id - 1, "", 30, MODE, NULL) == kRLMessagePortSuccess);
    snprintf(text, sizeof text, "%d", id);
    return text_data(text);
}

static RLMessagePortRef connect_to(RLStringRef name)
{
    RLMessagePortRef port = NULL;
    while (port == NULL)
        port = RLMessagePortCreateRemote(NULL, name);
    return port;
}

static void mutual(RLStringRef own, RLStringRef theirs, int rounds)
{
    struct server server;
    serve(&server, own, ask_back, NULL);
    other = connect_to(theirs);
    for (int round = 0; round < rounds; round++)
        require(ask(other, round % 5, "", 30, MODE, NULL) == kRLMessagePortSuccess);
    require(ask(other, DONE, "", 30, MODE, NULL) == kRLMessagePortSuccess);
    /* Serves until the other side reports that it is done; after that, the other side may be gone before it answers. */
    while (!other_is_done)
        require(ask(other, 0, "", 30, MODE, NULL) == kRLMessagePortSuccess || other_is_done);
    RLRelease(other);
    end_server(&server);
}

START_TEST(mutual_requests_do_not_block_each_other)
{
    pid_t child = fork_child();
    if (child == 0) {
        mutual(RLSTR("left"), RLSTR("right"), 200);
        _exit(0);
    }
    mutual(RLSTR("right"), RLSTR("left"), 200);
    end_process(child, 0);
    ck_assert_int_eq(name_files(), 0);
}
END_TEST

static int may_run[2], replies;
static int32_t results[4];

static RLDataRef die_at_second(UNUSED RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    if (id == 2)
        raise(SIGKILL);
    return RLRetain(data);
}

static void serve_when_released(int ready)
{
    struct server server;
    char byte;
    serve(&server, NAME, die_at_second, NULL);
    say_ready(ready);
    require(read(may_run[0], &byte, 1) == 1);
    RLRunLoopRun();
}

static void keep_result(UNUSED RLMessagePortRef port, int32_t result, UNUSED RLDataRef reply, void *info)
{
    results[(intptr_t)info] = result;
    replies++;
}

/* The third request is not read, so the kernel reports that the connection was reset before it delivers the reply that has
 * arrived. */
START_TEST(reply_arrives_although_the_server_died_since)
{
    int ready;
    siginfo_t end;
    ck_assert_int_eq(pipe(may_run), 0);
    pid_t child = start_server_process(serve_when_released, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_nonnull(remote);
    for (intptr_t id = 1; id <= 3; id++)
        ck_assert_int_eq(
            RLMessagePortSendRequestAsync(remote, (int32_t)id, NULL, 20, 1e9, MODE, keep_result, (void *)id), 0);
    ck_assert_int_eq(write(may_run[1], "x", 1), 1);
    ck_assert_int_eq(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
    while (replies < 3)
        RLRunLoopRunInMode(MODE, 1e10, true);
    ck_assert_int_eq(results[1], kRLMessagePortSuccess);
    ck_assert_int_eq(results[2], kRLMessagePortBecameInvalidError);
    ck_assert_int_eq(results[3], kRLMessagePortBecameInvalidError);
    end_process(child, SIGKILL);
    RLRelease(remote);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-crash");
    TCase *tcase = add_case(suite, "crash", 120);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_test(tcase, a_server_killed_at_any_moment_frees_its_name);
    tcase_add_test(tcase, a_contended_name_has_one_owner);
    tcase_add_loop_test(tcase, request_to_a_dead_server_was_not_sent, 0, (int)(sizeof ways / sizeof *ways));
    tcase_add_test(tcase, a_new_remote_port_reaches_the_new_server);
    tcase_add_test(tcase, reply_arrives_although_the_server_died_since);
    tcase_add_test(tcase, mutual_requests_do_not_block_each_other);
    return suite;
}
