/** @file RLRunLoopDispatch.h
 *  libdispatch: the main queue, served by the main loop.
 *  Example: examples/main-queue.c
 *
 *  On a Mac the main thread's run loop also runs what is submitted to libdispatch's main queue. Here it does so on
 *  request: after RLRunLoopSetServicesDispatchMainQueue(1) the main loop has a source, in its common modes, that is
 *  ready when the main queue has work. A program needs neither dispatch_main() nor a thread for it: RLRunLoopRun() on
 *  the main thread serves both.
 *
 *  The library is not linked with libdispatch. When it is loaded, it looks for libdispatch's functions in the process:
 *  link the program with -ldispatch.
 *
 *  With this source a common mode of the main loop is not empty, and a run in it does not return Finished, except for a
 *  run that is nested in a callback of the queue, where the queue cannot be served. This is how CFRunLoop behaves.
 *  Programs that are compiled with the headers of CoreFoundation/ and linked with libdispatch get the source
 *  automatically, when the main loop is created. */
#ifndef RUNLOOP_RLRUNLOOPDISPATCH_H
#define RUNLOOP_RLRUNLOOPDISPATCH_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** Sets whether the main loop runs what is submitted to libdispatch's main queue.
 *  @param serves  1: from now on. 0: no longer.
 *  @return 1 if the setting is as requested, else 0.
 *  Errors: 0 with errno ENOSYS if serves is 1 and there is no libdispatch in the process, ENOMEM, or the error of
 *  opening a descriptor.  Cost: the first call allocates and opens descriptors; the main loop watches one more. */
RL_EXPORT RLBoolean RLRunLoopSetServicesDispatchMainQueue(RLBoolean serves);

RL_EXTERN_C_END
#endif
