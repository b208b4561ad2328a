/** @file CFRunLoop.h
 *  CFRunLoop, complete: loops, sources, observers, timers, and the block forms where the compiler has blocks.
 *  Part of the source compatibility headers: see CoreFoundation.h. RunLoop/RLRunLoop.h has the documentation and the
 *  list of deliberate differences from Apple's. */
#ifndef __COREFOUNDATION_CFRUNLOOP__
#define __COREFOUNDATION_CFRUNLOOP__ 1

#include <CoreFoundation/CFArray.h>
#include <CoreFoundation/CFBase.h>
#include <CoreFoundation/CFDate.h>
#include <CoreFoundation/CFString.h>

CF_EXTERN_C_BEGIN

typedef CFStringRef CFRunLoopMode;
typedef struct __CFRunLoop *CFRunLoopRef;
typedef struct __CFRunLoopSource *CFRunLoopSourceRef;
typedef struct __CFRunLoopObserver *CFRunLoopObserverRef;
typedef struct __CFRunLoopTimer *CFRunLoopTimerRef;

/* ---- Loops: RunLoop/RLRunLoop.h ---- */

typedef CF_ENUM(SInt32, CFRunLoopRunResult) {
    kCFRunLoopRunFinished = 1,
    kCFRunLoopRunStopped = 2,
    kCFRunLoopRunTimedOut = 3,
    kCFRunLoopRunHandledSource = 4
};

CF_EXPORT const CFRunLoopMode kCFRunLoopDefaultMode __asm__("kRLRunLoopDefaultMode");
CF_EXPORT const CFRunLoopMode kCFRunLoopCommonModes __asm__("kRLRunLoopCommonModes");

CF_EXPORT CFTypeID CFRunLoopGetTypeID(void) __asm__("RLRunLoopGetTypeID");
CF_EXPORT CFRunLoopRef CFRunLoopGetCurrent(void) __asm__("RLRunLoopGetCurrent");
CF_EXPORT CFRunLoopRef CFRunLoopGetMain(void) __asm__("RLRunLoopGetMain");
CF_EXPORT CFRunLoopMode CFRunLoopCopyCurrentMode(CFRunLoopRef rl) __asm__("RLRunLoopCopyCurrentMode");
CF_EXPORT CFArrayRef CFRunLoopCopyAllModes(CFRunLoopRef rl) __asm__("RLRunLoopCopyAllModes");
CF_EXPORT void CFRunLoopAddCommonMode(CFRunLoopRef rl, CFRunLoopMode mode) __asm__("RLRunLoopAddCommonMode");
CF_EXPORT CFAbsoluteTime CFRunLoopGetNextTimerFireDate(CFRunLoopRef rl,
                                                       CFRunLoopMode mode) __asm__("RLRunLoopGetNextTimerFireDate");
/* With these, as in CF, the main thread's loop is never empty in a common mode; with RLRunLoopRun() and
 * RLRunLoopRunInMode() it can be, and they return. */
CF_EXPORT void CFRunLoopRun(void) __asm__("RLRunLoopRunAsCF");
CF_EXPORT CFRunLoopRunResult CFRunLoopRunInMode(CFRunLoopMode mode, CFTimeInterval seconds,
                                                Boolean returnAfterSourceHandled) __asm__("RLRunLoopRunInModeAsCF");
CF_EXPORT Boolean CFRunLoopIsWaiting(CFRunLoopRef rl) __asm__("RLRunLoopIsWaiting");
CF_EXPORT void CFRunLoopWakeUp(CFRunLoopRef rl) __asm__("RLRunLoopWakeUp");
CF_EXPORT void CFRunLoopStop(CFRunLoopRef rl) __asm__("RLRunLoopStop");

CF_EXPORT Boolean CFRunLoopContainsSource(CFRunLoopRef rl, CFRunLoopSourceRef source,
                                          CFRunLoopMode mode) __asm__("RLRunLoopContainsSource");
CF_EXPORT void CFRunLoopAddSource(CFRunLoopRef rl, CFRunLoopSourceRef source,
                                  CFRunLoopMode mode) __asm__("RLRunLoopAddSource");
