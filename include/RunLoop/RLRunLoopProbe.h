/** @file RLRunLoopProbe.h
 *  Probes: functions that are notified of what all run loops of the process do.
 *  Example: examples/probe.c
 *
 *  A probe sees each callback begin and end, each pass and sleep, and everything that is sent from one thread or
 *  process to another. It is for tracers, profilers and watchdogs. Without a probe each of these places costs two
 *  instructions, or about ten where a thread goes to sleep or is woken, and in a request to a message port.
 *
 *  Calls and what led to them
 *  --------------------------
 *  willCall and didCall come in pairs on the loop's thread, and nest if a callback runs the loop. A callback that ends
 *  its thread has no didCall. Each goes to the probe that is set at that time: if another one is set while a callback
 *  runs, that one receives a didCall without a willCall. To find what led to a callback, match reports by what they
 *  have in common:
 *
 *      sent                       what follows                         in common
 *      Source: a signal           the source is performed              function and info
 *      Function: a post           the function is called               function and info
 *      Port: a message            the port's callback                  object and item: the port
 *      MessagePort: a request     received, just before the callback   number, and the port's name
 *      Reply: a reply or none     received, where it is waited for     number, and the port's name
 *      Wake: a wake-up            didSleep                             object: the loop
 *
 *  Events with the same value in common arrive in the order in which they were sent, except that several signals or
 *  several wake-ups may lead to a single callback or waking. dropped revokes the event that was sent last: there was no
 *  room for it, it was cancelled, or its loop has ended.
 *
 *  The lower half of the number of a request, or of its reply, is the request's number at the port that sends it: 0 for
 *  all requests without a reply. The upper half is the process that sent it, or 0 where the remote port is, which is
 *  that process. So these two processes know a request by the same number after
 *
 *      if (number >> 32 == 0)
 *          number |= (uint64_t)getpid() << 32;
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

/** The kinds of calls and events. */
enum {
    kRLRunLoopProbeSource = 1,         /**< A source's perform callback. */
    kRLRunLoopProbeTimer = 2,          /**< A timer's callback. */
    kRLRunLoopProbeObserver = 3,       /**< An observer's callback; detail: the activity. */
    kRLRunLoopProbeFunction = 4,       /**< A function that was posted or performed, or its release function. */
    kRLRunLoopProbeFileDescriptor = 5, /**< A descriptor object's callback; detail: the types. */
    kRLRunLoopProbeSocket = 6,         /**< A socket's callback; detail: the type. */
    kRLRunLoopProbePort = 7,           /**< A port's callback. */
    kRLRunLoopProbeMessagePort = 8,    /**< A message port's callback; detail: the message ID. */
    kRLRunLoopProbeReply = 9,          /**< The callback of an asynchronous request; detail: the result. */
    kRLRunLoopProbeInvalidation = 10,  /**< The invalidation callback of a port, message port or request. */
    kRLRunLoopProbeSleep = 11,         /**< A sleep. */
    kRLRunLoopProbeWake = 12,          /**< The end of another thread's sleep, by one system call. */
    kRLRunLoopProbePass = 13,          /**< A pass of a loop. */
    kRLRunLoopProbeWakeUp = 14         /**< A call of RLRunLoopWakeUp(). If it ends a sleep, Wake follows. */
};

/** What ended a sleep: the number of didSleep. */
enum {
    kRLRunLoopProbeByItself = 0, /**< A descriptor is ready, or the time limit was reached. */
    kRLRunLoopProbeAdjusted = 1, /**< A thread has changed what the loop waits for; the loop may continue to sleep. */
    kRLRunLoopProbeWokenUp = 2   /**< A thread has woken the loop. */
};

/** A call of a callback. */
typedef struct RLRunLoopProbeCall {
    const void *info;       /**< The info that the function is called with. */
    void (*function)(void); /**< The function, whatever its type. */
    uint16_t kind;          /**< One of the kinds above, up to kRLRunLoopProbeInvalidation. */
    uint16_t reserved[3];   /**< Unspecified. */
    const void *item;       /**< The function's first argument: the timer, observer, port, …, or else its info. */
    uint64_t detail;        /**< Depends on the kind: see there. Unspecified for kinds without a detail. */
} RLRunLoopProbeCall;

/** A function of a probe that is notified of calls. It must not run the loop or end the thread. No lock is held. The
 *  call is valid until the function returns; didCall gets the same address as willCall. */
typedef void (*RLRunLoopProbeCallFunction)(const RLRunLoopProbeCall *call);

/** A function of a probe that is notified of everything else. It must not run the loop or end the thread. `sent` may be
 *  called in signal handlers and under locks of librunloop-kit.so, so it must be async-signal-safe; the others are
 *  called with no lock held.
 *
 *  The arguments depend on the kind, and a function reads only those that its kind has: whatever is not listed here is
 *  unspecified, not 0.
 *
 *      kind                       object       others
 *      Sleep, in willSleep        the loop     info: the mode; number: when the sleep ends at the latest, in
 *                                              nanoseconds of CLOCK_MONOTONIC; more than INT64_MAX: no limit
 *      Sleep, in didSleep         the loop     number: what ended it
 *      Source                     the source   function, info
 *      Function                   the loop     function, info. In dropped there is no object.
 *      Port                       the port
 *      MessagePort, Reply         the port     number: see "Calls and what led to them"
 *      Wake, WakeUp               the loop
 *      Pass                       the loop     info: the mode
 */
typedef void (*RLRunLoopProbeFunction)(const void *object, uint32_t kind, uint64_t number, void (*function)(void),
                                       const void *info);

/** The functions of a probe. Those that are NULL are not called. */
typedef struct RLRunLoopProbe {
    RLIndex version;                     /**< 0. */
    RLRunLoopProbeCallFunction willCall; /**< A callback is about to be called. */
    RLRunLoopProbeCallFunction didCall;  /**< The callback has returned. */
    RLRunLoopProbeFunction willSleep;    /**< A loop is about to sleep. */
    RLRunLoopProbeFunction didSleep;     /**< The loop has woken. */
    RLRunLoopProbeFunction sent;         /**< A signal, post, message, request, reply or wake-up was sent. */
    RLRunLoopProbeFunction received;     /**< A request has arrived, or a wait for a reply has ended. */
    RLRunLoopProbeFunction dropped;      /**< Something that was sent will not arrive. */
    RLRunLoopProbeFunction willPass;     /**< A pass begins: a loop is about to look for work. */
} RLRunLoopProbe;

/** Sets the probe of the process, replacing the previous one.
 *  @param probe  NULL: none. Not copied: it must stay unchanged for as long as the process lives, since threads may
 *                still be using it after another probe was set.
 *  @return 1, or 0 if the version is unknown: then nothing changes.
 *  Errors: 0, without a diagnostic and without errno, so that a program that knows several versions can try them one
 *  after the other.
 *  Cost: two stores. While a probe is set: what its functions cost. */
RL_EXPORT RLBoolean RLRunLoopSetProbe(const RLRunLoopProbe *probe);

RL_EXTERN_C_END
#endif
