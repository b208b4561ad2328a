/* What adapters/glib.h promises beyond the matrix: GLib as the guest of a run loop, and the order of calls that sd-event did not stand. */
#include <RunLoop/adapters/glib.h>
#include <glib-unix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static RLRunLoopRef rl;
static int calls;

static gboolean stop(gpointer info)
{
    (void)info;
    calls++;
    RLRunLoopStop(rl);
    return G_SOURCE_REMOVE;
}
static gboolean stop_after_read(gint fd, GIOCondition condition, gpointer info)
{
    char byte;
    CHECK((condition & G_IO_IN) && read(fd, &byte, 1) == 1);
    return stop(info);
}
static void *idle_on_thread(void *info)
{
    g_idle_add(stop, NULL);
    return info;
}
static void *timeout_on_thread(void *info)
{
    g_timeout_add(5, stop, NULL);
    return info;
}
static int ends[2];
static void *write_byte(void *info)
{
    CHECK(write(ends[1], "x", 1) == 1);
    return info;
}
static void add_in_callback(void *info)
{
    (void)info;
    g_timeout_add(5, stop, NULL);
}

/* GLib's callback runs the run loop again, which serves GLib in there. */
static gboolean nest(gpointer info)
{
    g_timeout_add(5, stop, NULL);
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0) == kRLRunLoopRunStopped);
    CHECK(calls == 1);
    return stop(info);
}
static void count_pass(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer;
    (void)activity;
    ++*(int *)info;
}

static void run_beside(void *(*body)(void *))
{
    pthread_t thread;
    CHECK(body == NULL || pthread_create(&thread, NULL, body, NULL) == 0);
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0) == kRLRunLoopRunStopped);
    if (body != NULL)
        pthread_join(thread, NULL);
}

static void glib_in_loop(const char *scenario)
{
    RLGMainContextRef glib = RLGMainContextAdd(NULL, kRLRunLoopCommonModes);
    int wanted = 1;
    CHECK(glib != NULL);
    if (strcmp(scenario, "timeout") == 0) {
        g_timeout_add(5, stop, NULL);
        run_beside(NULL);
    } else if (strcmp(scenario, "idle-from-thread") == 0) {
        run_beside(idle_on_thread);
    } else if (strcmp(scenario, "earlier-timeout-from-thread") == 0) {
        g_timeout_add(1000000, stop, NULL);
        run_beside(timeout_on_thread);
    } else if (strcmp(scenario, "descriptor") == 0) {
        CHECK(pipe(ends) == 0);
        g_unix_fd_add(ends[0], G_IO_IN, stop_after_read, NULL);
        run_beside(write_byte);
    } else if (strcmp(scenario, "in-callback") == 0) {
        CHECK(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, add_in_callback, NULL));
        run_beside(NULL);
    } else if (strcmp(scenario, "nested") == 0) {
        g_idle_add(nest, NULL);
        run_beside(NULL);
        wanted = 2;
    } else if (strcmp(scenario, "quiet") == 0) {
        int passes = 0;
        RLRunLoopObserverContext context = {.info = &passes};
        RLRunLoopObserverRef observer =
            RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeTimers, 1, 0, count_pass, &context);
        RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
        g_timeout_add(200, stop, NULL);
        run_beside(NULL);
        CHECK(passes <= 6);
        RLRunLoopObserverInvalidate(observer);
        RLRelease(observer);
    } else {
        exit(2);
    }
    CHECK(calls == wanted);
    RLGMainContextRemove(glib);
}

/* systemd issue 43098: GLib calls prepare() again, without check() in between, when another thread attaches a source meanwhile. With
 * sd-event that hit an assertion in NetworkManager. */
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
    rl = RLRunLoopGetCurrent();
    if (count > 1 && strcmp(arguments[1], "systemd-43098") == 0)
        prepare_twice();
    else
        glib_in_loop(count > 1 ? arguments[1] : "");
    return 0;
}
