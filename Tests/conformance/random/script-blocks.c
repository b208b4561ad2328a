/* script-blocks.c - random lives of sources, observers, blocks, timers and ports, each in the loop of its own
 * thread. Prints every callback and every result. A run sleeps only for events that have already happened, and
 * callbacks at thread exit are not compared. */
#include "acts.h"

enum { STEPS = 40 };

/** Causes one event in the mode that is about to wait, so that it does not wait long. */
static void end_the_wait(unsigned how, CFStringRef mode)
{
    unsigned p = pick(PORTS), t = pick(TIMERS);
    wakes++;
    if (woken || ready_ports() > 0 || due_timers() > 0 || calls > MOST_CALLS || how > 4)
        CFRunLoopStop(HERE);
    else if (how == 0)
        printf(" wake"), CFRunLoopWakeUp(HERE);
    else if (how < 3 && CFRunLoopContainsSource(HERE, ports[p], mode))
        write_port(p);
    else if (how > 2 && CFRunLoopContainsTimer(HERE, timers[t], mode)) {
        due[t] = 1;
        CFRunLoopTimerSetNextFireDate(timers[t], past());
    } else
        CFRunLoopStop(HERE);
}

static void warden(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer, (void)activity, (void)info;
    CFStringRef mode = CFRunLoopCopyCurrentMode(HERE);
    printf(" W");
    calls++;
    if (life.waits)
        end_the_wait(life.warden ? pick(10) : 9, mode);
    CFRelease(mode);
}

static void *script(void *seed)
{
    unsigned subject = (unsigned)((uintptr_t)seed % 6);
    memset(&life, 0, sizeof life);
    life.deepest = 3;
    life.waits = subject < 3;
    life.warden = subject == 1;
    life.due = subject == 3 || subject == 5;
    life.ports = subject >= 4 ? 1 + (int)pick(PORTS) : 0;
    life.alike = life.ports > 1 && pick(3);
    life.clock = life.waits || pick(2) == 0;
    life.interval = pick(2) == 0 ? 1e9 : 0;
    life.equals = pick(4) == 0;
    life.ties = pick(3) == 0;
    begin();
    add_everywhere(kCFRunLoopBeforeWaiting, 1000000, warden);
    if (life.clock)
        add_everywhere(kCFRunLoopBeforeTimers | kCFRunLoopExit, -1000000, clock_ticks);
    if (pick(2))
        CFRunLoopAddCommonMode(HERE, modes[pick(MODES)]);
    for (int step = 0; step < STEPS; step++) {
        printf("%lu.%d:", (unsigned long)(uintptr_t)seed, step);
        calls = 0;
        act();
        for (int i = 0; i < SOURCES; i++)
            printf(" %d-%d", scheduled[i], cancelled[i]);
        show_shares();
        printf("\n");
    }
    end();
    return NULL;
}

static void run_here(unsigned long seed) { script((void *)(uintptr_t)seed); }

static void run_script(unsigned long seed)
{
    pthread_t thread;
    pthread_create(&thread, NULL, script, (void *)(uintptr_t)seed);
    pthread_join(thread, NULL);
}

/** PROGRAM FIRST COUNT: of every sixteen scripts, one runs on a main thread. */
int main(int count, char **arguments)
{
    unsigned long first = strtoul(arguments[1], NULL, 10), behind = first + strtoul(arguments[2], NULL, 10);
    if (count != 3)
        return 2;
    for (unsigned long seed = first; seed < behind; seed++)
        if (seed % 16 == 0)
            run_in_process(seed, run_here);
    for (unsigned long seed = first; seed < behind; seed++)
        if (seed % 16 != 0)
            state = seed, run_script(seed);
    return 0;
}
