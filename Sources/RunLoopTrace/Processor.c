/* Processor.h */
#include "Processor.h"
#include "Words.h"
#include <stdio.h>
#include <time.h>

/* Returns how much of `elapsed` a thread has waited for a processor. The kernel adds a wait to its sum only when the wait ends. Until then,
   a thread that is ready to run is taken to have waited whenever it did not run; that time is not counted again when the kernel adds it. */
uint64_t processorWaited(struct ProcessorWaits *waits, const struct ProcessorTimes *now, uint64_t elapsed)
{
    if (waits->last.state == 0) {
        *waits = (struct ProcessorWaits){.last = *now, .settled = now->waited};
        return now->state == 'R' ? elapsed : 0;
    }
    uint64_t ran = now->ran - waits->last.ran, idle = ran < elapsed ? elapsed - ran : 0;
    uint64_t waited = now->waited > waits->settled ? now->waited - waits->settled : 0;
    if (waited > idle || now->state == 'R')
        waited = idle;
    waits->known += waited;
    waits->settled = waits->settled + waited > now->waited ? waits->settled + waited : now->waited;
    waits->last = *now;
    return waited;
}

/* Returns a thread's clock, computed from its thread ID as pthread_getcpuclockid(3) does. Unlike a file in /proc, the clock includes the
   time that the thread has run until now. */
static clockid_t clockOfThread(int thread) { return (clockid_t)(~(unsigned)thread << 3 | 6); }

struct ProcessorTimes processorTimes(int thread)
{
    char path[64];
    struct ProcessorTimes times = {.state = stateOfThread(thread)};
    struct timespec ran;
    unsigned long long waited;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%*u %llu", &waited) == 1)
            times.waited = waited;
        fclose(file);
    }
    if (clock_gettime(clockOfThread(thread), &ran) == 0)
        times.ran = (uint64_t)ran.tv_sec * 1000000000 + (uint64_t)ran.tv_nsec;
    return times;
}
