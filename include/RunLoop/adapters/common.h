/** @file common.h
 *  Code shared by the adapters. Programs include the header of their library: uv.h, glib.h, sd-event.h and so on. */
#ifndef RUNLOOP_ADAPTERS_COMMON_H
#define RUNLOOP_ADAPTERS_COMMON_H
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
RL_EXTERN_C_BEGIN

/* -- A run loop in another loop ------------------------------------------------------------------------------------ */

/* The first part of the memory that an adapter allocates. It lives until it is detached and no dispatch is under
 * way. */
typedef struct RLGuest {
    RLRunLoopMode mode;
    void (*stopped)(void *info); /* called after RLRunLoopStop(); may be NULL */
    void *info;
    int fd, uses, isAttached;
} RLGuest;

static inline void RLGuestRelease(RLGuest *guest)
{
    if (--guest->uses > 0)
        return;
    RLRelease(guest->mode);
    free(guest);
}

/* Prepares the calling thread's loop. Returns NULL with errno on failure; EBUSY if the loop is already a guest, which
 * it then remains. */
static inline RLGuest *RLGuestCreate(size_t size, RLRunLoopMode mode, void (*stopped)(void *info), void *info)
{
    RLRunLoopGuestState state;
    RLGuest *guest = (RLGuest *)calloc(1, size);
    memset(&state, 0, sizeof state);
    if (guest == NULL)
        return NULL;
    if (!RLRunLoopPrepareGuest(mode, kRLRunLoopGuestTimerInDescriptor | kRLRunLoopGuestNew, &state)) {
        int error = errno;
        free(guest);
        errno = error;
        return NULL;
    }
    guest->mode = (RLRunLoopMode)RLRetain(mode);
    guest->stopped = stopped;
    guest->info = info;
    guest->fd = state.fd;
    guest->uses = guest->isAttached = 1;
    return guest;
}

/* Called when the descriptor is readable. A callback of the run loop may detach the guest. */
static inline void RLGuestDispatch(RLGuest *guest)
{
    guest->uses++;
    if (RLRunLoopDispatchGuest(guest->mode) == kRLRunLoopRunStopped && guest->isAttached && guest->stopped != NULL)
        guest->stopped(guest->info);
    RLGuestRelease(guest);
}

static inline void RLGuestDetach(RLGuest *guest)
{
    guest->isAttached = 0;
    RLRunLoopLeaveGuest();
    RLGuestRelease(guest);
}

/* -- Another loop in a run loop ------------------------------------------------------------------------------------ */

/* The first part of the memory that an adapter allocates. */
typedef struct RLHosted {
    RLRunLoopRef loop;
    RLRunLoopSourceRef ready;      /* watches `epoll`, which has the other loop's descriptors and `timer` */
    RLRunLoopSourceRef soon;       /* signalled when there is something to do in the next pass */
    RLRunLoopObserverRef observer; /* queries before each wait what the other loop waits for */
    int epoll, timer;
    long delay; /* the delay to which `timer` was set */
} RLHosted;

static inline int RLHostedPort(void *info) { return ((RLHosted *)info)->epoll; }

/* Makes the loop call `perform` after this many milliseconds at the latest; 0: in the next pass; -1: not because of
 * time. */
static inline void RLHostedSetDelay(RLHosted *its, long milliseconds)
{
    struct itimerspec date;
    if (milliseconds == 0) {
        RLRunLoopSourceSignal(its->soon);
        RLRunLoopWakeUp(its->loop); /* the loop is about to wait */
    }
    if (milliseconds <= 0 && its->delay == -1)
        return;
    memset(&date, 0, sizeof date);
    if (milliseconds > 0) {
        date.it_value.tv_sec = milliseconds / 1000;
        date.it_value.tv_nsec = milliseconds % 1000 * 1000000L;
    }
    timerfd_settime(its->timer, 0, &date, NULL);
    its->delay = milliseconds > 0 ? milliseconds : -1;
}

/* Reverses RLHostedBegin(), even if that failed halfway. */
static inline void RLHostedEnd(RLHosted *its)
{
    if (its->observer != NULL) {
        RLRunLoopObserverInvalidate(its->observer);
        RLRelease(its->observer);
    }
    if (its->ready != NULL) {
        RLRunLoopSourceInvalidate(its->ready);
        RLRelease(its->ready);
    }
    if (its->soon != NULL) {
        RLRunLoopSourceInvalidate(its->soon);
        RLRelease(its->soon);
    }
    if (its->timer >= 0)
        close(its->timer);
    if (its->epoll >= 0)
        close(its->epoll);
}

/* Makes the calling thread's loop call perform(its) when something in `epoll` is ready, and observe(…, its) at the
 * beginning of a run and before each wait, since callbacks of the run loop may have changed what the other loop waits
 * for. Returns 0 with errno on failure: RLHostedEnd() must be called then, too. */
