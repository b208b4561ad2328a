/** @file glib.h
 *  GLib: a run loop in a GMainContext, and a GMainContext in a run loop. Static functions; nothing to link but GLib.
 *  Example: examples/glib.c
 *
 *  RLGSourceNew() creates a GSource for the calling thread's run loop. Attached to the context that this thread runs,
 *  it serves timers, sources, posted functions and sockets of the run loop beside those of GLib, also in nested main
 *  loops:
 *
 *      GSource *source = RLGSourceNew(kRLRunLoopDefaultMode);
 *      g_source_attach(source, NULL);
 *      g_source_unref(source);
 *      g_main_loop_run(loop);
 *
 *  RLGMainContextAdd() makes the calling thread's run loop serve a GMainContext while it runs in a mode. The run loop
 *  waits in place of the context, so g_idle_add(), g_timeout_add(), GIO and D-Bus work in a program that calls
 *  RLRunLoopRun().
 *
 *      RLGMainContextRef glib = RLGMainContextAdd(NULL, kRLRunLoopCommonModes);
 *      RLRunLoopRun();
 *      RLGMainContextRemove(glib);
 *
 *  Use only one of the two in a thread. */
#ifndef RUNLOOP_ADAPTERS_GLIB_H
#define RUNLOOP_ADAPTERS_GLIB_H
#include <RunLoop/adapters/common.h>
#include <glib.h>
RL_EXTERN_C_BEGIN

/* -- A run loop in a GMainContext ---------------------------------------------------------------------------------- */

typedef struct RLGSource {
    GSource source;
    RLRunLoopMode mode;
    RLRunLoopRef loop;
    gpointer tag;
    int fd;
} RLGSource;

/* GLib may call prepare twice in a row, without a check in between: any order works here. */
static inline gboolean RLGSourcePrepare(GSource *source, gint *timeout)
{
    RLGSource *its = (RLGSource *)source;
    RLRunLoopGuestState state;
    memset(&state, 0, sizeof state);
    *timeout = -1;
    if (RLRunLoopGetCurrent() != its->loop ||
        !RLRunLoopPrepareGuest(its->mode, kRLRunLoopGuestTimerInDescriptor, &state))
        return FALSE;
    if (state.fd != its->fd) { /* the first time, or in the child of a fork() */
        if (its->tag != NULL)
            g_source_remove_unix_fd(source, its->tag);
        its->fd = state.fd;
        its->tag = g_source_add_unix_fd(source, state.fd, G_IO_IN);
    }
    return state.timeout == 0;
}

static inline gboolean RLGSourceCheck(GSource *source)
{
    RLGSource *its = (RLGSource *)source;
    return its->tag != NULL && g_source_query_unix_fd(source, its->tag) != 0;
}

/* The callback, if there is one, is called after RLRunLoopStop() was called: it may quit GLib's main loop. */
static inline gboolean RLGSourceDispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    RLGSource *its = (RLGSource *)source;
    if (RLRunLoopGetCurrent() == its->loop && RLRunLoopDispatchGuest(its->mode) == kRLRunLoopRunStopped &&
        callback != NULL)
        return callback(data);
    return G_SOURCE_CONTINUE;
}

static inline void RLGSourceFinalize(GSource *source)
{
    RLGSource *its = (RLGSource *)source;
    if (RLRunLoopGetCurrent() == its->loop)
        RLRunLoopLeaveGuest();
    RLRelease(its->mode);
    RLRelease(its->loop);
}

/** Creates a source that serves the calling thread's run loop in one mode. A thread may have at most one.
 *  Attach it to the context that this thread runs. g_source_set_callback() sets a callback for RLRunLoopStop().
 *  @param mode  the mode; not kRLRunLoopCommonModes.
 *  @return the source; release it with g_source_unref(). */
static inline GSource *RLGSourceNew(RLRunLoopMode mode)
{
    static GSourceFuncs functions; /* not const in GLib's interface */
    functions.prepare = RLGSourcePrepare;
    functions.check = RLGSourceCheck;
    functions.dispatch = RLGSourceDispatch;
    functions.finalize = RLGSourceFinalize;
    GSource *source = g_source_new(&functions, sizeof(RLGSource));
    RLGSource *its = (RLGSource *)source;
    gint timeout;
    its->mode = (RLRunLoopMode)RLRetain(mode);
    its->loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    its->fd = -1;
    g_source_set_can_recurse(source, TRUE);
    g_source_set_name(source, "RunLoop");
    RLGSourcePrepare(source, &timeout); /* stops have an effect from now on */
    return source;
}

/* -- A GMainContext in a run loop ---------------------------------------------------------------------------------- */

/** A context that a run loop serves: see RLGMainContextAdd(). */
typedef struct RLGMainContext {
    RLHosted hosted; /* first */
    GMainContext *context;
    GPollFD *polled; /* the descriptors in the set */
    gint count, capacity, priority;
    int set;     /* an epoll descriptor, inside that of the run loop */
    int isStale; /* it may contain a closed descriptor with an open duplicate, to which no number refers */
} * RLGMainContextRef;

/* Returns all events that are wanted for a descriptor, which may be polled several times; 0 if it is not polled. */
static inline gushort RLGMainContextWants(const GPollFD *polled, gint count, int fd)
{
    gushort events = 0;
    for (gint index = 0; index < count; index++)
        if (polled[index].fd == fd)
            events |= polled[index].events | G_IO_ERR; /* so that it is not 0 */
    return events;
}

