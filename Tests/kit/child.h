/* Helpers shared by the tests of RLChild. */
#ifndef RUNLOOP_TESTS_KIT_CHILD_H
#define RUNLOOP_TESTS_KIT_CHILD_H
#include "kit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

struct watcher {
    RLChildRef object;
    atomic_int calls;
    RLChildStatus status;
    void (*action)(struct watcher *watcher);
};

static inline void child_ended(RLChildRef child, const RLChildStatus *status, void *info)
{
    struct watcher *watcher = info;
    require(child == watcher->object && !RLRunLoopSourceIsValid(child));
    watcher->calls++;
    watcher->status = *status;
    if (watcher->action)
        watcher->action(watcher);
}

/* A child that waits until one end of a pipe is closed, and then exits with a given status. */
struct held {
    pid_t process;
    int hold;
};
static inline struct held start_held(int status)
{
    int ends[2];
    char byte;
    require(pipe2(ends, O_CLOEXEC) == 0);
    struct held held = {fork_child(), ends[1]};
    if (held.process == 0) {
        require(dup2(ends[0], 3) == 3 && close_range(4, ~0U, 0) == 0); /* also those that hold other children */
        require(read(3, &byte, 1) == 0);
        _exit(status);
    }
    close(ends[0]);
    return held;
}

static inline void watch_child(struct watcher *watcher, pid_t process)
{
    RLChildContext context = {.info = watcher};
    watcher->object = RLChildCreate(NULL, process, child_ended, &context);
    add(watcher->object);
}

/* Runs the loop, which finishes when its last child has exited. */
static inline void run_until_finished(void)
{
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
}

/* Waits until the child has exited, but does not reap it. */
static inline void await_end(pid_t process)
{
    siginfo_t information;
    while (waitid(P_PID, (id_t)process, &information, WEXITED | WNOWAIT) != 0)
        require(errno == EINTR);
}

#endif