static inline int RLHostedBegin(RLHosted *its, RLRunLoopMode mode, void (*perform)(void *info),
                                RLRunLoopObserverCallBack observe)
{
    RLRunLoopSourceContext of_soon;
    RLRunLoopSourceContext1 of_ready;
    RLRunLoopObserverContext of_observer;
    struct epoll_event event;
    memset(&of_soon, 0, sizeof of_soon);
    memset(&of_ready, 0, sizeof of_ready);
    memset(&of_observer, 0, sizeof of_observer);
    memset(&event, 0, sizeof event);
    of_ready.version = 1;
    of_soon.info = of_ready.info = of_observer.info = its;
    of_ready.getPort = RLHostedPort;
    of_soon.perform = of_ready.perform = perform;
    event.events = EPOLLIN;
    its->loop = RLRunLoopGetCurrent();
    its->delay = -1;
    its->epoll = epoll_create1(EPOLL_CLOEXEC);
    its->timer = timerfd_create(1 /* CLOCK_MONOTONIC, which strict C hides */, TFD_CLOEXEC);
    if (its->epoll >= 0 && its->timer >= 0 && epoll_ctl(its->epoll, EPOLL_CTL_ADD, its->timer, &event) == 0) {
        its->soon = RLRunLoopSourceCreate(NULL, 0, &of_soon);
        its->ready = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&of_ready);
        its->observer =
            RLRunLoopObserverCreate(NULL, kRLRunLoopEntry | kRLRunLoopBeforeWaiting, 1, 0, observe, &of_observer);
    }
    if (its->loop == NULL || its->soon == NULL || its->ready == NULL || its->observer == NULL)
        return 0;
    RLRunLoopAddSource(its->loop, its->soon, mode);
    RLRunLoopAddSource(its->loop, its->ready, mode);
    RLRunLoopAddObserver(its->loop, its->observer, mode);
    return 1;
}

/* -- Another loop with a descriptor of its own, which may not be run in its own callbacks -------------------------- */

/* Special results of RLHostedLoop.run; all other results are milliseconds. */
enum {
    kRLHostedWhenReadable = -1, /* there is nothing to do until the descriptor is readable */
    kRLHostedBusy = -2,         /* a callback of the other loop is running that was not called from here */
    kRLHostedOver = -3          /* do not call it again */
};

typedef struct RLHostedLoop {
    RLHosted hosted;
    /* Does what is due, without waiting. Returns the number of milliseconds after which to call it again at the
     * latest. */
    long (*run)(void *info);
    void *info;
    int fd, isRunning, isWatched;
} RLHostedLoop;

/* Adds the other loop's descriptor to `epoll`, or removes it. Returns 0 with errno on failure. */
static inline int RLHostedLoopWatch(RLHostedLoop *its, int isWatched)
{
    struct epoll_event event;
    if (its->isWatched == isWatched)
        return 1;
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    if (epoll_ctl(its->hosted.epoll, isWatched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, its->fd, &event) != 0)
        return 0;
    its->isWatched = isWatched;
    return 1;
}

static inline void RLHostedLoopPerform(void *info)
{
    RLHostedLoop *its = (RLHostedLoop *)info;
    long delay = kRLHostedBusy;
    if (!its->isRunning) {
        its->isRunning = 1;
        delay = its->run(its->info);
        its->isRunning = 0;
    }
    if (delay == kRLHostedOver) {
        RLRunLoopObserverInvalidate(its->hosted.observer);
        RLRunLoopSourceInvalidate(its->hosted.soon);
        RLRunLoopSourceInvalidate(its->hosted.ready);
        return;
    }
    /* Otherwise a run in a callback of the other loop would be woken again and again by events that only that loop can
     * serve. */
    if (!RLHostedLoopWatch(its, delay != kRLHostedBusy) && delay != kRLHostedBusy && (delay < 0 || delay > 50))
        delay = 50; /* no memory to watch the descriptor: in 50 ms, do what is due, and try again */
    RLHostedSetDelay(&its->hosted, delay >= 0 ? delay : -1);
}

static inline void RLHostedLoopObserve(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer;
    (void)activity;
    RLHostedLoopPerform(info);
}

static inline void RLHostedLoopRemove(RLHostedLoop *its)
{
    RLHostedEnd(&its->hosted);
    free(its);
}

/* Makes the calling thread's loop serve another one. Returns NULL with errno on failure. */
static inline RLHostedLoop *RLHostedLoopAdd(int fd, long (*run)(void *info), void *info, RLRunLoopMode mode)
{
    RLHostedLoop *its = (RLHostedLoop *)calloc(1, sizeof *its);
    if (its == NULL)
        return NULL;
    its->run = run;
    its->info = info;
    its->fd = fd;
    if (!RLHostedBegin(&its->hosted, mode, RLHostedLoopPerform, RLHostedLoopObserve) || !RLHostedLoopWatch(its, 1)) {
        int error = errno;
        RLHostedLoopRemove(its);
        errno = error;
        return NULL;
    }
    return its;
}

RL_EXTERN_C_END
#endif
