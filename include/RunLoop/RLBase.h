/** @file RLBase.h
 *  Objects: plain types, ownership, equality, descriptions, absolute time, and what happens on misuse.
 *  Examples: examples/values.c, examples/errors.c, examples/timers.c
 *
 *  Handles
 *  -------
 *  A run loop, source, timer, observer, string, data, array and so on is an object behind an opaque handle
 *  (`RLRunLoopRef`, `RLStringRef`, …). Any handle can be passed where an `RLTypeRef` is expected. Objects are reference
 *  counted: a new one has one reference; RLRetain() adds one, RLRelease() drops one, and the last release frees the
 *  object.
 *
 *  What every function promises
 *  ----------------------------
 *  The comment of a function says only where it differs from this:
 *
 *      Arguments    Handles are valid, not NULL, and of the declared type. `allocator` is NULL. Structs, bytes and
 *                   strings are copied; objects are retained for as long as the library needs them, so you may release
 *                   them right after the call.
 *      Ownership    The name decides. Create and Copy rule: a function with `Create` or `Copy` in its name returns an
 *                   object that you own; release it. Get rule: what any other function returns belongs to its owner; do
 *                   not release it, and retain it if you keep it longer.
 *      Thread       Callable from any thread. "Async-signal-safe": in a signal handler, too.
 *      Re-entrancy  Allowed in every callback, and calls none itself. (Dropping the last reference to an object may
 *                   call what RLRelease() calls.)
 *      Errors       Misuse is reported (see below), changes nothing, and returns 0, false or NULL with errno EINVAL. A
 *                   function that runs out of memory changes nothing, and returns 0, false or NULL with errno ENOMEM.
 *      Cost         O(1), no system call, and no allocation but that of a new object.
 *      Since        0.1.
 *      Example      One of the programs that the head of the header names.
 *
 *  A function that CoreFoundation has behaves as it does there, but for the differences that each header numbers; "CF"
 *  below is CoreFoundation. Functions without a counterpart in CF are this library's own.
 *
 *  Threads
 *  -------
 *  A handle must have a reference for the whole call: nothing protects a caller from a handle that another thread has
 *  released. What a thread wrote before it signals, wakes, posts or adds is visible to the callback that runs because
 *  of it. ThreadSanitizer is told of this order, and so are Valgrind's Helgrind and DRD (which want the suppressions in
 *  share/runloop/valgrind.supp): what they report is real. Locks are slower then.
 *
 *  These five are async-signal-safe: RLRunLoopWakeUp(), RLRunLoopStop(), RLRunLoopIsWaiting(), RLRunLoopSourceSignal(),
 *  RLRunLoopSourceIsSignalled(). With a valid handle they take no lock, allocate nothing and preserve errno.
 *
 *  No function is a cancellation point. A cancelled thread ends at the first cancellation point that a callback, or
 *  your code after the run, reaches. To end one that sleeps: cancel it, then stop its loop. The loop is torn down as at
 *  any end of its thread. Asynchronous cancellation (PTHREAD_CANCEL_ASYNCHRONOUS) is not supported.
 *
 *  Callbacks are called with no lock of the library held.
 *
 *  Leaving a callback
 *  ------------------
 *  A callback returns, or ends its thread. A C++ exception has to be caught in the callback that throws it: one that
 *  would leave it prints a line and ends the process by abort(), where it was thrown. So does a longjmp() past a run of
 *  a loop, when the loop is run next. CF lets both pass and is left in an unknown state. Jumps within a callback, and
 *  coroutines that run loops on stacks of their own, are fine. Debuggers, profilers and unwinders see through the
 *  library: each callback is called from a function whose name says why, RUNLOOP_IS_CALLING_OUT_TO_A_….
 *
 *  Misuse and failures
 *  -------------------
 *  Misuse (a NULL handle, a handle of the wrong kind, a released handle where that can be detected, an index out of
 *  range, an unknown version number, NaN) never corrupts anything. It prints one line to stderr, or calls the handler
 *  set by RLSetErrorHandler(), for instance with
 *
 *      runloop: RLRunLoopAddSource: source: expected RLRunLoopSource, got RLRunLoopTimer
 *
 *  With `RUNLOOP_MISUSE=abort` in the environment, which is read at each report, it also aborts: use that in
 *  development and in tests. (Empty is as unset; any other value is itself reported, once.) "Reported" in these headers
 *  means this. A handle is checked by the type tag in its first bytes: a wrong kind is always noticed, a released
 *  handle only until its memory is reused, and a pointer that cannot be read crashes. A failure of the system (no
 *  memory, no descriptors) is not misuse: it is a return value with errno, and nothing is printed. There are two
 *  exceptions, which are told to the error handler and never abort: a failed RLRunLoopRun(), which has no return value,
 *  and a process that is disconnected (RLMessagePort.h, "Trust").
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
/** The kind of an object, as RLGetTypeID() returns it. 0 is no kind. */
typedef unsigned long RLTypeID;
/** A hash value: equal objects have equal ones. */
typedef unsigned long RLHashCode;
/** A span of time in seconds. */
typedef double RLTimeInterval;
/** A point in time: seconds since 2001-01-01 00:00:00 UTC, leap seconds not counted. Negative before that. */
typedef double RLAbsoluteTime;
/** Any object of the library. */
typedef const void *RLTypeRef;
/** Fills the allocator parameter of CF's Create functions. Pass NULL or kRLAllocatorDefault; anything else is
 *  ignored. */
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

