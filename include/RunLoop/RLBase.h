/** @file RLBase.h
 *  Objects: plain types, ownership, equality, descriptions, absolute time, and what happens on a mistake.
 *
 *  Handles
 *  -------
 *  A run loop, source, timer, observer, string, data, array and so on is an object behind an opaque handle
 *  (`RLRunLoopRef`, `RLStringRef`, …). Any handle can be passed where an `RLTypeRef` is asked for. Objects are
 *  counted: a new one has one owner; RLRetain() adds one, RLRelease() takes one away, and the last release frees
 *  the object.
 *
 *  Who owns what is in the name of the function:
 *  - Create rule, or Copy rule: a function with `Create` or `Copy` in its name gives you an object that you own.
 *    Release it.
 *  - Get rule: any other function lends. Do not release; retain if you keep it longer than its owner does.
 *  What you pass in is retained by the library for as long as it needs it, so you may release it right after the call:
 *  a loop retains the sources, timers and observers that were added to it.
 *
 *  Threads
 *  -------
 *  Every function of the library may be called from any thread, unless its `Thread:` word says otherwise. A handle must
 *  be owned by somebody for the whole call; the library cannot protect a caller from a handle that another thread has
 *  released. What a thread wrote before it signals, wakes, posts or adds is visible to the callback that runs because
 *  of it. ThreadSanitizer is told of this order, and so are Valgrind's Helgrind and DRD (which want the suppressions in
 *  share/runloop/valgrind.supp): what they report is real. Locks are slower then.
 *  These five may also be called in a signal handler: RLRunLoopWakeUp(), RLRunLoopStop(), RLRunLoopIsWaiting(),
 *  RLRunLoopSourceSignal(), RLRunLoopSourceIsSignalled(). They take no lock, allocate nothing and preserve errno.
 *  No function is a cancellation point. pthread_cancel() ends a thread in its loop when a callback comes to one
 *  (pthread_testcancel(), read()), or after the run: to end one that sleeps, cancel it and then stop its loop, or post
 *  a function that calls pthread_testcancel(). The loop is torn down as at any end of its thread. Asynchronous
 *  cancellation (PTHREAD_CANCEL_ASYNCHRONOUS) is not supported.
 *  A callback is always called with no lock of the library held, so it may call every function, unless the function's
 *  `Re-entrancy:` word says otherwise.
 *
 *  Mistakes and failures
 *  ---------------------
 *  A mistake of the program (a NULL handle, a handle of the wrong kind, a released handle where that can be told, an
 *  unknown version number, NaN) never corrupts anything. One line goes to the error handler, the call does nothing and
 *  returns its failure value; errno is EINVAL. The default handler writes to stderr, for instance
 *
 *      runloop: RLRunLoopAddSource: source: expected RLRunLoopSource, got RLRunLoopTimer
 *
 *  With `RUNLOOP_MISUSE=abort` in the environment the process aborts after the line: use it in development and in
 *  tests. Any other value is told of in a line of its own, once. This is what "reported" means in these headers.
 *  A handle says what it is in its first bytes, and that is what is looked at. So a wrong kind is always noticed; a
 *  released handle only until its memory is used again; a pointer that cannot be read crashes.
 *  A failure of the system (no memory, no descriptors) is not a mistake: it is a return value with errno set, and
 *  nothing is printed. The exception is RLRunLoopRun(), which has no return value: the handler gets a line, too.
 *
 *  Deliberate differences from CoreFoundation
 *  ------------------------------------------
 *  1. NULL to RLRetain(), RLRelease() and the like is reported and harmless. CF crashes.
 *  2. There is one allocator, malloc's. Allocator arguments are there so that CF code fits; pass NULL.
 *  3. Out of memory is a NULL or 0 result with errno ENOMEM. CF aborts.
 *  4. RLBoolean is `unsigned char`, as `Boolean` is on a Mac. Results are 0 or 1; as an argument any other value counts
 *     as 1. */
