/** @file RLRunLoopGuest.h
 *  Guests: a run loop inside another event loop, the host, which does the waiting.
 *  Example: examples/guest.c
 *
 *  A thread whose event loop belongs to GLib, libuv, Python or a game cannot call RLRunLoopRun(). Instead, its own loop
 *  waits for the run loop on one descriptor, and calls RLRunLoopDispatchGuest() when that becomes readable:
 *
 *      RLRunLoopGuestState state = {.version = 0};
 *      RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, kRLRunLoopGuestTimerInDescriptor, &state);
 *      host_watch(state.fd, state.events, dispatch);
 *
 *      static void dispatch(void) { RLRunLoopDispatchGuest(kRLRunLoopDefaultMode); }
 *
 *  Ready-made adapters for GLib, libuv, sd-event, libevent and libev are headers with nothing to link: adapters/glib.h,
 *  uv.h, sd-event.h, event.h and ev.h. The first three also offer the other direction, a run loop that serves a
 *  GMainContext, a uv_loop_t or an sd_event.
 *
 *  What is promised
 *  ----------------
 *  The descriptor is readable when there is something to dispatch, and only then: after a wake-up, a posted function, a
 *  stop, or the signal of a source with a wake-up, when a descriptor is ready or a timer is due (see below), and after
 *  any change that makes the loop wait for something else, such as an earlier timer, a new descriptor, or a run of the
 *  loop that the program made. It does not matter which thread is the cause. Each of these wakes the host once; a
 *  descriptor that becomes ready although no source waits for it any more may wake it once more. A loop with nothing to
 *  do does not wake the host. The descriptor stays the same until the thread exits. Do not read, write or close it.
 *
 *  There are two ways to wait for timers. With kRLRunLoopGuestTimerInDescriptor the descriptor also becomes readable
 *  when a timer is due, so the host needs nothing else. Without it the host waits for at most `timeout` seconds, and
 *  must call RLRunLoopPrepareGuest() each time before it waits; this saves a descriptor, and a system call for each
 *  date.
 *
 *  There is no protocol of calls to follow. Both functions may be called in any order, any number of times, on the
 *  loop's thread, also in callbacks of the loop and of the host, and in loops of the host that are nested in them. A
 *  dispatch with nothing to do is harmless. RLRunLoopRunInMode() may be called, too, and has its usual meaning. While a
 *  dispatch is under way, the descriptor reports nothing: a host loop that is nested in one of its callbacks must call
 *  RLRunLoopPrepareGuest() first.
 *
 *  A dispatch is a run of one pass, as by RLRunLoopRunInMode(mode, 0, 0): see RLRunLoop.h. Observers are therefore
 *  notified of Entry, BeforeTimers, BeforeSources and Exit, but not of waiting, since the loop does not wait. If
 *  several descriptors are ready, each dispatch serves one of them; the guest's descriptor stays readable as long as
 *  there are others.
 *
 *  In the child of a fork() the loop is not a guest until it is prepared again; it then has another descriptor. */
#ifndef RUNLOOP_RLRUNLOOPGUEST_H
#define RUNLOOP_RLRUNLOOPGUEST_H
#include <RunLoop/RLRunLoop.h>
RL_EXTERN_C_BEGIN

/** What a host has to wait for, filled in by RLRunLoopPrepareGuest(). */
typedef struct RLRunLoopGuestState {
    RLIndex version; /**< 0, set by the caller. */
    int fd;          /**< The descriptor to wait for: always the same. */
    short events;    /**< The events to wait for, as poll(2) bits: POLLIN. */
    /** The number of seconds after which to dispatch if the descriptor does not become readable. 0: at once; the
     *  descriptor is then readable. HUGE_VAL: never. With kRLRunLoopGuestTimerInDescriptor it is always 0 or
     *  HUGE_VAL. */
    RLTimeInterval timeout;
} RLRunLoopGuestState;

/** Options of RLRunLoopPrepareGuest(). */
enum {
    /** The descriptor also becomes readable when a timer is due: the host needs no timeout. */
    kRLRunLoopGuestTimerInDescriptor = 1 << 0,
    /** Fail with EBUSY if the loop is a guest already. For a host's first call, so that it does not take the loop away
     *  from another host, which would then never be woken again. */
    kRLRunLoopGuestNew = 1 << 1
};

/** Makes the calling thread's loop a guest of another event loop, and stores in state what that loop has to wait for.
 *  Call it once if the descriptor covers timers, otherwise each time the host is about to wait. It calls no callback.
 *  @param mode     the mode that RLRunLoopDispatchGuest() will serve; not kRLRunLoopCommonModes.
 *  @param options  0, or kRLRunLoopGuest… constants combined with |.
 *  @param state    filled in; not NULL.
 *  @return 1, or 0 if the descriptor could not be created; state is then unchanged.
 *  Thread: prepares the calling thread's loop.
 *  Errors: 0 with errno EMFILE, ENFILE, ENOMEM or EBUSY, and EINVAL after misuse.
 *  Cost: the first call opens three descriptors, and one more with the option; later calls make no system call unless
 *  there is a change in what to wait for. */
RL_EXPORT RLBoolean RLRunLoopPrepareGuest(RLRunLoopMode mode, RLOptionFlags options, RLRunLoopGuestState *state);

/** Makes one pass of the calling thread's loop in a mode, without waiting, and prepares the loop again if it was
 *  prepared.
 *  @param mode  not kRLRunLoopCommonModes; the descriptor reports work in this mode from now on.
 *  @return TimedOut after a pass. Stopped if RLRunLoopStop() was called since the last dispatch, including during this
 *  one: the loop remains a guest, and the caller decides what to stop. Finished if the mode is empty (kRLRunLoopRun…).
 *  Thread: runs the calling thread's loop.  Re-entrancy: a dispatch in a callback of the loop is a nested run.
 *  Errors: misuse returns Finished. Finished has errno 0 if the mode is empty, EINVAL after misuse.
 *  Cost: one system call, and those of a pass. */
RL_EXPORT RLRunLoopRunResult RLRunLoopDispatchGuest(RLRunLoopMode mode);

/** Stops the calling thread's loop from being a guest. Its descriptor no longer becomes readable, and a wake-up costs
 *  no system call. The descriptor stays open until the thread exits, so a host that still waits for it does no harm. It
 *  has no effect if the loop is not a guest.
 *  Thread: affects the calling thread's loop.  Cost: up to three system calls. */
RL_EXPORT void RLRunLoopLeaveGuest(void);

RL_EXTERN_C_END
#endif
