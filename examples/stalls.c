/* stalls.c - a watchdog that names a callback that blocks its loop for too long, and explains what the loop is
 * doing. */
#define _POSIX_C_SOURCE 200809L
#include <RunLoopTrace/RunLoopTrace.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* What the watchdog has found. */
struct Found {
    RLRunLoopRef rl;
    char name[32];
    int isTimer, isExplained, count;
    sem_t isFound;
};

/* Called on the watchdog's thread, while the callback is still running. */
static void stalled(const RLStall *stall, void *info)
{
    struct Found *found = info;
    snprintf(found->name, sizeof found->name, "%s", stall->functionName ? stall->functionName : "?");
    found->isTimer = stall->kind == kRLRunLoopProbeTimer;
    found->count++;

    /* In words: "Thread 4711 (stalls), the main thread, has been in the timer callback slow for 52 ms, …" */
    RLStringRef text = RLRunLoopCopyExplanation(found->rl);
    if (text != NULL) {
        found->isExplained = strstr(RLStringGetCStringPtr(text, kRLStringEncodingUTF8), found->name) != NULL;
        RLRelease(text);
    }
    sem_post(&found->isFound);
}

static void quick(RLRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }

/* A bug: a callback that waits, and so delays all other callbacks of its loop. It waits for ten seconds at most. */
static void slow(RLRunLoopTimerRef timer, void *info)
{
    struct Found *found = info;
    struct timespec limit;
    (void)timer;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 10;
    while (sem_timedwait(&found->isFound, &limit) != 0 && time(NULL) < limit.tv_sec) {}
    RLRunLoopStop(RLRunLoopGetCurrent());
}

int main(void)
{
    static struct Found found;
    RLRunLoopTimerContext context = {.info = &found};
    RLRunLoopTimerRef timers[] = {RLRunLoopTimerCreateWithDelay(NULL, 0.01, 0.01, quick, NULL),
                                  RLRunLoopTimerCreateWithDelay(NULL, 0.05, 0, slow, &context)};
    found.rl = RLRunLoopGetCurrent();
    if (timers[0] == NULL || timers[1] == NULL || sem_init(&found.isFound, 0, 0) != 0) {
        perror("stalls");
        return 1;
    }

    /* More than 50 ms is too long. Because of the signal, stall->text ends with a backtrace. At any other time,
       `runloop explain` and SIGUSR2 ask the program for an explanation. */
    if (!RLStallWatchSetSignal(SIGUSR1) || !RLStallWatchStart(0.05, stalled, &found) || !RLExplainStart(SIGUSR2)) {
        perror("stalls: watch");
        return 1;
    }
    for (int i = 0; i < 2; i++)
        RLRunLoopAddTimer(found.rl, timers[i], kRLRunLoopDefaultMode);
    RLRunLoopRun();
    RLStallWatchStop(); /* waits for stalled(), if it is running */

    printf("stalls: %d\n", found.count);
    printf("it was %s(), called by a timer: %s\n", found.name, found.isTimer ? "yes" : "no");
    printf("the explanation of the loop names it: %s\n", found.isExplained ? "yes" : "no");
    for (int i = 0; i < 2; i++) {
        RLRunLoopTimerInvalidate(timers[i]);
        RLRelease(timers[i]);
    }
    return found.count == 1 ? 0 : 1;
}
