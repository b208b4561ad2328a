/** @file RLFileDescriptor.h
 *  Descriptor objects: a function is called when a file descriptor can be read or written, once each time it is
 *  enabled.
 *  Examples: examples/pidfd.c, examples/inotify.c
 *
 *  Create one for a descriptor, create its run loop source, add that to a loop, and enable the callbacks that you want:
 *
 *      RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, fd, true, callout, &context);
 *      RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, f, 0);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
 *      RLRelease(source);
 *      RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
 *
 *  Every callback is one-shot: one that fires is disabled before the function is called, and fires again only after it
 *  has been enabled again, in the function or later. What counts is whether the descriptor is ready then: bytes left
 *  unread fire the callback at once. If the descriptor can be read and written, and both are enabled, there is one call
 *  with both bits. Nothing is called until the callback is enabled and the source is in a mode that runs, in either
 *  order.
 *
 *  Any descriptor will do: pipes, sockets, terminals, eventfds, timerfds, signalfds, pidfds, inotify and epoll
 *  descriptors. Regular files and /dev/null are always ready. An end of file and an error count as readable, an error
 *  as writable, too; but a stream socket that is not connected, not connecting and not listening is neither, though
 *  poll(2) says so. The library never reads or writes the descriptor. Make it non-blocking.
 *
 *  Several objects may have the same descriptor, and a source of version 1 with them: each is called. The loop may find
 *  several descriptors ready at once, so a callback that reads another object's descriptor causes that object to be
 *  called with nothing to read.
 *
 *  The end
 *  -------
 *  Invalidate, then release: invalidation takes the source out of all loops, closes the descriptor if it was created
 *  with closeOnInvalidate, and releases info. The object and its source keep each other alive until then. A descriptor
 *  that the object does not close must stay open until the object is invalidated. One that was closed before is
 *  reported once (RLBase.h, "Misuse and failures") when the loop notices, and never calls back, not even for another
 *  file that gets the number. If a duplicate of the closed one is open elsewhere (dup, fork, another process), the
 *  kernel goes on reporting the file, and the library cannot tell: an object that is enabled again goes on being
 *  called, and its callback sees EBADF.
 *
 *  This is CFFileDescriptor, which CF has on Macs only. */
#ifndef RUNLOOP_RLFILEDESCRIPTOR_H
#define RUNLOOP_RLFILEDESCRIPTOR_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A descriptor object. */
typedef struct RLFileDescriptor *RLFileDescriptorRef;

/** A file descriptor of the system. */
typedef int RLFileDescriptorNativeDescriptor;

/** What a descriptor object calls back for; bits. */
enum {
    kRLFileDescriptorReadCallBack = 1UL << 0, /**< There is something to read, an end or an error. */
    kRLFileDescriptorWriteCallBack = 1UL << 1 /**< There is room to write, or an error. */
};

/** Called on the loop's thread. May enable callbacks again, invalidate and release f, and run the loop.
 *  @param f              the descriptor object.
 *  @param callBackTypes  the bits that have fired: may be both at once.
 *  @param info           the context's. */
typedef void (*RLFileDescriptorCallBack)(RLFileDescriptorRef f, RLOptionFlags callBackTypes, void *info);

/** What is passed to the function. Every pointer may be NULL. The layout is CFFileDescriptorContext's, whose functions
 *  take `void *`. */
typedef struct RLFileDescriptorContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the function. */
    /** Called once, in Create; what it returns is the object's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, by RLFileDescriptorInvalidate(). */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLFileDescriptorContext;

/** Returns the kind of descriptor objects, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLFileDescriptorGetTypeID(void);

/** Creates a descriptor object with all callbacks disabled.
 *  @param fd       an open descriptor.
 *  @param closeOnInvalidate  whether RLFileDescriptorInvalidate() closes fd.
 *  @param callout  called when an enabled callback fires; may be NULL.
 *  @param context  copied; NULL for an info of NULL.
 *  @return the object, or NULL.
 *  Ownership: info is retained through context.retain until invalidation. With closeOnInvalidate fd belongs to the
 *  object; without it, or if the result is NULL, to you.  Re-entrancy: calls context.retain.
 *  Errors: a number that is no open descriptor is misuse.  Cost: one system call. */
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

/** Enables callbacks, once for each bit. What is ready already calls back in the next pass of the loop.
 *  On an invalid object it does nothing. A loop that sleeps is woken if it has to watch something new.
 *  @param callBackTypes  bits of kRLFileDescriptorReadCallBack and kRLFileDescriptorWriteCallBack; those that are
 *                        enabled already stay so.
 *  Cost: a few stores in a callback; a system call if the loop did not watch for this before, and about a microsecond
 *  from another thread. */
RL_EXPORT void RLFileDescriptorEnableCallBacks(RLFileDescriptorRef f, RLOptionFlags callBackTypes);

/** Disables callbacks that have not fired. On an invalid object it does nothing.
 *  @param callBackTypes  bits, as for RLFileDescriptorEnableCallBacks().
 *  Thread: if this is not the loop's thread, a call may be under way.
 *  Cost: that of enabling; a system call if the descriptor becomes ready nevertheless. */
RL_EXPORT void RLFileDescriptorDisableCallBacks(RLFileDescriptorRef f, RLOptionFlags callBackTypes);

/** Ends a descriptor object: there are no more callbacks, the source is invalidated, info is released, and the
 *  descriptor closed if closeOnInvalidate was set.
 *  If this empties the mode of a run on another thread, that run ends. A second call has no effect.
 *  Thread: while another thread is in the callback, that thread closes the descriptor and releases info when the
 *  callback returns.  Re-entrancy: calls context.release.  Cost: up to one system call for each loop, and the close. */
RL_EXPORT void RLFileDescriptorInvalidate(RLFileDescriptorRef f);

/** Returns whether a descriptor object is still valid: true until RLFileDescriptorInvalidate(). */
RL_EXPORT RLBoolean RLFileDescriptorIsValid(RLFileDescriptorRef f);

/** Returns the object's run loop source, which the first call creates; NULL if f is invalid.
 *  It is the same each time, unless it was invalidated on its own; then a new one is created.
 *  @param order  of the source, if this call creates it: among several ready descriptors the lowest comes first.
 *  Ownership: Create rule; the source retains f, and f the source until it is invalidated. */
RL_EXPORT RLRunLoopSourceRef RLFileDescriptorCreateRunLoopSource(RLAllocatorRef allocator, RLFileDescriptorRef f,
                                                                 RLIndex order);

RL_EXTERN_C_END
#endif
