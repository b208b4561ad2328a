/* metrics.c - how busy a loop is, how long its callbacks take and how late its timer is, in numbers. */
#include <RunLoop/RunLoop.h>
#include <RunLoopTrace/RunLoopTrace.h>
#include <stdio.h>

static void tick(RLRunLoopTimerRef timer, void *info)
{
    int *ticks = info;
    (void)timer;
    if (++*ticks % 10 == 0)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

static uint64_t callsOf(const RLTraceMetrics *metrics)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < kRLTraceKinds; kind++)
        sum += metrics->calls[kind];
    return sum;
}

/* `metrics -v` also prints times, which differ from run to run. */
int main(int count, char **arguments)
{
    (void)arguments;
    RLTraceMetrics before = {.version = 0}, metrics = {.version = 0};
    int ticks = 0;
    RLRunLoopTimerContext context = {.info = &ticks};
    if (!RLTraceMetricsStart())
        return 1;
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0.001, tick, &context);
    if (timer == NULL)
        return 1;

    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    RLRunLoopRun();
    RLTraceCopyMetrics(RLRunLoopGetCurrent(), &before);
    RLRunLoopRun();
    RLTraceCopyMetrics(RLRunLoopGetCurrent(), &metrics);
    RLTraceMetricsSubtract(&metrics, &before); /* the second run alone */
    printf("%d calls, %d of them to timers\n", (int)callsOf(&metrics), (int)metrics.calls[kRLRunLoopProbeTimer]);
    if (count > 1)
        printf("busy for %.1f %% of the time; the slowest call took %.1f us; half of them were late by up to %.1f us\n",
               100 - 100 * (double)metrics.slept / (double)metrics.elapsed, (double)metrics.callTimes.largest / 1e3,
               (double)RLTraceHistogramGetQuantile(&metrics.lateness, 0.5) / 1e3);
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
    return callsOf(&metrics) == 10 ? 0 : 1;
}