#ifndef RUNLOOP_RLBASE_H
#define RUNLOOP_RLBASE_H

#include <stddef.h>
#include <stdint.h>

/* RL_EXTERN_C_BEGIN and RL_EXTERN_C_END: around the declarations of a header, for C++. */
#ifdef __cplusplus
#define RL_EXTERN_C_BEGIN extern "C" {
#define RL_EXTERN_C_END }
#else
#define RL_EXTERN_C_BEGIN
#define RL_EXTERN_C_END
#endif
/** Marks what the library exports. */
#define RL_EXPORT extern __attribute__((visibility("default")))

/** The version of these headers: first number. It changes when programs must be changed. */
#define RL_VERSION_MAJOR 0
/** Second number: new functions. */
#define RL_VERSION_MINOR 1
/** Third number: repairs only. */
#define RL_VERSION_PATCH 0
/** The three numbers as one, for comparisons: 0.1.0 is 100. RLGetVersion() has that of the library at run time. */
#define RL_VERSION ((RL_VERSION_MAJOR * 10000) + (RL_VERSION_MINOR * 100) + RL_VERSION_PATCH)

RL_EXTERN_C_BEGIN

/** A truth value: 0 or 1. `unsigned char`, so that callbacks written with CF's Boolean can be called. */
typedef unsigned char RLBoolean;
/** A count, an index, an order, a version: a signed word. */
typedef long RLIndex;
/** A set of bits: an unsigned word. */
typedef unsigned long RLOptionFlags;
/** The kind of an object, as RLGetTypeID() tells it. 0 is no kind. */
typedef unsigned long RLTypeID;
/** A hash value: equal objects have equal ones. */
typedef unsigned long RLHashCode;
/** A span of time in seconds. */
typedef double RLTimeInterval;
/** A point in time: seconds since 2001-01-01 00:00:00 UTC, leap seconds not counted. Negative before that. */
typedef double RLAbsoluteTime;
/** Any object of the library. */
typedef const void *RLTypeRef;
/** Stands in the signatures of CF's Create functions. Pass NULL or kRLAllocatorDefault; anything else is ignored. */
typedef const struct RLAllocator *RLAllocatorRef;
/** An immutable string: see RLString.h. */
typedef const struct RLString *RLStringRef;

/** The result of a comparison: one of the three constants below. */
typedef RLIndex RLComparisonResult;
/** The results of comparisons. */
enum {
    kRLCompareLessThan = -1,  /**< The first comes before the second. */
    kRLCompareEqualTo = 0,    /**< They are equal. */
    kRLCompareGreaterThan = 1 /**< The first comes after the second. */
};

/** What a function that looks for something returns as the place of nothing. */
enum { kRLNotFound = -1 /**< It is not there. */ };

/** A part of a sequence: `length` elements from index `location` on. */
typedef struct RLRange {
    RLIndex location; /**< Index of the first element, from 0. */
    RLIndex length;   /**< Number of elements; 0 is an empty range. */
} RLRange;

/** The only allocator: malloc. Its value is NULL. */
RL_EXPORT const RLAllocatorRef kRLAllocatorDefault;
/** Not an allocator: says of a buffer that nobody is to free it. For arguments that are called a deallocator. */
RL_EXPORT const RLAllocatorRef kRLAllocatorNull;
/** Seconds from 1970-01-01 to 2001-01-01, both 00:00 UTC: 978307200. Add it to an RLAbsoluteTime to get a time_t. */
RL_EXPORT const RLTimeInterval kRLAbsoluteTimeIntervalSince1970;
/** Seconds from 1904-01-01 to 2001-01-01, both 00:00 UTC: 3061152000. */
RL_EXPORT const RLTimeInterval kRLAbsoluteTimeIntervalSince1904;

