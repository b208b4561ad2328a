/* A minimal host for the tests of guest loops: it waits with poll(2). */
#ifndef RUNLOOP_TESTS_C_GUEST_H
#define RUNLOOP_TESTS_C_GUEST_H
#include "harness.h"
#include <poll.h>

static RLRunLoopGuestState state; /* of the loop under test; only one thread at a time uses it */

/* Prepares the loop, with its timer in the descriptor. */
static UNUSED void prepare(void)
{
    require(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, kRLRunLoopGuestTimerInDescriptor, &state) == 1);
}

static UNUSED RLRunLoopRunResult dispatch(void) { return RLRunLoopDispatchGuest(kRLRunLoopDefaultMode); }

static UNUSED bool readable(void)
{
    struct pollfd look = {.fd = state.fd, .events = state.events};
    int count = poll(&look, 1, 0);
    require(count >= 0);
    return count > 0;
}

/* Blocks as a host does. If the descriptor never becomes readable, the test's time limit ends the wait. */
static UNUSED void await_readable(void)
{
    struct pollfd look = {.fd = state.fd, .events = state.events};
    while (poll(&look, 1, -1) < 1)
        require(errno == EINTR);
}

static UNUSED void count_function(void *info) { atomic_fetch_add((atomic_int *)info, 1); }
#endif
