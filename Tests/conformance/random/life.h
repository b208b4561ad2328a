/* life.h - a loop's random life: its items and what their callbacks print. Given its seed, a script is the same for each
 * library.
 *
 * What the reference leaves to chance does not occur, nor do the deliberate differences; each place that avoids
 * something says what. Above all: of a wake-up, due timers and ready ports CoreFoundation takes one in each pass, in the
 * order in which they came; so at most one of these kinds is pending at a time. */
#ifndef LIFE_H
#define LIFE_H

#include "random.h"

enum { SOURCES = 5, PORTS = 3, TIMERS = 4, OBSERVERS = 4, MODES = 4, MOST_CALLS = 400 };

/* What a script is about. */
static struct {
    int waits;  /* runs have time; whoever waits is stopped by the warden, before it sleeps */
    int warden; /* the warden does more than stopping: it makes one thing happen for which the run then sleeps */
    int ports;  /* how many ports become ready at any time */
    /* Several ports are in the same modes and ready together, and their numbers are not printed: of those that are ready any
     * may go first. Else only one is ready at a time. */
    int alike;
    int due;     /* timers come due */
    int clock;   /* each mode has an observer that knows when a pass begins */
    int equals;  /* sources are compared by callbacks */
    int ties;    /* items have equal orders */
    int deepest; /* how many runs may be nested */
    /* Nested runs sleep, and none only looks. Then wake-ups come together with other things, and how often the outer
     * runs pass differs; so nothing happens that one pass more would notice: what is called before the loop sleeps does
     * not act, and no mode becomes empty. */
    int deep;
    double interval;
    CFOptionFlags untold; /* activities that no observer is for */
} life;

static CFRunLoopSourceRef sources[SOURCES], ports[PORTS];
static CFRunLoopTimerRef timers[TIMERS];
static CFRunLoopObserverRef observers[OBSERVERS];
static CFStringRef modes[MODES + 1]; /* the last stands for the common ones */
static int scheduled[SOURCES], cancelled[SOURCES], is_in[SOURCES][MODES];
static int descriptors[PORTS], ready[PORTS], served[PORTS], due[TIMERS];
static int calls, depth, dates, blocks;
/* The innermost run returns after a source was handled. */
static int only_one;
/* One of several sources performs: what it may not do is difference 16. */
static int in_batch;
/* Between the beginning of a run or pass and its look at what is ready a wake-up counts, later it is ignored. */
static enum { LATE, EARLY, ENTERING } early;
/* There was one, and no look since then. */
static int woken, wakes;
/* Of the innermost run, that have begun. */
static int passes;
/* A schedule or cancel callback that comes now is the only one, and may act. (Those of several modes come in any order.) */
static int one_mode;
static CFAbsoluteTime base;
/* Held by another thread that is changing the world: callbacks wait until it has done that. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static void act(void);

/* ---- What is pending ---- */

static int ready_ports(void)
{
    int count = 0;
    for (int i = 0; i < PORTS; i++)
        count += ready[i];
    return count;
}
static int due_timers(void)
{
    int count = 0;
    for (int i = 0; i < TIMERS; i++)
        count += due[i] && CFRunLoopTimerIsValid(timers[i]);
    return count;
}
static int may_wake(void) { return !early || (life.clock && ready_ports() == 0 && due_timers() == 0); }

/* ---- Callbacks ---- */

/** What every callback does: it says so, and sometimes changes the world. */
static void called(const char *kind, long number, int moment)
{
    pthread_mutex_lock(&changing);
    pthread_mutex_unlock(&changing);
    printf(" %s%ld", kind, number);
    if (++calls > MOST_CALLS || (life.deep && moment != LATE && *kind != 's'))
        return;
    int outer = (int)early, single = one_mode;
    early = moment;
    one_mode = 0;
    while (pick(3) == 0)
        act();
    early = outer;
    one_mode = single;
}

