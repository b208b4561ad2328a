/* What adapters/uv.h promises in addition to the matrix: libuv as the guest of a run loop. */
#include "latency.h"
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

/* What the adapter calls instead of epoll_ctl(): adding a descriptor fails as many times as `refusals` says, as if the kernel had no
 * memory. */
static int refusals, hasRefused;
static int refusing_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_DEL || refusals == 0)
        return epoll_ctl(epoll, operation, fd, event);
    refusals--;
    __atomic_store_n(&hasRefused, 1, __ATOMIC_RELEASE);
    errno = ENOMEM;
    return -1;
}
#define epoll_ctl refusing_epoll_ctl
#include <RunLoop/adapters/uv.h>
#undef epoll_ctl

static uv_timer_t timer, other;
static uv_async_t async;
static uv_poll_t polled;

static void on_timer(uv_timer_t *its) { (void)its, stop(); }
static void on_async(uv_async_t *its) { (void)its, stop(); }
static void on_poll(uv_poll_t *its, int status, int events)
{
    (void)its;
    CHECK(status == 0 && events == UV_READABLE);
    read_byte();
    uv_poll_stop(&polled);
    stop();
}
static void *send_async(void *info)
{
    uv_async_send(&async);
    return info;
}
/* libuv issue 1565: watchers started outside of uv_run() are registered with uv_backend_fd() only in the next
 * uv_run(). */
static void start_poll(void)
{
    uv_poll_init(uv_default_loop(), &polled, ends[0]);
    uv_poll_start(&polled, UV_READABLE, on_poll);
}
static void start_poll_later(void *info)
{
    (void)info;
    start_poll();
    write_byte(NULL);
}
static void start_timer_later(void *info)
{
    (void)info;
    uv_timer_start(&timer, on_timer, 5, 0);
}

/* A callback of libuv that runs the run loop. That run does not serve libuv, and is not woken by it. */
static void nest(uv_timer_t *its)
{
    (void)its;
    int before = passes;
    write_byte(NULL);
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0) == kRLRunLoopRunTimedOut);
    CHECK(passes - before <= 6 && calls == 0);
}

/* Stands for another loop, whose descriptor is not watched after the first call of this function, and cannot be watched after the second
 * one. A byte that arrives is noticed nevertheless. */
static long run_refused(void *info)
{
    struct pollfd polled_end = {.fd = ends[0], .events = POLLIN};
    int number = ++*(int *)info;
    if (number == 1)
        return kRLHostedBusy;
    if (number == 2)
        refusals = 3;
    if (poll(&polled_end, 1, 0) == 1) {
        read_byte();
        stop();
    }
    return kRLHostedWhenReadable;
}
static void *write_to_sleeping_loop(void *info)
{
    while (!__atomic_load_n(&hasRefused, __ATOMIC_ACQUIRE) || !RLRunLoopIsWaiting(rl))
        sched_yield();
    return write_byte(info);
}

/* Called by libuv, in the run loop; or by the run loop itself. */
static void call_readable(uv_poll_t *its, int status, int events)
{
    (void)events;
    CHECK(status == 0);
    ((void (*)(void))its->data)();
}
static void watch(int fd, void (*readable)(void))
{
    uv_poll_init(uv_default_loop(), &polled, fd);
    polled.data = (void *)readable;
    uv_poll_start(&polled, UV_READABLE, call_readable);
}

int main(int count, char **arguments)
{
    const char *scenario = count > 1 ? arguments[1] : "";
    uv_loop_t *loop = uv_default_loop();
    RLRunLoopObserverRef observer = begin_counting_passes();
    RLUvLoopRef uv = RLUvLoopAdd(loop, kRLRunLoopCommonModes);
    CHECK(uv != NULL);
    uv_timer_init(loop, &timer);
    uv_timer_init(loop, &other);
    uv_async_init(loop, &async, on_async);
    void *(*body)(void *info) = NULL;
    RLHostedLoop *unwatched = NULL;
    int runs = 0;
    if (strcmp(scenario, "timer") == 0) {
        uv_timer_start(&timer, on_timer, 5, 0);
        uv_timer_start(&other, on_timer, 1000000, 0);
    } else if (strcmp(scenario, "async-from-thread") == 0) {
        body = send_async;
    } else if (strcmp(scenario, "libuv-1565") == 0) {
        CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, start_poll_later, NULL));
    } else if (strcmp(scenario, "timer-in-callback") == 0) {
        CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, start_timer_later, NULL));
    } else if (strcmp(scenario, "nested") == 0) {
        start_poll();
        uv_timer_start(&timer, nest, 1, 0);
    } else if (strcmp(scenario, "unwatched") == 0) {
        unwatched = RLHostedLoopAdd(ends[0], run_refused, &runs, kRLRunLoopDefaultMode);
        CHECK(unwatched != NULL);
        body = write_to_sleeping_loop;
    } else if (strcmp(scenario, "quiet") == 0) {
        uv_timer_start(&timer, on_timer, 200, 0);
    } else if (strcmp(scenario, "latency") == 0 && count == 3) {
        measure_latency(arguments[2], watch, run_loop, stop);
        return 0;
    } else {
        return 2;
    }
    run_beside(body, run_loop);
    CHECK(calls == 1);
    if (strcmp(scenario, "quiet") == 0)
        CHECK(passes <= 6);
    if (unwatched != NULL)
        RLHostedLoopRemove(unwatched);
    RLUvLoopRemove(uv);
    end_counting_passes(observer);
    return 0;
}
