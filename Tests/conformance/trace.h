/* trace.h - helpers shared by all conformance programs: an event log, items that log themselves, threads with
 * handshakes.
 *
 * A program prints only what was called, in which order, and with which result, but never a time. It uses CF names
 * only: the same file is compiled against Apple's CoreFoundation and against this library, and both must print the
 * same. Items are static and never released, unless the program is about their release. */
#ifndef TRACE_H
#define TRACE_H

#include <CoreFoundation/CoreFoundation.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define HERE CFRunLoopGetCurrent()
#define MODE kCFRunLoopDefaultMode
#define COMMON kCFRunLoopCommonModes
#define OTHER CFSTR("other")

static const double AGES = 10.0; /* a deadline that is not meant to be reached: an event ends the run */
static const double SOON = 0.05; /* a deadline that is meant to be reached */

/* ---- The log: words on one line, printed with a label ---- */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char log_line[4096];

/** Adds a word to the line. Any thread. */
__attribute__((format(printf, 1, 2), unused)) static void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&log_lock);
    size_t used = strlen(log_line);
    if (used > 0 && used < sizeof log_line - 1)
        log_line[used++] = ' ';
    vsnprintf(log_line + used, sizeof log_line - used, format, arguments);
    pthread_mutex_unlock(&log_lock);
    va_end(arguments);
}

/** Prints "label: words" and starts a new line. */
static inline void show(const char *label)
{
    pthread_mutex_lock(&log_lock);
    printf("%s: %s\n", label, log_line);
    log_line[0] = '\0';
    fflush(stdout);
    pthread_mutex_unlock(&log_lock);
}

static inline void check(const char *what, int truth) { note("%s=%s", what, truth ? "yes" : "no"); }

/** Returns the characters of a string, in one of a few buffers used in turn. */
static inline const char *text(CFStringRef string)
{
    static _Thread_local char buffers[8][64];
    static _Thread_local unsigned turn;
    char *buffer = buffers[turn++ % 8];
    if (string == NULL)
        return "NULL";
    return CFStringGetCString(string, buffer, sizeof buffers[0], kCFStringEncodingUTF8) ? buffer : "?";
}

/* ---- Runs ---- */

static inline const char *result_name(SInt32 result)
{
    static const char *const names[] = {"0", "Finished", "Stopped", "TimedOut", "HandledSource"};
    return result >= 1 && result <= 4 ? names[result] : "?";
}

/** Runs the loop and prints "label: trace -> result". */
static inline SInt32 run(const char *label, CFStringRef mode, double seconds, Boolean return_after_source)
{
    SInt32 result = CFRunLoopRunInMode(mode, seconds, return_after_source);
    note("-> %s", result_name(result));
    show(label);
    return result;
}

/** Runs the loop inside a callback and logs "[ trace ]result". */
static inline SInt32 run_nested(CFStringRef mode, double seconds, Boolean return_after_source)
{
    note("[");
    SInt32 result = CFRunLoopRunInMode(mode, seconds, return_after_source);
    note("]%s", result_name(result));
    return result;
}

/* ---- Items: sources, timers and observers that log their name and then act ---- */

typedef struct Item Item;
struct Item {
    const char *name;
    void (*action)(Item *item); /* called by the callback after it has logged the name; may be NULL */
    CFRunLoopSourceRef source;
    CFRunLoopTimerRef timer;
    CFRunLoopObserverRef observer;
    int fd;    /* a port's eventfd */
    int calls; /* number of callbacks, including this one */
};

static inline void item_called(Item *item)
{
    item->calls++;
    if (item->name)
        note("%s", item->name);
    if (item->action)
        item->action(item);
}

static inline void stop(Item *item)
{
    (void)item;
    CFRunLoopStop(HERE);
}

static inline void item_perform(void *info) { item_called(info); }

static inline void item_schedule(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    note("schedule(%s,%s,%s)", ((Item *)info)->name, loop == HERE ? "here" : "elsewhere", text(mode));
}

static inline void item_cancel(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    note("cancel(%s,%s,%s)", ((Item *)info)->name, loop == HERE ? "here" : "elsewhere", text(mode));
}

/** Creates a version-0 source in no loop. */
static inline CFRunLoopSourceRef create_source(Item *item, CFIndex order)
{
    CFRunLoopSourceContext context = {.info = item, .perform = item_perform};
    return item->source = CFRunLoopSourceCreate(NULL, order, &context);
}

/** Creates a version-0 source in no loop, which also logs schedule and cancel. */
static inline CFRunLoopSourceRef create_scheduled_source(Item *item, CFIndex order)
{
    CFRunLoopSourceContext context = {
        .info = item, .schedule = item_schedule, .cancel = item_cancel, .perform = item_perform};
    return item->source = CFRunLoopSourceCreate(NULL, order, &context);
}

/** Creates a version-0 source in the default mode of this thread's loop. */
static inline CFRunLoopSourceRef add_source(Item *item, CFIndex order)
{
    CFRunLoopAddSource(HERE, create_source(item, order), MODE);
    return item->source;
}

static inline int item_port(void *info) { return ((Item *)info)->fd; }

/** Reads the eventfd, logs and acts. (The read does not block although CF on Linux has already emptied the eventfd.) */
static inline void item_port_perform(void *info)
{
    eventfd_t value;
    eventfd_read(((Item *)info)->fd, &value);
    item_called(info);
}

/** Creates a version-1 source with its own eventfd, in no loop. */
static inline CFRunLoopSourceRef create_port(Item *item, CFIndex order)
{
    item->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    CFRunLoopSourceContext1 context = {.version = 1, .info = item, .getPort = item_port, .perform = item_port_perform};
    return item->source = CFRunLoopSourceCreate(NULL, order, (CFRunLoopSourceContext *)&context);
}

