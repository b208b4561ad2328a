/** @file uv.h
 *  libuv: a run loop in a uv_loop_t, and a uv_loop_t in a run loop. Static functions; nothing to link but libuv.
 *  Example: examples/uv.c
 *
 *  RLUvAttach() serves the calling thread's run loop from a uv_loop_t that the same thread runs: timers, sources,
 *  posted functions and sockets of the run loop beside libuv's handles.
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
 *  uv_run() may not be called in callbacks of the same uv_loop_t. So a run loop that runs in such a callback does not
 *  serve libuv meanwhile. Use only one of the two in a thread. Compile with -std=gnu11 or _GNU_SOURCE: with -std=c11
 *  alone, libuv's own header lacks pthread_rwlock_t. */
#ifndef RUNLOOP_ADAPTERS_UV_H
#define RUNLOOP_ADAPTERS_UV_H
#include <RunLoop/adapters/common.h>
#include <uv.h>
RL_EXTERN_C_BEGIN

/* -- A run loop in a uv_loop_t ------------------------------------------------------------------------------------- */

/** A run loop that a uv_loop_t serves: see RLUvAttach(). */
typedef struct RLUvGuest {
    RLGuest guest; /* first */
    uv_poll_t poll;
} RLUvGuest;

static inline void RLUvPolled(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    RLGuestDispatch((RLGuest *)poll->data);
}

static inline void RLUvClosed(uv_handle_t *handle) { RLGuestRelease((RLGuest *)handle->data); }

/** Makes a uv_loop_t serve the calling thread's run loop in one mode until RLUvDetach(). It keeps uv_run() running.
 *  The descriptor reports everything, including timers: libuv calls the adapter only when there is something to do.
 *  @param loop     the loop that this thread runs.
 *  @param mode     the mode; not kRLRunLoopCommonModes.
 *  @param stopped  called after RLRunLoopStop(), for example to call uv_stop(); may be NULL.
 *  @param info     passed to stopped.
 *  @return NULL with errno if out of memory or descriptors, or if the thread's run loop is already a guest (EBUSY). */
static inline RLUvGuest *RLUvAttach(uv_loop_t *loop, RLRunLoopMode mode, void (*stopped)(void *info), void *info)
{
    RLUvGuest *its = (RLUvGuest *)RLGuestCreate(sizeof *its, mode, stopped, info);
    int error;
    if (its == NULL)
        return NULL;
    error = uv_poll_init(loop, &its->poll, its->guest.fd);
    if (error < 0) {
        RLGuestDetach(&its->guest);
        errno = -error;
        return NULL;
    }
    its->poll.data = its;
    uv_poll_start(&its->poll, UV_READABLE, RLUvPolled);
    return its;
}

/** Reverses RLUvAttach(). Call it on the same thread. The memory is freed when the uv_loop_t runs next; until then
 *  uv_loop_close() returns UV_EBUSY. */
static inline void RLUvDetach(RLUvGuest *its)
{
    its->guest.uses++; /* of the handle */
    uv_close((uv_handle_t *)&its->poll, RLUvClosed);
    RLGuestDetach(&its->guest);
}

/* -- A uv_loop_t in a run loop ------------------------------------------------------------------------------------- */

/** A uv_loop_t that a run loop serves: see RLUvLoopAdd(). */
typedef RLHostedLoop *RLUvLoopRef;

/* uv_run() also registers with its descriptor what was started since the last call. */
static inline long RLUvLoopRun(void *info)
{
    uv_loop_t *loop = (uv_loop_t *)info;
    uv_run(loop, UV_RUN_NOWAIT);
    uv_update_time(loop);
    return uv_loop_alive(loop) ? uv_backend_timeout(loop) : -1;
}

/** Reverses RLUvLoopAdd(). Call it on the same thread, and not in a callback of libuv. */
static inline void RLUvLoopRemove(RLUvLoopRef uv) { RLHostedLoopRemove(uv); }

/** Makes the calling thread's run loop serve a uv_loop_t until RLUvLoopRemove(), in a mode or in the common modes.
 *  The uv_loop_t keeps the mode from being empty, so a run ends only by RLRunLoopStop() or its time limit.
 *  @return NULL with errno if out of memory or descriptors. */
static inline RLUvLoopRef RLUvLoopAdd(uv_loop_t *loop, RLRunLoopMode mode)
{
    return RLHostedLoopAdd(uv_backend_fd(loop), RLUvLoopRun, loop, mode);
}

RL_EXTERN_C_END
#endif
