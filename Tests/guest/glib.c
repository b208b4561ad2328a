/* What adapters/glib.h promises in addition to the matrix: GLib as the guest of a run loop, and a call order that
 * sd-event did not survive. */
#include "latency.h"
#include <RunLoop/adapters/glib.h>
#include <glib-unix.h>

static gboolean on_time(gpointer info)
{
    (void)info;
    stop();
    return G_SOURCE_REMOVE;
}
static gboolean stop_after_read(gint fd, GIOCondition condition, gpointer info)
{
    CHECK((condition & G_IO_IN) && fd == ends[0]);
    read_byte();
    return on_time(info);
}
static gboolean stop_at_end(gint fd, GIOCondition condition, gpointer info)
{
    (void)fd;
    (void)condition;
    read_byte();
    return on_time(info);
}
static void *idle_on_thread(void *info)
{
    g_idle_add(on_time, NULL);
    return info;
}
static void *timeout_on_thread(void *info)
{
    g_timeout_add(5, on_time, NULL);
    return info;
}
static void add_in_callback(void *info)
{
    (void)info;
    g_timeout_add(5, on_time, NULL);
}

static gboolean close_unread(gint fd, GIOCondition condition, gpointer info)
{
    (void)condition;
    (void)info;
    close(fd);
    return G_SOURCE_REMOVE;
}
static gboolean replace_unread(gint fd, GIOCondition condition, gpointer info)
{
    (void)condition;
    CHECK(dup2(*(int *)info, fd) == fd);
    g_unix_fd_add(fd, G_IO_IN, stop_at_end, NULL);
    return G_SOURCE_REMOVE;
}

/* A GLib callback that runs the run loop again, which serves GLib inside. */
static gboolean nest(gpointer info)
{
    g_idle_add(on_time, NULL);
    run_loop();
    g_timeout_add(5, on_time, NULL);
    run_loop();
    CHECK(calls == 2);
    return on_time(info);
}

/* Called by GLib, in the run loop; or by the run loop itself. */
static gboolean call_readable(gint fd, GIOCondition condition, gpointer readable)
{
    (void)fd;
    (void)condition;
    ((void (*)(void))readable)();
    return G_SOURCE_CONTINUE;
}
static void watch(int fd, void (*readable)(void)) { g_unix_fd_add(fd, G_IO_IN, call_readable, readable); }

static void glib_in_loop(const char *scenario, const char *kind)
{
    RLGMainContextRef glib = RLGMainContextAdd(NULL, kRLRunLoopCommonModes);
    int wanted = 1;
    CHECK(glib != NULL);
    if (strcmp(scenario, "timeout") == 0) {
        g_timeout_add(5, on_time, NULL);
        run_loop();
    } else if (strcmp(scenario, "idle-from-thread") == 0) {
        run_beside(idle_on_thread, run_loop);
    } else if (strcmp(scenario, "earlier-timeout-from-thread") == 0) {
        g_timeout_add(1000000, on_time, NULL);
        run_beside(timeout_on_thread, run_loop);
    } else if (strcmp(scenario, "descriptor") == 0) {
        g_unix_fd_add(ends[0], G_IO_IN, stop_after_read, NULL);
        run_beside(write_byte, run_loop);
    } else if (strcmp(scenario, "in-callback") == 0) {
        CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, add_in_callback, NULL));
        run_loop();
    } else if (strcmp(scenario, "nested") == 0) {
        g_idle_add(nest, NULL);
        run_loop();
        wanted = 3;
    } else if (strcmp(scenario, "quiet") == 0) {
        g_timeout_add(200, on_time, NULL);
        run_loop();
        CHECK(passes <= 6);
    } else if (strcmp(scenario, "closed-duplicate") == 0) {
        /* An epoll instance continues to report a closed descriptor while a duplicate is open. */
        int own[2];
        CHECK(pipe(own) == 0 && dup(own[0]) >= 0 && write(own[1], "x", 1) == 1);
        g_unix_fd_add(own[0], G_IO_IN, close_unread, NULL);
        g_timeout_add(200, on_time, NULL);
        run_loop();
        CHECK(passes <= 8);
        /* The descriptor number is reused. */
        CHECK(pipe(own) == 0 && dup(own[0]) >= 0 && write(own[1], "x", 1) == 1);
        g_unix_fd_add(own[0], G_IO_IN, replace_unread, &ends[0]);
        g_timeout_add(200, on_time, NULL);
        run_loop();
        CHECK(passes <= 16 && write(ends[1], "x", 1) == 1);
        run_loop();
        wanted = 3;
    } else if (strcmp(scenario, "latency") == 0 && kind != NULL) {
        measure_latency(kind, watch, run_loop, stop);
    } else {
        exit(2);
    }
    CHECK(calls == wanted);
    RLGMainContextRemove(glib);
}

/* systemd issue 43098: GLib calls prepare() again, without check() in between, if another thread attaches a source
 * in the meantime. With sd-event this triggered an assertion in NetworkManager. */
static gint attached;
static gboolean count_attached(gpointer info)
{
    (void)info;
    g_atomic_int_inc(&attached);
    return G_SOURCE_REMOVE;
}
static void *attach_many(void *info)
{
    for (int i = 0; i < 2000; i++)
        g_idle_add(count_attached, NULL);
    return info;
}
static void count_tick(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    (void)info;
    calls++;
}
static void prepare_twice(void)
{
    GSource *source = RLGSourceNew(kRLRunLoopDefaultMode);
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0.001, count_tick, NULL);
    GMainContext *context = g_main_context_default();
    pthread_t thread;
    gint priority;
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    g_source_attach(source, NULL);
    CHECK(g_main_context_acquire(context));
    for (int i = 0; i < 100; i++)
        g_main_context_prepare(context, &priority);
    g_main_context_release(context);
    CHECK(pthread_create(&thread, NULL, attach_many, NULL) == 0);
    while (g_atomic_int_get(&attached) < 2000 || calls < 10)
        g_main_context_iteration(context, TRUE);
    pthread_join(thread, NULL);
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
    g_source_destroy(source);
    g_source_unref(source);
}

int main(int count, char **arguments)
{
    RLRunLoopObserverRef observer = begin_counting_passes();
    if (count > 1 && strcmp(arguments[1], "systemd-43098") == 0)
        prepare_twice();
    else
        glib_in_loop(count > 1 ? arguments[1] : "", count > 2 ? arguments[2] : NULL);
    end_counting_passes(observer);
    return 0;
}
