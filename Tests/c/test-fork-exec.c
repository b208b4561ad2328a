/* Checks fork() in a thread that never used the library, as in programs that fork only to exec: the child must reach exec,
 * whatever the other threads hold. */
#include "message-port.h"

static pid_t forked;

static void *fork_to_exec(UNUSED void *info)
{
    forked = fork();
    if (forked == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    return NULL;
}

static void assert_child_gets_to_exec(void)
{
    fflush(NULL);
    join_thread(start_thread(fork_to_exec, NULL));
    ck_assert_int_gt(forked, 0);
    end_process(forked, 0);
}

static RLDataRef answer_nothing(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data,
                                UNUSED void *info)
{
    return NULL;
}

START_TEST(a_child_reaches_exec_while_two_loops_serve_a_message_port)
{
    struct server server;
    struct looper looper;
    looper_start(&looper);
    serve(&server, NAME, answer_nothing, NULL);
    RLRunLoopAddSource(looper.loop, server.source, MODE);
    assert_child_gets_to_exec();
    end_server(&server);
    looper_stop(&looper);
}
END_TEST

static RLMessagePortRef remote;
static gate has_asked[2], may_end[2];

static void *ask_and_stay(void *number)
{
    intptr_t index = (intptr_t)number;
    RLDataRef reply = NULL;
    require(ask(remote, 1, "question", 20, MODE, &reply) == kRLMessagePortSuccess);
    if (reply)
        RLRelease(reply);
    gate_open(&has_asked[index]);
    gate_pass(&may_end[index]);
    return NULL;
}

static void serve_in_process(int ready)
{
    struct server server;
    serve(&server, NAME, answer_nothing, NULL);
    say_ready(ready);
    RLRunLoopRunInMode(MODE, 60, false);
}

START_TEST(a_child_reaches_exec_after_two_threads_used_a_remote_port)
{
    int ready;
    pthread_t threads[2];
    pid_t server = start_server_process(serve_in_process, &ready);
    remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_nonnull(remote);
    for (intptr_t i = 0; i < 2; i++) {
        gate_init(&has_asked[i]);
        gate_init(&may_end[i]);
        threads[i] = start_thread(ask_and_stay, (void *)i);
    }
    for (int i = 0; i < 2; i++)
        gate_pass(&has_asked[i]);
    assert_child_gets_to_exec();
    for (int i = 0; i < 2; i++) {
        gate_open(&may_end[i]);
        join_thread(threads[i]);
    }
    RLRelease(remote);
    end_process(server, SIGKILL);
    close(ready);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("fork-exec");
    TCase *tcase = add_case(suite, "exec", 30);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_test(tcase, a_child_reaches_exec_while_two_loops_serve_a_message_port);
    tcase_add_test(tcase, a_child_reaches_exec_after_two_threads_used_a_remote_port);
    return suite;
}
