/* memberships.c - random adds, removals, signals and runs of sources, timers and observers in the modes of two loops,
 * one of which does not run. Prints which loop contains what in which mode after each step, and every callback, sorted
 * where CoreFoundation has no order. Leaves out the cases of difference 20. */
#include "words.h"

enum { STEPS = 40, ITEMS = 3, LOOPS = 2, MODES = 4, COMMONS = MODES - 1 };

static CFRunLoopRef loops[LOOPS];
static CFStringRef modes[MODES];
static CFRunLoopSourceRef sources[ITEMS];
static CFRunLoopTimerRef timers[ITEMS];
static CFRunLoopObserverRef observers[ITEMS];

static int number(const void *info) { return (int)(intptr_t)info; }

static int place_of_mode(CFStringRef mode)
{
    for (int i = 0; i < MODES; i++)
        if (CFEqual(mode, modes[i]))
            return i;
    return -1;
}

static void schedule(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    word("in%d@%d.%d", number(info), loop == loops[1], place_of_mode(mode));
}

static void cancel(void *info, CFRunLoopRef loop, CFStringRef mode)
{
    word("out%d@%d.%d", number(info), loop == loops[1], place_of_mode(mode));
}

static void perform(void *info) { word("s%d", number(info)); }

static void fire(CFRunLoopTimerRef timer, void *info)
{
    (void)timer;
    word("t%d", number(info));
}

static void observe(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer;
    word("o%d:%lx", number(info), (unsigned long)activity);
}

static const void *retain(const void *info)
{
    word("+%d", number(info));
    return info;
}

static void release(const void *info) { word("-%d", number(info)); }

static void make_items(int i)
{
    void *info = (void *)(intptr_t)i;
    double now = CFAbsoluteTimeGetCurrent();
    CFRunLoopSourceContext of_source = {.info = info, .schedule = schedule, .cancel = cancel, .perform = perform};
    CFRunLoopTimerContext of_timer = {0, info, NULL, NULL, NULL};
    CFRunLoopObserverContext of_observer = {0, info, NULL, NULL, NULL};
    if (pick(2)) {
        of_source.retain = of_timer.retain = of_observer.retain = retain;
        of_source.release = of_timer.release = of_observer.release = release;
    }
    double date = i == 0 && pick(2) ? now - 10 : now + 1e6; /* not several past dates: difference 15 */
    double interval = pick(2) ? 0 : 1e5;
    CFOptionFlags activities = pick(2) ? kCFRunLoopAllActivities : pick(256);
    Boolean repeats = pick(2) != 0;
    CFIndex order = (CFIndex)pick(3);
    sources[i] = CFRunLoopSourceCreate(NULL, order, &of_source);
    timers[i] = CFRunLoopTimerCreate(NULL, date, interval, 0, order, fire, &of_timer);
    observers[i] = CFRunLoopObserverCreate(NULL, activities, repeats, order * ITEMS + i, observe, &of_observer);
}

/** Prints, for each item and loop, one digit per mode: 1 for a source, 2 for a timer, 4 for an observer. */
static void print_state(void)
{
    printf(" |");
    for (int i = 0; i < ITEMS; i++) {
        printf(" %d%d%d:", CFRunLoopSourceIsValid(sources[i]), CFRunLoopTimerIsValid(timers[i]),
               CFRunLoopObserverIsValid(observers[i]));
        for (int loop = 0; loop < LOOPS; loop++)
            for (int mode = 0; mode < MODES; mode++)
                printf("%d", CFRunLoopContainsSource(loops[loop], sources[i], modes[mode]) +
                                 2 * CFRunLoopContainsTimer(loops[loop], timers[i], modes[mode]) +
                                 4 * CFRunLoopContainsObserver(loops[loop], observers[i], modes[mode]));
    }
    for (int loop = 0; loop < LOOPS; loop++) {
        CFArrayRef all = CFRunLoopCopyAllModes(loops[loop]);
        CFRange range = CFRangeMake(0, CFArrayGetCount(all));
        printf(" ");
        for (int mode = 0; mode < COMMONS; mode++)
            printf("%d%s", CFArrayContainsValue(all, range, modes[mode]),
                   CFRunLoopGetNextTimerFireDate(loops[loop], modes[mode]) == 0 ? "" : "t");
        CFRelease(all);
    }
}

