/* Counts what the run loops of a process do: see RLTraceMetrics.h.

   Each thread has its own counters, in a file or memory that is mapped at its first event. Counting an event takes a few additions and, for
   callbacks, two reads of a counter: no lock, no allocation, no system call. An event that a signal handler sends may go uncounted if the
   interrupted thread is just counting one of that kind. */
#include "Metrics.h"
#include "Companion.h"
#include "Files.h"
#include "Ticks.h"
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static THREAD_LOCAL struct MetricsFile *mine;
static THREAD_LOCAL enum { NONE, BEING_MADE, COUNTING, FAILED } state;
static THREAD_LOCAL int destructorCalls;

/* A thread that is counted, or a free slot. */
struct Counted {
    struct MetricsFile *file;
    uint64_t elapsed, slept; /* what was last reported for the thread */
};

/* All threads that are counted. A signal handler may add its thread, so the lock is held with signals blocked. */
static struct Counted *threads;
static size_t room;
static RLTraceMetrics ofEndedThreads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t threadEnd;
static int hasEndedThreads, hasStarted;
/* The address range of librunloop. */
static uintptr_t libraryStart, libraryEnd;

static void lockThreads(sigset_t *blocked)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, blocked);
    pthread_mutex_lock(&lock);
}

static void unlockThreads(const sigset_t *blocked)
{
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, blocked, NULL);
}

/* --- threads -------------------------------------------------------------------------------------------------------------- */

