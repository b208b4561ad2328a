#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "record.h"

#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void observe(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    LoopRecord *record = info;
    (void)observer;
    switch (activity) {
    case kRLRunLoopBeforeTimers:
        record->passes++;
        break;
    case kRLRunLoopBeforeWaiting:
        record->sleepsSince = now();
        break;
    case kRLRunLoopAfterWaiting:
        record->wakeUps++;
        record->asleep += now() - record->sleepsSince;
        break;
    }
}

bool loopRecordBegin(LoopRecord *record)
{
    /* Observe no more activities than needed: each one costs a callback in every pass. */
    const RLOptionFlags activities = kRLRunLoopBeforeTimers | kRLRunLoopBeforeWaiting | kRLRunLoopAfterWaiting;
    RLRunLoopObserverContext context = {.info = record};
    *record = (LoopRecord){.observer = NULL};
    record->observer = RLRunLoopObserverCreate(kRLAllocatorDefault, activities, true, 0, observe, &context);
    if (record->observer == NULL)
        return false;
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), record->observer, kRLRunLoopCommonModes);
    return true;
}

void loopRecordEnd(LoopRecord *record)
{
    if (record->observer == NULL)
        return;
    RLRunLoopObserverInvalidate(record->observer); /* removes it from the loop; it is not called again */
    RLRelease(record->observer);
    record->observer = NULL;
}
