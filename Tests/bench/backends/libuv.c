/*
 * libuv.c -- libuv. Handles are elements of the program's arrays, as in every libuv program; timers have whole
 * milliseconds. Posting uses the program's task queue and uv_async_send.
 *     uv-stream    "chain" and "memory" through streams, which read the message themselves
 */
#include "../loop.h"
#include <uv.h>

enum { POLL, STREAM };
static const struct variant variants[] = {
    [POLL] = { "uv", .takes = ORDINARY | ECHO_SERVER }, [STREAM] = { "uv-stream", .takes = DESCRIPTORS }, {0}
};

struct loop {
    uv_loop_t uv;
    uv_async_t async;
    uv_idle_t idle;
    uv_timer_t ticker;
};

static uv_timer_t *timers;
static uv_poll_t *polls;
static uv_pipe_t *pipes;

static void loop_init(struct loop *l) { CHECK(uv_loop_init(&l->uv) == 0); }
static void loop_run(struct loop *l) { uv_run(&l->uv, UV_RUN_DEFAULT); }
static void loop_stop(struct loop *l) { uv_stop(&l->uv); }

static void async_call(uv_async_t *async) { on_wake(async->data); }

static void wake_init(struct loop *l)
{
    CHECK(uv_async_init(&l->uv, &l->async, async_call) == 0);
    l->async.data = l;
}
static void wake_send(struct loop *l) { uv_async_send(&l->async); }

#define post_init wake_init
#define post_send post_by_wake

static void idle_call(uv_idle_t *idle)
{
    if (!on_again())
        uv_idle_stop(idle);
}

static void again_start(struct loop *l)
{
    uv_idle_init(&l->uv, &l->idle);
    uv_idle_start(&l->idle, idle_call);
}

static void timer_call(uv_timer_t *timer) { on_timer((size_t)(timer - timers)); }

static void timers_init(struct loop *l, size_t n)
{
    uv_update_time(&l->uv);
    if (timers)
        return;
    timers = malloc(n * sizeof *timers);
    CHECK(timers != NULL);
    for (size_t i = 0; i < n; i++)
        uv_timer_init(&l->uv, &timers[i]);
}

static void timer_add(struct loop *l, size_t i, uint64_t delay_ns)
{
    (void)l;
    uv_timer_start(&timers[i], timer_call, (delay_ns + 999999) / 1000000, 0);
}
static void timer_cancel(struct loop *l, size_t i) { (void)l; uv_timer_stop(&timers[i]); }
static void timers_settle(struct loop *l) { (void)l; }
#define timer_rearm timer_add
#define timer_once timer_add

static void tick(uv_timer_t *timer) { (void)timer; on_tick(); }

static uint64_t ticker_start(struct loop *l, uint64_t period_ns, enum schedule *schedule)
{
    uint64_t milliseconds = period_ns / 1000000;
    *schedule = ON_GRID;                /* its clock counts whole milliseconds of CLOCK_MONOTONIC */
    uv_timer_init(&l->uv, &l->ticker);
    uv_update_time(&l->uv);
    uv_timer_start(&l->ticker, tick, milliseconds, milliseconds);
    return (uv_now(&l->uv) + milliseconds) * 1000000;
}

static void poll_call(uv_poll_t *poll, int status, int events)
{
    (void)events;
    CHECK(status == 0);
    on_readable((size_t)(poll - polls));
}

static void stream_memory(uv_handle_t *stream, size_t wanted, uv_buf_t *buffer)
{
    static char memory[sizeof(uint64_t)];
    (void)stream;
    (void)wanted;
    *buffer = uv_buf_init(memory, (unsigned)message_size); /* one message per read, like the other libraries */
}

static void stream_call(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    (void)buffer;
    if (length == 0) /* EAGAIN */
        return;
    CHECK(length == (ssize_t)message_size);
    on_message((size_t)((uv_pipe_t *)stream - pipes));
}

static void descriptors_init(struct loop *l, size_t n)
{
    (void)l;
    polls = malloc(n * (chosen == POLL ? sizeof *polls : sizeof *pipes));
    CHECK(polls != NULL);
    pipes = (uv_pipe_t *)polls;
}

static void descriptor_add(struct loop *l, size_t i, int fd)
{
    if (chosen == STREAM) {
        CHECK(uv_pipe_init(&l->uv, &pipes[i], 0) == 0 && uv_pipe_open(&pipes[i], fd) == 0);
        CHECK(uv_read_start((uv_stream_t *)&pipes[i], stream_memory, stream_call) == 0);
        return;
    }
    CHECK(uv_poll_init(&l->uv, &polls[i], fd) == 0);
    CHECK(uv_poll_start(&polls[i], UV_READABLE, poll_call) == 0);
}

/* ---- an echo server: writes immediately what can be written, and queues a copy of the rest ------------- */

#define HAS_ECHO
struct echo_rest { uv_write_t request; char bytes[]; };

static void echo_memory(uv_handle_t *stream, size_t wanted, uv_buf_t *buffer)
{
    static char memory[65536];
    (void)stream;
    (void)wanted;
    *buffer = uv_buf_init(memory, sizeof memory);
}

static void echo_closed(uv_handle_t *handle) { (void)handle; on_echo_end(); }
static void echo_written(uv_write_t *request, int status) { CHECK(status == 0); free(request); }

static void echo_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    if (length < 0) {
        uv_close((uv_handle_t *)stream, echo_closed);
    } else if (length > 0) {
        uv_buf_t all = uv_buf_init(buffer->base, (unsigned)length);
        int written = uv_try_write(stream, &all, 1);
        if (written == length)
            return;
        size_t begin = written > 0 ? (size_t)written : 0, size = (size_t)length - begin;
        struct echo_rest *rest = malloc(sizeof *rest + size);
        CHECK(rest != NULL);
        memcpy(rest->bytes, buffer->base + begin, size);
        all = uv_buf_init(rest->bytes, (unsigned)size);
        CHECK(uv_write(&rest->request, stream, &all, 1, echo_written) == 0);
    }
}

static void echo_serve(struct loop *l, const int *fds, size_t n)
{
    uv_tcp_t *streams = allocate(n, sizeof *streams);
    for (size_t i = 0; i < n; i++) {
        CHECK(uv_tcp_init(&l->uv, &streams[i]) == 0 && uv_tcp_open(&streams[i], fds[i]) == 0);
        CHECK(uv_read_start((uv_stream_t *)&streams[i], echo_memory, echo_read) == 0);
    }
    loop_run(l);
}

#include "../scenarios.h"
