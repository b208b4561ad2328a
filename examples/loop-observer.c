/* loop-observer.c - what a run loop does, as its observer sees it (listing 3-1 of the guide).
 *
 * A thread adds an observer of all six activities and a repeating timer to its loop, and runs it for two ticks. */
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <stdio.h>

static const struct {
    RLRunLoopActivity activity;
    const char *words;
} activities[] = {
    {kRLRunLoopEntry, "entry: the loop starts to run"},
    {kRLRunLoopBeforeTimers, "  before timers: a new pass begins"},
    {kRLRunLoopBeforeSources, "  before sources: signalled sources are performed next"},
    {kRLRunLoopBeforeWaiting, "  before waiting: nothing to do, the thread goes to sleep"},
    {kRLRunLoopAfterWaiting, "  after waiting: something woke the thread"},
    {kRLRunLoopExit, "exit: the loop returns to its caller"},
};
enum { activityCount = sizeof activities / sizeof activities[0] };

typedef struct Log {
    int calls[activityCount]; /* how often each activity was seen */
    int ticks;
    int sleeps; /* how often the loop was idle at BeforeWaiting */
    RLRunLoopActivity first, last;
    RLRunLoopRunResult result;
    int observerIsFine;
} Log;

/* One callback for all activities; `activity` tells them apart. */
static void observe(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    Log *log = info;
    (void)observer;
    for (int i = 0; i < activityCount; i++) {
        if (activities[i].activity == activity) {
            puts(activities[i].words);
            log->calls[i]++;
        }
    }
    if (activity == kRLRunLoopBeforeWaiting && RLRunLoopIsIdleInMode(kRLRunLoopDefaultMode))
        log->sleeps++; /* not idle if a late timer is already due */
    if (log->first == 0)
        log->first = activity;
    log->last = activity;
}

static void tick(RLRunLoopTimerRef timer, void *info)
{
    Log *log = info;
    (void)timer;
    printf("    the timer fires: tick %d\n", ++log->ticks);
    if (log->ticks == 2)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

/* Checks what the observer reports about itself. */
static int checkObserver(RLRunLoopRef loop, RLRunLoopObserverRef observer, Log *log)
{
    RLRunLoopObserverContext context = {.version = 0};
    RLRunLoopObserverGetContext(observer, &context);
    return RLRunLoopObserverIsValid(observer) && RLRunLoopObserverDoesRepeat(observer) &&
           RLRunLoopObserverGetActivities(observer) == kRLRunLoopAllActivities &&
           RLRunLoopObserverGetOrder(observer) == 0 && context.info == log &&
           RLRunLoopContainsObserver(loop, observer, kRLRunLoopDefaultMode);
}

static void *threadMain(void *argument)
{
    Log *log = argument;
    RLRunLoopRef loop = RLRunLoopGetCurrent(); /* created on first use; Get rule: must not be released */

    RLRunLoopObserverContext observerContext = {.info = log};
    RLRunLoopObserverRef observer =
        RLRunLoopObserverCreate(kRLAllocatorDefault, kRLRunLoopAllActivities, 1, 0, observe, &observerContext);
    RLRunLoopTimerContext timerContext = {.info = log};
    RLRunLoopTimerRef timer =
        RLRunLoopTimerCreate(kRLAllocatorDefault, RLAbsoluteTimeGetCurrent() + 0.1, 0.1, 0, 0, tick, &timerContext);

    if (observer != NULL && timer != NULL) {
        RLRunLoopAddObserver(loop, observer, kRLRunLoopDefaultMode);
        /* An observer alone does not keep a loop running: without the timer the run would finish immediately. */
        RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
        log->observerIsFine = checkObserver(loop, observer, log);
        log->result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0);
        RLRunLoopRemoveObserver(loop, observer, kRLRunLoopDefaultMode); /* it could be added again */
    }
    if (timer != NULL) {
        RLRunLoopTimerInvalidate(timer);
        RLRelease(timer); /* Create rule: owned here. The loop held its own reference while the timer was in it. */
    }
    if (observer != NULL) {
        RLRunLoopObserverInvalidate(observer); /* permanent; also removes it from the loop */
        RLRelease(observer);
    }
    return NULL;
}

int main(void)
{
    Log log = {0}; /* written by the thread, read here after the join */
    pthread_t thread;
    if (pthread_create(&thread, NULL, threadMain, &log) != 0 || pthread_join(thread, NULL) != 0) {
        fputs("loop-observer: cannot run a thread\n", stderr);
        return 1;
    }

    int ok = log.result == kRLRunLoopRunStopped && log.ticks == 2 && log.observerIsFine;
    for (int i = 0; i < activityCount; i++)
        ok = ok && log.calls[i] > 0;
    ok = ok && log.sleeps <= log.calls[3];
    ok = ok && log.first == kRLRunLoopEntry && log.last == kRLRunLoopExit;
    puts(ok ? "all six activities were observed, from entry to exit" : "something is missing");
    return ok ? 0 : 1;
}
