/* RLTraceMetrics.h, used by a program linked with the library. Prints what is wrong. */
#include <RunLoop/RunLoop.h>
#include <RunLoopTrace/RunLoopTrace.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef WITHOUT_COMPANION
/* For ThreadSanitizer this program is compiled together with Metrics.c and the probe, without the rest of the library. */
#include "../../Sources/RunLoopTrace/Companion.h"
THREAD_LOCAL int isCompanionThread;
int hasCounter;
#endif

/* How far this thread's clock is ahead, as if the thread had been interrupted between reading a value and reading
 * the clock. */
static _Thread_local long ahead;
#ifndef WITHOUT_COMPANION
int clock_gettime(clockid_t clock, struct timespec *time)
{
    long result = syscall(SYS_clock_gettime, clock, time);
    time->tv_sec += (time->tv_nsec + ahead) / 1000000000;
    time->tv_nsec = (time->tv_nsec + ahead) % 1000000000;
    return (int)result;
}
#endif

#define MODE kRLRunLoopDefaultMode
#define CHECK(condition) ((condition) ? (void)0 : (void)(printf("line %d: %s\n", __LINE__, #condition), failures++))

static int failures;
static RLRunLoopRef loop;

static uint64_t countOf(const RLTraceHistogram *histogram)
{
    uint64_t count = 0;
    for (int bucket = 0; bucket < kRLTraceBuckets; bucket++)
        count += histogram->buckets[bucket];
    return count;
}

static void nothing(void *info) { (void)info; }
static void stop(void *info)
{
    (void)info;
    RLRunLoopStop(RLRunLoopGetCurrent());
}
static void tick(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    if (++*(int *)info == 3)
        stop(NULL);
}
static void nested(void *info)
{
    (void)info;
    RLRunLoopPostFunction(RLRunLoopGetCurrent(), RLSTR("nested"), stop, NULL);
    RLRunLoopRunInMode(RLSTR("nested"), 60, 0);
}

static void testCallbacks(void)
{
    RLTraceMetrics before = {0}, metrics = {0};
    int ticks = 0;
    RLRunLoopTimerContext context = {.info = &ticks};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0.001, tick, &context);
    RLRunLoopAddTimer(loop, timer, MODE);
    RLRunLoopRun();
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
    CHECK(RLTraceCopyMetrics(loop, &before));
    CHECK(before.version == 0 && before.calls[kRLRunLoopProbeTimer] == 3);
    CHECK(countOf(&before.lateness) == 3 && countOf(&before.callTimes) == 3);
    CHECK(before.passes >= 1 && before.slept < before.elapsed && (before.sleeps > 0) == (before.slept > 0));
    CHECK(before.lateness.largest >= RLTraceHistogramGetQuantile(&before.lateness, 0.5));
    CHECK(before.callTimes.sum >= before.callTimes.largest && before.callTimes.largest > 0);

    for (int number = 0; number < 10; number++)
        RLRunLoopPostFunction(loop, MODE, nothing, NULL);
    RLRunLoopPostFunction(loop, MODE, nested, NULL);
    RLRunLoopRunInMode(MODE, 0, 0);
    CHECK(RLTraceCopyMetrics(loop, &metrics) && metrics.longestBatch == 11);
    RLTraceMetricsSubtract(&metrics, &before);
    CHECK(metrics.calls[kRLRunLoopProbeFunction] == 12 && metrics.calls[kRLRunLoopProbeTimer] == 0);
    CHECK(countOf(&metrics.callTimes) == 12 && countOf(&metrics.lateness) == 0 && metrics.lateness.largest == 0);
    CHECK(metrics.wakeUpsAsked == 0 && RLTraceHistogramGetQuantile(&metrics.lateness, 0.99) == 0);
}

static int isDone;
static void *look(void *info)
{
    RLTraceMetrics last = {0}, now = {0};
    (void)info;
    while (!__atomic_load_n(&isDone, __ATOMIC_ACQUIRE)) {
        CHECK(RLTraceCopyMetrics(loop, &now));
        CHECK(now.passes >= last.passes && now.slept >= last.slept && now.elapsed >= last.elapsed);
        CHECK(now.sleeps >= last.sleeps && now.callTimes.sum >= last.callTimes.sum);
        last = now;
    }
    return NULL;
}