static void invalidate(int i)
{
    /* Difference 20: in CoreFoundation, an item that is only one of the common items stays one. */
    for (int loop = 0; loop < LOOPS; loop++)
        if (CFRunLoopContainsSource(loops[loop], sources[i], modes[COMMONS]))
            return;
    switch (pick(9)) {
    case 0:
        CFRunLoopSourceInvalidate(sources[i]);
        break;
    case 1:
        CFRunLoopTimerInvalidate(timers[i]);
        break;
    case 2:
        CFRunLoopObserverInvalidate(observers[i]);
        break;
    default:
        break;
    }
}

static void step_on(unsigned what, int i, CFRunLoopRef loop, CFStringRef mode)
{
    int is_common = CFEqual(mode, modes[COMMONS]);
    switch (what) {
    case 0:
    case 1:
        CFRunLoopAddSource(loop, sources[i], mode);
        break;
    case 2:
        CFRunLoopRemoveSource(loop, sources[i], mode);
        break;
    case 3:
    case 4:
        CFRunLoopAddTimer(loop, timers[i], mode);
        break;
    case 5:
        if (is_common || !CFRunLoopContainsTimer(loop, timers[i], modes[COMMONS]))
            CFRunLoopRemoveTimer(loop, timers[i], mode);
        break;
    case 6:
    case 7:
        CFRunLoopAddObserver(loop, observers[i], mode);
        break;
    case 8:
        if (is_common || !CFRunLoopContainsObserver(loop, observers[i], modes[COMMONS]))
            CFRunLoopRemoveObserver(loop, observers[i], mode);
        break;
    case 9:
        if (!is_common && pick(3) == 0)
            CFRunLoopAddCommonMode(loop, mode);
        break;
    case 10:
        invalidate(i);
        break;
    case 11:
    case 12:
        CFRunLoopSourceSignal(sources[i]);
        break;
    default:
        if (!is_common)
            printf(" %s", result_name(CFRunLoopRunInMode(mode, 0, pick(2) != 0)));
    }
}

static unsigned long current_seed;

static void test(void)
{
    loops[0] = HERE;
    count = 0;
    for (int i = 0; i < ITEMS; i++)
        make_items(i);
    for (int step = 0; step < STEPS; step++) {
        unsigned what = pick(17);
        int i = (int)pick(ITEMS), loop = pick(5) == 0, mode = (int)pick(MODES);
        printf("%lu.%d: %u i%d @%d.%d", current_seed, step, what, i, loop, mode);
        step_on(what, i, loops[loop], modes[mode]);
        print_words(what < 13);
        print_state();
        printf("\n");
    }
    for (int i = 0; i < ITEMS; i++) {
        CFRunLoopSourceInvalidate(sources[i]);
        CFRunLoopTimerInvalidate(timers[i]);
        CFRunLoopObserverInvalidate(observers[i]);
        CFRelease(sources[i]);
        CFRelease(timers[i]);
        CFRelease(observers[i]);
    }
}

static sem_t ready, over;

static void own_the_other_loop(void)
{
    loops[1] = HERE;
    sem_post(&ready);
    sem_wait(&over);
}

static void script(unsigned long seed)
{
    current_seed = seed;
    pthread_t thread = start_thread(own_the_other_loop);
    sem_wait(&ready);
    on_thread(test);
    sem_post(&over);
    pthread_join(thread, NULL);
}

int main(int argument_count, char **arguments)
{
    CFStringRef all[MODES] = {MODE, CFSTR("one"), CFSTR("two"), COMMON};
    memcpy(modes, all, sizeof modes);
    sem_init(&ready, 0, 0);
    sem_init(&over, 0, 0);
    return run_scripts(argument_count, arguments, script);
}
