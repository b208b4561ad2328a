/** @file RLSchedule.h
 *  Scheduling: a source is handed over to the loop of this thread, which keeps it until it ends.
 *  Examples: examples/echo.c, examples/relay.c, examples/chat.c
 *
 *  All objects of the kit are sources, and most of them live as long as they are in a loop: a stream until it is
 *  closed, a child until it has ended. So a program need not keep a reference to them:
 *
 *      RLStreamRef stream = RLScheduleSource(RLStreamCreate(NULL, fd, 1, callout, &context));
 *
 *  NSTimer's `scheduledTimer…` does so for timers. */
#ifndef RUNLOOPKIT_RLSCHEDULE_H
#define RUNLOOPKIT_RLSCHEDULE_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** Adds a source to the default mode of this thread's loop, and releases it: the loop keeps it.
 *  @param source  NULL, as a failed Create returns it, has no effect. It must not equal another source of the mode
 *                 (RLRunLoopSource.h, "Equality"); no two objects of the kit are equal.
 *  @return the source, valid until it is invalidated or removed from the loop; or NULL.
 *  Ownership: your reference is released, whatever the result; keep another by RLRetain().
 *  Re-entrancy: that of RLRunLoopAddSource(), and of RLRelease().
 *  Errors: NULL with errno ENOMEM if the loop cannot keep it, EINVAL if it is invalid; for NULL, errno stays as Create
 *  has left it. Another object than a source is misuse, and is not released.  Cost: that of RLRunLoopAddSource(). */
RL_EXPORT RLRunLoopSourceRef RLScheduleSource(RLRunLoopSourceRef source);

RL_EXTERN_C_END
#endif
