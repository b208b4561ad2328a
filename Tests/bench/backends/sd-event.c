/*
 * sd-event.c -- systemd's sd-event, with a timer accuracy of 1 us. It has no wake-up from another thread; the usual
 * substitute is an eventfd, here edge-triggered, so that it need not be read.
 */
#include "../loop.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>

static const struct variant variants[] = { { "sdevent", .takes = ORDINARY }, {0} };

struct loop {
    sd_event *event;
    int wake_fd;
    bool stop;
    uint64_t tick_due;
};

static sd_event_source **timers;
static uint64_t timers_base;

static void loop_init(struct loop *l) { CHECK(sd_event_new(&l->event) >= 0); }

static void loop_run(struct loop *l)            /* sd_event_exit is final, so a flag is used instead */
{
    l->stop = false;
    while (!l->stop)
        CHECK(sd_event_run(l->event, UINT64_MAX) >= 0);
}
static void loop_stop(struct loop *l) { l->stop = true; }

static int wake_call(sd_event_source *source, int fd, uint32_t events, void *argument)
{
    (void)source; (void)fd; (void)events;
    on_wake(argument);
    return 0;
}

static void wake_init(struct loop *l)
{
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(l->wake_fd >= 0);
    CHECK(sd_event_add_io(l->event, NULL, l->wake_fd, EPOLLIN | EPOLLET, wake_call, l) >= 0);
}

static void wake_send(struct loop *l)
{
    uint64_t one = 1;
    CHECK(write(l->wake_fd, &one, sizeof one) == sizeof one);
}

#define post_init wake_init
#define post_send post_by_wake

static int again_call(sd_event_source *source, void *argument)
{
    (void)argument;
    if (!on_again())
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
    return 0;
}

static void again_start(struct loop *l)
{
    sd_event_source *source;
    CHECK(sd_event_add_defer(l->event, &source, again_call, NULL) >= 0);
    /* With the same priority as descriptors it would starve them. */
    CHECK(sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IDLE) >= 0);
    CHECK(sd_event_source_set_enabled(source, SD_EVENT_ON) >= 0);
}

static int timer_call(sd_event_source *source, uint64_t due, void *argument)
{
    (void)source; (void)due;
    on_timer((size_t)argument);
    return 0;
}

static int once_call(sd_event_source *source, uint64_t due, void *argument)
{
    (void)due;
    on_timer((size_t)argument);
    sd_event_source_unref(source);
    return 0;
}

static uint64_t due_time(uint64_t delay_ns) { return timers_base + (delay_ns + 999) / 1000; }

static void timers_init(struct loop *l, size_t n)
{
    (void)l;
    if (!timers)
        timers = malloc(n * sizeof *timers);
    CHECK(timers != NULL);
    timers_base = now_ns() / 1000;
}

static void timer_add(struct loop *l, size_t i, uint64_t delay_ns)
{
    CHECK(sd_event_add_time(l->event, &timers[i], CLOCK_MONOTONIC, due_time(delay_ns), 1,
                            timer_call, (void *)i) >= 0);
}

static void timer_rearm(struct loop *l, size_t i, uint64_t delay_ns)
{
    (void)l;
    CHECK(sd_event_source_set_time(timers[i], due_time(delay_ns)) >= 0);
}

static void timer_cancel(struct loop *l, size_t i) { (void)l; sd_event_source_unref(timers[i]); }
static void timers_settle(struct loop *l) { (void)l; }

static void timer_once(struct loop *l, size_t i, uint64_t delay_ns)
{
    sd_event_source *source;
    CHECK(sd_event_add_time(l->event, &source, CLOCK_MONOTONIC, due_time(delay_ns), 1, once_call,
                            (void *)i) >= 0);
}

static int tick(sd_event_source *source, uint64_t due, void *argument)
{
    struct loop *l = argument;
    (void)due;
    uint64_t now;
    on_tick();
    sd_event_now(l->event, CLOCK_MONOTONIC, &now);
    do
        l->tick_due += 1000;
    while (l->tick_due <= now);
    sd_event_source_set_time(source, l->tick_due);
    return 0;
}

static uint64_t ticker_start(struct loop *l, uint64_t period_ns, enum schedule *schedule)
{
    *schedule = ON_GRID;
    CHECK(period_ns == 1000000);
    l->tick_due = now_ns() / 1000 + 1000;
    sd_event_source *source;
    CHECK(sd_event_add_time(l->event, &source, CLOCK_MONOTONIC, l->tick_due, 1, tick, l) >= 0);
    CHECK(sd_event_source_set_enabled(source, SD_EVENT_ON) >= 0);
    return l->tick_due * 1000;
}

static int descriptor_call(sd_event_source *source, int fd, uint32_t events, void *argument)
{
    (void)source; (void)fd; (void)events;
    on_readable((size_t)argument);
    return 0;
}

static void descriptors_init(struct loop *l, size_t n) { (void)l; (void)n; }

static void descriptor_add(struct loop *l, size_t i, int fd)
{
    CHECK(sd_event_add_io(l->event, NULL, fd, EPOLLIN, descriptor_call, (void *)i) >= 0);
}

#include "../scenarios.h"