static inline CFRunLoopSourceRef add_port(Item *item, CFIndex order)
{
    CFRunLoopAddSource(HERE, create_port(item, order), MODE);
    return item->source;
}

static inline void make_ready(Item *port) { eventfd_write(port->fd, 1); }

static inline void item_fire(CFRunLoopTimerRef timer, void *info)
{
    (void)timer;
    item_called(info);
}

/** Creates a timer in no loop that fires after `delay` seconds and then every `interval` seconds (0: once). */
static inline CFRunLoopTimerRef create_timer(Item *item, double delay, double interval)
{
    CFRunLoopTimerContext context = {.info = item};
    double date = CFAbsoluteTimeGetCurrent() + delay;
    return item->timer = CFRunLoopTimerCreate(NULL, date, interval, 0, 0, item_fire, &context);
}

static inline CFRunLoopTimerRef add_timer(Item *item, double delay, double interval)
{
    CFRunLoopAddTimer(HERE, create_timer(item, delay, interval), MODE);
    return item->timer;
}

/** Logs whether a repeating timer's next date is in the future, within one interval, and on the grid start + k *
 * interval. */
static inline void check_grid(const Item *item, double start, double interval)
{
    double next = CFRunLoopTimerGetNextFireDate(item->timer), now = CFAbsoluteTimeGetCurrent();
    double steps = (next - start) / interval, off = steps - (double)(long)(steps + 0.5);
    check("within an interval", next <= now + interval && next > now - interval / 2);
    check("on the grid", off > -0.25 && off < 0.25);
}

static inline const char *activity_name(CFRunLoopActivity activity)
{
    switch (activity) {
    case kCFRunLoopEntry:
        return "En";
    case kCFRunLoopBeforeTimers:
        return "BT";
    case kCFRunLoopBeforeSources:
        return "BS";
    case kCFRunLoopBeforeWaiting:
        return "BW";
    case kCFRunLoopAfterWaiting:
        return "AW";
    case kCFRunLoopExit:
        return "Ex";
    default:
        return "?";
    }
}

static inline void item_observe(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    Item *item = info;
    (void)observer;
    item->calls++;
    note("%s%s", item->name, activity_name(activity));
    if (item->action)
        item->action(item);
}

/** Creates an observer in no loop. It logs its name, followed by the activity. */
static inline CFRunLoopObserverRef create_observer(Item *item, CFOptionFlags activities, Boolean repeats, CFIndex order)
{
    CFRunLoopObserverContext context = {.info = item};
    return item->observer = CFRunLoopObserverCreate(NULL, activities, repeats, order, item_observe, &context);
}

static inline CFRunLoopObserverRef add_observer(Item *item, CFOptionFlags activities, Boolean repeats, CFIndex order)
{
    CFRunLoopAddObserver(HERE, create_observer(item, activities, repeats, order), MODE);
    return item->observer;
}

/** Logs every activity of this thread's loop in `mode`: En BT BS BW AW Ex. */
static inline CFRunLoopObserverRef watch(CFStringRef mode)
{
    static Item watcher = {.name = ""};
    CFRunLoopObserverRef observer = create_observer(&watcher, kCFRunLoopAllActivities, true, 0);
    CFRunLoopAddObserver(HERE, observer, mode);
    return observer;
}

/* ---- Threads ---- */

static inline void *call_on_thread(void *function)
{
    union {
        void *pointer;
        void (*call)(void);
    } body = {function};
    body.call();
    return NULL;
}

static inline pthread_t start_thread(void (*function)(void))
{
    union {
        void (*call)(void);
        void *pointer;
    } body = {function};
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_on_thread, body.pointer) != 0)
        abort();
    return thread;
}

/** Runs the test on a separate thread: on the main thread CF's loop also serves libdispatch, and is never empty. */
static inline int on_thread(void (*test)(void))
{
    pthread_join(start_thread(test), NULL);
    return 0;
}

/** A helper thread that acts once, as soon as `loop` sleeps. */
typedef struct {
    pthread_t thread;
    CFRunLoopRef loop;
    void (*act)(CFRunLoopRef loop);
    atomic_bool over;
    int acted;
} Helper;

static inline void *helper_main(void *info)
{
    Helper *helper = info;
    while (!CFRunLoopIsWaiting(helper->loop)) {
        if (atomic_load(&helper->over))
            return NULL;
        usleep(500);
    }
    helper->acted = 1;
    helper->act(helper->loop);
    return NULL;
}

static inline void when_asleep(Helper *helper, void (*act)(CFRunLoopRef loop))
{
    *helper = (Helper){.loop = HERE, .act = act};
    if (pthread_create(&helper->thread, NULL, helper_main, helper) != 0)
        abort();
}

static inline void finish(Helper *helper)
{
    atomic_store(&helper->over, true);
    pthread_join(helper->thread, NULL);
    if (!helper->acted)
        puts("the helper found no sleeping loop");
}

/** Runs the loop while a helper acts on it as it sleeps; prints like run(). */
static inline void run_with_helper(const char *label, double seconds, Boolean ras, void (*act)(CFRunLoopRef loop))
{
    Helper helper;
    when_asleep(&helper, act);
    SInt32 result = CFRunLoopRunInMode(MODE, seconds, ras);
    finish(&helper);
    note("-> %s", result_name(result));
    show(label);
}

static inline void stop_loop(CFRunLoopRef loop) { CFRunLoopStop(loop); }

#endif
