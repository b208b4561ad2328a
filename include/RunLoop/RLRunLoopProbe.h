/** @file RLRunLoopProbe.h
 *  Probes: functions that are told what all run loops of the process do.
 *  Example: examples/probe.c
 *
 *  A probe sees each callback begin and end, each pass and sleep, and what was sent from one thread or process to
 *  another. It is for tracers, profilers and watchdogs. Without a probe each of these places costs two instructions,
 *  some ten where a thread goes to sleep or is woken.
 *
 *  Calls and what led to them
 *  --------------------------
 *  willCall and didCall come in pairs on the loop's thread, and nest if a callback runs the loop. Both go to the probe
 *  that was set before the call. A callback that ends its thread has no didCall. What led to a call is found by what
 *  the events have in common:
 *
 *      sent                       what follows                         in common
 *      Source: a signal           the source is performed              function and info
 *      Function: a post           the function is called               function and info
 *      Port: a message            the port's callback                  object: the port
 *      MessagePort: a request     received, just before the callback   number
 *      Reply: a reply             received, where it is waited for     number
 *      Wake: a wake-up            didSleep                             object: the loop
 *
 *  What has the same in common arrives in the order in which it was sent, except that several signals and several
 *  wake-ups may lead to one call or waking. dropped takes back what was sent last: it found no room, or was cancelled,
 *  or its loop has ended. Numbers of requests are the same in both processes; all requests without a reply that one
 *  process sends to one port have one number.
 *
 *  Static probes
 *  -------------
 *  The places where callbacks are called are also static probes (USDT) of the provider `runloop`, for bpftrace, perf
 *  and gdb: `call` with the kind, the function and its first argument, and `called` with the kind. They are passed by
 *  while a probe is set.
 *
 *  Not told of: what contexts are called for (retain, release, schedule, cancel, getPort, …), and notifications. */
#ifndef RUNLOOP_RLRUNLOOPPROBE_H
#define RUNLOOP_RLRUNLOOPPROBE_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** What an event is about. */
enum {
    kRLRunLoopProbeSource = 1,         /**< A source's perform function. */
    kRLRunLoopProbeTimer = 2,          /**< A timer's callback. */
    kRLRunLoopProbeObserver = 3,       /**< An observer's callback; detail: the activity. */
    kRLRunLoopProbeFunction = 4,       /**< A function that was posted or performed, or its release function. */
    kRLRunLoopProbeFileDescriptor = 5, /**< A descriptor's callback; detail: the types. */
    kRLRunLoopProbeSocket = 6,         /**< A socket's callback; detail: the type. */
    kRLRunLoopProbePort = 7,           /**< A port's callback. */
    /** A message port's callback; detail: the message id. Of a request that is sent 1 if a reply is wanted. */
    kRLRunLoopProbeMessagePort = 8,
    kRLRunLoopProbeReply = 9,         /**< The callback of an asynchronous request; detail: the result. */
    kRLRunLoopProbeInvalidation = 10, /**< The invalidation callback of a port, message port or request. */
    kRLRunLoopProbeSleep = 11,        /**< A sleep. didSleep has what ended it in detail. */
    kRLRunLoopProbeWake = 12,         /**< The end of another thread's sleep, by one system call. */
    kRLRunLoopProbePass = 13,         /**< A pass of a loop; info: the mode. */
    kRLRunLoopProbeWakeUp = 14        /**< A call of RLRunLoopWakeUp. If it ends a sleep, Wake follows. */
};

/** What ended a sleep: the detail of didSleep. */
enum {
    kRLRunLoopProbeByItself = 0, /**< A descriptor is ready, or the time has come. */
    kRLRunLoopProbeAdjusted = 1, /**< A thread has changed what the loop waits for; it may sleep on. */
    kRLRunLoopProbeWokenUp = 2   /**< A thread has woken the loop. */
};

/** One event. What is not stated for its kind is 0 or NULL. */
typedef struct RLRunLoopProbeEvent {
    uint32_t kind;          /**< One of the kinds. */
    uint32_t detail;        /**< See the kinds. */
    const void *object;     /**< The timer, observer, port, …; of posts, passes, sleeps, wake-ups the loop. */
    void (*function)(void); /**< The function that is, or will be, called, whatever its type. */
    const void *info;       /**< That function's info. Of willSleep and willPass: the mode. */
    /** Of requests and replies: what they have in common. Of willSleep: when the sleep ends at the latest, in
     *  nanoseconds of CLOCK_MONOTONIC; UINT64_MAX for no limit. */
    uint64_t number;
} RLRunLoopProbeEvent;

/** A function of a probe. It must not run the loop or end the thread. `sent` may be called in signal handlers and under
 *  locks of librunloop-kit.so, and must be async-signal-safe; the others are called with no lock held. The event is
 *  valid during the call. */
typedef void (*RLRunLoopProbeFunction)(const RLRunLoopProbeEvent *event);

/** What a probe consists of. Functions that are NULL are not called. */
typedef struct RLRunLoopProbe {
    RLIndex version;                  /**< 0. */
    RLRunLoopProbeFunction willCall;  /**< A callback is about to be called. */
    RLRunLoopProbeFunction didCall;   /**< It has returned. */
    RLRunLoopProbeFunction willSleep; /**< A loop is going to sleep. */
    RLRunLoopProbeFunction didSleep;  /**< It is awake. */
    RLRunLoopProbeFunction sent;      /**< A signal, post, message, request, reply or wake-up. */
    RLRunLoopProbeFunction received;  /**< A request or reply has arrived. */
    RLRunLoopProbeFunction dropped;   /**< What was sent will not arrive. */
    RLRunLoopProbeFunction willPass;  /**< A pass begins: a loop is about to look for work. */
} RLRunLoopProbe;

/** Sets the probe of the process, in place of the one before.
 *  @param probe  NULL: none. Not copied: it must stay unchanged for as long as the process lives, since threads may be
 *                using it after another was set.
 *  @return 1, or 0 if the version is unknown. */
RL_EXPORT RLBoolean RLRunLoopSetProbe(const RLRunLoopProbe *probe);

RL_EXTERN_C_END
#endif
