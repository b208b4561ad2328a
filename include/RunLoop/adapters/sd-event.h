/** @file sd-event.h
 *  sd-event: a run loop in an sd_event, and an sd_event in a run loop. Static functions; nothing to link but
 *  libsystemd.
 *  Example: examples/sd-event.c
 *
 *  RLSdEventAttach() serves the calling thread's run loop from an sd_event that the same thread runs: timers, sources,
 *  posted functions and sockets of the run loop beside those of sd-event.
 *
 *      RLSdEventGuest *guest = RLSdEventAttach(event, kRLRunLoopDefaultMode, NULL, NULL);
 *      sd_event_loop(event);
 *      RLSdEventDetach(guest);
 *
 *  RLSdEventAdd() makes the calling thread's run loop serve an sd_event while it runs in a mode, so that sd-bus,
 *  sd_event_add_child() and so on work in a program that calls RLRunLoopRun():
 *
 *      RLSdEventRef sd = RLSdEventAdd(event, kRLRunLoopCommonModes);
 *      RLRunLoopRun();
 *      RLSdEventRemove(sd);
 *
 *  sd_event_run() may not be called in callbacks of the same sd_event. So a run loop that runs in such a callback does
 *  not serve the sd_event meanwhile. Use only one of the two in a thread. */
#ifndef RUNLOOP_ADAPTERS_SD_EVENT_H
#define RUNLOOP_ADAPTERS_SD_EVENT_H
#include <RunLoop/adapters/common.h>
#include <systemd/sd-event.h>
RL_EXTERN_C_BEGIN

/* -- A run loop in an sd_event ------------------------------------------------------------------------------------- */

/** A run loop that an sd_event serves: see RLSdEventAttach(). */
typedef struct RLSdEventGuest {
    RLGuest guest; /* first */
    sd_event_source *source;
} RLSdEventGuest;

static inline int RLSdEventReady(sd_event_source *source, int fd, uint32_t events, void *info)
{
    (void)source;
    (void)fd;
    (void)events;
    RLGuestDispatch((RLGuest *)info);
    return 0;
}

/** Makes an sd_event serve the calling thread's run loop in one mode until RLSdEventDetach().
 *  It needs no prepare, post or exit source: the descriptor reports everything, including timers, whatever the state of
 *  the sd_event. The source has the priority SD_EVENT_PRIORITY_NORMAL.
 *  @param event    the sd_event that this thread runs.
 *  @param mode     the mode; not kRLRunLoopCommonModes.
 *  @param stopped  called after RLRunLoopStop(), for example to call sd_event_exit(); may be NULL.
 *  @param info     passed to stopped.
 *  @return NULL with errno if out of memory or descriptors, if the sd_event has exited (ESTALE), or if the thread's run
 *  loop is already a guest (EBUSY). */
static inline RLSdEventGuest *RLSdEventAttach(sd_event *event, RLRunLoopMode mode, void (*stopped)(void *info),
                                              void *info)
{
    RLSdEventGuest *its = (RLSdEventGuest *)RLGuestCreate(sizeof *its, mode, stopped, info);
    int result;
    if (its == NULL)
        return NULL;
    result = sd_event_add_io(event, &its->source, its->guest.fd, EPOLLIN, RLSdEventReady, its);
    if (result < 0) {
        RLGuestDetach(&its->guest);
        errno = -result;
        return NULL;
    }
    return its;
}

/** Reverses RLSdEventAttach(). Call it on the same thread. */
static inline void RLSdEventDetach(RLSdEventGuest *its)
{
    sd_event_source_set_enabled(its->source, SD_EVENT_OFF);
    sd_event_source_unref(its->source);
    RLGuestDetach(&its->guest);
}

/* -- An sd_event in a run loop ------------------------------------------------------------------------------------- */

/** An sd_event that a run loop serves: see RLSdEventAdd(). */
typedef RLHostedLoop *RLSdEventRef;

/* Between two calls the sd_event is in its initial state, in which everything is allowed. Its timers are armed then,
 * and pending events are served in the next pass. */
static inline long RLSdEventRun(void *info)
{
    sd_event *event = (sd_event *)info;
    int result = sd_event_get_state(event) == SD_EVENT_INITIAL ? sd_event_run(event, 0) : -EBUSY;
    if (sd_event_get_state(event) == SD_EVENT_FINISHED)
        return kRLHostedOver;
    if (result < 0)
        return result == -EBUSY ? kRLHostedBusy : kRLHostedOver;
    return result > 0 ? 0 : kRLHostedWhenReadable;
}

/** Reverses RLSdEventAdd(). Call it on the same thread, and not in a callback of the sd_event. */
static inline void RLSdEventRemove(RLSdEventRef sd)
{
    sd_event_unref((sd_event *)sd->info);
    RLHostedLoopRemove(sd);
}

/** Makes the calling thread's run loop serve an sd_event until RLSdEventRemove(), in a mode or in the common modes.
 *  As the sd_event keeps the mode from being empty, a run ends only by RLRunLoopStop() or its time limit. After
 *  sd_event_exit() and the exit sources the sd_event is no longer served, and no longer keeps the mode from being
 *  empty.
 *  @return NULL with errno if out of memory or descriptors, or if the sd_event has exited (ESTALE). */
static inline RLSdEventRef RLSdEventAdd(sd_event *event, RLRunLoopMode mode)
{
    int fd = sd_event_get_fd(event);
    RLSdEventRef sd;
    if (sd_event_get_state(event) == SD_EVENT_FINISHED)
        fd = -ESTALE;
    if (fd < 0) {
        errno = -fd;
        return NULL;
    }
    sd = RLHostedLoopAdd(fd, RLSdEventRun, event, mode);
    if (sd != NULL)
        sd_event_ref(event);
    return sd;
}

RL_EXTERN_C_END
#endif
