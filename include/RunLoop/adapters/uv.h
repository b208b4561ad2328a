/** @file uv.h
 *  libuv: a run loop in a uv_loop_t, and a uv_loop_t in a run loop. Static functions, nothing to link but libuv.
 *  Example: examples/uv.c
 *
 *  RLUvAttach() serves the calling thread's run loop from a uv_loop_t that the same thread runs: timers, sources, posted
 *  functions and sockets of the loop next to libuv's handles.
 *
 *      RLUvGuest *guest = RLUvAttach(uv_default_loop(), kRLRunLoopDefaultMode, NULL, NULL);
 *      uv_run(uv_default_loop(), UV_RUN_DEFAULT);
 *      RLUvDetach(guest);
 *
 *  RLUvLoopAdd() makes the calling thread's run loop serve a uv_loop_t while it runs in a mode:
 *
 *      RLUvLoopRef uv = RLUvLoopAdd(uv_default_loop(), kRLRunLoopCommonModes);
 *      RLRunLoopRun();
 *      RLUvLoopRemove(uv);
 *
 *  uv_run() may not be called in callbacks of the same uv_loop_t. So a run loop that runs in such a callback does not serve
 *  libuv meanwhile. Use one of the two for a thread. */
#ifndef RUNLOOP_ADAPTERS_UV_H
#define RUNLOOP_ADAPTERS_UV_H
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>
RL_EXTERN_C_BEGIN

/* -- A run loop in a uv_loop_t ---------------------------------------------------------------------------------------- */

/** A run loop that a uv_loop_t serves: see RLUvAttach(). */
typedef struct RLUvGuest {
    uv_poll_t poll; /* first */
    RLRunLoopMode mode;
    void (*stopped)(void *info);
    void *info;
} RLUvGuest;

static inline void RLUvPolled(uv_poll_t *poll, int status, int events)
{
    RLUvGuest *guest = (RLUvGuest *)poll;
    (void)status;
    (void)events;
    if (RLRunLoopDispatchGuest(guest->mode) == kRLRunLoopRunStopped && guest->stopped != NULL)
        guest->stopped(guest->info);
}

static inline void RLUvClosed(uv_handle_t *handle) { free(handle); }

/** Makes a uv_loop_t serve the calling thread's run loop in one mode until RLUvDetach(). It keeps uv_run() running.
 *  The descriptor tells of everything, also of timers: libuv calls us only when there is something to do.
 *  @param loop     the loop that this thread runs.
 *  @param mode     the mode; not kRLRunLoopCommonModes.
 *  @param stopped  called after RLRunLoopStop(), for example to call uv_stop(); may be NULL.
 *  @param info     passed to stopped.
 *  @return NULL with errno if it is out of memory or descriptors. */
static inline RLUvGuest *RLUvAttach(uv_loop_t *loop, RLRunLoopMode mode, void (*stopped)(void *info), void *info)
{
    RLRunLoopGuestState state;
    RLUvGuest *guest;
    int error;
    memset(&state, 0, sizeof state);
    if (!RLRunLoopPrepareGuest(mode, kRLRunLoopGuestTimerInDescriptor, &state))
        return NULL;
    guest = (RLUvGuest *)calloc(1, sizeof *guest);
    error = guest == NULL ? UV_ENOMEM : uv_poll_init(loop, &guest->poll, state.fd);
    if (error < 0) {
        free(guest);
        RLRunLoopLeaveGuest();
        errno = -error;
        return NULL;
    }
    guest->mode = (RLRunLoopMode)RLRetain(mode);
    guest->stopped = stopped;
    guest->info = info;
    uv_poll_start(&guest->poll, UV_READABLE, RLUvPolled);
    return guest;
}

/** Ends what RLUvAttach() began, on the same thread. The memory is freed when the uv_loop_t runs next. */
static inline void RLUvDetach(RLUvGuest *guest)
{
    RLRunLoopLeaveGuest();
    RLRelease(guest->mode);
    uv_close((uv_handle_t *)&guest->poll, RLUvClosed);
}

/* -- A uv_loop_t in a run loop ---------------------------------------------------------------------------------------- */

