/** @file curl.h
 *  libcurl: the transfers of a CURLM in a run loop. Static functions; nothing to link but libcurl.
 *  Example: examples/curl.c
 *
 *  RLCurlMultiAdd() makes the calling thread's run loop serve a multi handle while it runs in a mode. Transfers are
 *  added as usual, and begin in the next pass; a callback receives the result of each one when it has ended:
 *
 *      static void done(CURL *easy, CURLcode result, void *info) { … curl_multi_remove_handle(multi, easy); … }
 *
 *      RLCurlMultiRef curl = RLCurlMultiAdd(multi, kRLRunLoopCommonModes, done, NULL);
 *      curl_multi_add_handle(multi, easy);
 *      RLRunLoopRun();
 *      RLCurlMultiRemove(curl);
 *      curl_multi_cleanup(multi);
 *
 *  Sockets and timers of libcurl are descriptor objects and a timer of the loop: while no transfer is under way they do
 *  not keep the mode from being empty, and nothing is polled. All calls for one multi handle are made on the loop's
 *  thread. Most functions of libcurl may not be called in its own callbacks, so a run loop that runs in a write
 *  callback does not serve the transfers meanwhile; in `done` everything is allowed. */
#ifndef RUNLOOP_ADAPTERS_CURL_H
#define RUNLOOP_ADAPTERS_CURL_H
#include <RunLoop/RunLoop.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
RL_EXTERN_C_BEGIN

struct RLCurlMulti;

/* A socket of libcurl. */
typedef struct RLCurlSocket {
    struct RLCurlMulti *multi;
    struct RLCurlSocket *next;
    RLFileDescriptorRef f;
    RLOptionFlags missed; /* the types that were ready while libcurl could not be called */
} RLCurlSocket;

/** A multi handle that a run loop serves: see RLCurlMultiAdd(). */
typedef struct RLCurlMulti {
    CURLM *multi; /* NULL after RLCurlMultiRemove() */
    RLRunLoopRef loop;
    RLRunLoopMode mode;
    RLRunLoopTimerRef timer; /* in the loop while it is set */
    RLCurlSocket *sockets;
    void (*done)(CURL *easy, CURLcode result, void *info);
    void *info;
    int uses;
    int isCalling; /* libcurl is being called; it refuses calls in its callbacks */
    int hasMissed;
} * RLCurlMultiRef;

static inline void RLCurlMultiRelease(RLCurlMultiRef its)
{
    if (--its->uses > 0)
        return;
    RLRelease(its->mode);
    RLRelease(its->loop);
    free(its);
}

/* Makes sockets and the timer ready again that became ready in a run nested in a callback of libcurl. */
static inline void RLCurlMultiCatchUp(RLCurlMultiRef its)
{
    if (!its->hasMissed)
        return;
    its->hasMissed = 0;
    for (RLCurlSocket *socket = its->sockets; socket != NULL; socket = socket->next) {
        RLFileDescriptorEnableCallBacks(socket->f, socket->missed);
        socket->missed = 0;
    }
    RLRunLoopTimerSetNextFireDelay(its->timer, 0);
    RLRunLoopAddTimer(its->loop, its->timer, its->mode);
}

/* Makes libcurl proceed with what a socket or the time allows, and reports the transfers that end as a result. */
static inline void RLCurlMultiAct(RLCurlMultiRef its, curl_socket_t socket, int events)
{
    CURLMsg *message;
    int count;
    its->isCalling = 1;
    its->uses++;
    curl_multi_socket_action(its->multi, socket, events, &count);
    its->isCalling = 0;
    RLCurlMultiCatchUp(its);
    while (its->multi != NULL && (message = curl_multi_info_read(its->multi, &count)) != NULL)
        if (message->msg == CURLMSG_DONE && its->done != NULL)
            its->done(message->easy_handle, message->data.result, its->info);
    RLCurlMultiRelease(its);
}

static inline void RLCurlSocketReady(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    RLCurlSocket *socket = (RLCurlSocket *)info;
    if (socket->multi->isCalling) {
        socket->missed |= types;
        socket->multi->hasMissed = 1;
        return;
    }
    RLFileDescriptorEnableCallBacks(f, types); /* before libcurl sets what it wants from now on */
    RLCurlMultiAct(socket->multi, RLFileDescriptorGetNativeDescriptor(f),
                   (types & kRLFileDescriptorReadCallBack ? CURL_CSELECT_IN : 0) |
                       (types & kRLFileDescriptorWriteCallBack ? CURL_CSELECT_OUT : 0));
}

static inline void RLCurlTimerFired(RLRunLoopTimerRef timer, void *info)
{
    RLCurlMultiRef its = (RLCurlMultiRef)info;
    RLRunLoopRemoveTimer(its->loop, timer, its->mode);
    if (its->isCalling)
        its->hasMissed = 1;
    else
        RLCurlMultiAct(its, CURL_SOCKET_TIMEOUT, 0);
}

static inline void RLCurlSocketEnd(RLCurlSocket *socket)
{
    RLCurlSocket **place = &socket->multi->sockets;
    while (*place != socket)
        place = &(*place)->next;
    *place = socket->next;
    RLFileDescriptorInvalidate(socket->f);
    RLRelease(socket->f);
    free(socket);
}

