/*
 * corefoundation.c -- CFRunLoop of the Swift toolchain, on a separate thread: on the main thread it also serves the
 * main dispatch queue, which costs 1.5 us more per pass.
 *
 * A version-1 source on Linux is edge-triggered, and CFRunLoop itself reads eight bytes from the descriptor before it
 * calls the handler; so messages have eight bytes, and the handler drains the rest. Cancelling or moving a timer
 * searches a sorted array: a million timers would take hours.
 */
#include "../loop.h"
#include <CoreFoundation/CoreFoundation.h>

#define LIBRARY "cf"
#define TAKES (ORDINARY | SIGNAL)
#define MORE_VARIANTS
enum { MOST_TIMERS = 200000, MESSAGE_SIZE = 8, OWN_THREAD = true };

static void post_natively(CFRunLoopRef loop, task_function function, void *argument)
{
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, ^{ function(argument); });
    CFRunLoopWakeUp(loop);
}

#include "cf-family.h"

static void watched_perform(void *info)
{
    struct watched *w = info;
    uint64_t message;
    on_message(w->i);
    while (read(w->fd, &message, sizeof message) == sizeof message)
        on_message(w->i);
}

static void add_descriptor(struct loop *l, struct watched *info) { add_watched(l, info, watched_perform); }

#include "../scenarios.h"
