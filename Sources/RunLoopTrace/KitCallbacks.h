/* The callbacks of librunloop-kit's objects: librunloop calls a function of the kit, and that calls the client's, which
   is the one to show. */
#ifndef RUNLOOP_TRACE_KIT_CALLBACKS_H
#define RUNLOOP_TRACE_KIT_CALLBACKS_H
#include "Companion.h"

/* Finds out where librunloop-kit.so is in memory. Any thread, but not in a probe. */
void kitFind(void);

typedef void (*KitFunction)(void);

/* These return the function to show for an event: the client's if the event's own is the kit's. For every begin of a
   callback there may be an end on the same thread, when the object may have been freed. */
KitFunction kitFunctionAtBegin(const struct ProbeEvent *event);
KitFunction kitFunctionAtEnd(const struct ProbeEvent *event);
/* For an object that was sent a signal. Async-signal-safe. */
KitFunction kitFunctionWhenSent(const struct ProbeEvent *event);
/* For a source of any loop, which may be freed at any moment: `function` and `info` are what it was created with. */
uint64_t kitFunctionOfSource(uint64_t function, uint64_t info);

#endif