/* Begins to watch a socket. Returns NULL if out of memory or descriptors. */
static inline RLCurlSocket *RLCurlSocketBegin(RLCurlMultiRef its, curl_socket_t fd)
{
    RLFileDescriptorContext context;
    RLRunLoopSourceRef source = NULL;
    RLCurlSocket *socket = (RLCurlSocket *)calloc(1, sizeof *socket);
    if (socket == NULL)
        return NULL;
    memset(&context, 0, sizeof context);
    context.info = socket;
    socket->f = RLFileDescriptorCreate(NULL, fd, 0, RLCurlSocketReady, &context);
    if (socket->f != NULL)
        source = RLFileDescriptorCreateRunLoopSource(NULL, socket->f, 0);
    if (source == NULL) {
        if (socket->f != NULL)
            RLRelease(socket->f);
        free(socket);
        return NULL;
    }
    RLRunLoopAddSource(its->loop, source, its->mode);
    RLRelease(source);
    socket->multi = its;
    socket->next = its->sockets;
    its->sockets = socket;
    curl_multi_assign(its->multi, fd, socket);
    return socket;
}

/* Called by libcurl with the events that it waits for on a socket. */
static inline int RLCurlWatch(CURL *easy, curl_socket_t fd, int what, void *info, void *known)
{
    RLCurlSocket *socket = (RLCurlSocket *)known;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (socket != NULL)
            RLCurlSocketEnd(socket);
        return 0;
    }
    if (socket == NULL && (socket = RLCurlSocketBegin((RLCurlMultiRef)info, fd)) == NULL)
        return -1;
    RLFileDescriptorDisableCallBacks(socket->f, (what & CURL_POLL_IN ? 0 : kRLFileDescriptorReadCallBack) |
                                                    (what & CURL_POLL_OUT ? 0 : kRLFileDescriptorWriteCallBack));
    RLFileDescriptorEnableCallBacks(socket->f, (what & CURL_POLL_IN ? kRLFileDescriptorReadCallBack : 0) |
                                                   (what & CURL_POLL_OUT ? kRLFileDescriptorWriteCallBack : 0));
    return 0;
}

/* Called by libcurl with the time at which it wants to be called. libcurl may not be called from here. */
static inline int RLCurlSetTimer(CURLM *multi, long milliseconds, void *info)
{
    RLCurlMultiRef its = (RLCurlMultiRef)info;
    (void)multi;
    if (milliseconds < 0) {
        RLRunLoopRemoveTimer(its->loop, its->timer, its->mode);
        return 0;
    }
    RLRunLoopTimerSetNextFireDelay(its->timer, (double)milliseconds / 1000);
    RLRunLoopAddTimer(its->loop, its->timer, its->mode);
    return 0;
}

/** Makes the calling thread's run loop serve a multi handle until RLCurlMultiRemove(), in a mode or in the common
 *  modes. This replaces the handle's socket and timer functions, and reads its messages. Transfers may already have
 *  been added to the handle, but must not have begun.
 *  @param multi  the multi handle; clean it up after RLCurlMultiRemove().
 *  @param done   called for each transfer that has ended, with its result; may be NULL. It may remove and clean up
 *                `easy`, and call RLCurlMultiRemove().
 *  @param info   passed to done.
 *  @return NULL with errno if out of memory. */
static inline RLCurlMultiRef RLCurlMultiAdd(CURLM *multi, RLRunLoopMode mode,
                                            void (*done)(CURL *easy, CURLcode result, void *info), void *info)
{
    RLCurlMultiRef its = (RLCurlMultiRef)calloc(1, sizeof *its);
    RLRunLoopTimerContext context;
    memset(&context, 0, sizeof context);
    context.info = its;
    if (its == NULL)
        return NULL;
    its->timer = RLRunLoopTimerCreateRearmable(NULL, RLCurlTimerFired, &context);
    if (its->timer == NULL || RLRunLoopGetCurrent() == NULL) {
        if (its->timer != NULL)
            RLRelease(its->timer);
        free(its);
        errno = ENOMEM;
        return NULL;
    }
    its->multi = multi;
    its->loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    its->mode = (RLRunLoopMode)RLRetain(mode);
    its->done = done;
    its->info = info;
    its->uses = 1;
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, RLCurlWatch);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, its);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, RLCurlSetTimer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, its);
    RLCurlSetTimer(multi, 0, its); /* begins the transfers that were added before */
    return its;
}

/** Reverses RLCurlMultiAdd(). Call it on the same thread, and not in a callback of libcurl other than `done`.
 *  Transfers under way are no longer served: remove them from the multi handle, and clean that up. */
static inline void RLCurlMultiRemove(RLCurlMultiRef its)
{
    curl_multi_setopt(its->multi, CURLMOPT_SOCKETFUNCTION, NULL);
    curl_multi_setopt(its->multi, CURLMOPT_TIMERFUNCTION, NULL);
    while (its->sockets != NULL) {
        curl_multi_assign(its->multi, RLFileDescriptorGetNativeDescriptor(its->sockets->f), NULL);
        RLCurlSocketEnd(its->sockets);
    }
    its->multi = NULL;
    RLRunLoopTimerInvalidate(its->timer);
    RLRelease(its->timer);
    RLCurlMultiRelease(its);
}

RL_EXTERN_C_END
#endif
