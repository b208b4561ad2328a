/** @file RLRunLoopGuest.h
 *  Guests: a run loop inside another event loop, the host, which waits in its place.
 *  Example: examples/guest.c
 *
 *  A thread whose event loop belongs to GLib, libuv, Python or a game cannot call RLRunLoopRun(). It lets its own loop
 *  wait for the run loop instead, on one descriptor, and calls RLRunLoopDispatchGuest() when that can be read:
 *
 *      RLRunLoopGuestState state = {.version = 0};
 *      RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, kRLRunLoopGuestTimerInDescriptor, &state);
 *      host_watch(state.fd, state.events, dispatch);
 *
 *      static void dispatch(void) { RLRunLoopDispatchGuest(kRLRunLoopDefaultMode); }
 *
 *  For GLib, libuv, sd-event, libevent and libev that is ready-made, in headers with nothing to link: adapters/glib.h,
 *  uv.h, sd-event.h, event.h and ev.h. The first three also have the other direction, a run loop that serves a
 *  GMainContext, a uv_loop_t or an sd_event.
 *
 *  What is promised
 *  ----------------
 *  The descriptor is readable when there is something to dispatch, and only then: a wake-up, a posted function, a stop,
 *  a signalled source, a descriptor that is ready, a timer that is due (see below), and any change that makes the loop
 *  wait for something else, such as an earlier timer, a new descriptor, or a run of the loop that the program made.
 *  It does not matter which thread is the cause. Each wakes the host once, and a ready descriptor that no source waits
 *  for any more perhaps once more; a loop with nothing to do does not wake it. The descriptor is the same until the
 *  thread ends. Do not read, write or close it.
 *
 *  Time is told in one of two ways. With kRLRunLoopGuestTimerInDescriptor the descriptor also becomes readable when a
 *  timer is due, so the host needs nothing else. Without it the host waits for at most `timeout` seconds, and has to
 *  call RLRunLoopPrepareGuest() each time before it waits; that saves a descriptor, and a system call for each date.
 *
 *  There are no states to respect. Both functions may be called in any order, any number of times, on the loop's
 *  thread, also in callbacks of the loop and of the host, and in loops of the host that are nested in them. A
 *  dispatch with nothing to do does no harm. RLRunLoopRunInMode() may be called, too, and has its usual meaning. While
 *  a dispatch is under way the descriptor tells of nothing: a loop of the host that is nested in one of its callbacks
 *  prepares first.
 *
 *  A dispatch is a run of one pass, as RLRunLoopRunInMode(mode, 0, 0) makes it: see RLRunLoop.h. So observers get
 *  Entry, BeforeTimers, BeforeSources and Exit, and nothing about waiting, as the loop does not wait. Of descriptors
 *  that are ready together each dispatch serves one; the guest's descriptor stays readable as long as there are
 *  others.
 *
 *  In the child of a fork() the loop is no guest until it is prepared again, and then has another descriptor. */
#ifndef RUNLOOP_RLRUNLOOPGUEST_H
#define RUNLOOP_RLRUNLOOPGUEST_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** What a host has to wait for, as RLRunLoopPrepareGuest() fills it in. */
typedef struct RLRunLoopGuestState {
    RLIndex version; /**< 0, set by the caller. */
    int fd;          /**< The descriptor to wait for: always the same one. */
    short events;    /**< What to wait for, in poll(2)'s bits: POLLIN. */
    /** In how many seconds to dispatch if the descriptor does not become readable. 0: at once; the descriptor is
     *  readable then. HUGE_VAL: not at all, always so with kRLRunLoopGuestTimerInDescriptor unless it is 0. */
    RLTimeInterval timeout;
} RLRunLoopGuestState;

/** Options of RLRunLoopPrepareGuest(). */
enum {
    /** The descriptor becomes readable when a timer is due, too: the host needs no timeout. */
    kRLRunLoopGuestTimerInDescriptor = 1 << 0,
    /** The loop must not be a guest yet: fails with EBUSY if it is. For the host's first call, so that it takes no loop
     *  from another host, which would not be told of anything any more. */
    kRLRunLoopGuestNew = 1 << 1
};

/** Makes the calling thread's loop a guest of another event loop, and says what that has to wait for.
 *  Call it once if time is told by the descriptor, otherwise whenever the host is about to wait. It calls no callback.
 *  @param mode     the mode that RLRunLoopDispatchGuest() will serve; not kRLRunLoopCommonModes.
 *  @param options  0, or kRLRunLoopGuest… combined with |.
 *  @param state    filled in; not NULL.
 *  @return 1, or 0 if the descriptor could not be made; then state is unchanged.
 *  Thread: prepares the calling thread's loop.
 *  Errors: 0 with errno EMFILE, ENFILE, ENOMEM or EBUSY, and EINVAL after misuse.
 *  Cost: the first call opens three descriptors, and one with the option; later ones make no system call unless what to
 *  wait for has changed. */
RL_EXPORT RLBoolean RLRunLoopPrepareGuest(RLRunLoopMode mode, RLOptionFlags options, RLRunLoopGuestState *state);

/** Makes one pass of the calling thread's loop in a mode, without waiting, and prepares it again if it was prepared.
 *  @param mode  not kRLRunLoopCommonModes; the mode that the descriptor tells of from now on.
 *  @return TimedOut after a pass. Stopped if RLRunLoopStop() was called since the last dispatch, also during this one:
 *          the loop stays a guest, what to stop is up to the caller. Finished if the mode is empty (kRLRunLoopRun…).
 *  Thread: runs the calling thread's loop.  Re-entrancy: a dispatch in a callback of the loop is a nested run.
 *  Errors: misuse returns Finished. Finished has errno 0 if the mode is empty, EINVAL after misuse.
 *  Cost: one system call, and those of a pass. */
RL_EXPORT RLRunLoopRunResult RLRunLoopDispatchGuest(RLRunLoopMode mode);

/** Ends being a guest: the descriptor does not become readable any more, and a wake-up costs no system call.
 *  The descriptor stays open until the thread ends, so a host that still waits for it does no harm. No effect on a loop
 *  that is no guest.
 *  Thread: the calling thread's loop.  Cost: up to three system calls. */
RL_EXPORT void RLRunLoopLeaveGuest(void);

RL_EXTERN_C_END
#endif