/** The index that a search returns if it finds nothing. */
enum { kRLNotFound = -1 /**< It is not there. */ };

/** A part of a sequence: `length` elements from index `location` on. */
typedef struct RLRange {
    RLIndex location; /**< Index of the first element, from 0. */
    RLIndex length;   /**< Number of elements; 0 is an empty range. */
} RLRange;

RL_EXPORT const RLAllocatorRef kRLAllocatorDefault; /**< The only allocator: malloc. Its value is NULL. */
/** Not an allocator: as a deallocator argument it says that a buffer is not to be freed. */
RL_EXPORT const RLAllocatorRef kRLAllocatorNull;
/** Seconds from 1970-01-01 to 2001-01-01, both 00:00 UTC: 978307200. Add it to an RLAbsoluteTime to get a time_t. */
RL_EXPORT const RLTimeInterval kRLAbsoluteTimeIntervalSince1970;
/** Seconds from 1904-01-01 to 2001-01-01, both 00:00 UTC: 3061152000. */
RL_EXPORT const RLTimeInterval kRLAbsoluteTimeIntervalSince1904;

/** Adds a reference to an object and returns the object.
 *  @param object  any object.
 *  @return object itself, or NULL on misuse.
 *  Ownership: you own one more reference; balance it with RLRelease(). */
RL_EXPORT RLTypeRef RLRetain(RLTypeRef object);

/** Drops a reference to an object; the last one frees it, on this thread.
 *  What the object owned is released with it, and a context's release callback runs in this call;
 *  so does the invalidation callback of a port that was still valid. Constants
 *  (kRLRunLoopDefaultMode, RLSTR()) are never freed; releasing them has no effect.
 *  @param object  an object of which you own a reference; do not use the handle afterwards.
 *  Ownership: gives up one reference.
 *  Re-entrancy: calls release and invalidation callbacks. An object may be released in its own callback: the library
 *  keeps it alive during the call.  Errors: one release too many is reported where it can be detected.
 *  Cost: O(1), plus what is freed. */
RL_EXPORT void RLRelease(RLTypeRef object);

/** Releases an object later: when the calling thread's loop ends its pass.
 *  For functions that return an object which their caller need not release. In a callback, the object is released at
 *  the end of the pass of the innermost run, or before that run sleeps in it; outside of any run, when the thread ends.
 *  Runs that begin later leave the object alone. At the end of the process nothing is released. What a release callback
 *  autoreleases is released in the same pass, except that an endless chain continues in the following ones. In a child
 *  of fork() objects autoreleased by the thread that forked are released, those of other threads are not.
 *  @param object  an object of which you own a reference. Retain it to use it after the pass.
 *  @return object itself, or NULL on misuse.
 *  Ownership: gives up one reference, later.  Thread: makes the calling thread's loop, as RLRunLoopGetCurrent().
 *  Errors: out of memory: errno ENOMEM, and the object is still yours; to detect this, set errno to 0 before the call.
 *  One release too many is reported when it happens. CF on Linux never releases the object (difference 17 of
 *  RLRunLoop.h).  Cost: an occasional allocation. */
RL_EXPORT RLTypeRef RLAutorelease(RLTypeRef object);

/** Returns the number of references to an object, without those the library holds. For tests and debugging only.
 *  The number may be out of date when you read it. It is LONG_MAX for constants.
 *  @param object  any object. */
RL_EXPORT RLIndex RLGetRetainCount(RLTypeRef object);

/** Returns the kind of an object, to compare with the result of a function such as RLRunLoopTimerGetTypeID().
 *  @param object  any object. */
