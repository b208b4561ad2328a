/* asleep-blocks.c - a random life of a loop that really sleeps, and of a second loop. Whenever all threads sleep, a
 * third thread, the world, causes one event. So a script is the same each time, although three threads take part in
 * it. */
#include "acts.h"
#include "quiet.h"

enum { STEPS = 8, MOST_EVENTS = 6 };

static CFRunLoopRef loop, second_loop;
static CFRunLoopSourceRef guest; /* in the second loop */
static pthread_t thread, second_thread;
static atomic_bool over;
static int events;

/* ---- The second loop: it prints what it was called for ---- */

static void perform_guest(void *info)
{
    (void)info;
    printf(" G");
}

static void run_second_loop(void)
{
    CFRunLoopSourceContext context = {.perform = perform_guest};
    guest = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(HERE, guest, MODE);
    atomic_store(&over, false);
    second_loop = HERE;
    CFRunLoopRun();
    CFRelease(guest);
}

/* ---- The world ---- */

static void post(CFRunLoopRef where, CFTypeRef mode)
{
    long number = ++blocks;
    printf(" B%ld", number);
    CFRunLoopPerformBlock(where, mode, ^{
        if (where == loop)
            called("b", number, EARLY);
        else
            printf(" g%ld", number);
    });
    CFRunLoopWakeUp(where);
}

static void add_due_timer(CFStringRef mode)
{
    unsigned t = pick(TIMERS);
    CFRunLoopTimerRef old = timers[t];
    printf(" d%u", t);
    timers[t] = make_timer(t);
    due[t] = 1;
    CFRunLoopTimerSetNextFireDate(timers[t], past());
    CFRunLoopAddTimer(loop, timers[t], mode);
    CFRunLoopTimerInvalidate(old); /* last, because in this library a run ends when another thread empties its mode */
}

static void remove_something(CFStringRef mode)
{
    unsigned what = pick(3), s = pick(SOURCES), t = pick(TIMERS), o = pick(OBSERVERS);
    printf(" r%u.%u", what, what == 0 ? s : what == 1 ? t : o);
    if (what == 0)
        CFRunLoopRemoveSource(loop, sources[s], mode);
    else if (what == 1)
        CFRunLoopTimerInvalidate(timers[t]);
    else
        CFRunLoopRemoveObserver(loop, observers[o], mode);
    CFRunLoopWakeUp(loop);
}

/** Causes one event while the loop sleeps. Its last act wakes the loop, exactly once; from then on the loop
 * continues. */
static void happen(void)
{
    unsigned what = pick(12), s = pick(SOURCES);
    CFStringRef mode = CFRunLoopCopyCurrentMode(loop);
    printf(" E%d", CFRunLoopIsWaiting(loop));
    if (++events > MOST_EVENTS || calls > MOST_CALLS || what == 0) {
        printf(" stop");
        CFRunLoopStop(loop);
    } else if (what == 1) {
        printf(" wake");
        CFRunLoopWakeUp(loop);
    } else if (what < 4) {
        signal_source(s);
        CFRunLoopWakeUp(loop);
    } else if (what == 4)
        post(loop, pick(2) ? mode : kCFRunLoopCommonModes);
    else if (what == 5)
        post(second_loop, MODE);
    else if (what == 6) {
        CFRunLoopSourceSignal(guest);
        CFRunLoopWakeUp(second_loop);
    } else if (what == 7)
        remove_something(mode);
    else if (what == 8 && ready_ports() == 0)
        add_due_timer(mode);
    else if (life.ports > 0)
        change_port(0, pick((unsigned)life.ports), 0);
    CFRelease(mode);
}

static void *world(void *info)
{
    (void)info;
    while (!atomic_load(&over))
        if (is_quiet() && CFRunLoopIsWaiting(loop) && CFRunLoopIsWaiting(second_loop) && !atomic_load(&over)) {
            pthread_mutex_lock(&changing);
            happen();
            pthread_mutex_unlock(&changing);
        } else
            sched_yield();
    return NULL;
}

/* ---- The script ---- */

static void *script(void *seed)
{
    pthread_t other;
    memset(&life, 0, sizeof life);
    life.waits = life.clock = 1;
    life.ports = pick(3) == 0 ? 0 : 1 + (int)pick(PORTS);
    life.alike = life.ports > 1 && pick(2);
    life.deepest = life.ports == 0 && pick(2) ? 1 : 3;
    life.deep = life.deepest > 1;
    if (life.deep)
        life.untold = kCFRunLoopAllActivities & ~(kCFRunLoopEntry | kCFRunLoopExit);
    life.interval = pick(2) == 0 ? 1e9 : 0;
    loop = HERE;
    begin();
    add_everywhere(kCFRunLoopBeforeTimers | kCFRunLoopExit, -1000000, clock_ticks);
    fill_modes(); /* a run that sleeps in a mode emptied meanwhile is difference 10 */
    pthread_create(&other, NULL, world, NULL);
    for (int step = 0; step < STEPS; step++) {
        printf("%lu.%d:", (unsigned long)(uintptr_t)seed, step);
        calls = events = 0;
        for (int i = 0; i < 3; i++) {
            act();
            take_wakeup();
        }
        run_some_mode();
        take_wakeup();
        printf("\n");
    }
    atomic_store(&over, true);
    pthread_join(other, NULL);
    end();
    return NULL;
}

static void run_script(unsigned long seed)
{
    atomic_store(&over, true);
    second_thread = start_thread(run_second_loop);
    while (atomic_load(&over))
        sched_yield();
    while (!CFRunLoopIsWaiting(second_loop))
        sched_yield();
    pthread_create(&thread, NULL, script, (void *)(uintptr_t)seed);
    pthread_join(thread, NULL);
    CFRunLoopStop(second_loop);
    pthread_join(second_thread, NULL);
}

int main(int count, char **arguments) { return run_scripts(count, arguments, run_script); }