/* Waits for the next sleep of the loop. */
static void awaitSleep(uint64_t *sleeps)
{
    RLTraceMetrics metrics = {0};
    do {
        sched_yield();
        CHECK(RLTraceCopyMetrics(loop, &metrics));
    } while (metrics.sleeps == *sleeps || !RLRunLoopIsWaiting(loop));
    *sleeps = metrics.sleeps;
}

/* While the loop sleeps, metrics report that it has slept longer than it has. */
static void copyWithWrongClock(void)
{
    RLTraceMetrics first = {0}, second = {0};
    ahead = 5000000;
    CHECK(RLTraceCopyMetrics(loop, &first));
    ahead = 0;
    CHECK(RLTraceCopyMetrics(loop, &second));
    CHECK(second.slept >= first.slept && second.elapsed >= first.elapsed);
    /* This cannot be known of files that other processes read. */
    second.slept = first.slept - 1;
    RLTraceMetricsSubtract(&second, &first);
    CHECK(second.slept == 0);
}

/* Wakes the loop three times without work, then stops it; also runs its own loop. */
static void *wake(void *info)
{
    uint64_t sleeps = *(uint64_t *)info;
    RLTraceMetrics before = {0}, mine = {0};
    RLRunLoopPostFunction(RLRunLoopGetCurrent(), MODE, nothing, NULL);
    RLRunLoopRunInMode(MODE, 0, 0);
    CHECK(RLTraceCopyMetrics(RLRunLoopGetCurrent(), &before) && before.calls[kRLRunLoopProbeFunction] == 1);
    RLRunLoopPostFunction(RLRunLoopGetCurrent(), MODE, nothing, NULL);
    for (int number = 0; number < 4; number++) {
        awaitSleep(&sleeps);
        copyWithWrongClock();
        if (number < 3)
            RLRunLoopWakeUp(loop);
        else
            RLRunLoopPostFunction(loop, MODE, stop, NULL);
    }
    CHECK(RLTraceCopyMetrics(RLRunLoopGetCurrent(), &mine));
    RLTraceMetricsSubtract(&mine, &before);
    CHECK(mine.wakeUpsAsked == 4 && mine.wakeUpsMade == 4);
    return NULL;
}

static void testThreads(void)
{
    pthread_t looking, waking;
    RLTraceMetrics before = {0}, metrics = {0};
    RLRunLoopSourceContext context = {0};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(loop, source, MODE);
    CHECK(RLTraceCopyMetrics(loop, &before));
    pthread_create(&looking, NULL, look, NULL);
    pthread_create(&waking, NULL, wake, &before.sleeps);
    RLRunLoopRun();
    pthread_join(waking, NULL);
    __atomic_store_n(&isDone, 1, __ATOMIC_RELEASE);
    pthread_join(looking, NULL);
    RLRunLoopSourceInvalidate(source);
    RLRelease(source);
    CHECK(RLTraceCopyMetrics(loop, &metrics));
    RLTraceMetricsSubtract(&metrics, &before);
    CHECK(metrics.woken == 4 && metrics.spurious == 3 && metrics.sleeps >= 4);
    /* The sum includes the thread that has exited. */
    CHECK(RLTraceCopyMetrics(NULL, &metrics) && metrics.wakeUpsAsked >= 4 && metrics.wakeUpsMade == 4);
}

static void *callOnce(void *info)
{
    RLRunLoopPostFunction(RLRunLoopGetCurrent(), MODE, nothing, NULL);
    RLRunLoopRunInMode(MODE, 0, 0);
    pthread_barrier_wait(info);
    return NULL;
}

