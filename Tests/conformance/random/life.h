/* life.h - a loop's random life: its items, and what their callbacks print. For a given seed, a script is the same
 * with each library.
 *
 * Scripts avoid whatever the reference leaves to chance, and the deliberate differences; each place that avoids
 * something says what it is. The main one: of a wake-up, due timers and ready ports, CoreFoundation takes one in
 * each pass, in the order of their arrival. So at most one of these kinds is pending at a time. */
#ifndef LIFE_H
#define LIFE_H

#include "random.h"

enum { SOURCES = 5, PORTS = 3, TIMERS = 4, OBSERVERS = 4, MODES = 4, MOST_CALLS = 400 };

/* The options of a script. */
static struct {
    int waits;  /* runs have time; before such a run would sleep, the warden stops it */
    int warden; /* instead of only stopping the run, the warden may cause an event for which the run then sleeps */
    int ports;  /* how many ports may become ready at any time */
    /* Several ports are in the same modes and ready together, and their numbers are not printed, as any ready one
     * may be the next. Otherwise only one is ready at a time. */
    int alike;
    int due;     /* timers become due */
    int clock;   /* each mode has an observer that notices the beginning of a pass */
    int equals;  /* sources are compared by callbacks */
    int ties;    /* items have equal orders */
    int deepest; /* how many runs may be nested */
    /* Nested runs sleep, and none only polls. Wake-ups then coincide with other events, and the number of outer
     * passes differs. So nothing happens that an extra pass would reveal: callbacks made before the loop sleeps do
     * not act, and no mode becomes empty. */
    int deep;
    double interval;
    CFOptionFlags untold; /* activities without an observer */
} life;

static CFRunLoopSourceRef sources[SOURCES], ports[PORTS];
static CFRunLoopTimerRef timers[TIMERS];
static CFRunLoopObserverRef observers[OBSERVERS];
static CFStringRef modes[MODES + 1]; /* the last one stands for the common modes */
static int scheduled[SOURCES], cancelled[SOURCES], is_in[SOURCES][MODES];
static int descriptors[PORTS], ready[PORTS], served[PORTS], due[TIMERS];
static int calls, depth, dates, blocks;
/* Whether the innermost run returns after a source was handled. */
static int only_one;
/* Whether one of several sources is being performed: what it may not do is difference 16. */
static int in_batch;
/* Between the beginning of a run or pass and its check for ready items a wake-up counts; later it is ignored. */
static enum { LATE, EARLY, ENTERING } early;
/* Whether there was a wake-up without a check since then. */
static int woken, wakes;
/* The number of passes that the innermost run has begun. */
static int passes;
/* Whether the next schedule or cancel callback is the only one, and so may act. (Those of several modes come in any
 * order.) */
static int one_mode;
static CFAbsoluteTime base;
/* Held by another thread while it changes the world: callbacks wait for it. */
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

/** The common part of all callbacks: prints the call, and sometimes changes the world. */
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
    eventfd_read(get_port(info), &value); /* CoreFoundation has already done that */
    ready[(intptr_t)info] = 0;
    served[(intptr_t)info]++;
    called("p", life.alike ? 0 : (long)(intptr_t)info, LATE);
}
/** Records that a source was added to a mode, or removed from it. */
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
    /* CoreFoundation has fetched from the kernel what it is about to handle, so it must not be changed. */
    if (activity == kCFRunLoopAfterWaiting && (ready_ports() > 0 || due_timers() > 0))
        return;
    called("/", (long)depth, activity == kCFRunLoopEntry ? ENTERING : activity & late ? LATE : EARLY);
}
/** Notes that a pass consumes the wake-ups received before its end. */
static void clock_ticks(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer, (void)info;
    if (passes > 0)
        woken = 0;
    passes += activity == kCFRunLoopBeforeTimers;
}

/* ---- Creating items ---- */

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

/** Adds to each mode a source that is never signalled, to keep it from being empty. */
static inline void fill_modes(void)
{
    CFRunLoopSourceContext context = {.info = &life};
    CFRunLoopSourceRef filler = CFRunLoopSourceCreate(NULL, 0, &context);
    for (int i = 0; i < MODES; i++)
        CFRunLoopAddSource(HERE, filler, modes[i]);
    CFRelease(filler);
}

/** Consumes a wake-up that CoreFoundation has kept from the end of a run that no longer checked for it. */
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

/** Prints how often each of the ports that are alike was performed, in ascending order. Prints nothing while some
 * are ready. */
static inline void show_shares(void)
{
    if (!life.alike || ready_ports() > 0)
        return;
    qsort(served, (size_t)life.ports, sizeof *served, compare_counts);
    for (int i = 0; i < life.ports; i++)
        printf("%c%d", i == 0 ? ' ' : '/', served[i]);
    memset(served, 0, sizeof served);
}

/** Adds to each mode an observer that is not part of the script. */
static void add_everywhere(CFOptionFlags activities, CFIndex order, CFRunLoopObserverCallBack callback)
{
    CFRunLoopObserverRef observer = CFRunLoopObserverCreate(NULL, activities, true, order, callback, NULL);
    for (int i = 0; i < MODES; i++)
        CFRunLoopAddObserver(HERE, observer, modes[i]);
    CFRelease(observer);
}

#endif