/* Makes the set wait for a descriptor of the context, or for other events of it. Returns 0 if that fails. */
static inline int RLGMainContextSet(RLGMainContextRef its, int operation, const GPollFD *polled, gint count, int fd)
{
    struct epoll_event event; /* poll(2) and epoll(7) use the same bits */
    memset(&event, 0, sizeof event);
    event.events = RLGMainContextWants(polled, count, fd);
    return epoll_ctl(its->set, operation, fd, &event) == 0;
}

/* Replaces the set by a new one. Returns 0 with errno on failure. */
static inline int RLGMainContextRenew(RLGMainContextRef its)
{
    struct epoll_event event;
    int set = epoll_create1(EPOLL_CLOEXEC);
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    if (set < 0 || epoll_ctl(its->hosted.epoll, EPOLL_CTL_ADD, set, &event) != 0) {
        int error = errno;
        if (set >= 0)
            close(set);
        errno = error;
        return 0;
    }
    if (its->set >= 0)
        close(its->set);
    its->set = set;
    its->isStale = 0;
    for (gint index = 0; index < its->count; index++)
        RLGMainContextSet(its, EPOLL_CTL_ADD, its->polled, its->count, its->polled[index].fd);
    return 1;
}

/* Makes the set wait for what the context polls. */
static inline void RLGMainContextWatch(RLGMainContextRef its, const GPollFD *polled, gint count)
{
    for (gint index = 0; index < its->count; index++)
        if (RLGMainContextWants(polled, count, its->polled[index].fd) == 0 &&
            epoll_ctl(its->set, EPOLL_CTL_DEL, its->polled[index].fd, NULL) < 0)
            its->isStale = 1;
    for (gint index = 0; index < count; index++) {
        if (RLGMainContextSet(its, EPOLL_CTL_MOD, polled, count, polled[index].fd))
            continue;
        /* A new descriptor, or a number that was closed and reused. */
        if (RLGMainContextWants(its->polled, its->count, polled[index].fd) != 0)
            its->isStale = 1;
        RLGMainContextSet(its, EPOLL_CTL_ADD, polled, count, polled[index].fd);
    }
}

/* Queries what the context waits for, and makes the run loop wait for that. */
static inline void RLGMainContextQuery(RLGMainContextRef its)
{
    gint timeout, count;
    GPollFD *polled = (GPollFD *)g_malloc((gsize)its->capacity * sizeof(GPollFD));
    gboolean isReady = g_main_context_prepare(its->context, &its->priority);
    while ((count = g_main_context_query(its->context, its->priority, &timeout, polled, its->capacity)) >
           its->capacity) {
        its->capacity = count;
        polled = (GPollFD *)g_realloc(polled, (gsize)its->capacity * sizeof(GPollFD));
    }
    RLGMainContextWatch(its, polled, count);
    g_free(its->polled);
    its->polled = polled;
    its->count = count;
    RLHostedSetDelay(&its->hosted, isReady ? 0 : timeout);
}

/* Runs one iteration of the context, without waiting. May be nested. */
static inline void RLGMainContextPerform(void *info)
{
    RLGMainContextRef its = (RLGMainContextRef)info;
    RLGMainContextQuery(its);
    if (g_poll(its->polled, (guint)its->count, 0) == 0 && its->isStale)
        RLGMainContextRenew(its);
    if (g_main_context_check(its->context, its->priority, its->polled, its->count))
        g_main_context_dispatch(its->context);
}

static inline void RLGMainContextObserve(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer;
    (void)activity;
    RLGMainContextQuery((RLGMainContextRef)info);
}

/** Reverses RLGMainContextAdd(). Call it on the same thread, and not in a callback of the context. */
static inline void RLGMainContextRemove(RLGMainContextRef its)
{
    RLHostedEnd(&its->hosted);
    if (its->set >= 0)
        close(its->set);
    g_main_context_release(its->context);
    g_main_context_unref(its->context);
    g_free(its->polled);
    g_free(its);
}

/** Makes the calling thread's run loop serve a context until RLGMainContextRemove(), in a mode or in the common modes.
 *  The thread owns the context all the time. As the context keeps the mode from being empty, a run ends only by
 *  RLRunLoopStop() or its time limit.
 *  @param context  NULL for the default context.
 *  @return NULL with errno if another thread owns the context (EBUSY), or if out of memory or descriptors. */
static inline RLGMainContextRef RLGMainContextAdd(GMainContext *context, RLRunLoopMode mode)
{
    if (context == NULL)
        context = g_main_context_default();
    /* GLib wakes a context only if a thread owns it. */
    if (!g_main_context_acquire(context)) {
        errno = EBUSY;
        return NULL;
    }
    RLGMainContextRef its = g_new0(struct RLGMainContext, 1);
    its->context = g_main_context_ref(context);
    its->capacity = 8;
    its->set = -1;
    if (!RLHostedBegin(&its->hosted, mode, RLGMainContextPerform, RLGMainContextObserve) || !RLGMainContextRenew(its)) {
        int error = errno;
        RLGMainContextRemove(its);
        errno = error;
        return NULL;
    }
    return its;
}

RL_EXTERN_C_END
#endif
