/** @file RLSchedule.h
 *  Scheduling: handing a source over to this thread's loop, which keeps it until it ends.
 *  Examples: examples/echo.c, examples/relay.c, examples/chat.c
 *
 *  All objects of the kit are sources, and most of them live as long as they are in a loop: a stream until it is
 *  closed, a child until it has ended. So a program need not keep references to them:
 *
 *      RLStreamRef stream = RLScheduleSource(RLStreamCreate(NULL, fd, 1, callout, &context));
 *
 *  Other sources can be scheduled, too, such as that of a port: RLPortCreateRunLoopSource(). NSTimer's
 *  `scheduledTimer…` methods do the same for timers. */
#ifndef RUNLOOPKIT_RLSCHEDULE_H
#define RUNLOOPKIT_RLSCHEDULE_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** Adds a source to the default mode of this thread's loop, and releases it: the loop keeps it.
 *  @param source  NULL, the result of a failed Create, has no effect. The source must not equal another one in the mode
 *                 (RLRunLoopSource.h, "Equality"); no two objects of the kit are equal.
 *  @return the source, valid until it is invalidated or removed from the loop; or NULL.
 *  Ownership: your reference is released, whatever the result; call RLRetain() first to keep one.
 *  Re-entrancy: that of RLRunLoopAddSource(), and of RLRelease().
 *  Errors: NULL with errno ENOMEM if the loop cannot keep it, EINVAL if it is invalid; for NULL, errno stays as Create
 *  left it. An object that is not a source is misuse, and is not released.  Cost: that of RLRunLoopAddSource(). */
RL_EXPORT RLRunLoopSourceRef RLScheduleSource(RLRunLoopSourceRef source);

RL_EXTERN_C_END
#endif
