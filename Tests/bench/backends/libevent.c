/*
 * libevent.c -- libevent with its epoll backend and precise timers; locks only where several threads are involved.
 * Events are elements of the program's arrays. Posting uses the program's task queue and event_active.
 */
#include "../loop.h"
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>

static const struct variant variants[] = { { "event", .takes = ORDINARY | ECHO_SERVER }, {0} };

struct loop {
    struct event_base *base;
    struct event event;
};

static struct event *timers, *descriptors;
static const struct timeval immediately;
static pthread_once_t threads_once = PTHREAD_ONCE_INIT;

static void use_threads(void) { CHECK(evthread_use_pthreads() == 0); }

static void loop_init(struct loop *l)
{
    bool threads = scenario_is("wake") || scenario_is("post");
    struct event_config *config;
    if (threads)
        pthread_once(&threads_once, use_threads);
    config = event_config_new();
    CHECK(config != NULL);
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    if (!threads)
        event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    l->base = event_base_new_with_config(config);
    CHECK(l->base != NULL);
    CHECK(strcmp(event_base_get_method(l->base), "epoll") == 0);
    event_config_free(config);
}
static void loop_run(struct loop *l) { event_base_loop(l->base, EVLOOP_NO_EXIT_ON_EMPTY); }
static void loop_stop(struct loop *l) { event_base_loopbreak(l->base); }

static void wake_call(evutil_socket_t fd, short what, void *argument)
{
    (void)fd; (void)what;
    on_wake(argument);
}

static void wake_init(struct loop *l)
{
    event_assign(&l->event, l->base, -1, EV_PERSIST, wake_call, l);
    event_add(&l->event, NULL);
}
static void wake_send(struct loop *l) { event_active(&l->event, EV_READ, 0); }

#define post_init wake_init
#define post_send post_by_wake

/* A timeout of zero takes effect in the next pass; event_active would call again in the same pass. */
static void again_call(evutil_socket_t fd, short what, void *argument)
{
    (void)fd; (void)what;
    struct loop *l = argument;
    if (on_again())
        event_add(&l->event, &immediately);
}

static void again_start(struct loop *l)
{
    event_assign(&l->event, l->base, -1, 0, again_call, l);
    event_add(&l->event, &immediately);
}

static void timer_call(evutil_socket_t fd, short what, void *argument)
{
    (void)fd; (void)what;
    on_timer((size_t)argument);
}

static void timers_init(struct loop *l, size_t n)
{
    (void)l;
    if (!timers)
        timers = malloc(n * sizeof *timers);
    CHECK(timers != NULL);
}

static void timer_rearm(struct loop *l, size_t i, uint64_t delay_ns)
{
    (void)l;
    struct timeval delay = { (time_t)(delay_ns / 1000000000u),
                             (suseconds_t)(delay_ns % 1000000000u / 1000) };
    event_add(&timers[i], &delay);
}

static void timer_add(struct loop *l, size_t i, uint64_t delay_ns)
{
    event_assign(&timers[i], l->base, -1, 0, timer_call, (void *)i);
    timer_rearm(l, i, delay_ns);
}
static void timer_cancel(struct loop *l, size_t i) { (void)l; event_del(&timers[i]); }
static void timers_settle(struct loop *l) { (void)l; }
#define timer_once timer_add

static void tick(evutil_socket_t fd, short what, void *argument)
{
    (void)fd; (void)what; (void)argument;
    on_tick();
}

static uint64_t ticker_start(struct loop *l, uint64_t period_ns, enum schedule *schedule)
{
    *schedule = RESTARTED_WHEN_LATE;
    struct timeval period = { 0, (suseconds_t)(period_ns / 1000) };
    uint64_t now = now_ns();
    event_assign(&l->event, l->base, -1, EV_PERSIST, tick, NULL);
    event_add(&l->event, &period);
    return now + period_ns;
}

static void descriptor_call(evutil_socket_t fd, short what, void *argument)
{
    (void)fd; (void)what;
    on_readable((size_t)argument);
}

static void descriptors_init(struct loop *l, size_t n)
{
    (void)l;
    descriptors = malloc(n * sizeof *descriptors);
    CHECK(descriptors != NULL);
}

static void descriptor_add(struct loop *l, size_t i, int fd)
{
    event_assign(&descriptors[i], l->base, fd, EV_READ | EV_PERSIST, descriptor_call, (void *)i);
    CHECK(event_add(&descriptors[i], NULL) == 0);
}

/* ---- an echo server: data is moved from the read buffer to the write buffer, not copied ---------------- */

#define HAS_ECHO
static void echo_read(struct bufferevent *stream, void *argument)
{
    (void)argument;
    CHECK(bufferevent_write_buffer(stream, bufferevent_get_input(stream)) == 0);
}

static void echo_event(struct bufferevent *stream, short what, void *argument)
{
    (void)argument;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
        bufferevent_free(stream);
        on_echo_end();
    }
}

static void echo_serve(struct loop *l, const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct bufferevent *stream = bufferevent_socket_new(l->base, fds[i], BEV_OPT_CLOSE_ON_FREE);
        CHECK(stream != NULL);
        bufferevent_set_max_single_read(stream, 65536);
        bufferevent_set_max_single_write(stream, 65536);
        bufferevent_setcb(stream, echo_read, NULL, echo_event, NULL);
        CHECK(bufferevent_enable(stream, EV_READ | EV_WRITE) == 0);
    }
    loop_run(l);
}

#include "../scenarios.h"
