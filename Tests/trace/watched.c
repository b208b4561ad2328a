/* Threads that run loops while all of them are explained and watched: compiled together with the companion, for
 * ThreadSanitizer. */
#include <RunLoopTrace/RunLoopTrace.h>
#include <pthread.h>
#include <stdio.h>

#define MODE kRLRunLoopDefaultMode

static int stalls;

static void stalled(const RLStall *stall, void *info)
{
    (void)stall, (void)info;
    __atomic_add_fetch(&stalls, 1, __ATOMIC_RELAXED);
}

static void tick(RLRunLoopTimerRef timer, void *info)
{
    int *left = info;
    (void)timer;
    if (--*left == 0)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

static void nothing(void *info) { (void)info; }

static void *run(void *info)
{
    int left = 30;
    RLRunLoopTimerContext context = {.info = &left};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.0005, 0.0005, tick, &context);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    RLRunLoopRun();
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
    return info;
}

/* Lasts until it is named. */
static void slow(void *info)
{
    (void)info;
    while (__atomic_load_n(&stalls, __ATOMIC_RELAXED) == 0)
        continue;
}

int main(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    if (!RLExplainStart(0) || !RLStallWatchStart(0.005, stalled, NULL))
        return 1;
    for (int round = 0; round < 3; round++) {
        pthread_t threads[3];
        for (int index = 0; index < 3; index++)
            pthread_create(&threads[index], NULL, run, NULL);
        for (int count = 0; count < 3; count++) {
            RLRunLoopPostFunction(loop, MODE, nothing, NULL);
            RLRunLoopRunInMode(MODE, 0, 0);
            RLRelease(RLRunLoopCopyExplanation(loop));
        }
        for (int index = 0; index < 3; index++)
            pthread_join(threads[index], NULL);
    }
    RLRunLoopPostFunction(loop, MODE, slow, NULL);
    RLRunLoopRun();
    RLStallWatchStop();
    printf("named: %s\n", stalls > 0 ? "yes" : "no");
    return 0;
}