RL_EXPORT RLTypeID RLGetTypeID(RLTypeRef object);

/** Returns whether two objects are equal.
 *  Strings and data are equal if their bytes are, numbers if their values are, dates if they are the same time; arrays,
 *  sets and dictionaries if their contents are, by their own callbacks (see their headers); sources as
 *  RLRunLoopSource.h says under "Equality"; all others only if they are the same object. Objects of different kinds are
 *  never equal.
 *  @param object1  any object.
 *  @param object2  any object.
 *  Re-entrancy: may call equal callbacks.  Cost: O(size) for objects with contents. */
RL_EXPORT RLBoolean RLEqual(RLTypeRef object1, RLTypeRef object2);

/** Returns a hash for tables. Equal objects have equal hashes while the process lives; do not store it elsewhere.
 *  @param object  any object.
 *  Re-entrancy: may call a source's hash callback.  Cost: O(size) for objects with contents. */
RL_EXPORT RLHashCode RLHash(RLTypeRef object);

/** Creates a string that describes an object, for people: `<RLRunLoopTimer 0x… valid=1 …>`.
 *  The format may change in any version: do not parse it. A context's copyDescription callback, if there is one,
 *  describes info. info is not retained meanwhile: do not describe an object with such a callback while another thread
 *  may invalidate it, or call it for the last time. A description longer than 1000 bytes is cut, unless it is a
 *  string's; a loop's then says how many of its modes and sources it leaves out.
 *  @param object  any object.
 *  @return the description, or NULL.
 *  Re-entrancy: may call copyDescription callbacks.  Cost: O(contents). */
RL_EXPORT RLStringRef RLCopyDescription(RLTypeRef object);

/** Writes the description of an object and a newline to stderr: see RLCopyDescription(). A debugging aid.
 *  @param object  any object; NULL writes `(null)`.
 *  Re-entrancy: may call copyDescription callbacks.  Errors: a failed write is ignored.
 *  Cost: O(contents); one or two system calls. */
RL_EXPORT void RLShow(RLTypeRef object);

/** Returns the wall-clock time in seconds since 2001-01-01 00:00 UTC, to better than a microsecond.
 *  The clock may be set, so this may jump in both directions; measure intervals with CLOCK_MONOTONIC instead.
 *  Cost: one and a half times that of reading the clock; no system call where the kernel allows it. */
RL_EXPORT RLAbsoluteTime RLAbsoluteTimeGetCurrent(void);

/** Receives the reports of misuse, and the exceptions: see "Misuse and failures" above.
 *  Called on the thread that made the mistake, inside the offending call, with no lock held; by several threads at once
 *  if they make mistakes at the same time. A descriptor that was closed too early is reported in a run of the loop that
 *  notices, and a process that was disconnected on the thread that notices. It may call the library. Misuse in the
 *  handler calls it again.
 *  @param message  `runloop: SUBJECT: PROBLEM`, as a rule `runloop: FUNCTION: PARAMETER: PROBLEM`, without a newline;
 *                  valid until the handler returns.
 *  @param info     what was passed to RLSetErrorHandler(). */
typedef void (*RLErrorHandler)(const char *message, void *info);

/** Sets the handler that receives reports of misuse, for the whole process.
 *  RUNLOOP_MISUSE=abort still aborts, after the handler has returned.
 *  @param handler  called for each report; NULL restores the default, which writes one line to stderr.
 *  @param info     passed to handler; may be NULL. Handler and info are replaced together.
 *  Ownership: info stays yours and must be valid as long as the handler is set, and until calls of it that other
 *  threads have begun have returned. */
RL_EXPORT void RLSetErrorHandler(RLErrorHandler handler, void *info);

/** Reports `runloop: FUNCTION: PARAMETER: PROBLEM` as the library does: to the handler of RLSetErrorHandler(), or in a
 *  line on stderr.
 *  For libraries on top of this one, so that a program hears of all mistakes in one place.
 *  @param function   the function that was called, in UTF-8.
 *  @param parameter  the parameter that is wrong.
 *  @param problem    what is wrong with it. The report is cut off after 1000 bytes.
 *  @param isMisuse   1: a mistake of the caller, so errno is EINVAL afterwards, and RUNLOOP_MISUSE=abort aborts. 0: a
 *                    failure that no result of a function shows; errno stays.
 *  Re-entrancy: calls the handler. */
RL_EXPORT void RLReportError(const char *function, const char *parameter, const char *problem, RLBoolean isMisuse);

/** Returns the version of the library that the program runs with, as a number like RL_VERSION, which is the headers'
 *  own. */
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