static void perform(void *info)
{
    int outer = in_batch;
    in_batch = !only_one;
    called("s", (long)(intptr_t)info, EARLY);
    in_batch = outer;
}
static int get_port(void *info) { return descriptors[(intptr_t)info]; }
static void perform_port(void *info)
{
    eventfd_t value;
    eventfd_read(get_port(info), &value); /* CoreFoundation has done that */
    ready[(intptr_t)info] = 0;
    served[(intptr_t)info]++;
    called("p", life.alike ? 0 : (long)(intptr_t)info, LATE);
}
/** Notes that a source is in a mode, or is not any more. */
static void note_place(void *info, CFStringRef mode, int is_there)
{
    for (int i = 0; i < MODES; i++)
        if (CFEqual(mode, modes[i]))
            is_in[(intptr_t)info][i] = is_there;
}
static void schedule(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)loop;
    note_place(info, mode, 1);
    scheduled[(intptr_t)info]++;
    if (one_mode)
        called("+", (long)(intptr_t)info, early);
}
static void cancel(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)loop;
    note_place(info, mode, 0);
    cancelled[(intptr_t)info]++;
    if (one_mode)
        called("-", (long)(intptr_t)info, early);
}
static Boolean equal(const void *one, const void *two) { return (intptr_t)one / 2 == (intptr_t)two / 2; }
static CFHashCode hash(const void *info) { return (CFHashCode)(intptr_t)info / 2; }

static void fire(CFRunLoopTimerRef timer, void *info)
{
    (void)timer;
    due[(intptr_t)info] = 0;
    called("t", (long)(intptr_t)info, LATE);
}
static void observe(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer;
    const CFRunLoopActivity late = kCFRunLoopAfterWaiting | kCFRunLoopExit;
    printf(" o%ld:%lx", (long)(intptr_t)info, (unsigned long)activity);
    /* CoreFoundation has taken from the kernel what it is about to handle: nobody may meddle with it. */
    if (activity == kCFRunLoopAfterWaiting && (ready_ports() > 0 || due_timers() > 0))
        return;
    called("/", (long)depth, activity == kCFRunLoopEntry ? ENTERING : activity & late ? LATE : EARLY);
}
/** Each pass takes the wake-up that came before its end. */
static void clock_ticks(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer, (void)info;
    if (passes > 0)
        woken = 0;
    passes += activity == kCFRunLoopBeforeTimers;
}

/* ---- Making items ---- */

static CFAbsoluteTime past(void) { return base - 1e7 + (life.ties ? 0 : 1000.0 * dates++); }
static CFAbsoluteTime future(void) { return base + 1e6 + 1000.0 * dates++; }

static CFRunLoopSourceRef make_source(long number)
{
    CFIndex order = life.ties ? (CFIndex)pick(3) : (CFIndex)pick(1000) * SOURCES + number;
    CFRunLoopSourceContext context = {
        .info = (void *)number, .perform = perform, .schedule = schedule, .cancel = cancel};
    if (!life.equals)
        return CFRunLoopSourceCreate(NULL, order, &context);
    context.equal = equal;
    context.hash = hash;
    return CFRunLoopSourceCreate(NULL, number / 2, &context);
}
static CFRunLoopSourceRef make_port(long number)
{
    CFRunLoopSourceContext1 context = {
        .version = 1, .info = (void *)number, .getPort = get_port, .perform = perform_port};
    return CFRunLoopSourceCreate(NULL, (CFIndex)pick(5) - 2, (CFRunLoopSourceContext *)&context);
}
static CFAbsoluteTime some_date(long number)
{
    due[number] = life.due && life.ports == 0 && pick(3) != 0;
    return due[number] ? past() : future();
}
static CFRunLoopTimerRef make_timer(long number)
{
    CFRunLoopTimerContext context = {.info = (void *)number};
    return CFRunLoopTimerCreate(NULL, some_date(number), life.interval, 0, 0, fire, &context);
}
static CFRunLoopObserverRef make_observer(long number)
{
    CFRunLoopObserverContext context = {.info = (void *)number};
    CFOptionFlags activities = pick(256) & kCFRunLoopAllActivities & ~life.untold;
    CFIndex order = life.ties ? (CFIndex)pick(3) : (CFIndex)pick(1000) * OBSERVERS + number;
    return CFRunLoopObserverCreate(NULL, activities, pick(4) != 0, order, observe, &context);
}

