/* The matrix with sd-event as the host. sd_event_run() may not be nested. */
#define HOST_ATTACHES
#include "matrix.h"
#include <RunLoop/adapters/sd-event.h>
#include <time.h>

static sd_event *event;
static RLSdEventGuest *guest;
static void (*when_stopped)(void);
static int has_quit;

static void call_stopped(void *info)
{
    (void)info;
    when_stopped();
}
static int call(sd_event_source *source, uint64_t date, void *function)
{
    (void)source;
    (void)date;
    ((void (*)(void))function)();
    return 0;
}
static void host_begin(void (*function)(void))
{
    when_stopped = function;
    CHECK(sd_event_new(&event) >= 0);
    guest = RLSdEventAttach(event, kRLRunLoopDefaultMode, call_stopped, NULL);
    CHECK(guest != NULL);
}
static int host_attaches_again(void) { return RLSdEventAttach(event, RLSTR("other"), NULL, NULL) != NULL; }
static void host_run(void)
{
    for (has_quit = 0; !has_quit;)
        CHECK(sd_event_run(event, UINT64_MAX) >= 0);
}
static void host_quit(void) { has_quit = 1; }
static void host_after(unsigned milliseconds, void (*function)(void))
{
    CHECK(sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, milliseconds * 1000, 1, call, (void *)function) >=
          0);
}
static int call_readable(sd_event_source *source, int fd, uint32_t events, void *readable)
{
    (void)source;
    (void)fd;
    (void)events;
    ((void (*)(void))readable)();
    return 0;
}
static void host_watch(int fd, void (*readable)(void))
{
    CHECK(sd_event_add_io(event, NULL, fd, EPOLLIN, call_readable, (void *)readable) >= 0);
}
static void host_end(void)
{
    RLSdEventDetach(guest);
    sd_event_unref(event);
}
