/* acts.h - what a program may do with a loop and its items at any time, and a random choice among these acts. */
#ifndef ACTS_H
#define ACTS_H

#include "life.h"

/** Runs a mode, nested or not, and prints the result. */
static void run_some_mode(void)
{
    /* A wake-up consumed by a nested run is difference 11. */
    if (depth == life.deepest || in_batch || (woken && !life.waits))
        return;
    unsigned mode = pick(MODES), one = pick(2);
    double seconds = life.deep ? AGES : pick(3) == 0 ? 0 : pick(8) == 0 ? -1 : life.waits ? AGES : 0;
    int outer = only_one, outer_passes = passes, outer_woken = woken, outer_wakes = wakes;
    int forever = seconds > 0 && pick(4) == 0;
    passes = 0;
    only_one = forever ? 0 : (int)one;
    depth++;
    if (forever) {
        printf(" [run");
        CFRunLoopRun();
        printf("]");
    } else {
        printf(" [%u%s%s", mode, one ? "!" : "", seconds > 0 ? "" : seconds < 0 ? "-" : "0");
        printf(" %s]", result_name(CFRunLoopRunInMode(modes[mode], seconds, one != 0)));
    }
    depth--;
    only_one = outer;
    passes = outer_passes;
    woken = outer_woken || wakes != outer_wakes; /* a nested run passes it on: difference 11 */
}

static void perform_block(void)
{
    long number = ++blocks;
    unsigned mode = pick(MODES + 1), several = pick(4);
    CFTypeRef where = modes[mode];
    const void *some[] = {modes[pick(MODES + 1)], modes[(pick(2))], modes[2]};
    CFIndex count = 1 + (CFIndex)pick(3);
    if (several == 0)
        where = CFArrayCreate(NULL, some, count, &kCFTypeArrayCallBacks);
    else if (several == 1)
        where = CFSetCreate(NULL, some, count, &kCFTypeSetCallBacks);
    printf(" b%ld>%u%s", number, mode, several == 0 ? "[]" : several == 1 ? "{}" : "");
    CFRunLoopPerformBlock(HERE, where, ^{ called("b", number, EARLY); });
    if (several < 2)
        CFRelease(where);
}

/** Whether removing a source would remove an equal one: CoreFoundation does that, and calls the cancel callback of
 * the other. */
static int would_remove_another(unsigned s, unsigned where)
{
    unsigned other = s ^ 1;
    if (!life.equals || other >= SOURCES)
        return 0;
    for (unsigned i = 0; i < MODES; i++)
        if ((where == i || where == MODES) && is_in[other][i])
            return 1;
    return 0;
}

static void change_source(unsigned how, unsigned s, unsigned where)
{
    CFStringRef mode = modes[where];
    one_mode = where != MODES;
    if (how == 0 && !would_remove_another(s, where))
        CFRunLoopRemoveSource(HERE, sources[s], mode);
    else if (how == 1 && !in_batch) {
        one_mode = 0;
        CFRunLoopSourceInvalidate(sources[s]);
        if (pick(4) != 0)
            sources[s] = make_source(s);
    } else if (how == 2)
        printf("=%d%d", CFRunLoopContainsSource(HERE, sources[s], mode), CFRunLoopSourceIsValid(sources[s]));
    else
        CFRunLoopAddSource(HERE, sources[s], mode);
    one_mode = 0;
}

/* Whether the timer is in the mode. CoreFoundation does not find a common timer or observer that was removed from
 * every single mode. */
static int timer_is_in(unsigned t, unsigned where)
{
    int modes_of = 0;
    for (int i = 0; i < MODES; i++)
        modes_of += CFRunLoopContainsTimer(HERE, timers[t], modes[i]);
    return modes_of > 0 && CFRunLoopContainsTimer(HERE, timers[t], modes[where]);
}
static int observer_is_in(unsigned o, unsigned where)
{
    int modes_of = 0;
    for (int i = 0; i < MODES; i++)
        modes_of += CFRunLoopContainsObserver(HERE, observers[o], modes[i]);
    return modes_of > 0 && CFRunLoopContainsObserver(HERE, observers[o], modes[where]);
}

