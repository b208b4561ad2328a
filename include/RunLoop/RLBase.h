/** @file RLBase.h
 *  Objects: basic types, ownership, equality, descriptions, absolute time, and what happens on misuse.
 *  Examples: examples/values.c, examples/errors.c, examples/timers.c
 *
 *  Handles
 *  -------
 *  Run loops, sources, timers, observers, strings, data, arrays and so on are objects behind opaque handles
 *  (`RLRunLoopRef`, `RLStringRef`, …). Any handle can be passed where an `RLTypeRef` is expected. Objects are reference
 *  counted: a new object has one reference, RLRetain() adds one, RLRelease() drops one, and the last release frees the
 *  object.
 *
 *  What every function promises
 *  ----------------------------
 *  The following holds for every function; the comment of a function states only where it differs:
 *
 *      Arguments    Handles are valid, not NULL, and of the declared type. `allocator` is NULL. Structs, bytes and
 *                   strings are copied, and objects are retained for as long as the library needs them, so the
 *                   caller may release them right after the call.
 *      Ownership    The function's name decides. Create and Copy rule: a function with `Create` or `Copy` in its name
 *                   returns an object that you own; release it. Get rule: what any other function returns belongs to
 *                   its owner; do not release it, and retain it if you keep it longer.
 *      Thread       Callable from any thread. "Async-signal-safe" means: from a signal handler, too.
 *      Re-entrancy  Callable from every callback; calls none itself. (Dropping the last reference to an object may
 *                   call what RLRelease() calls.)
 *      Errors       Misuse is reported (see below), changes nothing, and returns 0, false or NULL with errno EINVAL. A
 *                   function that runs out of memory changes nothing and returns 0, false or NULL with errno ENOMEM.
 *      Cost         O(1), no system call, and no allocation other than that of a new object.
 *      Since        0.1.
 *      Example      One of the programs named in the comment at the top of the header.
 *
 *  A function that CoreFoundation also has behaves as it does there, except for the differences that each header
 *  numbers. "CF" below means CoreFoundation. Functions without a counterpart in CF are this library's own.
 *
 *  Threads
 *  -------
 *  A handle must stay referenced for the whole call: nothing protects a call from another thread that drops the last
 *  reference. What a thread writes before it signals a source, wakes a loop, posts a function or adds an item is
 *  visible to the callback that runs as a result. This order is announced to ThreadSanitizer and to Valgrind's Helgrind
 *  and DRD (which need the suppressions in share/runloop/valgrind.supp), so the races they report are real. Under these
 *  tools locks are slower.
 *
 *  These five are async-signal-safe: RLRunLoopWakeUp(), RLRunLoopStop(), RLRunLoopIsWaiting(), RLRunLoopSourceSignal(),
 *  RLRunLoopSourceIsSignalled(). With a valid handle they take no lock, allocate nothing and preserve errno.
 *
 *  No function is a cancellation point. A cancelled thread ends at the first cancellation point that a callback, or
 *  your own code after the run, reaches. To end a thread that sleeps in its loop, cancel it, then stop the loop. The
 *  loop is torn down as at every thread exit. Asynchronous cancellation (PTHREAD_CANCEL_ASYNCHRONOUS) is not supported.
 *
 *  Callbacks are called with no lock of the library held.
 *
 *  Leaving a callback
 *  ------------------
 *  A callback must either return or end its thread. A C++ exception must be caught in the callback that throws it: an
 *  exception that would leave the callback prints a line and ends the process with abort(), at the point of the throw.
 *  A longjmp() out of a running loop does the same, the next time that loop is run. CF lets both pass and is left in an
 *  unknown state. Jumps within a callback are fine, and so are coroutines that run loops on stacks of their own.
 *  Debuggers, profilers and unwinders see through the library: each callback is called from a function whose name says
 *  why, RUNLOOP_IS_CALLING_OUT_TO_A_….
 *
 *  Misuse and failures
 *  -------------------
 *  Misuse (a NULL handle, a handle of the wrong kind, a released handle where that can be detected, an index out of
 *  range, an unknown version number, NaN) never corrupts anything. It prints one line to stderr, or calls the handler
 *  set by RLSetErrorHandler(), with a message such as
 *
 *      runloop: RLRunLoopAddSource: source: expected RLRunLoopSource, got RLRunLoopTimer
 *
 *  In these headers, "reported" means this. If the environment contains `RUNLOOP_MISUSE=abort`, which is checked at
 *  each report, the process also aborts: use that in development and in tests. (An empty value counts as unset; any
 *  other value is itself reported, once.) A handle is checked by the type tag in the first bytes of its object: a
 *  handle of the wrong kind is always detected, a released handle only until its memory is reused, and a pointer to
 *  unreadable memory crashes.
 *
 *  A system failure (no memory, no descriptors) is not misuse: the function returns an error with errno, and nothing is
 *  printed. The exceptions are failures that no return value can report. They go to the error handler and never abort:
 *  a failed RLRunLoopRun(), a process that is disconnected (RLMessagePort.h, "Trust"), and a failure that an object of
 *  librunloop-kit meets when it is added to a loop.
 *
 *  Deliberate differences from CoreFoundation
 *  ------------------------------------------
 *  1. Passing NULL to RLRetain(), RLRelease() and the like is reported and harmless. CF crashes.
 *  2. There is one allocator, malloc's. Allocator parameters exist only so that CF code fits; pass NULL.
 *  3. Running out of memory is a NULL or 0 result with errno ENOMEM. CF aborts.
 *  4. RLBoolean is `unsigned char`, as `Boolean` is on a Mac. Results are 0 or 1; as an argument any nonzero value
 *     counts as 1. */
