/** @file ev.h
 *  libev: a run loop in a struct ev_loop. Static functions; nothing to link but libev.
 *  Example: examples/ev.c
 *
 *  RLEvAttach() serves the calling thread's run loop from an ev_loop that the same thread runs: timers, sources, posted
 *  functions and sockets of the run loop beside libev's watchers, also in nested ev_run() calls.
 *
 *      RLEvGuest *guest = RLEvAttach(EV_DEFAULT, kRLRunLoopDefaultMode, NULL, NULL);
 *      ev_run(EV_DEFAULT, 0);
 *      RLEvDetach(guest);
 *
 *  The other direction, an ev_loop in a run loop, is not possible: libev has neither a function that returns the
 *  descriptor on which it waits (ev_embed passes it only to another ev_loop), nor one that returns when it is due next.
 *
 *  libev's headers require -fno-strict-aliasing, and a libev that was built with EV_MULTIPLICITY, as Debian's is. */
#ifndef RUNLOOP_ADAPTERS_EV_H
#define RUNLOOP_ADAPTERS_EV_H
#include <RunLoop/adapters/common.h>
#include <ev.h>
RL_EXTERN_C_BEGIN

/** A run loop that an ev_loop serves: see RLEvAttach(). */
typedef struct RLEvGuest {
    RLGuest guest; /* first */
    struct ev_loop *loop;
    ev_io io;
    ev_prepare prepare;
} RLEvGuest;

static inline void RLEvReady(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    RLGuestDispatch((RLGuest *)io->data);
}

/* While a dispatch is under way the descriptor reports nothing, so an ev_run() in one of its callbacks must prepare the
 * loop again. */
static inline void RLEvPrepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
    RLGuest *guest = (RLGuest *)prepare->data;
    RLRunLoopGuestState state;
    (void)loop;
    (void)events;
    memset(&state, 0, sizeof state);
    if (guest->uses > 1)
        RLRunLoopPrepareGuest(guest->mode, kRLRunLoopGuestTimerInDescriptor, &state);
}

/** Makes an ev_loop serve the calling thread's run loop in one mode until RLEvDetach(). It keeps ev_run() running.
 *  The descriptor reports everything, including timers: libev calls the adapter only when there is something to do.
 *  @param loop     the ev_loop that this thread runs.
 *  @param mode     the mode; not kRLRunLoopCommonModes.
 *  @param stopped  called after RLRunLoopStop(), for example to call ev_break(); may be NULL.
 *  @param info     passed to stopped.
 *  @return NULL with errno if out of memory or descriptors, or if the thread's run loop is already a guest (EBUSY). */
static inline RLEvGuest *RLEvAttach(struct ev_loop *loop, RLRunLoopMode mode, void (*stopped)(void *info), void *info)
{
    RLEvGuest *its = (RLEvGuest *)RLGuestCreate(sizeof *its, mode, stopped, info);
    if (its == NULL)
        return NULL;
    its->loop = loop;
    ev_io_init(&its->io, RLEvReady, its->guest.fd, EV_READ);
    ev_prepare_init(&its->prepare, RLEvPrepare);
    its->io.data = its->prepare.data = its;
    ev_io_start(loop, &its->io);
    ev_prepare_start(loop, &its->prepare);
    return its;
}

/** Reverses RLEvAttach(). Call it on the same thread, before ev_loop_destroy(). */
static inline void RLEvDetach(RLEvGuest *its)
{
    ev_prepare_stop(its->loop, &its->prepare);
    ev_io_stop(its->loop, &its->io);
    RLGuestDetach(&its->guest);
}

RL_EXTERN_C_END
#endif
