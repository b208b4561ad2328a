/*
 * libev.c -- libev with its epoll backend, which waits in whole milliseconds. Watchers are elements of the program's
 * arrays. Posting uses the program's task queue and ev_async.
 */
#include "../loop.h"
#include <ev.h>

static const struct variant variants[] = { { "ev", .takes = ORDINARY }, {0} };

struct loop {
    struct ev_loop *ev;
    ev_async async;
    ev_idle idle;
    ev_timer ticker;
};

static ev_timer *timers;
static ev_io *ios;

static void loop_init(struct loop *l)
{
    l->ev = ev_loop_new(EVBACKEND_EPOLL);
    CHECK(l->ev != NULL);
}
static void loop_run(struct loop *l) { ev_run(l->ev, 0); }
static void loop_stop(struct loop *l) { ev_break(l->ev, EVBREAK_ALL); }

static void async_call(struct ev_loop *ev, ev_async *async, int events)
{
    (void)ev; (void)events;
    on_wake(async->data);
}

static void wake_init(struct loop *l)
{
    ev_async_init(&l->async, async_call);
    l->async.data = l;
    ev_async_start(l->ev, &l->async);
}
static void wake_send(struct loop *l) { ev_async_send(l->ev, &l->async); }

#define post_init wake_init
#define post_send post_by_wake

static void idle_call(struct ev_loop *ev, ev_idle *idle, int events)
{
    (void)events;
    if (!on_again())
        ev_idle_stop(ev, idle);
}

static void again_start(struct loop *l)
{
    ev_idle_init(&l->idle, idle_call);
    ev_idle_start(l->ev, &l->idle);
}

static void timer_call(struct ev_loop *ev, ev_timer *timer, int events)
{
    (void)ev; (void)events;
    on_timer((size_t)(timer - timers));
    if (timer->repeat > 0)              /* timer_rearm's repeat */
        ev_timer_stop(ev, timer);
}

static void timers_init(struct loop *l, size_t n)
{
    if (!timers)
        timers = malloc(n * sizeof *timers);
    CHECK(timers != NULL);
    ev_now_update(l->ev);
}

static void timer_add(struct loop *l, size_t i, uint64_t delay_ns)
{
    ev_timer_init(&timers[i], timer_call, (double)delay_ns * 1e-9, 0.);
    ev_timer_start(l->ev, &timers[i]);
}

static void timer_rearm(struct loop *l, size_t i, uint64_t delay_ns)
{
    timers[i].repeat = (double)delay_ns * 1e-9;
    ev_timer_again(l->ev, &timers[i]);
}

static void timer_cancel(struct loop *l, size_t i) { ev_timer_stop(l->ev, &timers[i]); }
static void timers_settle(struct loop *l) { (void)l; }
#define timer_once timer_add

static void tick(struct ev_loop *ev, ev_timer *timer, int events)
{
    (void)ev; (void)timer; (void)events;
    on_tick();
}

static uint64_t ticker_start(struct loop *l, uint64_t period_ns, enum schedule *schedule)
{
    *schedule = DUE_OR_NOW;
    ev_now_update(l->ev);
    uint64_t now = now_ns();
    ev_timer_init(&l->ticker, tick, (double)period_ns * 1e-9, (double)period_ns * 1e-9);
    ev_timer_start(l->ev, &l->ticker);
    return now + period_ns;
}

static void io_call(struct ev_loop *ev, ev_io *io, int events)
{
    (void)ev; (void)events;
    on_readable((size_t)(io - ios));
}

static void descriptors_init(struct loop *l, size_t n)
{
    (void)l;
    ios = malloc(n * sizeof *ios);
    CHECK(ios != NULL);
}

static void descriptor_add(struct loop *l, size_t i, int fd)
{
    ev_io_init(&ios[i], io_call, fd, EV_READ);
    ev_io_start(l->ev, &ios[i]);
}

#include "../scenarios.h"