/** Whether the timer may be added. Of timers with equal past dates, CoreFoundation first fires the one whose date
 * was set first; this library, the one that was added first. So the date is set immediately before adding, and only
 * once. */
static int may_join(unsigned t)
{
    for (unsigned i = 0; i < MODES; i++)
        if (timer_is_in(t, i))
            return 0;
    CFRunLoopTimerSetNextFireDate(timers[t], past());
    return 1;
}

static void change_timer(unsigned how, unsigned t, unsigned where)
{
    CFStringRef mode = modes[where];
    if (how == 0)
        CFRunLoopRemoveTimer(HERE, timers[t], mode);
    else if (how == 1)
        CFRunLoopTimerInvalidate(timers[t]);
    else if (how == 2)
        printf("=%d%d", timer_is_in(t, where), CFRunLoopTimerIsValid(timers[t]));
    else if (how == 3)
        CFRunLoopTimerSetNextFireDate(timers[t], some_date(t));
    else {
        if (!CFRunLoopTimerIsValid(timers[t]) && pick(8) != 0)
            timers[t] = make_timer(t);
        if (life.ties && due[t] && !may_join(t))
            return;
        CFRunLoopAddTimer(HERE, timers[t], mode);
    }
}

static void change_observer(unsigned how, unsigned o, unsigned where)
{
    CFStringRef mode = modes[where];
    if (how == 0)
        CFRunLoopRemoveObserver(HERE, observers[o], mode);
    else if (how == 1)
        CFRunLoopObserverInvalidate(observers[o]);
    else if (how == 2)
        printf("=%d%d", observer_is_in(o, where), CFRunLoopObserverIsValid(observers[o]));
    else {
        if (!CFRunLoopObserverIsValid(observers[o]) && pick(8) != 0)
            observers[o] = make_observer(o);
        CFRunLoopAddObserver(HERE, observers[o], mode);
    }
}

/** Adds, removes, replaces or queries a source, a timer or an observer. */
static void change_item(unsigned what, unsigned how, unsigned where)
{
    unsigned s = pick(SOURCES), t = pick(TIMERS), o = pick(OBSERVERS);
    if (what == 1 && due[t] && life.ports > 0)
        return;
    printf(" %u.%u(%u,%u)", what, how, what == 0 ? s : what == 1 ? t : o, where);
    if (what == 0)
        change_source(how, s, where);
    else if (what == 1)
        change_timer(how, t, where);
    else
        change_observer(how, o, where);
}

static void signal_source(unsigned source)
{
    printf(" !%u", source);
    CFRunLoopSourceSignal(sources[source]);
}

static void write_port(unsigned p)
{
    printf(" w%u", p);
    ready[p] = 1;
    eventfd_write(descriptors[p], 1);
}

static void change_one_port(unsigned how, unsigned p, unsigned where)
{
    eventfd_t value;
    if (how < 4)
        write_port(p);
    else if (how < 7)
        CFRunLoopAddSource(HERE, ports[p], modes[where]);
    else if (how == 7)
        CFRunLoopRemoveSource(HERE, ports[p], modes[where]);
    else if (how == 8)
        CFRunLoopSourceInvalidate(ports[p]), ports[p] = make_port(p);
    else
        ready[p] = 0, eventfd_read(descriptors[p], &value);
}

/** Makes a port ready, adds, removes or replaces it, or reads its descriptor. If ports are alike, does so for all of
 * them. */
static void change_port(unsigned how, unsigned p, unsigned where)
{
    if (how < 4 && (due_timers() > 0 || woken || (!life.alike && ready_ports() > 0)))
        return;
    printf(" p%u.%u(%u)", p, how, where);
    if (how > 6)
        memset(served, 0, sizeof served); /* some of the ready ones are then not served, and it is unspecified which */
    if (!life.alike)
        change_one_port(how, p, where);
    for (unsigned each = 0; life.alike && each < (unsigned)life.ports; each++)
        change_one_port(how, each, where);
}

/** Replaces all timers by new ones that are due, in one mode. */
static void make_all_due(unsigned first, unsigned where)
{
    printf(" d%u...(%u)", first, where);
    for (unsigned i = 0; i < TIMERS; i++) {
        unsigned t = (first + i) % TIMERS;
        CFRunLoopTimerInvalidate(timers[t]);
        timers[t] = make_timer(t);
        due[t] = 1;
        CFRunLoopTimerSetNextFireDate(timers[t], past());
        CFRunLoopAddTimer(HERE, timers[t], modes[where]);
    }
}

