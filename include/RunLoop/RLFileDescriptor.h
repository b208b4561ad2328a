/** @file RLFileDescriptor.h
 *  Descriptor objects: a function is called when a file descriptor can be read or written, once each time it is asked
 *  for.
 *
 *  Create one for a descriptor, make its run loop source, add that to a loop, and enable the callbacks that you want:
 *
 *      RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, fd, true, callout, &context);
 *      RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, f, 0);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
 *      RLRelease(source);
 *      RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
 *
 *  Every callback is one-shot: what has fired is disabled before the function is called, and comes again after it has
 *  been enabled again, in the function or later. Readiness is looked at when it is enabled: bytes that were left unread
 *  call back at once. If the descriptor can be read and written, and both are enabled, there is one call with both
 *  bits. Nothing is called until the callback is enabled and the source is in a mode that runs, in whichever order
 *  that comes about.
 *
 *  Any descriptor will do: pipes, sockets, terminals, eventfds, timerfds, signalfds, pidfds, inotify, epoll
 *  descriptors. Regular files and /dev/null are always ready. An end of file and an error count as readable, an error
 *  as writable, too; but a stream socket that is not connected, not connecting and not listening is neither, though
 *  poll(2) says so. The library never reads or writes the descriptor. Make it non-blocking.
 *
 *  Several objects may have the same descriptor, and a source of version 1 with them: each is called. Several ready
 *  descriptors are found by one look of the loop, so a callback that reads what is another object's leaves that one to
 *  be called with nothing to read.
 *
 *  The end
 *  -------
 *  Invalidate, then release: invalidation takes the source out of all loops, closes the descriptor if Create was told
 *  so (closeOnInvalidate), and releases info. The object and its source keep each other alive until then. A descriptor
 *  that is not closed by the object must stay open until it is invalidated; one that was closed before is reported once
 *  (RLBase.h, "Mistakes and failures") when that is found out, and never calls back; nor does it hear of another file
 *  that gets the number and is added to a loop that has waited for the first one. If a duplicate of it is open
 *  elsewhere (dup, fork, another process), the kernel goes on reporting the file, and nobody can tell that the number
 *  is closed: a client that goes on enabling such an object goes on being called, and finds out by EBADF.
 *
 *  This is CFFileDescriptor, which CoreFoundation has on Macs only. */
#ifndef RUNLOOP_RLFILEDESCRIPTOR_H
#define RUNLOOP_RLFILEDESCRIPTOR_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** A descriptor object. */
typedef struct RLFileDescriptor *RLFileDescriptorRef;

/** What the system knows a descriptor by. */
typedef int RLFileDescriptorNativeDescriptor;

/** What a descriptor object calls back for; bits. */
enum {
    kRLFileDescriptorReadCallBack = 1UL << 0, /**< There is something to read, an end or an error. */
    kRLFileDescriptorWriteCallBack = 1UL << 1 /**< There is room to write, or an error. */
};

/** Called on the loop's thread. May enable callbacks again, invalidate and release f, and run the loop.
 *  @param f              the descriptor object.
 *  @param callBackTypes  the bits that have fired: be ready for both together.
 *  @param info           the context's. */
typedef void (*RLFileDescriptorCallBack)(RLFileDescriptorRef f, RLOptionFlags callBackTypes, void *info);

/** What is handed to the function. Every pointer may be NULL. The layout is CFFileDescriptorContext's, whose functions
 *  take `void *`. */
typedef struct RLFileDescriptorContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Handed to the function. */
    /** Called once, in Create; what it returns is the object's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, by RLFileDescriptorInvalidate(). */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLFileDescriptorContext;

/** Tells the kind of descriptor objects, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/pidfd.c */
RL_EXPORT RLTypeID RLFileDescriptorGetTypeID(void);

/** Creates a descriptor object with all callbacks disabled.
 *  @param allocator          NULL.
 *  @param fd                 an open descriptor.
 *  @param closeOnInvalidate  whether RLFileDescriptorInvalidate() closes fd.
 *  @param callout            called when an enabled callback fires; NULL calls nobody.
 *  @param context            copied; NULL for an info of NULL.
 *  @return the object, or NULL.
 *  Ownership: Create rule; info is retained through context.retain until invalidation. fd belongs to the object if it
 *  closes it, to the caller otherwise; to the caller in any case if the result is NULL.  Thread: any.
 *  Re-entrancy: allowed in callbacks; calls context.retain.
 *  Errors: NULL with errno ENOMEM; a number that is no open descriptor and a context version other than 0 are reported
 *  and give NULL (errno EINVAL).
 *  Cost: one allocation, one system call.  Since: 0.1.  Example: examples/pidfd.c */
