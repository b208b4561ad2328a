/*
 * glib.c -- GLib's GMainContext, which polls with poll(2) and waits in whole milliseconds. Everything is a custom
 * GSource whose ready time is set: GLib's cheapest way.
 *     glib          posting by g_main_context_invoke_full
 *     glib-queue    posting by the program's task queue and such a source
 */
#include "../loop.h"
#include <glib.h>

enum { NATIVE, QUEUE };

static const struct variant variants[] = {
    [NATIVE] = { "glib", .takes = ORDINARY },
    [QUEUE]  = { "glib-queue", .takes = POST },
    {0}
};

struct loop {
    GMainContext *context;
    GMainLoop *loop;
    GSource *waker;
};

struct indexed { GSource source; size_t i; };
static GSource **timers;
static gint64 timers_base;

static void loop_init(struct loop *l)
{
    l->context = g_main_context_new();
    l->loop = g_main_loop_new(l->context, FALSE);
    g_main_context_push_thread_default(l->context);
}
static void loop_run(struct loop *l) { g_main_loop_run(l->loop); }
static void loop_stop(struct loop *l) { g_main_loop_quit(l->loop); }

static gboolean waker_dispatch(GSource *source, GSourceFunc function, gpointer argument)
{
    (void)function;
    g_source_set_ready_time(source, -1);
    on_wake(argument);
    return G_SOURCE_CONTINUE;
}
static GSourceFuncs waker_functions = { .dispatch = waker_dispatch };

static void wake_init(struct loop *l)
{
    l->waker = g_source_new(&waker_functions, sizeof(GSource));
    g_source_set_callback(l->waker, NULL, l, NULL);
    g_source_attach(l->waker, l->context);
}
static void wake_send(struct loop *l) { g_source_set_ready_time(l->waker, 0); }

static void post_init(struct loop *l)
{
    wake_init(l);
    CHECK(g_main_context_acquire(l->context));      /* acquire it before the first post */
}

struct invoked { task_function function; void *argument; };

static gboolean run_invoked(gpointer argument)
{
    struct invoked *invoked = argument;
    invoked->function(invoked->argument);
    return G_SOURCE_REMOVE;
}

static void post_send(struct loop *l, task_function function, void *argument)
{
    if (chosen == QUEUE) {
        post_by_wake(l, function, argument);
        return;
    }
    struct invoked *invoked = g_new(struct invoked, 1);
    *invoked = (struct invoked){ function, argument };
    g_main_context_invoke_full(l->context, G_PRIORITY_DEFAULT, run_invoked, invoked, g_free);
}

static gboolean again_call(gpointer argument)
{
    (void)argument;
    return on_again() ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void again_start(struct loop *l)
{
    GSource *source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, again_call, NULL, NULL);
    g_source_attach(source, l->context);
    g_source_unref(source);
}

static gboolean timer_dispatch(GSource *source, GSourceFunc function, gpointer argument)
{
    (void)function; (void)argument;
    on_timer(((struct indexed *)source)->i);
    return G_SOURCE_REMOVE;
}
static GSourceFuncs timer_functions = { .dispatch = timer_dispatch };

static gint64 ready_time(uint64_t delay_ns) { return timers_base + (gint64)((delay_ns + 999) / 1000); }

static GSource *timer_new(struct loop *l, size_t i, uint64_t delay_ns)
{
    GSource *source = g_source_new(&timer_functions, sizeof(struct indexed));
    ((struct indexed *)source)->i = i;
    g_source_set_ready_time(source, ready_time(delay_ns));
    g_source_attach(source, l->context);
    return source;
}

static void timers_init(struct loop *l, size_t n)
{
    (void)l;
    if (!timers)
        timers = malloc(n * sizeof *timers);
    CHECK(timers != NULL);
    timers_base = g_get_monotonic_time();
}

static void timer_add(struct loop *l, size_t i, uint64_t delay_ns)
{
    timers[i] = timer_new(l, i, delay_ns);
}

static void timer_rearm(struct loop *l, size_t i, uint64_t delay_ns)
{
    (void)l;
    g_source_set_ready_time(timers[i], ready_time(delay_ns));
}

static void timer_cancel(struct loop *l, size_t i)
{
    (void)l;
    g_source_destroy(timers[i]);
    g_source_unref(timers[i]);
}
static void timers_settle(struct loop *l) { (void)l; }

static void timer_once(struct loop *l, size_t i, uint64_t delay_ns)
{
    g_source_unref(timer_new(l, i, delay_ns));
}

static gboolean tick(gpointer argument)
{
    (void)argument;
    on_tick();
    return G_SOURCE_CONTINUE;
}

static uint64_t ticker_start(struct loop *l, uint64_t period_ns, enum schedule *schedule)
{
    *schedule = AFTER_CALL;
    GSource *source = g_timeout_source_new((guint)(period_ns / 1000000));
    g_source_set_callback(source, tick, NULL, NULL);
    g_source_attach(source, l->context);
    return now_ns() + period_ns;
}

static gboolean descriptor_dispatch(GSource *source, GSourceFunc function, gpointer argument)
{
    (void)function; (void)argument;
    on_readable(((struct indexed *)source)->i);
    return G_SOURCE_CONTINUE;
}
static GSourceFuncs descriptor_functions = { .dispatch = descriptor_dispatch };

static void descriptors_init(struct loop *l, size_t n) { (void)l; (void)n; }

static void descriptor_add(struct loop *l, size_t i, int fd)
{
    GSource *source = g_source_new(&descriptor_functions, sizeof(struct indexed));
    ((struct indexed *)source)->i = i;
    g_source_add_unix_fd(source, fd, G_IO_IN);
    g_source_attach(source, l->context);
    g_source_unref(source);
}

#include "../scenarios.h"
