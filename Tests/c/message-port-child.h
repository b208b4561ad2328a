/* A server in a child of the test, and a remote port for it: from begin_child to end_child. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_CHILD_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_CHILD_H
#include "message-port.h"

static pid_t child;
/* Notices the child's end. */
static int child_ready;
static RLMessagePortRef remote;

static void begin_child_process(void (*body)(int ready), RLStringRef name)
{
    use_own_directory();
    child = start_server_process(body, &child_ready);
    remote = RLMessagePortCreateRemote(NULL, name);
    ck_assert_ptr_nonnull(remote);
}

static RLMessagePortCallBack child_answers;

static void serve_in_child(int ready)
{
    struct server server;
    serve(&server, NAME, child_answers, NULL);
    say_ready(ready);
    RLRunLoopRun();
    end_server(&server);
}

/* A child that serves NAME until its loop is stopped, and ends then. */
static UNUSED void begin_child(RLMessagePortCallBack callout)
{
    child_answers = callout;
    begin_child_process(serve_in_child, NAME);
}

/* Either may be gone already: 0, NULL. */
static void end_child(void)
{
    if (remote)
        RLRelease(remote);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    close(child_ready);
    remove_own_directory();
}

#endif
