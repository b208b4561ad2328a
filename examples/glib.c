/* glib.c - a run loop inside GLib's main loop, and GLib inside a run loop: adapters/glib.h. */
#include <RunLoop/adapters/glib.h>
#include <stdio.h>

static GMainLoop *mainLoop;

static gboolean glibTick(gpointer info)
{
    printf("a timeout of GLib\n");
    RLRunLoopStop((RLRunLoopRef)info);
    return G_SOURCE_REMOVE;
}

static void tick(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    printf("a timer of the run loop\n");
    g_timeout_add(1, glibTick, info);
}

/* Called after RLRunLoopStop(): what a stop means is up to the host. */
static gboolean stopped(gpointer info)
{
    printf("stopped\n");
    g_main_loop_quit((GMainLoop *)info);
    return G_SOURCE_REMOVE;
}

int main(void)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopTimerContext context = {.info = rl};
    mainLoop = g_main_loop_new(NULL, FALSE);

    /* GLib waits, with the run loop as its guest. */
    GSource *source = RLGSourceNew(kRLRunLoopDefaultMode);
    g_source_set_callback(source, stopped, mainLoop, NULL);
    g_source_attach(source, NULL);
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0, tick, &context);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    g_main_loop_run(mainLoop);
    g_source_destroy(source);
    g_source_unref(source);
    RLRelease(timer);

    /* The run loop waits, with GLib as its guest. */
    RLGMainContextRef glib = RLGMainContextAdd(NULL, kRLRunLoopCommonModes);
    if (glib == NULL) {
        perror("glib");
        return 1;
    }
    timer = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0, tick, &context);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0);
    RLGMainContextRemove(glib);
    RLRelease(timer);
    g_main_loop_unref(mainLoop);
    return result == kRLRunLoopRunStopped ? 0 : 1;
}
