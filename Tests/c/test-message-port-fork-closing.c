/* Checks a fork() while another thread invalidates remote ports: in the child, no loop watches the descriptors that were closed. */
#include "message-port.h"

enum { PORTS = 100, ROUNDS = SCALED(40) };

static RLMessagePortRef remotes[PORTS];
static atomic_int fired;
static atomic_int invalidated;
static gate forks_are_over;

static RLStringRef name_of_port(int index)
{
    char text[32];
    snprintf(text, sizeof text, "com.example.port.%d", index);
    return RLStringCreateWithCString(NULL, text, kRLStringEncodingUTF8);
}

static RLDataRef echo(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    return RLRetain(data);
}

static void serve_all(int ready)
{
    static struct server servers[PORTS];
    for (int index = 0; index < PORTS; index++)
        serve(&servers[index], name_of_port(index), echo, NULL);
    say_ready(ready);
    RLRunLoopRunInMode(MODE, 60, false);
}

static void use_all(void)
{
    for (int index = 0; index < PORTS; index++) {
        RLStringRef name = name_of_port(index);
        RLDataRef reply = NULL;
        remotes[index] = RLMessagePortCreateRemote(NULL, name);
        ck_assert_int_eq(ask(remotes[index], 1, "text", 20, MODE, &reply), kRLMessagePortSuccess);
        RLRelease(reply);
        RLRelease(name);
    }
}

/* Does not end before the forks are over: ThreadSanitizer reports a thread that has ended and is never joined, in the child. */
static void *invalidate_all(UNUSED void *info)
{
    for (int index = 0; index < PORTS; index++) {
        RLMessagePortInvalidate(remotes[index]);
        invalidated++;
    }
    gate_pass(&forks_are_over);
    return NULL;
}

static void fork_and_run(void)
{
    pid_t child = fork_child();
    if (child > 0)
        return end_process(child, 0);
    RLRunLoopRunInMode(MODE, 0, false);
    RLRunLoopRunInMode(MODE, 0, false);
    child_assert(take_diagnostics() == 0);
    _exit(0);
}

START_TEST(a_fork_while_another_thread_invalidates_ports_leaves_nothing_in_the_childs_loop)
{
    int ready;
    use_own_directory();
    gate_init(&forks_are_over);
    pid_t server = start_server_process(serve_all, &ready);
    /* So that the mode is not empty in the child. */
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, &fired);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    for (int round = 0; round < ROUNDS; round++) {
        use_all();
        invalidated = 0;
        pthread_t thread = start_thread(invalidate_all, NULL);
        while (invalidated < PORTS)
            fork_and_run();
        gate_open(&forks_are_over);
        join_thread(thread);
        for (int index = 0; index < PORTS; index++)
            RLRelease(remotes[index]);
    }
    drop_timer(timer);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    close(ready);
    remove_own_directory();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-fork-closing");
    TCase *tcase = add_case(suite, "closing", 60);
    tcase_add_test(tcase, a_fork_while_another_thread_invalidates_ports_leaves_nothing_in_the_childs_loop);
    return suite;
}
