/** @file dbus.h
 *  libdbus: connections and servers of D-Bus in a run loop. Static functions; nothing to link but libdbus-1.
 *  Example: examples/dbus.c
 *
 *  RLDBusConnectionAdd() makes the calling thread's run loop serve a connection while it runs in a mode: messages are
 *  sent and dispatched, and replies and timeouts are delivered.
 *
 *      RLDBusRef dbus = RLDBusConnectionAdd(dbus_bus_get(DBUS_BUS_SESSION, &error), kRLRunLoopCommonModes);
 *      RLRunLoopRun();
 *      RLDBusRemove(dbus);
 *
 *  RLDBusServerAdd() makes the loop accept connections of a DBusServer; the function set by
 *  dbus_server_set_new_connection_function() adds each of them.
 *
 *  After dbus_threads_init_default() other threads may send on the connection, and wait for replies. A pass dispatches
 *  one message, so a flood of them leaves room for everything else in the loop. libdbus does not dispatch a message
 *  while it is dispatching another: a run loop that runs in a message's handler does not serve the connection's
 *  messages meanwhile. */
#ifndef RUNLOOP_ADAPTERS_DBUS_H
#define RUNLOOP_ADAPTERS_DBUS_H
#include <RunLoop/RunLoop.h>
#include <dbus/dbus.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
RL_EXTERN_C_BEGIN

/** A connection or server that a run loop serves: see RLDBusConnectionAdd() and RLDBusServerAdd(). */
typedef struct RLDBus {
    DBusConnection *connection; /* or NULL */
    DBusServer *server;         /* or NULL */
    RLRunLoopRef loop;
    RLRunLoopMode mode;
    RLRunLoopSourceRef messages; /* signalled while there are messages to dispatch; NULL for a server */
    int uses, isDispatching;     /* used only by the loop's thread */
} * RLDBusRef;

static inline void RLDBusRelease(RLDBusRef its)
{
    if (--its->uses > 0)
        return;
    if (its->messages != NULL)
        RLRelease(its->messages);
    if (its->connection != NULL)
        dbus_connection_unref(its->connection);
    if (its->server != NULL)
        dbus_server_unref(its->server);
    RLRelease(its->mode);
    RLRelease(its->loop);
    free(its);
}

/* -- Descriptors: the data of a DBusWatch is a descriptor object --------------------------------------------------- */

static inline void RLDBusWatchReady(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    unsigned int events = (types & kRLFileDescriptorReadCallBack ? (unsigned int)DBUS_WATCH_READABLE : 0) |
                          (types & kRLFileDescriptorWriteCallBack ? (unsigned int)DBUS_WATCH_WRITABLE : 0);
    RLFileDescriptorEnableCallBacks(f, types); /* before libdbus disables or removes the watch */
    dbus_watch_handle((DBusWatch *)info, events);
}

static inline void RLDBusWatchToggled(DBusWatch *watch, void *info)
{
    RLFileDescriptorRef f = (RLFileDescriptorRef)dbus_watch_get_data(watch);
    unsigned int flags = dbus_watch_get_flags(watch);
    RLOptionFlags types = (flags & DBUS_WATCH_READABLE ? kRLFileDescriptorReadCallBack : 0) |
                          (flags & DBUS_WATCH_WRITABLE ? kRLFileDescriptorWriteCallBack : 0);
    (void)info;
    if (f == NULL)
        return;
    if (dbus_watch_get_enabled(watch))
        RLFileDescriptorEnableCallBacks(f, types);
    else
        RLFileDescriptorDisableCallBacks(f, types);
}

static inline void RLDBusWatchRemove(DBusWatch *watch, void *info)
{
    RLFileDescriptorRef f = (RLFileDescriptorRef)dbus_watch_get_data(watch);
    (void)info;
    if (f == NULL)
        return;
    dbus_watch_set_data(watch, NULL, NULL);
    RLFileDescriptorInvalidate(f);
    RLRelease(f);
}

static inline dbus_bool_t RLDBusWatchAdd(DBusWatch *watch, void *info)
{
    RLDBusRef its = (RLDBusRef)info;
    RLFileDescriptorContext context;
    RLFileDescriptorRef f;
    RLRunLoopSourceRef source;
    memset(&context, 0, sizeof context);
    context.info = watch;
    f = RLFileDescriptorCreate(NULL, dbus_watch_get_unix_fd(watch), 0, RLDBusWatchReady, &context);
    if (f == NULL)
        return FALSE;
    source = RLFileDescriptorCreateRunLoopSource(NULL, f, 0);
    if (source == NULL) {
        RLRelease(f);
        return FALSE;
    }
    dbus_watch_set_data(watch, f, NULL);
    RLDBusWatchToggled(watch, info);
    RLRunLoopAddSource(its->loop, source, its->mode);
    RLRelease(source);
    return TRUE;
}

/* -- Timeouts: the data of a DBusTimeout is a timer, while it is enabled ------------------------------------------- */

static inline void RLDBusTimeoutFired(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    dbus_timeout_handle((DBusTimeout *)info);
}

static inline void RLDBusTimeoutRemove(DBusTimeout *timeout, void *info)
{
    RLRunLoopTimerRef timer = (RLRunLoopTimerRef)dbus_timeout_get_data(timeout);
    (void)info;
    if (timer == NULL)
        return;
    dbus_timeout_set_data(timeout, NULL, NULL);
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
}