/** Adds an owner to an object.
 *  @param object  any object, not NULL.
 *  @return object itself, or NULL if object is NULL or not an object.
 *  Ownership: you own object once more; balance it with RLRelease().  Thread: any; one atomic step, no lock.
 *  Re-entrancy: allowed in callbacks.  Errors: NULL or a handle that is no object is reported and gives NULL.
 *  Cost: O(1), no allocation, no system call.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLTypeRef RLRetain(RLTypeRef object);

/** Takes an owner away from an object; the last one frees it.
 *  What the object owned is released with it, and a context's release callback runs in this call. Constants
 *  (kRLRunLoopDefaultMode, RLSTR()) are never freed; releasing them has no effect.
 *  @param object  an object that you own, not NULL; do not use the handle afterwards.
 *  Ownership: gives up one ownership.  Thread: any; one atomic step, no lock; the object is freed on this thread.
 *  Re-entrancy: allowed in callbacks, also for the object whose callback it is: the library holds it during the call.
 *  Errors: NULL, and one release too many where it can be told, are reported and do nothing.
 *  Cost: O(1), plus what is freed; no system call.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT void RLRelease(RLTypeRef object);

/** Releases an object later: when the calling thread's loop ends its pass.
 *  For functions that return an object which their caller need not release. In a callback, the object is released at
 *  the end of the pass of the innermost run, or before that run sleeps in it; outside of any run, when the thread ends.
 *  Runs that begin later leave the object alone. At the end of the process nothing is released. What a
 *  release callback autoreleases goes in the same pass, but for a chain without end, which goes on in the next ones.
 *  In a child of fork() what the thread that forked has autoreleased is released, what other threads have is not.
 *  @param object  an object that you own, not NULL. Use the handle until then, or RLRetain() it.
 *  @return object itself, or NULL if object is NULL or not an object.
 *  Ownership: gives up one ownership, later.  Thread: any; makes the calling thread's loop, as RLRunLoopGetCurrent().
 *  Re-entrancy: allowed in callbacks, also those that run while objects are released.
 *  Errors: NULL or a handle that is no object is reported and gives NULL. Out of memory: object itself, which is still
 *  yours, and errno ENOMEM; set errno to 0 before to tell. One release too many is reported when it is made.
 *  CF: on Linux CF never releases the object (difference 17).
 *  Cost: O(1), now and then an allocation, no system call.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLTypeRef RLAutorelease(RLTypeRef object);

/** Tells how many times an object is owned by RLRetain() and the Create rule. For tests and debugging only.
 *  What a loop holds itself is not counted. The number may be out of date when you read it.
 *  @param object  any object, not NULL.
 *  @return the count; LONG_MAX for constants; 0 for NULL.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or a handle that is no object is reported and gives 0.
 *  Cost: O(1), no allocation, no system call.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLIndex RLGetRetainCount(RLTypeRef object);

/** Tells the kind of an object. Compare it with the result of a function such as RLRunLoopTimerGetTypeID().
 *  @param object  any object, not NULL.
 *  @return the kind, or 0 if object is NULL or not an object.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or a handle that is no object is reported and gives 0.
 *  Cost: O(1), no allocation, no system call.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLTypeID RLGetTypeID(RLTypeRef object);

/** Tells whether two objects are equal.
 *  Strings and data are equal if their bytes are, numbers if their values are, dates if they are the same time;
 *  arrays, sets and dictionaries if their contents are, by their own callbacks (see their headers); sources as
 *  RLRunLoopSource.h says under "Equality"; all others only if they are the same object. Objects of different kinds
 *  are never equal.
 *  @param object1  any object, not NULL.
 *  @param object2  any object, not NULL.
 *  @return 1 if they are equal, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; may call equal callbacks.
 *  Errors: NULL is reported and gives 0.
 *  Cost: O(size) for objects with contents, else O(1).  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLBoolean RLEqual(RLTypeRef object1, RLTypeRef object2);

/** Gives a hash value for tables. Equal objects have equal hashes while the process lives; do not store it elsewhere.
 *  @param object  any object, not NULL.
 *  @return the hash, or 0 if object is NULL or not an object.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; may call a source's hash callback.
 *  Errors: NULL or a handle that is no object is reported and gives 0.
 *  Cost: O(size) for objects with contents, else O(1).  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLHashCode RLHash(RLTypeRef object);

/** Makes a string that describes an object, for people: `<RLRunLoopTimer 0x… valid=1 …>`.
 *  The format may change in any version: do not parse it. A context's copyDescription callback, if there is one,
 *  describes info. info is not held meanwhile: do not describe an object with such a callback while another thread may
 *  invalidate it, or call it for the last time. A description longer than 1000 bytes is cut, unless it is a string's.
 *  @param object  any object, not NULL.
 *  @return the description, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks; may call copyDescription callbacks.
 *  Errors: NULL with errno ENOMEM; a NULL object is reported and gives NULL.
 *  Cost: allocates; O(contents).  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLStringRef RLCopyDescription(RLTypeRef object);

/** Writes the description of an object and a newline to stderr: see RLCopyDescription(). A debugging aid.
 *  @param object  any object; NULL writes `(null)`.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; may call copyDescription callbacks.
 *  Errors: a handle that is no object is reported; a failed write is ignored.
 *  Cost: O(contents); one system call, two for a long string.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT void RLShow(RLTypeRef object);

/** Tells the time of the wall clock.
 *  The clock may be set, so this may jump in both directions; measure spans with CLOCK_MONOTONIC instead.
 *  @return seconds since 2001-01-01 00:00 UTC, with a resolution better than a microsecond.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: one read of the clock, and half as much again, as it keeps the wall clock and the monotonic one together for
 *  timers; no system call where the kernel allows it.  Since: 0.1.  Example: examples/timers.c */
