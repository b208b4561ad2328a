/** @file event.h
 *  libevent: a run loop in an event_base. Static functions; nothing to link but libevent_core.
 *  Example: examples/event.c
 *
 *  RLEventAttach() serves the calling thread's run loop from an event_base that the same thread runs: timers, sources,
 *  posted functions and sockets of the run loop beside libevent's events.
 *
 *      RLEventGuest *guest = RLEventAttach(base, kRLRunLoopDefaultMode, NULL, NULL);
 *      event_base_dispatch(base);
 *      RLEventDetach(guest);
 *
 *  Other threads may post to the run loop without evthread_use_pthreads(), since the run loop's descriptor wakes
 *  libevent. event_base_loop() may not be called in callbacks of the same base.
 *
 *  The other direction, an event_base in a run loop, is not possible: libevent 2.1 has neither a function that returns
 *  the descriptor on which it waits, nor one that returns when it is due next. */
#ifndef RUNLOOP_ADAPTERS_EVENT_H
#define RUNLOOP_ADAPTERS_EVENT_H
#include <RunLoop/adapters/common.h>
#include <event2/event.h>
RL_EXTERN_C_BEGIN

/** A run loop that an event_base serves: see RLEventAttach(). */
typedef struct RLEventGuest {
    RLGuest guest; /* first */
    struct event *event;
} RLEventGuest;

static inline void RLEventReady(evutil_socket_t fd, short events, void *info)
{
    (void)fd;
    (void)events;
    RLGuestDispatch((RLGuest *)info);
}

/** Makes an event_base serve the calling thread's run loop in one mode until RLEventDetach(). It keeps
 *  event_base_dispatch() running. The descriptor reports everything, including timers: libevent calls the adapter only
 *  when there is something to do.
 *  @param base     the event_base that this thread runs.
 *  @param mode     the mode; not kRLRunLoopCommonModes.
 *  @param stopped  called after RLRunLoopStop(), for example to call event_base_loopbreak(); may be NULL.
 *  @param info     passed to stopped.
 *  @return NULL with errno if out of memory or descriptors, or if the thread's run loop is already a guest (EBUSY). */
static inline RLEventGuest *RLEventAttach(struct event_base *base, RLRunLoopMode mode, void (*stopped)(void *info),
                                          void *info)
{
    RLEventGuest *its = (RLEventGuest *)RLGuestCreate(sizeof *its, mode, stopped, info);
    if (its == NULL)
        return NULL;
    its->event = event_new(base, its->guest.fd, EV_READ | EV_PERSIST, RLEventReady, its);
    if (its->event == NULL || event_add(its->event, NULL) < 0) {
        if (its->event != NULL)
            event_free(its->event);
        RLGuestDetach(&its->guest);
        errno = ENOMEM;
        return NULL;
    }
    return its;
}

/** Reverses RLEventAttach(). Call it on the same thread, before event_base_free(). */
static inline void RLEventDetach(RLEventGuest *its)
{
    event_free(its->event);
    RLGuestDetach(&its->guest);
}

RL_EXTERN_C_END
#endif
