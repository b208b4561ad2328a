/* gtk.c - a GTK window whose buttons start and stop a timer of the run loop: adapters/glib.h under gtk_main().
 *
 *     gtk              opens a window to click in
 *     gtk FILE.png     clicks by itself, and writes a picture of the window: make gtk */
#include <RunLoop/adapters/glib.h>
#include <gtk/gtk.h>
#include <stdio.h>

static GtkWidget *window, *label, *startButton, *stopButton;
static RLRunLoopTimerRef ticker; /* NULL: stopped */
static int ticks;
static const char *picture;

static void after(double seconds, RLRunLoopFunction function)
{
    RLRunLoopPerformFunctionAfterDelay(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, function, NULL, seconds);
}

/* Sends press and release events at the middle of the button, as the X server would report them. */
static void click(GtkWidget *button)
{
    int x, y;
    GdkWindow *drawn = gtk_widget_get_window(window);
    gtk_widget_translate_coordinates(button, window, gtk_widget_get_allocated_width(button) / 2,
                                     gtk_widget_get_allocated_height(button) / 2, &x, &y);
    if (!gdk_test_simulate_button(drawn, x, y, 1, (GdkModifierType)0, GDK_BUTTON_PRESS) ||
        !gdk_test_simulate_button(drawn, x, y, 1, (GdkModifierType)0, GDK_BUTTON_RELEASE))
        exit((fprintf(stderr, "gtk: cannot click\n"), 1));
}

/* ---- What a user would do ---- */

static void closeWindow(void *info)
{
    (void)info;
    printf("%d ticks\n", ticks);
    gtk_window_close(GTK_WINDOW(window));
}

static void takePicture(void *info)
{
    GdkWindow *drawn = gtk_widget_get_window(window);
    GdkPixbuf *pixels =
        gdk_pixbuf_get_from_window(drawn, 0, 0, gdk_window_get_width(drawn), gdk_window_get_height(drawn));
    (void)info;
    if (pixels == NULL || !gdk_pixbuf_save(pixels, picture, "png", NULL, NULL))
        exit((fprintf(stderr, "gtk: cannot write %s\n", picture), 1));
    g_object_unref(pixels);
    click(stopButton);
    after(0.2, closeWindow);
}

static void clickStart(void *info)
{
    (void)info;
    click(startButton);
}

/* ---- The program ---- */

static void tick(RLRunLoopTimerRef timer, void *info)
{
    char text[50];
    (void)timer, (void)info;
    snprintf(text, sizeof text, "%d ticks of the run loop", ++ticks);
    gtk_label_set_text(GTK_LABEL(label), text);
    if (picture != NULL && ticks == 3) {
        RLRunLoopTimerSetNextFireDelay(ticker, 60); /* time to draw and to take the picture */
        after(0.5, takePicture);
    }
}

static void start(GtkButton *button, gpointer info)
{
    (void)button, (void)info;
    printf("Start was clicked\n");
    ticker = RLRunLoopTimerCreateWithDelay(NULL, 0.1, 0.1, tick, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), ticker, kRLRunLoopDefaultMode);
    gtk_widget_set_sensitive(startButton, FALSE);
    gtk_widget_set_sensitive(stopButton, TRUE);
}

static void stop(GtkButton *button, gpointer info)
{
    (void)button, (void)info;
    printf("Stop was clicked\n");
    RLRunLoopTimerInvalidate(ticker);
    RLRelease(ticker);
    ticker = NULL;
    gtk_widget_set_sensitive(startButton, TRUE);
    gtk_widget_set_sensitive(stopButton, FALSE);
}

static GtkWidget *addButton(GtkWidget *box, const char *title, void (*clicked)(GtkButton *button, gpointer info))
{
    GtkWidget *button = gtk_button_new_with_label(title);
    g_signal_connect(button, "clicked", G_CALLBACK(clicked), NULL);
    gtk_box_pack_start(GTK_BOX(box), button, TRUE, TRUE, 0);
    return button;
}

int main(int count, char **arguments)
{
    picture = count > 1 ? arguments[1] : NULL;
    if (picture != NULL)
        gdk_disable_multidevice(); /* otherwise simulated clicks are ignored */
    gtk_init(&count, &arguments);
    window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
    gtk_window_set_title(GTK_WINDOW(window), "A run loop in GTK");
    gtk_container_set_border_width(GTK_CONTAINER(window), 20);
    g_signal_connect(window, "destroy", G_CALLBACK(gtk_main_quit), NULL);
    GtkWidget *column = gtk_box_new(GTK_ORIENTATION_VERTICAL, 20), *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10);
    gtk_container_add(GTK_CONTAINER(window), column);
    label = gtk_label_new("not started");
    gtk_box_pack_start(GTK_BOX(column), label, TRUE, TRUE, 0);
    gtk_box_pack_start(GTK_BOX(column), row, TRUE, TRUE, 0);
    startButton = addButton(row, "Start", start);
    stopButton = addButton(row, "Stop", stop);
    gtk_widget_set_sensitive(stopButton, FALSE);
    gtk_widget_show_all(window);

    /* From here on GTK's main loop also serves the run loop. */
    GSource *source = RLGSourceNew(kRLRunLoopDefaultMode);
    g_source_attach(source, NULL);
    if (picture != NULL)
        after(0.5, clickStart);
    gtk_main();
    g_source_destroy(source);
    g_source_unref(source);
    return 0;
}