/* ---- A life ---- */

static void begin(void)
{
    calls = depth = dates = blocks = only_one = in_batch = early = woken = wakes = passes = one_mode = 0;
    base = CFAbsoluteTimeGetCurrent();
    memset(scheduled, 0, sizeof scheduled);
    memset(cancelled, 0, sizeof cancelled);
    memset(is_in, 0, sizeof is_in);
    memset(served, 0, sizeof served);
    memset(ready, 0, sizeof ready);
    memset(due, 0, sizeof due);
    CFStringRef names[] = {CFSTR("a"), CFSTR("b"), CFSTR("c"), kCFRunLoopDefaultMode, kCFRunLoopCommonModes};
    memcpy(modes, names, sizeof modes);
    for (long i = 0; i < SOURCES; i++)
        sources[i] = make_source(i);
    unsigned alike = pick(MODES + 1);
    for (long i = 0; i < PORTS; i++) {
        descriptors[i] = eventfd(0, EFD_NONBLOCK);
        ports[i] = make_port(i);
        if (i < life.ports || life.warden)
            CFRunLoopAddSource(HERE, ports[i], modes[life.alike ? (int)alike : (int)pick(MODES + 1)]);
    }
    for (long i = 0; i < TIMERS; i++)
        timers[i] = make_timer(i);
    for (long i = 0; i < OBSERVERS; i++)
        observers[i] = make_observer(i);
}

/** A source that is never signalled keeps each mode from being empty. */
static inline void fill_modes(void)
{
    CFRunLoopSourceContext context = {.info = &life};
    CFRunLoopSourceRef filler = CFRunLoopSourceCreate(NULL, 0, &context);
    for (int i = 0; i < MODES; i++)
        CFRunLoopAddSource(HERE, filler, modes[i]);
    CFRelease(filler);
}

/** CoreFoundation keeps a wake-up that came in a run that did not look any more: this run takes it. */
static inline void take_wakeup(void)
{
    CFRunLoopSourceContext context = {.info = &life};
    CFRunLoopSourceRef filler = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(HERE, filler, CFSTR("nothing"));
    CFRunLoopRunInMode(CFSTR("nothing"), 0, false);
    woken = 0;
    CFRunLoopSourceInvalidate(filler);
    CFRelease(filler);
}

static void end(void)
{
    for (int i = 0; i < PORTS; i++) {
        CFRunLoopSourceInvalidate(ports[i]);
        close(descriptors[i]);
    }
}

static int compare_counts(const void *one, const void *two) { return *(const int *)one - *(const int *)two; }

/** How often each of the ports that are alike has performed, in ascending order. Nothing while some are ready. */
static inline void show_shares(void)
{
    if (!life.alike || ready_ports() > 0)
        return;
    qsort(served, (size_t)life.ports, sizeof *served, compare_counts);
    for (int i = 0; i < life.ports; i++)
        printf("%c%d", i == 0 ? ' ' : '/', served[i]);
    memset(served, 0, sizeof served);
}

/** In each mode an observer that is not part of the script. */
static void add_everywhere(CFOptionFlags activities, CFIndex order, CFRunLoopObserverCallBack callback)
{
    CFRunLoopObserverRef observer = CFRunLoopObserverCreate(NULL, activities, true, order, callback, NULL);
    for (int i = 0; i < MODES; i++)
        CFRunLoopAddObserver(HERE, observer, modes[i]);
    CFRelease(observer);
}

#endif
