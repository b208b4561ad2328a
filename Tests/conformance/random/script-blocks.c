/* script-blocks.c - a random life of sources, observers, blocks, timers and ports, the same for each library given its seed,
 * each on a thread and so a loop of its own. Prints every callback and every result.
 *
 * What the reference leaves to chance does not occur: no two items have the same order, no two timers the same date,
 * nothing sleeps (a warden stops each run that is about to), and nobody looks at what the end of a thread calls. Neither
 * do the deliberate differences. */
#include "random.h"

enum { SOURCES = 5, TIMERS = 4, OBSERVERS = 4, MODES = 3, STEPS = 40, DEEPEST = 3, MOST_CALLS = 400 };

static CFRunLoopSourceRef sources[SOURCES];
static CFRunLoopTimerRef timers[TIMERS];
static CFRunLoopObserverRef observers[OBSERVERS];
static CFStringRef modes[MODES + 1];
static int scheduled[SOURCES], cancelled[SOURCES];
static int calls, depth, dates, blocks;
/* What a script has besides signalled sources, observers and blocks. One thing only: of a wake-up, a due timer and a ready
 * descriptor that come together CoreFoundation takes one, by chance. Runs with timers or ports do not wait. */
static enum { STOPS, TIMERS_DUE, PORTS } subject;
static CFRunLoopSourceRef port;
static int port_descriptor;
/* The innermost run returns after a source was handled. */
static int only_one;
/* One of several sources performs: what it may not do is difference 16. */
static int in_batch;
static double interval;
static CFAbsoluteTime base;

static void act(void);

/** What every callback does: it says so, and sometimes changes the world. */
static void called(const char *kind, long number)
{
    printf(" %s%ld", kind, number);
    if (++calls > MOST_CALLS) {
        CFRunLoopStop(HERE);
        return;
    }
    while (pick(3) == 0)
        act();
}

static void perform(void *info)
{
    int outer = in_batch;
    in_batch = !only_one;
    called("s", (long)(intptr_t)info);
    in_batch = outer;
}
static int get_port(void *info)
{
    (void)info;
    return port_descriptor;
}
static void perform_port(void *info)
{
    eventfd_t value;
    eventfd_read(port_descriptor, &value); /* CoreFoundation has done that */
    called("p", (long)(intptr_t)info);
}
static void schedule(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)loop, (void)mode;
    scheduled[(intptr_t)info]++;
}
static void cancel(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    (void)loop, (void)mode;
    cancelled[(intptr_t)info]++;
}
static void fire(CFRunLoopTimerRef timer, void *info)
{
    (void)timer;
    called("t", (long)(intptr_t)info);
}
static void observe(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer;
    printf(" o%ld:%lx", (long)(intptr_t)info, (unsigned long)activity);
    called("/", (long)depth);
}
static void warden(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer, (void)activity, (void)info;
    printf(" W");
    if (subject == STOPS)
        CFRunLoopStop(HERE);
}

static CFAbsoluteTime past(void) { return base - 1e7 + 1000.0 * dates++; }
static CFAbsoluteTime future(void) { return base + 1e6 + 1000.0 * dates++; }
static CFAbsoluteTime some_date(void) { return subject == TIMERS_DUE && pick(3) ? past() : future(); }

static CFRunLoopSourceRef make_source(long number)
{
    CFRunLoopSourceContext context = {
        .info = (void *)number, .perform = perform, .schedule = schedule, .cancel = cancel};
    return CFRunLoopSourceCreate(NULL, (CFIndex)pick(1000) * SOURCES + number - 2500, &context);
}
static CFRunLoopSourceRef make_port(void)
{
    CFRunLoopSourceContext1 context = {.version = 1, .getPort = get_port, .perform = perform_port};
    return CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
}
static CFRunLoopTimerRef make_timer(long number)
{
    CFRunLoopTimerContext context = {.info = (void *)number};
    return CFRunLoopTimerCreate(NULL, some_date(), interval, 0, 0, fire, &context);
}
static CFRunLoopObserverRef make_observer(long number)
{
    CFRunLoopObserverContext context = {.info = (void *)number};
    CFOptionFlags activities = pick(256) & kCFRunLoopAllActivities;
    return CFRunLoopObserverCreate(NULL, activities, pick(4) != 0, (CFIndex)pick(1000) * OBSERVERS + number - 2000,
                                   observe, &context);
}

/** Runs a mode, nested or not, and says how that ended. */
static void run_some_mode(void)
{
    if (depth == DEEPEST || in_batch)
        return;
    unsigned mode = pick(MODES), one = pick(2);
    double seconds = pick(3) == 0 ? 0 : pick(8) == 0 ? -1 : subject == STOPS ? AGES : 0;
    printf(" [%u%s%s", mode, one ? "!" : "", seconds > 0 ? "" : seconds < 0 ? "-" : "0");
    int outer = only_one;
    only_one = (int)one;
    depth++;
    SInt32 result = CFRunLoopRunInMode(modes[mode], seconds, one != 0);
    depth--;
    only_one = outer;
    printf(" %s]", result_name(result));
}

static void perform_block(void)
{
    long number = ++blocks;
    unsigned mode = pick(MODES + 1), both = pick(4) == 0;
    CFTypeRef where = modes[mode];
    if (both)
        where = CFArrayCreate(NULL, (const void **)modes, 2, &kCFTypeArrayCallBacks);
    printf(" b%ld>%u%s", number, mode, both ? "+" : "");
    CFRunLoopPerformBlock(HERE, where, ^{ called("b", number); });
    if (both)
        CFRelease(where);
}