static inline dbus_bool_t RLDBusTimeoutAdd(DBusTimeout *timeout, void *info)
{
    RLDBusRef its = (RLDBusRef)info;
    RLTimeInterval interval = dbus_timeout_get_interval(timeout) / 1000.0;
    RLRunLoopTimerContext context;
    RLRunLoopTimerRef timer;
    if (!dbus_timeout_get_enabled(timeout))
        return TRUE;
    memset(&context, 0, sizeof context);
    context.info = timeout;
    timer =
        RLRunLoopTimerCreateWithDelay(NULL, interval, interval > 0 ? interval : 0.001, RLDBusTimeoutFired, &context);
    if (timer == NULL)
        return FALSE;
    dbus_timeout_set_data(timeout, timer, NULL);
    RLRunLoopAddTimer(its->loop, timer, its->mode);
    return TRUE;
}

static inline void RLDBusTimeoutToggled(DBusTimeout *timeout, void *info)
{
    RLDBusTimeoutRemove(timeout, info);
    RLDBusTimeoutAdd(timeout, info);
}

/* -- Messages ------------------------------------------------------------------------------------------------------ */

static inline void RLDBusDispatch(void *info)
{
    RLDBusRef its = (RLDBusRef)info;
    if (its->isDispatching)
        return;
    its->isDispatching = 1;
    its->uses++;
    if (dbus_connection_dispatch(its->connection) != DBUS_DISPATCH_COMPLETE)
        RLRunLoopSourceSignal(its->messages);
    its->isDispatching = 0;
    RLDBusRelease(its);
}

/* Called on any thread; dispatching is not allowed here. */
static inline void RLDBusStatusChanged(DBusConnection *connection, DBusDispatchStatus status, void *info)
{
    RLDBusRef its = (RLDBusRef)info;
    (void)connection;
    if (status == DBUS_DISPATCH_COMPLETE)
        return;
    RLRunLoopSourceSignal(its->messages);
    RLRunLoopWakeUp(its->loop);
}

/* -- Connections and servers --------------------------------------------------------------------------------------- */

static inline RLDBusRef RLDBusCreate(RLRunLoopMode mode)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLDBusRef its = loop != NULL ? (RLDBusRef)calloc(1, sizeof *its) : NULL;
    if (its == NULL)
        return NULL;
    its->loop = (RLRunLoopRef)RLRetain(loop);
    its->mode = (RLRunLoopMode)RLRetain(mode);
    its->uses = 1;
    return its;
}

/** Reverses RLDBusConnectionAdd() or RLDBusServerAdd(). Call it on the same thread; a message's handler may do so. */
static inline void RLDBusRemove(RLDBusRef its)
{
    if (its->connection != NULL) {
        dbus_connection_set_watch_functions(its->connection, NULL, NULL, NULL, NULL, NULL);
        dbus_connection_set_timeout_functions(its->connection, NULL, NULL, NULL, NULL, NULL);
        dbus_connection_set_dispatch_status_function(its->connection, NULL, NULL, NULL);
        if (its->messages != NULL)
            RLRunLoopSourceInvalidate(its->messages);
    }
    if (its->server != NULL) {
        dbus_server_set_watch_functions(its->server, NULL, NULL, NULL, NULL, NULL);
        dbus_server_set_timeout_functions(its->server, NULL, NULL, NULL, NULL, NULL);
    }
    RLDBusRelease(its);
}

/** Makes the calling thread's run loop serve a connection until RLDBusRemove(), in a mode or in the common modes. The
 *  connection keeps the mode from being empty.
 *  @param connection  retained; its watch, timeout and dispatch status functions are replaced.
 *  @return NULL with errno ENOMEM if out of memory or descriptors. */
static inline RLDBusRef RLDBusConnectionAdd(DBusConnection *connection, RLRunLoopMode mode)
{
    RLDBusRef its = RLDBusCreate(mode);
    RLRunLoopSourceContext context;
    if (its == NULL)
        return NULL;
    memset(&context, 0, sizeof context);
    context.info = its;
    context.perform = RLDBusDispatch;
    its->connection = dbus_connection_ref(connection);
    its->messages = RLRunLoopSourceCreate(NULL, 0, &context);
    if (its->messages == NULL ||
        !dbus_connection_set_watch_functions(connection, RLDBusWatchAdd, RLDBusWatchRemove, RLDBusWatchToggled, its,
                                             NULL) ||
        !dbus_connection_set_timeout_functions(connection, RLDBusTimeoutAdd, RLDBusTimeoutRemove, RLDBusTimeoutToggled,
                                               its, NULL)) {
        RLDBusRemove(its);
        errno = ENOMEM;
        return NULL;
    }
    RLRunLoopAddSource(its->loop, its->messages, mode);
    dbus_connection_set_dispatch_status_function(connection, RLDBusStatusChanged, its, NULL);
    RLDBusStatusChanged(connection, dbus_connection_get_dispatch_status(connection), its);
    return its;
}

/** Makes the calling thread's run loop serve a server until RLDBusRemove(), in a mode or in the common modes. The
 *  server keeps the mode from being empty.
 *  @param server  retained; its watch and timeout functions are replaced.
 *  @return NULL with errno ENOMEM if out of memory or descriptors. */
static inline RLDBusRef RLDBusServerAdd(DBusServer *server, RLRunLoopMode mode)
{
    RLDBusRef its = RLDBusCreate(mode);
    if (its == NULL)
        return NULL;
    its->server = dbus_server_ref(server);
    if (!dbus_server_set_watch_functions(server, RLDBusWatchAdd, RLDBusWatchRemove, RLDBusWatchToggled, its, NULL) ||
        !dbus_server_set_timeout_functions(server, RLDBusTimeoutAdd, RLDBusTimeoutRemove, RLDBusTimeoutToggled, its,
                                           NULL)) {
        RLDBusRemove(its);
        errno = ENOMEM;
        return NULL;
    }
    return its;
}

RL_EXTERN_C_END
#endif