#ifndef RUNLOOP_RLBASE_H
#define RUNLOOP_RLBASE_H

#include <stddef.h>
#include <stdint.h>

/* RL_EXTERN_C_BEGIN and RL_EXTERN_C_END enclose the declarations of a header, for C++. */
#ifdef __cplusplus
#define RL_EXTERN_C_BEGIN extern "C" {
#define RL_EXTERN_C_END }
#else
#define RL_EXTERN_C_BEGIN
#define RL_EXTERN_C_END
#endif
/** Marks a declaration as exported by the library. */
#define RL_EXPORT extern __attribute__((visibility("default")))

/** The version of these headers: major number. It changes when programs must be changed. */
#define RL_VERSION_MAJOR 0
/** Minor version number: new functions. */
#define RL_VERSION_MINOR 1
/** Patch version number: bug fixes only. */
#define RL_VERSION_PATCH 0
/** The three version numbers as one, for comparisons: 0.1.0 is 100. RLGetVersion() returns that of the library at run
 *  time. */
#define RL_VERSION ((RL_VERSION_MAJOR * 10000) + (RL_VERSION_MINOR * 100) + RL_VERSION_PATCH)

RL_EXTERN_C_BEGIN

/** A truth value: 0 or 1. It is an `unsigned char`, so that callbacks written with CF's Boolean can be called. */
typedef unsigned char RLBoolean;
/** A count, an index, an order or a version: a signed word. */
typedef long RLIndex;
/** A set of bits: an unsigned word. */
typedef unsigned long RLOptionFlags;
/** The ID of an object's type, as RLGetTypeID() returns it. No type has the ID 0. */
typedef unsigned long RLTypeID;
/** A hash value: equal objects have equal hashes. */
typedef unsigned long RLHashCode;
/** A span of time in seconds. */
typedef double RLTimeInterval;
/** A point in time: seconds since 2001-01-01 00:00:00 UTC, leap seconds not counted. Negative before that. */
typedef double RLAbsoluteTime;
/** Any object of the library. */
typedef const void *RLTypeRef;
/** The type of the allocator parameter of CF's Create functions. Pass NULL or kRLAllocatorDefault; anything else is
 *  ignored. */
typedef const struct RLAllocator *RLAllocatorRef;
/** An immutable string: see RLString.h. */
typedef const struct RLString *RLStringRef;

/** The result of a comparison: one of the three constants below. */
typedef RLIndex RLComparisonResult;
/** The results of comparisons. */
enum {
    kRLCompareLessThan = -1,  /**< The first value orders before the second. */
    kRLCompareEqualTo = 0,    /**< The two values are equal. */
    kRLCompareGreaterThan = 1 /**< The first value orders after the second. */
};

/** The index that a search returns if it finds nothing. */
enum { kRLNotFound = -1 /**< Not found. */ };

/** A part of a sequence: `length` elements, beginning at index `location`. */
typedef struct RLRange {
    RLIndex location; /**< Index of the first element, counted from 0. */
    RLIndex length;   /**< Number of elements; 0 means an empty range. */
} RLRange;

