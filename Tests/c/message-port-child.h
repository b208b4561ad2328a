/* A server in a child of the test, and a remote port connected to it, from begin_child() to end_child(). */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_CHILD_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_CHILD_H
#include "message-port.h"

static pid_t child;
/* The read end of a pipe that reaches end-of-file when the child exits. */
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

/* Starts a child that serves NAME until its loop is stopped, and then exits. */
static UNUSED void begin_child(RLMessagePortCallBack callout)
{
    child_answers = callout;
    begin_child_process(serve_in_child, NAME);
}

/* Releases the remote port and ends the child. Either may be gone already: `remote` is NULL or `child` 0 then. */
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
