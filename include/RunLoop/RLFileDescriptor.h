/** @file RLFileDescriptor.h
 *  Descriptor objects: callbacks when a file descriptor becomes readable or writable, once each time they are enabled.
 *  Examples: examples/pidfd.c, examples/inotify.c
 *
 *  Create an object for a descriptor, create its run loop source, add that to a loop, and enable the callbacks that you
 *  want:
 *
 *      RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, fd, true, callout, &context);
 *      RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, f, 0);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
 *      RLRelease(source);
 *      RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
 *
 *  Every callback is one-shot: it is disabled before it is called, and is called again only after it has been enabled
 *  again, in the callback or later. What counts then is whether the descriptor is ready at that time: bytes left unread
 *  cause a call immediately. If the descriptor is both readable and writable, and both callbacks are enabled, there is
 *  one call with both bits. Nothing is called until a callback is enabled and the source is in a mode that runs, in
 *  either order.
 *
 *  Any descriptor will do: pipes, sockets, terminals, eventfds, timerfds, signalfds, pidfds, inotify and epoll
 *  descriptors. Regular files and /dev/null are always ready. End of file counts as readable, an error as both readable
 *  and writable. A stream socket that is not connected, not connecting and not listening is neither, although poll(2)
 *  says so. The library never reads or writes the descriptor. Make it non-blocking.
 *
 *  Several objects may have the same descriptor, and so may version-1 sources: each of them is called. The loop may
 *  find several descriptors ready at once, so if a callback reads another object's descriptor, that object is called
 *  with nothing to read.
 *
 *  The end
 *  -------
 *  Invalidate, then release. Invalidation removes the source from all loops, closes the descriptor if the object was
 *  created with closeOnInvalidate, and releases info. The object and its source keep each other alive until then. A
 *  descriptor that the object does not close must stay open until the object is invalidated. A descriptor that was
 *  closed earlier is reported once (RLBase.h, "Misuse and failures") when the loop notices, and its object is never
 *  called again, not even for another file that gets the same number. But if a duplicate of the closed descriptor is
 *  open elsewhere (dup, fork, another process), the kernel continues to report the file, and the library cannot tell:
 *  an object that is enabled again continues to be called, and its callback sees EBADF.
 *
 *  This is CFFileDescriptor, which CF has on Macs only. */
#ifndef RUNLOOP_RLFILEDESCRIPTOR_H
#define RUNLOOP_RLFILEDESCRIPTOR_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A descriptor object. */
typedef struct RLFileDescriptor *RLFileDescriptorRef;

/** A file descriptor of the operating system. */
typedef int RLFileDescriptorNativeDescriptor;

/** The types of callbacks of a descriptor object; bits. */
enum {
    kRLFileDescriptorReadCallBack = 1UL << 0, /**< There is something to read, end of file, or an error. */
    kRLFileDescriptorWriteCallBack = 1UL << 1 /**< There is room to write, or an error. */
};

/** The callback of a descriptor object, called on the loop's thread. It may enable callbacks again, invalidate and
 *  release f, and run the loop.
 *  @param f              the descriptor object.
 *  @param callBackTypes  the bits that have fired: one or both.
 *  @param info           the object's info. */
typedef void (*RLFileDescriptorCallBack)(RLFileDescriptorRef f, RLOptionFlags callBackTypes, void *info);

/** The info of a descriptor object and the functions that manage it. Every pointer may be NULL. The layout is that of
 *  CFFileDescriptorContext, whose functions take `void *`. */
typedef struct RLFileDescriptorContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callback. */
    /** Called once, in Create; what it returns is the object's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, by RLFileDescriptorInvalidate(). */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLFileDescriptorContext;

/** Returns the type ID of descriptor objects, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLFileDescriptorGetTypeID(void);

/** Creates a descriptor object with all callbacks disabled.
 *  @param fd       an open descriptor.
 *  @param closeOnInvalidate  whether RLFileDescriptorInvalidate() closes fd.
 *  @param callout  the callback; may be NULL.
 *  @param context  copied; NULL: info is NULL.
 *  @return the object, or NULL.
 *  Ownership: info is retained through context.retain until invalidation. With closeOnInvalidate, fd belongs to the
 *  object; without it, or if the result is NULL, it belongs to you.  Re-entrancy: calls context.retain.
 *  Errors: a number that is not an open descriptor is misuse.  Cost: one system call. */
RL_EXPORT RLFileDescriptorRef RLFileDescriptorCreate(RLAllocatorRef allocator, RLFileDescriptorNativeDescriptor fd,
                                                     RLBoolean closeOnInvalidate, RLFileDescriptorCallBack callout,
                                                     const RLFileDescriptorContext *context);

/** Returns the descriptor; -1 after invalidation.
 *  Errors: misuse returns -1. */
RL_EXPORT RLFileDescriptorNativeDescriptor RLFileDescriptorGetNativeDescriptor(RLFileDescriptorRef f);

/** Copies the context.
 *  @param context  filled; its version must be 0. After invalidation every pointer is NULL.
 *  Ownership: info is not retained for you. */
RL_EXPORT void RLFileDescriptorGetContext(RLFileDescriptorRef f, RLFileDescriptorContext *context);

/** Enables callbacks, for one call each. If the descriptor is already ready, the callback is called in the next pass of
 *  the loop.
 *  It has no effect on an invalid object. A sleeping loop is woken if it has to watch for something new.
 *  @param callBackTypes  kRLFileDescriptorReadCallBack, kRLFileDescriptorWriteCallBack, or both; callbacks that are
 *                        enabled already stay enabled.
 *  Cost: a few stores in a callback; a system call if the loop did not watch for this before, and about a microsecond
 *  from another thread. */
RL_EXPORT void RLFileDescriptorEnableCallBacks(RLFileDescriptorRef f, RLOptionFlags callBackTypes);

/** Disables callbacks that have not fired. It has no effect on an invalid object.
 *  @param callBackTypes  bits, as for RLFileDescriptorEnableCallBacks().
 *  Thread: if this is not the loop's thread, a callback may be running meanwhile.
 *  Cost: that of enabling; a system call if the descriptor becomes ready nevertheless. */
RL_EXPORT void RLFileDescriptorDisableCallBacks(RLFileDescriptorRef f, RLOptionFlags callBackTypes);

/** Invalidates a descriptor object: it is called no more, its source is invalidated, and info is released.
 *  The descriptor is closed if closeOnInvalidate was set. If this empties the mode of a run on another thread, that run
 *  ends. A second call has no effect.
 *  Thread: while another thread is in the callback, that thread closes the descriptor and releases info when the
 *  callback returns.  Re-entrancy: calls context.release.  Cost: up to one system call for each loop, and the close. */
RL_EXPORT void RLFileDescriptorInvalidate(RLFileDescriptorRef f);

/** Returns whether a descriptor object is valid: true until RLFileDescriptorInvalidate(). */
RL_EXPORT RLBoolean RLFileDescriptorIsValid(RLFileDescriptorRef f);

/** Returns the object's run loop source, which the first call creates; NULL if f is invalid.
 *  Each call returns the same source, unless that was invalidated on its own; then a new one is created.
 *  @param order  the order of the source, if this call creates it: of several ready descriptors the lowest order comes
 *                first.
 *  Ownership: Create rule; the source retains f, and f the source, until it is invalidated. */
RL_EXPORT RLRunLoopSourceRef RLFileDescriptorCreateRunLoopSource(RLAllocatorRef allocator, RLFileDescriptorRef f,
                                                                 RLIndex order);

RL_EXTERN_C_END
#endif