RL_EXPORT const RLAllocatorRef kRLAllocatorDefault; /**< The only allocator: malloc. Its value is NULL. */
/** Not an allocator: passed as a deallocator, it means that a buffer is not to be freed. */
RL_EXPORT const RLAllocatorRef kRLAllocatorNull;
/** Seconds from 1970-01-01 to 2001-01-01, both 00:00 UTC: 978307200. Add this to an RLAbsoluteTime to convert it to a
 *  time_t. */
RL_EXPORT const RLTimeInterval kRLAbsoluteTimeIntervalSince1970;
/** Seconds from 1904-01-01 to 2001-01-01, both 00:00 UTC: 3061152000. */
RL_EXPORT const RLTimeInterval kRLAbsoluteTimeIntervalSince1904;

/** Adds a reference to an object and returns the object.
 *  @param object  any object.
 *  @return object itself, or NULL on misuse.
 *  Ownership: you own one more reference; balance it with RLRelease(). */
RL_EXPORT RLTypeRef RLRetain(RLTypeRef object);

/** Drops a reference to an object. Dropping the last one frees the object, on this thread.
 *  What the object owns is released with it, and the release callback of a context runs during this call; so does the
 *  invalidation callback of a port that is still valid. Constants (kRLRunLoopDefaultMode, RLSTR()) are never freed;
 *  releasing them has no effect.
 *  @param object  an object of which you own a reference; do not use the handle afterwards.
 *  Ownership: gives up one reference.
 *  Re-entrancy: calls release and invalidation callbacks. An object may be released in its own callback: the library
 *  keeps it alive during the callback.  Errors: one release too many is reported where it can be detected.
 *  Cost: O(1), plus the cost of what is freed. */
RL_EXPORT void RLRelease(RLTypeRef object);

/** Releases an object later, when the calling thread's loop ends its current pass.
 *  For functions that return an object which their caller need not release. An object autoreleased in a callback is
 *  released at the end of the pass of the innermost run, or before that run sleeps in this pass; one that is
 *  autoreleased outside of any run, when the thread exits. Nested runs that begin later leave the object alone. Nothing
 *  is released when the process exits. What a release callback autoreleases is released in the same pass, except that
 *  an endless chain continues in the following passes. In the child of a fork(), objects autoreleased by the thread
 *  that forked are released, those of other threads are not.
 *  @param object  an object of which you own a reference. Retain it to use it after the pass.
 *  @return object itself, or NULL on misuse.
 *  Ownership: gives up one reference, later.  Thread: creates the calling thread's loop if needed, as
 *  RLRunLoopGetCurrent() does.
 *  Errors: if memory runs out, errno is ENOMEM and the reference is still yours; to detect this, set errno to 0 before
 *  the call. One release too many is reported when it happens. CF on Linux never releases the object (difference 17 of
 *  RLRunLoop.h).  Cost: an occasional allocation. */
RL_EXPORT RLTypeRef RLAutorelease(RLTypeRef object);

/** Returns the number of references to an object. For tests and debugging only.
 *  References that loops hold to their sources, timers and observers are included. The number may be out of date by the
 *  time you read it. It is LONG_MAX for constants.
 *  @param object  any object. */
RL_EXPORT RLIndex RLGetRetainCount(RLTypeRef object);

/** Returns the type ID of an object, for comparison with the result of a function such as RLRunLoopTimerGetTypeID().
 *  @param object  any object. */
RL_EXPORT RLTypeID RLGetTypeID(RLTypeRef object);

/** Returns whether two objects are equal.
 *  Strings and data are equal if their bytes are, numbers if their values are, dates if they are the same point in
 *  time; arrays, sets and dictionaries if their contents are, as their own callbacks compare them (see their headers);
 *  sources as described in RLRunLoopSource.h under "Equality". All other objects are equal only to themselves. Objects
 *  of different types are never equal.
 *  @param object1  any object.
 *  @param object2  any object.
 *  Re-entrancy: may call equal callbacks.  Cost: O(size) for objects with contents. */
RL_EXPORT RLBoolean RLEqual(RLTypeRef object1, RLTypeRef object2);

/** Returns a hash value for use in hash tables. Equal objects have equal hashes within one process; do not store a hash
 *  outside of it.
 *  @param object  any object.
 *  Re-entrancy: may call a source's hash callback.  Cost: O(size) for objects with contents. */
RL_EXPORT RLHashCode RLHash(RLTypeRef object);

