/** @file RLRunLoopProbe.h
 *  Probes: functions that are notified of what all run loops of the process do.
 *  Example: examples/probe.c
 *
 *  A probe sees each callback begin and end, each pass and sleep, and everything that is sent from one thread or
 *  process to another. It is for tracers, profilers and watchdogs. Without a probe each of these places costs two
 *  instructions, or about ten where a thread goes to sleep or is woken.
 *
 *  Calls and what led to them
 *  --------------------------
 *  willCall and didCall come in pairs on the loop's thread, and nest if a callback runs the loop. Both go to the probe
 *  that was set before the callback began. A callback that ends its thread has no didCall. To find what led to a
 *  callback, match the events by what they have in common:
 *
 *      sent                       what follows                         in common
 *      Source: a signal           the source is performed              function and info
 *      Function: a post           the function is called               function and info
 *      Port: a message            the port's callback                  object: the port
 *      MessagePort: a request     received, just before the callback   number
 *      Reply: a reply             received, where it is waited for     number
 *      Wake: a wake-up            didSleep                             object: the loop
 *
 *  Events with the same value in common arrive in the order in which they were sent, except that several signals or
 *  several wake-ups may lead to a single callback or waking. dropped revokes the event that was sent last: there was no
 *  room for it, it was cancelled, or its loop has ended. The numbers of requests are the same in both processes; all
 *  requests without a reply that one process sends to one port share one number.
 *
 *  Static probes
 *  -------------
 *  The places where callbacks are called are also static probes (USDT) of the provider `runloop`, for bpftrace, perf
 *  and gdb: `call` with the kind, the function and its first argument, and `called` with the kind. They are skipped
 *  while a probe is set.
 *
 *  Calls of context functions (retain, release, schedule, cancel, getPort, …) and notifications are not reported. A
 *  library whose objects are sources, such as librunloop-kit.so, is reported with its own functions, which call those
 *  of the program. */
#ifndef RUNLOOP_RLRUNLOOPPROBE_H
#define RUNLOOP_RLRUNLOOPPROBE_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** The kinds of events. */
enum {
    kRLRunLoopProbeSource = 1,         /**< A source's perform callback. */
    kRLRunLoopProbeTimer = 2,          /**< A timer's callback. */
    kRLRunLoopProbeObserver = 3,       /**< An observer's callback; detail: the activity. */
    kRLRunLoopProbeFunction = 4,       /**< A function that was posted or performed, or its release function. */
    kRLRunLoopProbeFileDescriptor = 5, /**< A descriptor object's callback; detail: the types. */
    kRLRunLoopProbeSocket = 6,         /**< A socket's callback; detail: the type. */
    kRLRunLoopProbePort = 7,           /**< A port's callback. */
    /** A message port's callback; detail: the message ID. For a request that is sent: 1 if a reply is wanted. */
    kRLRunLoopProbeMessagePort = 8,
    kRLRunLoopProbeReply = 9,         /**< The callback of an asynchronous request; detail: the result. */
    kRLRunLoopProbeInvalidation = 10, /**< The invalidation callback of a port, message port or request. */
    kRLRunLoopProbeSleep = 11,        /**< A sleep; detail of didSleep: what ended it. */
    kRLRunLoopProbeWake = 12,         /**< The end of another thread's sleep, by one system call. */
    kRLRunLoopProbePass = 13,         /**< A pass of a loop; info: the mode. */
    kRLRunLoopProbeWakeUp = 14        /**< A call of RLRunLoopWakeUp(). If it ends a sleep, Wake follows. */
};

/** What ended a sleep: the detail of didSleep. */
enum {
    kRLRunLoopProbeByItself = 0, /**< A descriptor is ready, or the time limit was reached. */
    kRLRunLoopProbeAdjusted = 1, /**< A thread has changed what the loop waits for; the loop may continue to sleep. */
    kRLRunLoopProbeWokenUp = 2   /**< A thread has woken the loop. */
};

/** An event. Fields that are not described for its kind are 0 or NULL. */
typedef struct RLRunLoopProbeEvent {
    uint32_t kind;          /**< One of the kinds above. */
    uint32_t detail;        /**< Depends on the kind: see above. */
    const void *object;     /**< The timer, observer, port, …; for posts, passes, sleeps, wake-ups: the loop. */
    void (*function)(void); /**< The function that is, or will be, called, whatever its type. */
    const void *info;       /**< The info of that function. For willSleep and willPass: the mode. */
    /** For requests and replies: the number that they have in common. For willSleep: when the sleep ends at the latest,
     *  in nanoseconds of CLOCK_MONOTONIC; UINT64_MAX for no limit. */
    uint64_t number;
} RLRunLoopProbeEvent;

/** A function of a probe. It must not run the loop or end the thread. `sent` may be called in signal handlers and under
 *  locks of librunloop-kit.so, so it must be async-signal-safe; the others are called with no lock held. The event is
 *  valid during the call. */
typedef void (*RLRunLoopProbeFunction)(const RLRunLoopProbeEvent *event);

/** The functions of a probe. Those that are NULL are not called. */
typedef struct RLRunLoopProbe {
    RLIndex version;                  /**< 0. */
    RLRunLoopProbeFunction willCall;  /**< A callback is about to be called. */
    RLRunLoopProbeFunction didCall;   /**< The callback has returned. */
    RLRunLoopProbeFunction willSleep; /**< A loop is about to sleep. */
    RLRunLoopProbeFunction didSleep;  /**< The loop has woken. */
    RLRunLoopProbeFunction sent;      /**< A signal, post, message, request, reply or wake-up was sent. */
    RLRunLoopProbeFunction received;  /**< A request or reply has arrived. */
    RLRunLoopProbeFunction dropped;   /**< Something that was sent will not arrive. */
    RLRunLoopProbeFunction willPass;  /**< A pass begins: a loop is about to look for work. */
} RLRunLoopProbe;

/** Sets the probe of the process, replacing the previous one.
 *  @param probe  NULL: none. Not copied: it must stay unchanged for as long as the process lives, since threads may
 *                still be using it after another probe was set.
 *  @return 1, or 0 if the version is unknown. */
RL_EXPORT RLBoolean RLRunLoopSetProbe(const RLRunLoopProbe *probe);

RL_EXTERN_C_END
#endif