/** Adds, removes, renews or asks about a source, a timer or an observer. */
static void change_item(unsigned what, unsigned how, unsigned where)
{
    unsigned s = pick(SOURCES), t = pick(TIMERS), o = pick(OBSERVERS);
    CFStringRef mode = modes[where];
    printf(" %u.%u(%u,%u)", what, how, what == 0 ? s : what == 1 ? t : o, where);
    if (what == 0) {
        if (how == 0)
            CFRunLoopRemoveSource(HERE, sources[s], mode);
        else if (how == 1 && !in_batch)
            CFRunLoopSourceInvalidate(sources[s]), sources[s] = make_source(s);
        else if (how == 2)
            printf("=%d%d", CFRunLoopContainsSource(HERE, sources[s], mode), CFRunLoopSourceIsValid(sources[s]));
        else
            CFRunLoopAddSource(HERE, sources[s], mode);
    } else if (what == 1) {
        if (how == 0)
            CFRunLoopRemoveTimer(HERE, timers[t], mode);
        else if (how == 1)
            CFRunLoopTimerInvalidate(timers[t]);
        else if (how == 2)
            printf("=%d%d", CFRunLoopContainsTimer(HERE, timers[t], mode), CFRunLoopTimerIsValid(timers[t]));
        else if (how == 3)
            CFRunLoopTimerSetNextFireDate(timers[t], some_date());
        else {
            if (!CFRunLoopTimerIsValid(timers[t]))
                timers[t] = make_timer(t);
            CFRunLoopAddTimer(HERE, timers[t], mode);
        }
    } else {
        if (how == 0)
            CFRunLoopRemoveObserver(HERE, observers[o], mode);
        else if (how == 1)
            CFRunLoopObserverInvalidate(observers[o]);
        else if (how == 2)
            printf("=%d%d", CFRunLoopContainsObserver(HERE, observers[o], mode),
                   CFRunLoopObserverIsValid(observers[o]));
        else {
            if (!CFRunLoopObserverIsValid(observers[o]))
                observers[o] = make_observer(o);
            CFRunLoopAddObserver(HERE, observers[o], mode);
        }
    }
}

static void signal_source(unsigned source)
{
    printf(" !%u", source);
    CFRunLoopSourceSignal(sources[source]);
}

static void add_common_mode(unsigned mode)
{
    printf(" common(%u)", mode);
    CFRunLoopAddCommonMode(HERE, modes[mode]);
}

/** Makes the port ready, adds or removes it. */
static void change_port(unsigned how, unsigned where)
{
    printf(" p.%u(%u)", how, where);
    if (how < 4)
        eventfd_write(port_descriptor, 1);
    else if (how < 6)
        CFRunLoopAddSource(HERE, port, modes[where]);
    else if (how == 6)
        CFRunLoopRemoveSource(HERE, port, modes[where]);
    else
        CFRunLoopSourceInvalidate(port), port = make_port();
}

/** One random thing that a program may do at any time. */
static void act(void)
{
    unsigned kind = pick(17);
    if (kind < 5)
        change_item(pick(3), pick(6), pick(MODES + 1));
    else if (kind < 10)
        signal_source(pick(SOURCES));
    else if (kind < 12)
        perform_block();
    else if (kind < 15)
        run_some_mode();
    else if (kind == 16)
        add_common_mode(pick(MODES));
    else if (subject == PORTS)
        change_port(pick(8), pick(MODES + 1));
    else if (depth > 0 && subject == STOPS)
        printf(" stop"), CFRunLoopStop(HERE);
    else
        printf(" next=%d", CFRunLoopGetNextTimerFireDate(HERE, modes[pick(MODES)]) != 0);
}

static void *script(void *seed)
{
    subject = (uintptr_t)seed % 3;
    interval = (uintptr_t)seed % 2 == 0 ? 1e9 : 0;
    calls = depth = dates = blocks = 0;
    base = CFAbsoluteTimeGetCurrent();
    memset(scheduled, 0, sizeof scheduled);
    memset(cancelled, 0, sizeof cancelled);
    CFStringRef names[] = {CFSTR("a"), CFSTR("b"), CFSTR("c"), kCFRunLoopCommonModes};
    memcpy(modes, names, sizeof modes);
    for (long i = 0; i < SOURCES; i++)
        sources[i] = make_source(i);
    port_descriptor = eventfd(0, EFD_NONBLOCK);
    port = make_port();
    for (long i = 0; i < TIMERS; i++)
        timers[i] = make_timer(i);
    for (long i = 0; i < OBSERVERS; i++)
        observers[i] = make_observer(i);
    CFRunLoopObserverRef guard = CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, true, 1000000, warden, NULL);
    for (int i = 0; i < MODES; i++)
        CFRunLoopAddObserver(HERE, guard, modes[i]);
    if (pick(2))
        CFRunLoopAddCommonMode(HERE, modes[pick(MODES)]);
    for (int step = 0; step < STEPS; step++) {
        printf("%lu.%d:", (unsigned long)(uintptr_t)seed, step);
        calls = 0;
        act();
        for (int i = 0; i < SOURCES; i++)
            printf(" %d-%d", scheduled[i], cancelled[i]);
        printf("\n");
    }
    CFRunLoopSourceInvalidate(port);
    close(port_descriptor);
    return NULL;
}

static void run_script(unsigned long seed)
{
    pthread_t thread;
    pthread_create(&thread, NULL, script, (void *)(uintptr_t)seed);
    pthread_join(thread, NULL);
}

int main(int count, char **arguments) { return run_scripts(count, arguments, run_script); }