/** Creates a string that describes an object for human readers: `<RLRunLoopTimer 0x… valid=1 …>`.
 *  The format may change in any version: do not parse it. If the object's context has a copyDescription callback, that
 *  callback describes info. info is not retained meanwhile: do not describe such an object while another thread may
 *  invalidate it or, if it does not repeat, call it. A description longer than 1000 bytes is truncated, unless the
 *  object is a string; that of a loop then says how many modes and sources are left out.
 *  @param object  any object.
 *  @return the description, or NULL.
 *  Re-entrancy: may call copyDescription callbacks.  Cost: O(contents). */
RL_EXPORT RLStringRef RLCopyDescription(RLTypeRef object);

/** Writes the description of an object (RLCopyDescription()) and a newline to stderr. A debugging aid.
 *  @param object  any object; NULL writes `(null)`.
 *  Re-entrancy: may call copyDescription callbacks.  Errors: a failed write is ignored.
 *  Cost: O(contents); one or two system calls. */
RL_EXPORT void RLShow(RLTypeRef object);

/** Returns the wall-clock time in seconds since 2001-01-01 00:00 UTC, to better than a microsecond.
 *  The clock can be set, so the result may jump in either direction; measure intervals with CLOCK_MONOTONIC instead.
 *  Cost: one and a half times that of reading the clock; no system call where the kernel allows it. */
RL_EXPORT RLAbsoluteTime RLAbsoluteTimeGetCurrent(void);

/** Receives the reports of misuse and of the exceptional failures: see "Misuse and failures" above.
 *  The handler is called on the thread that made the mistake, inside the offending call, with no lock held; if several
 *  threads make mistakes at the same time, it is called by all of them concurrently. A descriptor that was closed too
 *  early is reported during a run of the loop that notices, and a process that is disconnected on the thread that
 *  notices. The handler may call the library. Misuse in the handler calls it again.
 *  @param message  `runloop: SUBJECT: PROBLEM`, usually `runloop: FUNCTION: PARAMETER: PROBLEM`, without a newline;
 *                  valid until the handler returns.
 *  @param info     the info passed to RLSetErrorHandler(). */
typedef void (*RLErrorHandler)(const char *message, void *info);

/** Sets the handler that receives reports of misuse, for the whole process.
 *  RUNLOOP_MISUSE=abort still aborts the process, after the handler has returned.
 *  @param handler  called for each report; NULL restores the default, which writes one line to descriptor 2. (So leave
 *                  0 to 2 open, as every program should: otherwise descriptors of the library get these numbers.)
 *  @param info     passed to handler; may be NULL. Handler and info are replaced together.
 *  Ownership: info stays yours. It must be valid as long as the handler is set, and until handler calls already begun
 *  by other threads have returned. */
RL_EXPORT void RLSetErrorHandler(RLErrorHandler handler, void *info);

/** Reports `runloop: FUNCTION: PARAMETER: PROBLEM` as the library does: to the handler of RLSetErrorHandler(), or as
 *  one line on stderr.
 *  For libraries built on this one, so that a program receives all reports in one place.
 *  @param function   the name of the function that was called, in UTF-8.
 *  @param parameter  the name of the parameter that is wrong.
 *  @param problem    what is wrong with it. The report is truncated after 1000 bytes.
 *  @param isMisuse   1: a mistake of the caller; errno is EINVAL afterwards, and RUNLOOP_MISUSE=abort aborts. 0: a
 *                    failure that no function's result can show; errno is preserved.
 *  Re-entrancy: calls the handler. */
RL_EXPORT void RLReportError(const char *function, const char *parameter, const char *problem, RLBoolean isMisuse);

/** Returns the version of the library that the program runs with, in the form of RL_VERSION, which is that of the
 *  headers. */
RL_EXPORT RLIndex RLGetVersion(void);

#if defined(__BLOCKS__)
/** Copies a block: part of the blocks runtime. The program links the runtime (-lBlocksRuntime); the library does not
 *  need it. */
extern void *_Block_copy(const void *block);
/** Releases a block: part of the blocks runtime. */
extern void _Block_release(const void *block);

/** Internal: the retain callback of a context whose info is a block. */
static inline const void *RLBlockRetain(const void *block) { return _Block_copy(block); }

/** Internal: the release callback of a context whose info is a block. */
static inline void RLBlockRelease(const void *block) { _Block_release(block); }
#endif

RL_EXTERN_C_END
#endif