CF_EXPORT void CFRunLoopRemoveSource(CFRunLoopRef rl, CFRunLoopSourceRef source,
                                     CFRunLoopMode mode) __asm__("RLRunLoopRemoveSource");
CF_EXPORT Boolean CFRunLoopContainsObserver(CFRunLoopRef rl, CFRunLoopObserverRef observer,
                                            CFRunLoopMode mode) __asm__("RLRunLoopContainsObserver");
CF_EXPORT void CFRunLoopAddObserver(CFRunLoopRef rl, CFRunLoopObserverRef observer,
                                    CFRunLoopMode mode) __asm__("RLRunLoopAddObserver");
CF_EXPORT void CFRunLoopRemoveObserver(CFRunLoopRef rl, CFRunLoopObserverRef observer,
                                       CFRunLoopMode mode) __asm__("RLRunLoopRemoveObserver");
CF_EXPORT Boolean CFRunLoopContainsTimer(CFRunLoopRef rl, CFRunLoopTimerRef timer,
                                         CFRunLoopMode mode) __asm__("RLRunLoopContainsTimer");
CF_EXPORT void CFRunLoopAddTimer(CFRunLoopRef rl, CFRunLoopTimerRef timer,
                                 CFRunLoopMode mode) __asm__("RLRunLoopAddTimer");
CF_EXPORT void CFRunLoopRemoveTimer(CFRunLoopRef rl, CFRunLoopTimerRef timer,
                                    CFRunLoopMode mode) __asm__("RLRunLoopRemoveTimer");

/* ---- Sources: RunLoop/RLRunLoopSource.h ---- */

typedef struct {
    CFIndex version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
    Boolean (*equal)(const void *info1, const void *info2);
    CFHashCode (*hash)(const void *info);
    void (*schedule)(void *info, CFRunLoopRef rl, CFRunLoopMode mode);
    void (*cancel)(void *info, CFRunLoopRef rl, CFRunLoopMode mode);
    void (*perform)(void *info);
} CFRunLoopSourceContext;

typedef int __CFPort; /* a file descriptor; a Mach port on a Mac */

/* getPort and perform have the types of Apple's CoreFoundation for Linux. */
typedef struct {
    CFIndex version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
    Boolean (*equal)(const void *info1, const void *info2);
    CFHashCode (*hash)(const void *info);
    __CFPort (*getPort)(void *info);
    void (*perform)(void *info);
} CFRunLoopSourceContext1;

CF_EXPORT CFTypeID CFRunLoopSourceGetTypeID(void) __asm__("RLRunLoopSourceGetTypeID");
CF_EXPORT CFRunLoopSourceRef CFRunLoopSourceCreate(CFAllocatorRef allocator, CFIndex order,
                                                   CFRunLoopSourceContext *context) __asm__("RLRunLoopSourceCreate");
CF_EXPORT CFIndex CFRunLoopSourceGetOrder(CFRunLoopSourceRef source) __asm__("RLRunLoopSourceGetOrder");
CF_EXPORT void CFRunLoopSourceInvalidate(CFRunLoopSourceRef source) __asm__("RLRunLoopSourceInvalidate");
CF_EXPORT Boolean CFRunLoopSourceIsValid(CFRunLoopSourceRef source) __asm__("RLRunLoopSourceIsValid");
CF_EXPORT void CFRunLoopSourceGetContext(CFRunLoopSourceRef source,
                                         CFRunLoopSourceContext *context) __asm__("RLRunLoopSourceGetContext");
CF_EXPORT void CFRunLoopSourceSignal(CFRunLoopSourceRef source) __asm__("RLRunLoopSourceSignal");
CF_EXPORT Boolean CFRunLoopSourceIsSignalled(CFRunLoopSourceRef source) __asm__("RLRunLoopSourceIsSignalled");

/* ---- Observers: RunLoop/RLRunLoopObserver.h ---- */

