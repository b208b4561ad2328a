/*
 * libdispatch.c -- libdispatch of the Swift toolchain. A "loop" is a serial queue; the thread that calls loop_run
 * merely waits for it. Nothing is polled between two functions of a queue: that is another thread's work, so there is
 * no "pass descriptor", and "pass nothing" is shown but not compared.
 */
#include "../loop.h"
#include <dispatch/dispatch.h>

static const struct variant variants[] = {
    { "dispatch", .takes = ORDINARY, .not_a_thread = true }, {0}
};

struct loop {
    dispatch_queue_t queue;
    dispatch_semaphore_t done;
};

static dispatch_source_t *timers;
static dispatch_time_t timers_base;
static size_t timers_alive;
static atomic_size_t timers_freed;
static dispatch_semaphore_t all_freed;

static void loop_init(struct loop *l)
{
    if (scenario_is("pass") && strcmp(result.parameter, "descriptor") == 0)
        _exit(EXIT_UNSUPPORTED);
    l->queue = dispatch_queue_create("bench", DISPATCH_QUEUE_SERIAL);
    l->done = dispatch_semaphore_create(0);
}
static void loop_run(struct loop *l) { dispatch_semaphore_wait(l->done, DISPATCH_TIME_FOREVER); }
static void loop_stop(struct loop *l) { dispatch_semaphore_signal(l->done); }

static void wake_init(struct loop *l) { (void)l; }
static void wake_send(struct loop *l) { dispatch_async_f(l->queue, l, (dispatch_function_t)on_wake); }

static void post_init(struct loop *l) { (void)l; }
static void post_send(struct loop *l, task_function function, void *argument)
{
    dispatch_async_f(l->queue, argument, function);
}

static void again_start(struct loop *l);
static void again_call(void *argument)
{
    if (on_again())
        again_start(argument);
}
static void again_start(struct loop *l) { dispatch_async_f(l->queue, l, again_call); }

/* The context is i + 1, because NULL would suppress the finalizer. */
static void timer_call(void *argument) { on_timer((size_t)argument - 1); }

static void timer_freed(void *argument)
{
    (void)argument;
    if (atomic_fetch_add(&timers_freed, 1) + 1 == timers_alive)
        dispatch_semaphore_signal(all_freed);
}

static void timers_init(struct loop *l, size_t n)
{
    (void)l;
    if (!timers) {
        timers = malloc(n * sizeof *timers);
        CHECK(timers != NULL);
        all_freed = dispatch_semaphore_create(0);
    }
    timers_alive = n;
    timers_base = dispatch_time(DISPATCH_TIME_NOW, 0);
}

static void timer_rearm(struct loop *l, size_t i, uint64_t delay_ns)
{
    (void)l;
    dispatch_source_set_timer(timers[i], dispatch_time(timers_base, (int64_t)delay_ns),
                              DISPATCH_TIME_FOREVER, 0);
}

static void timer_add(struct loop *l, size_t i, uint64_t delay_ns)
{
    timers[i] = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, DISPATCH_TIMER_STRICT, l->queue);
    CHECK(timers[i] != NULL);
    dispatch_set_context(timers[i], (void *)(i + 1));
    dispatch_source_set_event_handler_f(timers[i], timer_call);
    dispatch_set_finalizer_f(timers[i], timer_freed);
    timer_rearm(l, i, delay_ns);
    dispatch_activate(timers[i]);
}

static void timer_cancel(struct loop *l, size_t i)
{
    (void)l;
    dispatch_source_cancel(timers[i]);
    dispatch_release(timers[i]);
}

/* Cancelling is asynchronous: waits until every source is gone. */
static void timers_settle(struct loop *l)
{
    (void)l;
    dispatch_semaphore_wait(all_freed, DISPATCH_TIME_FOREVER);
    atomic_store(&timers_freed, 0);
}

static void timer_once(struct loop *l, size_t i, uint64_t delay_ns)
{
    dispatch_after_f(dispatch_time(timers_base, (int64_t)delay_ns), l->queue, (void *)(i + 1),
                     timer_call);
}

static void tick(void *argument) { (void)argument; on_tick(); }

static uint64_t ticker_start(struct loop *l, uint64_t period_ns, enum schedule *schedule)
{
    *schedule = ON_GRID;
    dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0,
                                                      DISPATCH_TIMER_STRICT, l->queue);
    CHECK(source != NULL);
    dispatch_source_set_event_handler_f(source, tick);
    uint64_t now = now_ns();
    dispatch_source_set_timer(source, dispatch_time(DISPATCH_TIME_NOW, (int64_t)period_ns),
                              period_ns, 0);
    dispatch_activate(source);
    return now + period_ns;
}

static void descriptor_call(void *argument) { on_readable((size_t)argument); }

static void descriptors_init(struct loop *l, size_t n) { (void)l; (void)n; }

static void descriptor_add(struct loop *l, size_t i, int fd)
{
    dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)fd, 0,
                                                      l->queue);
    CHECK(source != NULL);
    dispatch_set_context(source, (void *)i);
    dispatch_source_set_event_handler_f(source, descriptor_call);
    dispatch_activate(source);
}

#include "../scenarios.h"
