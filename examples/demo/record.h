/* record.h - an observer that records what a loop did: passes, wake-ups, and how long it slept. */
#ifndef RECORD_H
#define RECORD_H

#include <RunLoop/RunLoop.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct LoopRecord {
    uint64_t passes;  /* BeforeTimers begins a pass */
    uint64_t wakeUps; /* AfterWaiting ends a sleep */
    double asleep;    /* seconds between BeforeWaiting and AfterWaiting */
    double sleepsSince;
    RLRunLoopObserverRef observer; /* owned until loopRecordEnd */
} LoopRecord;

/* Call on the loop's thread, before and after its run. Do not move the record in between: the observer points to it. */
bool loopRecordBegin(LoopRecord *record);
void loopRecordEnd(LoopRecord *record);

#endif
