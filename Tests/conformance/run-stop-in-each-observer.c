/* Semantics 1: after Stop in an Entry observer nothing else happens; in other observers the pass ends without a
 * sleep. */
#include "trace.h"

static CFRunLoopActivity moment;

static void stop_at(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer, (void)info;
    note("%s", activity_name(activity));
    if (activity == moment)
        CFRunLoopStop(HERE);
}

static void test(void)
{
    static Item a = {.name = "A"};
    static const CFRunLoopActivity moments[] = {kCFRunLoopEntry, kCFRunLoopBeforeTimers, kCFRunLoopBeforeSources,
                                                kCFRunLoopBeforeWaiting};
    add_source(&a, 0);
    CFRunLoopAddObserver(HERE, CFRunLoopObserverCreate(NULL, kCFRunLoopAllActivities, true, 0, stop_at, NULL), MODE);
    for (int i = 0; i < 4; i++) {
        moment = moments[i];
        run("nothing to do", MODE, AGES, false);
    }
    for (int i = 0; i < 4; i++) {
        moment = moments[i];
        CFRunLoopSourceSignal(a.source);
        run("source signalled", MODE, AGES, false);
    }
}

int main(void) { return on_thread(test); }
