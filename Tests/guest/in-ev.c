/* The matrix with libev as the host. */
#define HOST_ATTACHES
#include "matrix.h"
#include <RunLoop/adapters/ev.h>

static struct ev_loop *loop;
static RLEvGuest *guest;
static void (*when_stopped)(void);

static void call_stopped(void *info)
{
    (void)info;
    when_stopped();
}
static void call(int events, void *function)
{
    (void)events;
    ((void (*)(void))function)();
}
static void host_begin(void (*function)(void))
{
    when_stopped = function;
    loop = ev_default_loop(EVFLAG_AUTO);
    guest = RLEvAttach(loop, kRLRunLoopDefaultMode, call_stopped, NULL);
    CHECK(guest != NULL);
}
static int host_attaches_again(void) { return RLEvAttach(loop, RLSTR("other"), NULL, NULL) != NULL; }
static void host_run(void) { ev_run(loop, 0); }
static void host_quit(void) { ev_break(loop, EVBREAK_ONE); }
static void host_after(unsigned milliseconds, void (*function)(void))
{
    ev_once(loop, -1, 0, milliseconds / 1000.0, call, (void *)function);
}
static ev_io watch;
static void call_readable(struct ev_loop *its, ev_io *io, int events)
{
    (void)its;
    (void)events;
    ((void (*)(void))io->data)();
}
static void host_watch(int fd, void (*readable)(void))
{
    ev_io_init(&watch, call_readable, fd, EV_READ);
    watch.data = (void *)readable;
    ev_io_start(loop, &watch);
}
static void host_end(void) { RLEvDetach(guest); }
