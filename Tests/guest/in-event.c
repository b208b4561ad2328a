/* The matrix with libevent as the host. event_base_loop() may not be nested. */
#define HOST_ATTACHES
#include "matrix.h"
#include <RunLoop/adapters/event.h>

static struct event_base *base;
static RLEventGuest *guest;
static void (*when_stopped)(void);

static void call_stopped(void *info)
{
    (void)info;
    when_stopped();
}
static void call(evutil_socket_t fd, short events, void *function)
{
    (void)fd;
    (void)events;
    ((void (*)(void))function)();
}
static void host_begin(void (*function)(void))
{
    when_stopped = function;
    base = event_base_new();
    guest = RLEventAttach(base, kRLRunLoopDefaultMode, call_stopped, NULL);
    CHECK(guest != NULL);
}
static int host_attaches_again(void) { return RLEventAttach(base, RLSTR("other"), NULL, NULL) != NULL; }
static void host_run(void) { CHECK(event_base_dispatch(base) == 0); }
static void host_quit(void) { event_base_loopbreak(base); }
static void host_after(unsigned milliseconds, void (*function)(void))
{
    struct timeval delay = {.tv_usec = (suseconds_t)milliseconds * 1000};
    CHECK(event_base_once(base, -1, EV_TIMEOUT, call, (void *)function, &delay) == 0);
}
static struct event *watch;
static void host_watch(int fd, void (*readable)(void))
{
    watch = event_new(base, fd, EV_READ | EV_PERSIST, call, (void *)readable);
    CHECK(watch != NULL && event_add(watch, NULL) == 0);
}
static void host_end(void)
{
    if (watch != NULL)
        event_free(watch);
    RLEventDetach(guest);
    event_base_free(base);
}