RL_EXPORT RLAbsoluteTime RLAbsoluteTimeGetCurrent(void);

/** Receives the reports of mistakes: see "Mistakes and failures" above.
 *  Called on the thread that made the mistake, inside the call that is the mistake, with no lock held; by several
 *  threads at once if they make mistakes at once. It may call the library. A mistake in the handler calls it again.
 *  @param message  `runloop: FUNCTION: PARAMETER: PROBLEM`, without a newline; valid until the handler returns.
 *  @param info     what was given to RLSetErrorHandler(). */
typedef void (*RLErrorHandler)(const char *message, void *info);

/** Sets who hears of mistakes, for the whole process.
 *  RUNLOOP_MISUSE=abort still aborts, after the handler has returned.
 *  @param handler  called for each report; NULL restores the default, which writes one line to stderr.
 *  @param info     handed to handler; may be NULL. Handler and info are replaced together.
 *  Ownership: info stays yours and must be valid as long as the handler is set, and until calls of it that other
 *  threads have begun are over.  Thread: any.  Re-entrancy: allowed in callbacks and in the handler itself.
 *  Errors: none.  Cost: O(1), no system call.  Since: 0.1.  Example: examples/errors.c */
RL_EXPORT void RLSetErrorHandler(RLErrorHandler handler, void *info);

/** Tells the version of the library that the program runs with.
 *  @return the number that RL_VERSION was when the library was built; RL_VERSION itself is that of the headers.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/errors.c */
RL_EXPORT RLIndex RLGetVersion(void);

#if defined(__BLOCKS__)
/** The blocks runtime's copy. The program links the runtime (-lBlocksRuntime); the library does not need it. */
extern void *_Block_copy(const void *block);
/** The blocks runtime's release. */
extern void _Block_release(const void *block);

/** Internal: a context's retain for a block. */
static inline const void *RLBlockRetain(const void *block) { return _Block_copy(block); }

/** Internal: a context's release for a block. */
static inline void RLBlockRelease(const void *block) { _Block_release(block); }
#endif

RL_EXTERN_C_END
#endif