RL_EXPORT RLFileDescriptorRef RLFileDescriptorCreate(RLAllocatorRef allocator, RLFileDescriptorNativeDescriptor fd,
                                                     RLBoolean closeOnInvalidate, RLFileDescriptorCallBack callout,
                                                     const RLFileDescriptorContext *context);

/** Tells the descriptor.
 *  @param f  the descriptor object.
 *  @return the descriptor; -1 after invalidation.
 *  Ownership: the object's, or as told in Create.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a wrong handle is reported and gives -1.
 *  Cost: O(1), one load.  Since: 0.1.  Example: examples/pidfd.c */
RL_EXPORT RLFileDescriptorNativeDescriptor RLFileDescriptorGetNativeDescriptor(RLFileDescriptorRef f);

/** Copies the context.
 *  @param f        the descriptor object.
 *  @param context  filled; its version must be 0. After invalidation every pointer is NULL.
 *  Ownership: info is borrowed.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a wrong handle, NULL and another version are reported; then nothing is written.
 *  Cost: O(1).  Since: 0.1.  Example: examples/pidfd.c */
RL_EXPORT void RLFileDescriptorGetContext(RLFileDescriptorRef f, RLFileDescriptorContext *context);

/** Asks to be called, once for each bit. What is ready already calls back in the next pass of the loop.
 *  @param f              the descriptor object.
 *  @param callBackTypes  bits of kRLFileDescriptorReadCallBack and kRLFileDescriptorWriteCallBack; those that are
 *                        enabled already stay so.
 *  Ownership: none.  Thread: any; a loop that sleeps is woken if it has to look at something new.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: a wrong handle is reported; on an invalid object it does nothing.
 *  Cost: a few stores; on another thread than that of the loop that called it last a membarrier(2). One epoll_ctl of
 *  the loop before it waits next, if it did not watch for this before: none for who enables again in the callback.
 *  Since: 0.1.  Example: examples/pidfd.c */
RL_EXPORT void RLFileDescriptorEnableCallBacks(RLFileDescriptorRef f, RLOptionFlags callBackTypes);

/** Takes back what was enabled and has not fired.
 *  @param f              the descriptor object.
 *  @param callBackTypes  bits, as for RLFileDescriptorEnableCallBacks().
 *  Ownership: none.  Thread: any; on another thread than the loop's a call may be under way.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: a wrong handle is reported; on an invalid object it does nothing.
 *  Cost: that of enabling. One epoll_ctl later, if the descriptor becomes ready nevertheless.
 *  Since: 0.1.  Example: examples/inotify.c */
RL_EXPORT void RLFileDescriptorDisableCallBacks(RLFileDescriptorRef f, RLOptionFlags callBackTypes);

/** Ends it: no more callbacks, the source is invalidated, the descriptor closed if Create was told so, info released.
 *  @param f  the descriptor object; may be invalid already.
 *  Ownership: the reference stays the caller's.  Thread: any. While another thread is in the callback, that thread
 *  closes the descriptor and releases info when the callback returns. Ends another thread's run whose mode is empty
 *  now.
 *  Re-entrancy: allowed in callbacks, the object's own too; calls context.release.
 *  Errors: a wrong handle is reported.
 *  Cost: at most one epoll_ctl for each loop, and one close.  Since: 0.1.  Example: examples/pidfd.c */
RL_EXPORT void RLFileDescriptorInvalidate(RLFileDescriptorRef f);

/** Tells whether it was not invalidated yet.
 *  @param f  the descriptor object.
 *  @return true until RLFileDescriptorInvalidate().
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: a wrong handle is reported and gives
 *  false.
 *  Cost: O(1), one load.  Since: 0.1.  Example: examples/inotify.c */
RL_EXPORT RLBoolean RLFileDescriptorIsValid(RLFileDescriptorRef f);

/** Gives the object's run loop source, which is made at the first call.
 *  @param allocator  NULL.
 *  @param f          the descriptor object.
 *  @param order      of the source, if this call makes it: among several ready descriptors the lowest comes first.
 *  @return the source; the same each time, unless it was invalidated on its own, and then a new one. NULL if f is
 *  invalid.
 *  Ownership: Create rule; the source retains f, and f the source until it is invalidated.  Thread: any.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a wrong handle is reported and gives NULL.
 *  Cost: at the first call one allocation.  Since: 0.1.  Example: examples/pidfd.c */
RL_EXPORT RLRunLoopSourceRef RLFileDescriptorCreateRunLoopSource(RLAllocatorRef allocator, RLFileDescriptorRef f,
                                                                 RLIndex order);

RL_EXTERN_C_END
#endif