/** A uv_loop_t that a run loop serves: see RLUvLoopAdd(). */
typedef struct RLUvLoop {
    uv_loop_t *loop;
    RLRunLoopSourceRef ready;      /* on `epoll`, which holds libuv's descriptor and `timer` */
    RLRunLoopObserverRef observer; /* asks libuv before each wait */
    int epoll, timer, isRunning;
} * RLUvLoopRef;

static inline int RLUvLoopPort(void *info) { return ((RLUvLoopRef)info)->epoll; }

/* What is due, without waiting. In uv_run() libuv also registers what was started since the last time; its descriptor knows
 * nothing of that before. */
static inline void RLUvLoopPerform(void *info)
{
    RLUvLoopRef its = (RLUvLoopRef)info;
    struct itimerspec date;
    int timeout;
    if (its->isRunning)
        return;
    its->isRunning = 1;
    uv_run(its->loop, UV_RUN_NOWAIT);
    its->isRunning = 0;
    uv_update_time(its->loop);
    timeout = uv_backend_timeout(its->loop);
    memset(&date, 0, sizeof date);
    if (timeout > 0) {
        date.it_value.tv_sec = timeout / 1000;
        date.it_value.tv_nsec = timeout % 1000 * 1000000L;
    } else if (timeout == 0 && uv_loop_alive(its->loop)) {
        date.it_value.tv_nsec = 1;
    }
    timerfd_settime(its->timer, 0, &date, NULL);
}

static inline void RLUvLoopBeforeWaiting(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer;
    (void)activity;
    RLUvLoopPerform(info);
}

/** Ends what RLUvLoopAdd() began, on the same thread; not in a callback of libuv. */
static inline void RLUvLoopRemove(RLUvLoopRef its)
{
    if (its->observer != NULL) {
        RLRunLoopObserverInvalidate(its->observer);
        RLRelease(its->observer);
    }
    if (its->ready != NULL) {
        RLRunLoopSourceInvalidate(its->ready);
        RLRelease(its->ready);
    }
    if (its->timer >= 0)
        close(its->timer);
    if (its->epoll >= 0)
        close(its->epoll);
    free(its);
}

/** Makes the calling thread's run loop serve a uv_loop_t until RLUvLoopRemove(), in a mode or in the common modes.
 *  As it keeps the mode from being empty, a run ends by RLRunLoopStop() or its time limit.
 *  @return NULL with errno if it is out of memory or descriptors. */
static inline RLUvLoopRef RLUvLoopAdd(uv_loop_t *loop, RLRunLoopMode mode)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLUvLoopRef its = (RLUvLoopRef)calloc(1, sizeof *its);
    RLRunLoopSourceContext1 of_ready;
    RLRunLoopObserverContext of_observer;
    struct epoll_event event;
    if (its == NULL)
        return NULL;
    memset(&of_ready, 0, sizeof of_ready);
    memset(&of_observer, 0, sizeof of_observer);
    memset(&event, 0, sizeof event);
    its->loop = loop;
    of_ready.version = 1;
    of_ready.info = of_observer.info = its;
    of_ready.getPort = RLUvLoopPort;
    of_ready.perform = RLUvLoopPerform;
    event.events = EPOLLIN;
    its->epoll = epoll_create1(EPOLL_CLOEXEC);
    its->timer = timerfd_create(1 /* CLOCK_MONOTONIC, which strict C hides */, TFD_CLOEXEC);
    if (its->epoll >= 0 && its->timer >= 0 && epoll_ctl(its->epoll, EPOLL_CTL_ADD, its->timer, &event) == 0 &&
        epoll_ctl(its->epoll, EPOLL_CTL_ADD, uv_backend_fd(loop), &event) == 0) {
        its->ready = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&of_ready);
        its->observer =
            RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeWaiting, 1, 0, RLUvLoopBeforeWaiting, &of_observer);
    }
    if (rl == NULL || its->ready == NULL || its->observer == NULL) {
        int error = errno;
        RLUvLoopRemove(its);
        errno = error;
        return NULL;
    }
    RLRunLoopAddSource(rl, its->ready, mode);
    RLRunLoopAddObserver(rl, its->observer, mode);
    return its;
}

RL_EXTERN_C_END
#endif
