/* sleeps.c - random timers for which a loop really sleeps, and runs that really time out, including nested ones.
 * Many scripts run at the same time, each on its own thread.
 *
 * A script prints the same however late its thread is. Every date in a run is before the end of the run or far after
 * it, and later than the moment at which it is set (CoreFoundation forgets past dates: difference 15). No date
 * occurs twice (CoreFoundation rounds each one separately). Observers report the beginnings and ends of runs, not
 * the number of passes. */
#include "../trace.h"

enum { TIMERS = 6, SCRIPTS_AT_ONCE = 24, STEPS = 3, DEEPEST = 2 };

/* A run, perhaps nested in another one. */
typedef struct {
    CFRunLoopTimerRef timers[TIMERS];
    unsigned last, last_date; /* index and number of the timer that is due last */
    int is_endless;
} Level;

typedef struct {
    unsigned long seed;
    unsigned long long state;
    FILE *out;
    char *text;
    size_t length;
    CFRunLoopSourceRef source;
    Level levels[DEEPEST];
    int depth;
} Script;

static _Thread_local Script *script;

static unsigned pick(unsigned below)
{
    script->state = script->state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(script->state >> 33) % below;
}

static void run_some_mode(void);

static void perform(void *info)
{
    (void)info;
    fprintf(script->out, " s");
}

/** A timer's actions may not depend on which others were due with it. An endless run is stopped by the last timer. */
static void fire(CFRunLoopTimerRef timer, void *info)
{
    unsigned place = (unsigned)(intptr_t)info, what = pick(6), another = pick(TIMERS);
    const Level *level = &script->levels[script->depth - 1];
    fprintf(script->out, " t%u", place);
    if (what == 0)
        CFRunLoopTimerInvalidate(timer);
    else if (what == 1 && another != level->last)
        CFRunLoopTimerInvalidate(level->timers[another]);
    else if (what < 4 && script->depth < DEEPEST && level->is_endless)
        run_some_mode();
    if (level->is_endless && place == level->last_date)
        CFRunLoopStop(HERE);
}

static void observe(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer, (void)info;
    fprintf(script->out, " o%lx", (unsigned long)activity);
}

/** Creates timers at different dates from 10 ms on, in any order. Starts over immediately if that took too long. */
static void make_timers(CFStringRef mode, unsigned count)
{
    Level *level = &script->levels[script->depth - 1];
    CFRunLoopTimerRef *timers = level->timers;
    unsigned first = pick(TIMERS), step = pick(2) ? 1 : TIMERS - 1, one_shot = pick(2);
    CFAbsoluteTime start;
    do {
        start = CFAbsoluteTimeGetCurrent();
        for (unsigned i = 0; i < TIMERS; i++) {
            unsigned place = (first + step * i) % TIMERS;
            if (place + 1 == count) {
                level->last = i;
                level->last_date = place;
            }
            CFAbsoluteTime date = start + 0.010 + 0.0005 * place + (place >= count ? 1e6 : 0);
            CFRunLoopTimerContext context = {.info = (void *)(intptr_t)place};
            if (timers[i]) {
                CFRunLoopTimerInvalidate(timers[i]);
                CFRelease(timers[i]);
            }
            timers[i] = CFRunLoopTimerCreate(NULL, date, one_shot ? 0 : 1e9, 0, 0, fire, &context);
            CFRunLoopAddTimer(HERE, timers[i], mode);
        }
    } while (CFAbsoluteTimeGetCurrent() > start + 0.009);
}

/** Starts a run that lasts longer than its timers, or that the last timer stops. */
static void run_some_mode(void)
{
    CFStringRef mode = script->depth == 0 ? MODE : OTHER;
    Level *level = &script->levels[script->depth++];
    unsigned one = pick(2), count = pick(TIMERS + 1);
    /* On a late thread, the time may have elapsed when the first of several timers has fired. */
    level->is_endless = count > 1 || (count == 1 && pick(2));
    level->last = level->last_date = TIMERS;
    make_timers(mode, count);
    if (pick(3) == 0 && (count == 0 || !one))
        CFRunLoopSourceSignal(script->source);
    fprintf(script->out, " [%u%s%s", count, one ? "!" : "", level->is_endless ? "" : ".");
    SInt32 result = CFRunLoopRunInMode(mode, level->is_endless ? AGES : 0.020, one != 0);
    fprintf(script->out, " %s]", result_name(result));
    script->depth--;
}

static void *run_script(void *info)
{
    script = info;
    script->out = open_memstream(&script->text, &script->length);
    CFRunLoopSourceContext context = {.perform = perform};
    script->source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreate(NULL, kCFRunLoopEntry | kCFRunLoopExit, true, 0, observe, NULL);
    CFRunLoopAddSource(HERE, script->source, MODE);
    CFRunLoopAddSource(HERE, script->source, OTHER);
    CFRunLoopAddObserver(HERE, observer, MODE);
    for (int step = 0; step < STEPS; step++) {
        fprintf(script->out, "%lu.%d:", script->seed, step);
        run_some_mode();
        fprintf(script->out, "\n");
    }
    CFRelease(observer);
    CFRelease(script->source);
    for (int i = 0; i < DEEPEST * TIMERS; i++)
        if (script->levels[i / TIMERS].timers[i % TIMERS])
            CFRelease(script->levels[i / TIMERS].timers[i % TIMERS]);
    fclose(script->out);
    return NULL;
}

int main(int count, char **arguments)
{
    static Script scripts[SCRIPTS_AT_ONCE];
    pthread_t threads[SCRIPTS_AT_ONCE];
    if (count != 3)
        return 2;
    unsigned long next = strtoul(arguments[1], NULL, 10), behind = next + strtoul(arguments[2], NULL, 10);
    while (next < behind) {
        int running = 0;
        for (; running < SCRIPTS_AT_ONCE && next < behind; running++, next++) {
            scripts[running] = (Script){.seed = next, .state = next * 0x9e3779b97f4a7c15ull};
            pthread_create(&threads[running], NULL, run_script, &scripts[running]);
        }
        for (int i = 0; i < running; i++) {
            pthread_join(threads[i], NULL);
            fputs(scripts[i].text, stdout);
            free(scripts[i].text);
        }
    }
    return 0;
}
