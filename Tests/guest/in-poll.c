/* The matrix with the program's own poll(2) as the host, which keeps time with its timeout: it prepares the run loop
 * before each wait. */
#include "matrix.h"
#include <math.h>
#include <poll.h>
#include <time.h>

static void (*when_stopped)(void), (*later)(void), (*when_readable)(void);
static int depth, quits, watched = -1;
static double date; /* the date for `later` */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}
static void host_begin(void (*function)(void))
{
    RLRunLoopGuestState state = {.version = 0};
    when_stopped = function;
    CHECK(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, 0, &state)); /* a stop counts from now on */
}
static void host_run(void)
{
    int here = ++depth;
    while (quits == 0 || depth > here) {
        RLRunLoopGuestState state = {.version = 0};
        CHECK(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, 0, &state));
        double wait = fmin(state.timeout, later != NULL ? fmax(date - now(), 0) : HUGE_VAL);
        struct pollfd polled[] = {{.fd = state.fd, .events = state.events}, {.fd = watched, .events = POLLIN}};
        int ready = poll(polled, 2, wait == HUGE_VAL ? -1 : (int)fmin(ceil(wait * 1000), 1e9));
        if ((polled[0].revents || (ready == 0 && wait == state.timeout)) &&
            RLRunLoopDispatchGuest(kRLRunLoopDefaultMode) == kRLRunLoopRunStopped)
            when_stopped();
        if (polled[1].revents)
            when_readable();
        if (later != NULL && now() >= date) {
            void (*function)(void) = later;
            later = NULL;
            function();
        }
    }
    quits--;
    depth--;
}
static void host_quit(void) { quits++; }
static void host_after(unsigned milliseconds, void (*function)(void))
{
    date = now() + milliseconds / 1000.0;
    later = function;
}
static void host_watch(int fd, void (*readable)(void))
{
    watched = fd;
    when_readable = readable;
}
static void host_end(void) { RLRunLoopLeaveGuest(); }