static int compare_names(const void *one, const void *two)
{
    return strcmp(*(const char *const *)one, *(const char *const *)two);
}

/** With ports, a timer becomes due only in the mode that runs, and then stays unchanged. If a due timer has fired in
 * another mode, or was removed, CoreFoundation makes an extra pass and may return without checking the ports. */
static void make_due(unsigned t, unsigned where)
{
    CFStringRef mode = CFRunLoopCopyCurrentMode(HERE);
    if (ready_ports() == 0 && due_timers() == 0 && !woken) {
        printf(" d%u(%u)", t, where);
        CFRunLoopTimerInvalidate(timers[t]);
        timers[t] = make_timer(t);
        due[t] = 1;
        CFRunLoopTimerSetNextFireDate(timers[t], past());
        CFRunLoopAddTimer(HERE, timers[t], mode ? mode : modes[where]);
    }
    if (mode)
        CFRelease(mode);
}

/** Queries modes and timers. */
static void ask(unsigned what)
{
    if (what == 0) {
        const char *names[MODES + 1];
        size_t count = 0;
        CFArrayRef all = CFRunLoopCopyAllModes(HERE);
        for (CFIndex i = 0; i < CFArrayGetCount(all); i++) /* CoreFoundation may list a mode "common modes" */
            if (!CFEqual(CFArrayGetValueAtIndex(all, i), kCFRunLoopCommonModes))
                names[count++] = text(CFArrayGetValueAtIndex(all, i));
        CFRelease(all);
        qsort(names, count, sizeof *names, compare_names);
        printf(" all");
        for (size_t i = 0; i < count; i++)
            printf(",%s", names[i]);
    } else if (what == 1) {
        CFStringRef mode = CFRunLoopCopyCurrentMode(HERE);
        printf(" in=%s waits=%d", text(mode), CFRunLoopIsWaiting(HERE));
        if (mode)
            CFRelease(mode);
    } else if (what == 2) {
        CFRunLoopSourceRef one = sources[pick(SOURCES)], two = sources[pick(SOURCES)];
        printf(" same=%d hash=%lu", CFEqual(one, two), (unsigned long)CFHash(one));
    } else
        printf(" next=%d", CFRunLoopGetNextTimerFireDate(HERE, modes[pick(MODES)]) != 0);
}

/** Stops or wakes the loop, if CoreFoundation's wake-up is then the only pending event. */
static void stop_or_wake(unsigned what)
{
    /* A wake-up in the Entry observer counts for the pass that begins. CoreFoundation makes two passes. */
    if (!may_wake() || (what == 0 && early == ENTERING))
        return;
    woken = early != LATE;
    wakes += early != LATE;
    printf(what ? " stop" : " wake");
    what ? CFRunLoopStop(HERE) : CFRunLoopWakeUp(HERE);
}

static void add_common_mode(unsigned mode)
{
    /* Common items are added to a new mode in the order of CoreFoundation's hash table. */
    if (life.ties)
        return;
    printf(" common(%u)", mode);
    CFRunLoopAddCommonMode(HERE, modes[mode]);
}

/** Does one random thing that a program may do at any time. */
static void act(void)
{
    unsigned kind = pick(20);
    if (kind < 5)
        change_item(pick(3), pick(6), pick(MODES + 1));
    else if (kind < 10)
        signal_source(pick(SOURCES));
    else if (kind < 12)
        perform_block();
    else if (kind < 15)
        run_some_mode();
    else if (kind < (life.due ? 16 : 17) && life.ports > 0)
        change_port(pick(10), pick((unsigned)life.ports), pick(MODES + 1));
    else if (kind < 17 && life.due && life.ports > 0)
        make_due(pick(TIMERS), pick(MODES));
    else if (kind < 17 && life.due && life.ties)
        make_all_due(pick(TIMERS), pick(MODES + 1));
    else if (kind < 18 && depth > 0)
        stop_or_wake(pick(4));
    else if (kind < 19)
        ask(pick(4));
    else
        add_common_mode(pick(MODES));
}

#endif
