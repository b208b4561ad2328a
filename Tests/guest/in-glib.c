/* The matrix with GLib's main loop as the host. */
#include "matrix.h"
#include <RunLoop/adapters/glib.h>
#include <glib-unix.h>

static GSource *source;
static GMainLoop *loops[8];
static int depth;
static void (*when_stopped)(void);

static gboolean call_stopped(gpointer info)
{
    (void)info;
    when_stopped();
    return G_SOURCE_CONTINUE;
}
static gboolean call(gpointer function)
{
    ((void (*)(void))function)();
    return G_SOURCE_REMOVE;
}
static void host_begin(void (*function)(void))
{
    when_stopped = function;
    source = RLGSourceNew(kRLRunLoopDefaultMode);
    g_source_set_callback(source, call_stopped, NULL, NULL);
    g_source_attach(source, NULL);
}
static void host_run(void)
{
    GMainLoop *loop = loops[depth++] = g_main_loop_new(NULL, FALSE);
    g_main_loop_run(loop);
    g_main_loop_unref(loop);
    depth--;
}
static void host_quit(void) { g_main_loop_quit(loops[depth - 1]); }
static void host_after(unsigned milliseconds, void (*function)(void)) { g_timeout_add(milliseconds, call, function); }
static gboolean call_readable(gint fd, GIOCondition condition, gpointer readable)
{
    (void)fd;
    (void)condition;
    ((void (*)(void))readable)();
    return G_SOURCE_CONTINUE;
}
static void host_watch(int fd, void (*readable)(void)) { g_unix_fd_add(fd, G_IO_IN, call_readable, readable); }
static void host_end(void)
{
    g_source_destroy(source);
    g_source_unref(source);
}