typedef CF_OPTIONS(CFOptionFlags, CFRunLoopActivity) {
    kCFRunLoopEntry = (1UL << 0),
    kCFRunLoopBeforeTimers = (1UL << 1),
    kCFRunLoopBeforeSources = (1UL << 2),
    kCFRunLoopBeforeWaiting = (1UL << 5),
    kCFRunLoopAfterWaiting = (1UL << 6),
    kCFRunLoopExit = (1UL << 7),
    kCFRunLoopAllActivities = 0x0FFFFFFFU
};

typedef struct {
    CFIndex version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFRunLoopObserverContext;

typedef void (*CFRunLoopObserverCallBack)(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info);

CF_EXPORT CFTypeID CFRunLoopObserverGetTypeID(void) __asm__("RLRunLoopObserverGetTypeID");
CF_EXPORT CFRunLoopObserverRef CFRunLoopObserverCreate(
    CFAllocatorRef allocator, CFOptionFlags activities, Boolean repeats, CFIndex order,
    CFRunLoopObserverCallBack callout, CFRunLoopObserverContext *context) __asm__("RLRunLoopObserverCreate");
CF_EXPORT CFOptionFlags
CFRunLoopObserverGetActivities(CFRunLoopObserverRef observer) __asm__("RLRunLoopObserverGetActivities");
CF_EXPORT Boolean CFRunLoopObserverDoesRepeat(CFRunLoopObserverRef observer) __asm__("RLRunLoopObserverDoesRepeat");
CF_EXPORT CFIndex CFRunLoopObserverGetOrder(CFRunLoopObserverRef observer) __asm__("RLRunLoopObserverGetOrder");
CF_EXPORT void CFRunLoopObserverInvalidate(CFRunLoopObserverRef observer) __asm__("RLRunLoopObserverInvalidate");
CF_EXPORT Boolean CFRunLoopObserverIsValid(CFRunLoopObserverRef observer) __asm__("RLRunLoopObserverIsValid");
CF_EXPORT void CFRunLoopObserverGetContext(CFRunLoopObserverRef observer,
                                           CFRunLoopObserverContext *context) __asm__("RLRunLoopObserverGetContext");

/* ---- Timers: RunLoop/RLRunLoopTimer.h ---- */

typedef struct {
    CFIndex version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFRunLoopTimerContext;

typedef void (*CFRunLoopTimerCallBack)(CFRunLoopTimerRef timer, void *info);

CF_EXPORT CFTypeID CFRunLoopTimerGetTypeID(void) __asm__("RLRunLoopTimerGetTypeID");
CF_EXPORT CFRunLoopTimerRef CFRunLoopTimerCreate(CFAllocatorRef allocator, CFAbsoluteTime fireDate,
                                                 CFTimeInterval interval, CFOptionFlags flags, CFIndex order,
                                                 CFRunLoopTimerCallBack callout,
                                                 CFRunLoopTimerContext *context) __asm__("RLRunLoopTimerCreate");
CF_EXPORT CFAbsoluteTime
CFRunLoopTimerGetNextFireDate(CFRunLoopTimerRef timer) __asm__("RLRunLoopTimerGetNextFireDate");
CF_EXPORT void CFRunLoopTimerSetNextFireDate(CFRunLoopTimerRef timer,
                                             CFAbsoluteTime fireDate) __asm__("RLRunLoopTimerSetNextFireDate");
CF_EXPORT CFTimeInterval CFRunLoopTimerGetInterval(CFRunLoopTimerRef timer) __asm__("RLRunLoopTimerGetInterval");
CF_EXPORT Boolean CFRunLoopTimerDoesRepeat(CFRunLoopTimerRef timer) __asm__("RLRunLoopTimerDoesRepeat");
CF_EXPORT CFIndex CFRunLoopTimerGetOrder(CFRunLoopTimerRef timer) __asm__("RLRunLoopTimerGetOrder");
CF_EXPORT void CFRunLoopTimerInvalidate(CFRunLoopTimerRef timer) __asm__("RLRunLoopTimerInvalidate");
CF_EXPORT Boolean CFRunLoopTimerIsValid(CFRunLoopTimerRef timer) __asm__("RLRunLoopTimerIsValid");
CF_EXPORT void CFRunLoopTimerGetContext(CFRunLoopTimerRef timer,
                                        CFRunLoopTimerContext *context) __asm__("RLRunLoopTimerGetContext");
CF_EXPORT CFTimeInterval CFRunLoopTimerGetTolerance(CFRunLoopTimerRef timer) __asm__("RLRunLoopTimerGetTolerance");
CF_EXPORT void CFRunLoopTimerSetTolerance(CFRunLoopTimerRef timer,
                                          CFTimeInterval tolerance) __asm__("RLRunLoopTimerSetTolerance");

/* Makes the main loop run what is submitted to libdispatch's main queue, if the process has libdispatch:
 * RunLoop/RLRunLoopDispatch.h. This is a constant, not code: nothing happens before the main loop is created. */
extern const char __CFRunLoopServesDispatchMainQueue __asm__("kRLProgramServesDispatchMainQueue")
    __attribute__((weak, visibility("default")));
const char __CFRunLoopServesDispatchMainQueue = 1;

/* ---- Block forms. The program links the blocks runtime; the library does not need it. ---- */

#if defined(__BLOCKS__)
extern void *_Block_copy(const void *block);
extern void _Block_release(const void *block);
CF_EXPORT Boolean
__CFRunLoopPerformFunctionWithRelease(CFRunLoopRef rl, CFTypeRef mode, void (*function)(void *info), void *info,
                                      void (*release)(void *info)) __asm__("RLRunLoopPerformFunctionWithRelease");

CF_INLINE const void *__CFRunLoopRetainBlock(const void *block) { return _Block_copy(block); }

CF_INLINE void __CFRunLoopReleaseBlock(const void *block) { _Block_release(block); }

CF_INLINE void __CFRunLoopCallBlock(void *block) { ((void (^)(void))block)(); }

CF_INLINE void __CFRunLoopDisposeBlock(void *block) { _Block_release(block); }

/* The block is retained during its call, since it may invalidate its own timer or observer, which releases it. */
CF_INLINE void __CFRunLoopCallTimerBlock(CFRunLoopTimerRef timer, void *block)
{
    void *held = _Block_copy(block);
    ((void (^)(CFRunLoopTimerRef))held)(timer);
    _Block_release(held);
}

CF_INLINE void __CFRunLoopCallObserverBlock(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *block)
{
    void *held = _Block_copy(block);
    ((void (^)(CFRunLoopObserverRef, CFRunLoopActivity))held)(observer, activity);
    _Block_release(held);
}

CF_INLINE void CFRunLoopPerformBlock(CFRunLoopRef rl, CFTypeRef mode, void (^block)(void))
{
    void *copy = _Block_copy((const void *)block);
    if (copy != NULL &&
        !__CFRunLoopPerformFunctionWithRelease(rl, mode, __CFRunLoopCallBlock, copy, __CFRunLoopDisposeBlock)) {
        _Block_release(copy);
    }
}

CF_INLINE CFRunLoopTimerRef CFRunLoopTimerCreateWithHandler(CFAllocatorRef allocator, CFAbsoluteTime fireDate,
                                                            CFTimeInterval interval, CFOptionFlags flags, CFIndex order,
                                                            void (^block)(CFRunLoopTimerRef timer))
{
    CFRunLoopTimerContext context = {0, (void *)block, __CFRunLoopRetainBlock, __CFRunLoopReleaseBlock, NULL};
    if (block == NULL)
        return NULL;
    return CFRunLoopTimerCreate(allocator, fireDate, interval, flags, order, __CFRunLoopCallTimerBlock, &context);
}

CF_INLINE CFRunLoopObserverRef CFRunLoopObserverCreateWithHandler(CFAllocatorRef allocator, CFOptionFlags activities,
                                                                  Boolean repeats, CFIndex order,
                                                                  void (^block)(CFRunLoopObserverRef observer,
                                                                                CFRunLoopActivity activity))
{
    CFRunLoopObserverContext context = {0, (void *)block, __CFRunLoopRetainBlock, __CFRunLoopReleaseBlock, NULL};
    if (block == NULL)
        return NULL;
    return CFRunLoopObserverCreate(allocator, activities, repeats, order, __CFRunLoopCallObserverBlock, &context);
}
#endif /* __BLOCKS__ */

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFRUNLOOP__ */
