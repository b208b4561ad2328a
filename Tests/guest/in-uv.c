/* The matrix with libuv as the host. uv_run() may not be nested. */
#define HOST_ATTACHES
#include "matrix.h"
#include <RunLoop/adapters/uv.h>

static RLUvGuest *guest;
static void (*when_stopped)(void);
static void call_stopped(void *info)
{
    (void)info;
    when_stopped();
}
static void closed(uv_handle_t *handle) { free(handle); }
static void close_and_call(uv_timer_t *timer)
{
    void (*function)(void) = (void (*)(void))timer->data;
    uv_close((uv_handle_t *)timer, closed);
    function();
}
static void host_begin(void (*function)(void))
{
    when_stopped = function;
    guest = RLUvAttach(uv_default_loop(), kRLRunLoopDefaultMode, call_stopped, NULL);
    CHECK(guest != NULL);
}
static int host_attaches_again(void) { return RLUvAttach(uv_default_loop(), RLSTR("other"), NULL, NULL) != NULL; }
static void host_run(void) { uv_run(uv_default_loop(), UV_RUN_DEFAULT); }
static void host_quit(void) { uv_stop(uv_default_loop()); }
static void host_after(unsigned milliseconds, void (*function)(void))
{
    uv_timer_t *timer = malloc(sizeof *timer);
    uv_timer_init(uv_default_loop(), timer);
    timer->data = (void *)function;
    uv_timer_start(timer, close_and_call, milliseconds, 0);
}
static uv_poll_t polled;
static void call_readable(uv_poll_t *poll, int status, int events)
{
    (void)events;
    CHECK(status == 0);
    ((void (*)(void))poll->data)();
}
static void host_watch(int fd, void (*readable)(void))
{
    uv_poll_init(uv_default_loop(), &polled, fd);
    polled.data = (void *)readable;
    uv_poll_start(&polled, UV_READABLE, call_readable);
}
static void host_end(void)
{
    RLUvDetach(guest);
    if (polled.data != NULL)
        uv_close((uv_handle_t *)&polled, NULL);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