static struct MetricsFile *makeFile(void)
{
    if (traceHasDirectory())
        return traceMapFile(".metrics", sizeof(struct MetricsFile));
    void *mapped = mmap(NULL, sizeof(struct MetricsFile), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* Doubles the room for threads. By mmap(), because a signal handler may not call realloc(). */
static void makeRoom(void)
{
    size_t more = room > 0 ? room * 2 : 128;
    void *mapped = mmap(NULL, more * sizeof *threads, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return;
    if (room > 0) {
        memcpy(mapped, threads, room * sizeof *threads);
        munmap(threads, room * sizeof *threads);
    }
    threads = mapped;
    room = more;
}

/* Adds a thread to the list. If there is no memory for that, the thread is counted in its file alone. */
static void enter(struct MetricsFile *file)
{
    sigset_t blocked;
    lockThreads(&blocked);
    size_t index = 0;
    while (index < room && threads[index].file != NULL)
        index++;
    if (index == room)
        makeRoom();
    if (index < room)
        threads[index] = (struct Counted){.file = file};
    unlockThreads(&blocked);
}

static int makeMine(void)
{
    int saved = errno;
    state = BEING_MADE;
    struct MetricsFile *new = makeFile();
    if (new != NULL) {
        ticksMeasure();
        new->size = sizeof *new;
        new->process = getpid();
        new->thread = gettid();
        new->began = new->last = clockNow();
        traceReadName("/proc/self/comm", new->processName);
        traceReadName("/proc/thread-self/comm", new->threadName);
        /* Written last: a reader that sees the magic number sees the rest. */
        __atomic_store_n(&new->magic, METRICS_MAGIC, __ATOMIC_RELEASE);
        pthread_setspecific(threadEnd, new);
        enter(new);
    }
    mine = new;
    state = new ? COUNTING : FAILED;
    errno = saved;
    return state == COUNTING;
}

static inline int isCounting(void) { return state == COUNTING || (state == NONE && makeMine()); }

/* Adds a thread's metrics to a sum. If the thread had woken or exited before the clock is read here but had not recorded it yet, its sleep
   is counted as too long. The largest values are kept, so that later sums are not smaller. */
static void addThread(RLTraceMetrics *sum, struct Counted *thread)
{
    struct MetricsFile copy;
    RLTraceMetrics metrics;
    uint64_t now = 0;
    for (int attempt = 0; attempt < 10; attempt++) {
        copyFile(thread->file, &copy);
        now = clockNow();
        if (get(&thread->file->sleep) == copy.sleep && get(&thread->file->ended) == copy.ended)
            break;
    }
    metricsRead(&copy, now, &metrics);
    keepLargest(&thread->elapsed, metrics.elapsed);
    keepLargest(&thread->slept, metrics.slept);
    metrics.elapsed = thread->elapsed;
    metrics.slept = thread->slept;
    metricsAdd(sum, &metrics);
}

/* Called twice: another such destructor tears down the thread's loop, and the callbacks that this calls are to be counted, too. */
static void endThread(void *mapped)
{
    sigset_t blocked;
    struct MetricsFile *file = mapped;
    if (destructorCalls++ == 0) {
        pthread_setspecific(threadEnd, mapped);
        return;
    }
    mine = NULL;
    state = FAILED;
    lockThreads(&blocked);
    put(&file->ended, clockNow());
    for (size_t index = 0; index < room; index++)
        if (threads[index].file == file) {
            addThread(&ofEndedThreads, &threads[index]);
            threads[index].file = NULL;
            hasEndedThreads = 1;
        }
    unlockThreads(&blocked);
    munmap(file, sizeof *file);
}

/* In a child of fork(): the files are the parent's, and its other threads do not exist here. */
static void forgetInChild(void)
{
    pthread_mutex_init(&lock, NULL);
    for (size_t index = 0; index < room; index++)
        if (threads[index].file != NULL) {
            munmap(threads[index].file, sizeof *threads[index].file);
            threads[index].file = NULL;
        }
    memset(&ofEndedThreads, 0, sizeof ofEndedThreads);
    hasEndedThreads = 0;
    mine = NULL;
    state = NONE;
    destructorCalls = 0;
}

/* --- counting ------------------------------------------------------------------------------------------------------------- */

static void countDuration(RLTraceHistogram *histogram, uint64_t nanoseconds)
{
    count(&histogram->sum, nanoseconds);
    keepLargest(&histogram->largest, nanoseconds);
    count(&histogram->buckets[histogramBucket(nanoseconds)], 1);
}

/* The current date, in seconds since 2001. */
static double dateNow(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)(time.tv_sec - 978307200) + (double)time.tv_nsec * 1e-9;
}

static void countLateness(RLRunLoopTimerRef timer)
{
    double late = dateNow() - RLRunLoopTimerGetNextFireDate(timer);
    countDuration(&mine->metrics.lateness, late > 0 && late < 1e9 ? (uint64_t)(late * 1e9) : 0);
}

/* Whether a callback is librunloop's own. Such a callback is not counted; those that it calls are. */
static inline int isOurs(const struct ProbeEvent *event)
{
    uintptr_t function = (uintptr_t)event->function;
    return function >= libraryStart && function < libraryEnd;
}

static void willCall(const struct ProbeEvent *event)
{
    if (isOurs(event) || !isCounting())
        return;
    uint64_t depth = get(&mine->depth);
    count(&mine->metrics.calls[event->kind & 15], 1);
    if (event->kind != kRLRunLoopProbeObserver)
        put(&mine->hasCalled, 1);
    if (event->kind == kRLRunLoopProbeTimer)
        countLateness((RLRunLoopTimerRef)(uintptr_t)event->object);
    put(&mine->depth, depth + 1);
    if (depth >= METRICS_DEEPEST)
        return;
    if (event->kind == kRLRunLoopProbeFunction) {
        count(&mine->functions[depth], 1);
        keepLargest(&mine->metrics.longestBatch, get(&mine->functions[depth]));
    }
    put(&mine->starts[depth], ticksNow());
}

/* Ignores the end of a callback whose beginning was not seen because counting started during it. */
static void didCall(const struct ProbeEvent *event)
{
    uint64_t ticks = ticksNow();
    if (isOurs(event) || state != COUNTING || get(&mine->depth) == 0)
        return;
    uint64_t depth = get(&mine->depth) - 1;
    put(&mine->depth, depth);
    if (depth < METRICS_DEEPEST)
        countDuration(&mine->metrics.callTimes, ticksToNanoseconds(ticks - get(&mine->starts[depth])));
}

static void willPass(const struct ProbeEvent *event)
{
    if (!isCounting())
        return;
    uint64_t depth = get(&mine->depth);
    put(&mine->loop, (uintptr_t)event->object);
    count(&mine->metrics.passes, 1);
    if (depth < METRICS_DEEPEST)
        put(&mine->functions[depth], 0);
}

static void willSleep(const struct ProbeEvent *event)
{
    (void)event;
    if (!isCounting())
        return;
    uint64_t now = clockNow();
    if (get(&mine->isWoken) && !get(&mine->hasCalled))
        count(&mine->metrics.spurious, 1);
    count(&mine->metrics.sleeps, 1);
    put(&mine->last, now);
    put(&mine->sleep, ((get(&mine->sleep) >> 1) - now) << 1 | 1);
}

static void didSleep(const struct ProbeEvent *event)
{
    if (state != COUNTING || (get(&mine->sleep) & 1) == 0)
        return;
    uint64_t now = clockNow();
    put(&mine->sleep, ((get(&mine->sleep) >> 1) + now) << 1);
    put(&mine->last, now);
    count(&mine->metrics.woken, event->detail != kRLRunLoopProbeByItself);
    put(&mine->isWoken, event->detail == kRLRunLoopProbeWokenUp);
    put(&mine->hasCalled, 0);
}

static void sent(const struct ProbeEvent *event)
{
    if (!isCounting())
        return;
    int isOwn = event->kind == kRLRunLoopProbeFunction && (uintptr_t)event->object == get(&mine->loop);
    if (event->kind == kRLRunLoopProbeWake)
        count(&mine->metrics.wakeUpsMade, 1);
    else if (event->kind == kRLRunLoopProbeWakeUp || event->kind == kRLRunLoopProbePort ||
             (event->kind == kRLRunLoopProbeFunction && !isOwn))
        count(&mine->metrics.wakeUpsAsked, 1);
}

/* The exiting thread has counted up to now. For other threads, only the time of their last sleep is known. */
__attribute__((destructor)) static void end(void)
{
    if (mine != NULL)
        put(&mine->ended, clockNow());
}

static int findLibrary(struct dl_phdr_info *its, size_t size, void *info)
{
    uintptr_t start = UINTPTR_MAX, end = 0, function = (uintptr_t)RLRunLoopSetProbe;
    (void)size, (void)info;
    for (int index = 0; index < its->dlpi_phnum; index++)
        if (its->dlpi_phdr[index].p_type == PT_LOAD) {
            uintptr_t first = its->dlpi_addr + its->dlpi_phdr[index].p_vaddr;
            uintptr_t last = first + its->dlpi_phdr[index].p_memsz;
            start = first < start ? first : start;
            end = last > end ? last : end;
        }
    if (function < start || function >= end)
        return 0;
    libraryStart = start;
    libraryEnd = end;
    return 1;
}

/* --- for the program ------------------------------------------------------------------------------------------------------ */

RLBoolean RLTraceMetricsStart(void)
{
    static const struct ProbePart part = {willCall, didCall, willSleep, didSleep, sent, NULL, NULL, willPass};
    sigset_t blocked;
    lockThreads(&blocked);
    if (!hasStarted) {
        ticksBegin();
        dl_iterate_phdr(findLibrary, NULL);
        int error = pthread_key_create(&threadEnd, endThread);
        hasStarted = error == 0 && pthread_atfork(NULL, NULL, forgetInChild) == 0;
    }
    int isPossible = hasStarted;
    unlockThreads(&blocked);
    if (isPossible && companionUse(&part))
        return 1;
    errno = ENOMEM;
    return 0;
}

RLBoolean RLTraceCopyMetrics(RLRunLoopRef rl, RLTraceMetrics *metrics)
{
    sigset_t blocked;
    if (!metricsAreKnown(metrics, "RLTraceCopyMetrics", "metrics"))
        return 0;
    lockThreads(&blocked);
    int found = rl == NULL && hasEndedThreads;
    *metrics = found ? ofEndedThreads : (RLTraceMetrics){0};
    for (size_t index = 0; index < room; index++)
        if (threads[index].file != NULL && (rl == NULL || get(&threads[index].file->loop) == (uintptr_t)rl)) {
            addThread(metrics, &threads[index]);
            found = 1;
        }
    unlockThreads(&blocked);
    return found != 0;
}
