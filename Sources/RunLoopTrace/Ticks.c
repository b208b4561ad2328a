/* Implements Ticks.h. */
#include "Ticks.h"

uint64_t tickLength;
static uint64_t firstTicks, firstNanoseconds;

/* Reads both clocks at one moment; repeats this if the thread was interrupted in between. */
static uint64_t readBoth(uint64_t *ticks)
{
    uint64_t now = 0, before, after;
    for (int attempt = 0; attempt < 10; attempt++) {
        before = ticksNow();
        now = traceClock();
        after = ticksNow();
        *ticks = before + (after - before) / 2;
        if (after - before < 1000)
            break;
    }
    return now;
}

/* Measures the length of a tick over at least 50 µs, so that reading the clocks 20 ns apart causes an error of less than one part in a
   thousand. */
void ticksMeasure(void)
{
    if (__atomic_load_n(&tickLength, __ATOMIC_RELAXED) != 0)
        return;
    uint64_t ticks, now = readBoth(&ticks);
    while (ticks <= firstTicks || now - firstNanoseconds < 50000) {
        /* The counter has restarted from 0, because the machine was suspended so deeply. */
        if (ticks < firstTicks) {
            firstTicks = ticks;
            firstNanoseconds = now;
        }
        now = readBoth(&ticks);
    }
    uint64_t length = (uint64_t)(((unsigned __int128)(now - firstNanoseconds) << 32) / (ticks - firstTicks));
    __atomic_store_n(&tickLength, length, __ATOMIC_RELAXED);
}

void ticksBegin(void) { firstNanoseconds = readBoth(&firstTicks); }