/* All threads at the same time: more than there is room for initially. */
static void testMany(void)
{
    enum { THREADS = 150 };
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_attr_t small;
    RLTraceMetrics before = {0}, metrics = {0};
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 262144);
    CHECK(RLTraceCopyMetrics(NULL, &before));
    for (int index = 0; index < THREADS; index++)
        if (pthread_create(&threads[index], &small, callOnce, &barrier) != 0)
            _exit(1);
    pthread_barrier_wait(&barrier);
    CHECK(RLTraceCopyMetrics(NULL, &metrics));
    RLTraceMetricsSubtract(&metrics, &before);
    CHECK(metrics.calls[kRLRunLoopProbeFunction] == THREADS);
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
}

static void testChild(void)
{
    RLTraceMetrics metrics = {0};
    int status;
    pid_t child = fork();
    if (child == 0) {
        CHECK(!RLTraceCopyMetrics(NULL, &metrics) && metrics.passes == 0);
        RLRunLoopPostFunction(loop, MODE, nothing, NULL);
        RLRunLoopRunInMode(MODE, 0, 0);
        CHECK(RLTraceCopyMetrics(loop, &metrics) && metrics.calls[kRLRunLoopProbeFunction] == 1 && metrics.passes == 1);
        fflush(stdout);
        _exit(failures != 0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Each duration is in its bucket, whose upper end is less than a quarter away. */
static void testQuantiles(void)
{
    RLTraceHistogram histogram;
    for (int bucket = 0; bucket < kRLTraceBuckets; bucket++) {
        memset(&histogram, 0, sizeof histogram);
        histogram.buckets[bucket] = 1;
        histogram.largest = UINT64_MAX;
        uint64_t value = RLTraceHistogramGetQuantile(&histogram, 0.5);
        uint64_t above = (uint64_t)(4 + (bucket + 1) % 4) << ((bucket + 1) / 4 - (bucket >= 3));
        if (bucket >= 4 && bucket < kRLTraceBuckets - 1)
            CHECK(value == above - 1);
        else
            CHECK(value == (bucket < 4 ? (uint64_t)bucket : UINT64_MAX));
    }
    memset(&histogram, 0, sizeof histogram);
    histogram.buckets[10] = 98;
    histogram.buckets[40] = 1;
    histogram.buckets[50] = 1;
    histogram.largest = 13000;
    CHECK(RLTraceHistogramGetQuantile(&histogram, 0.5) == RLTraceHistogramGetQuantile(&histogram, 0));
    CHECK(RLTraceHistogramGetQuantile(&histogram, 0.99) > RLTraceHistogramGetQuantile(&histogram, 0.98));
    CHECK(RLTraceHistogramGetQuantile(&histogram, 1) == 13000);
}

static void countReport(const char *message, void *info)
{
    CHECK(strstr(message, "version must be 0") != NULL);
    ++*(int *)info;
}

/* A struct of a later version is reported as misuse, and stays as it is. */
static void testVersions(void)
{
    RLTraceMetrics later, same, known = {0};
    int reports = 0;
    memset(&later, 0x55, sizeof later);
    later.version = 1;
    same = later;
    RLSetErrorHandler(countReport, &reports);
    errno = 0;
    CHECK(!RLTraceCopyMetrics(NULL, &later) && errno == EINVAL && reports == 1);
    CHECK(memcmp(&later, &same, sizeof later) == 0);
    RLTraceMetricsSubtract(&later, &known);
    CHECK(reports == 2 && memcmp(&later, &same, sizeof later) == 0);
    CHECK(RLTraceCopyMetrics(NULL, &known));
    same = known;
    RLTraceMetricsSubtract(&known, &later);
    CHECK(reports == 3 && memcmp(&known, &same, sizeof known) == 0);
    RLSetErrorHandler(NULL, NULL);
}

int main(void)
{
    RLTraceMetrics metrics = {0};
    loop = RLRunLoopGetCurrent();
    CHECK(!RLTraceCopyMetrics(loop, &metrics) && !RLTraceCopyMetrics(NULL, &metrics));
    CHECK(RLTraceMetricsStart() && RLTraceMetricsStart());
    CHECK(!RLTraceCopyMetrics(loop, &metrics));
    testQuantiles();
    testCallbacks();
    testThreads();
    testMany();
    testChild();
    testVersions();
    return failures != 0;
}
