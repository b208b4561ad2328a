/* Records what the run loops of a process do, into the directory that RUNLOOP_TRACE names.

   `runloop trace` enables this. Each thread has its own file (TraceFile.h), which is mapped at its first event. Recording an event means
   reading a counter and writing 32 bytes: no lock, no allocation, no system call. The program must not notice that it is traced: errno is
   preserved, no thread is started and no signal handler is set. If a file cannot be created, one line reports that, and the thread is not
   recorded. */
#include "Companion.h"
#include "Files.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The calling thread's file. A signal handler may record at any moment, so the state says whether the file exists or is being created. */
static THREAD_LOCAL struct TraceHeader *ring;
static THREAD_LOCAL enum { NONE, BEING_MADE, MAPPED, FAILED } state;
static THREAD_LOCAL int destructorCalls;
/* How many events occurred in signal handlers while the file was being created. */
static THREAD_LOCAL uint64_t lost;

static uint32_t capacity = 1 << 16;
static pthread_key_t threadEnd;

/* --- files ------------------------------------------------------------------------------------------------------------ */

/* Creates and maps the calling thread's file; the state says whether that was possible. */
static void makeRing(void)
{
    int saved = errno;
    lost = 0;
    state = BEING_MADE;
    struct TraceHeader *new = traceMapFile(".ring", TRACE_HEADER_SIZE + capacity * sizeof(struct TraceRecord));
    if (new != NULL) {
        new->recordSize = sizeof(struct TraceRecord);
        new->capacity = capacity;
        new->process = getpid();
        new->thread = gettid();
        new->nanoseconds = traceClock();
        new->ticks = ticksNow();
        traceReadName("/proc/self/comm", new->processName);
        traceReadName("/proc/thread-self/comm", new->threadName);
        /* Written last: a reader that sees the magic number sees the rest. */
        __atomic_store_n(&new->magic, TRACE_MAGIC, __ATOMIC_RELEASE);
        traceCopyMaps();
        pthread_setspecific(threadEnd, new);
    }
    ring = new;
    state = new ? MAPPED : FAILED;
    if (new != NULL)
        new->lost = lost;
    errno = saved;
}

/* Called twice: another such destructor tears down the thread's loop, and the callbacks that this calls are to be recorded, too. */
static void endThread(void *mapped)
{
    if (destructorCalls++ == 0) {
        pthread_setspecific(threadEnd, mapped);
        return;
    }
    /* Frees the blocks that the thread has not used. Otherwise a program with a thread for each connection would fill the file system. */
    uint64_t used = ring->written < capacity ? ring->written : capacity;
    size_t size = TRACE_HEADER_SIZE + capacity * sizeof(struct TraceRecord), page = (size_t)sysconf(_SC_PAGESIZE);
    size_t end = (TRACE_HEADER_SIZE + used * sizeof(struct TraceRecord) + page - 1) & ~(page - 1);
    if (end < size)
        madvise((char *)mapped + end, size - end, MADV_REMOVE);
    ring = NULL;
    state = FAILED;
    munmap(mapped, size);
}

/* In a child of fork(): the mapping is of the parent's file. */
static void forgetInChild(void)
{
    if (ring != NULL)
        munmap(ring, TRACE_HEADER_SIZE + capacity * sizeof(struct TraceRecord));
    ring = NULL;
    state = NONE;
    destructorCalls = 0;
}

/* --- records ---------------------------------------------------------------------------------------------------------- */

/* Allocates the number of a new record. A signal handler may allocate one between any two instructions, so on x86-64 this is a single
   instruction, without the lock prefix because no other thread allocates numbers here. */
static inline uint64_t takeNumber(struct TraceHeader *its)
{
#if defined(__x86_64__)
    uint64_t number = 1;
    __asm__ volatile("xaddq %0, %1" : "+r"(number), "+m"(its->written) : : "memory");
    return number;
#else
    return __atomic_fetch_add(&its->written, 1, __ATOMIC_RELAXED);
#endif
}

/* Records an event of the calling thread, unless the thread has no file. */
static inline void record(enum TracePart part, const struct ProbeEvent *event, uint64_t function, uint64_t what)
{
    if (state != MAPPED) {
        if (state == BEING_MADE)
            __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED); /* another handler may interrupt this one */
        if (state != NONE)
            return;
        makeRing();
        if (ring == NULL)
            return;
    }
    struct TraceRecord *records = (struct TraceRecord *)((char *)ring + TRACE_HEADER_SIZE);
    struct TraceRecord *next = &records[takeNumber(ring) & (ring->capacity - 1)];
    next->info = (uintptr_t)event->info;
    next->what = what;
    next->function = function;
    next->detail = event->detail & 0xFF;
    next->kind = event->kind;
    next->part = part;
    next->ticks = ticksNow();
}

/* Records an event with its function and its number or, if it has none, its object. */
static void plain(enum TracePart part, const struct ProbeEvent *event)
{
    record(part, event, (uintptr_t)event->function, event->number ? event->number : (uintptr_t)event->object);
}

static void willCall(const struct ProbeEvent *event)
{
    if (event->kind != kRLRunLoopProbeTimer)
        return plain(TRACE_WILL_CALL, event);
    RLAbsoluteTime date = RLRunLoopTimerGetNextFireDate((RLRunLoopTimerRef)(uintptr_t)event->object);
    uint64_t bits;
    memcpy(&bits, &date, sizeof bits);
    record(TRACE_WILL_CALL, event, (uintptr_t)event->function, bits);
}

static void didCall(const struct ProbeEvent *event) { plain(TRACE_DID_CALL, event); }

/* Returns the index of a mode's name in the header. O(number of names); most loops have one. */
static uint32_t modeIndex(RLStringRef mode)
{
    char name[TRACE_NAME_SIZE] = "";
    if (!RLStringGetCString(mode, name, sizeof name, kRLStringEncodingUTF8))
        strcpy(name, "?");
    uint32_t index = 0;
    while (index < ring->modes && strcmp(ring->modeNames[index], name) != 0)
        index++;
    if (index == ring->modes && index < TRACE_MODES) {
        memcpy(ring->modeNames[index], name, sizeof name);
        __atomic_store_n(&ring->modes, index + 1, __ATOMIC_RELEASE);
    }
    return index < TRACE_MODES ? index : TRACE_MODES - 1;
}

static void willSleep(const struct ProbeEvent *event)
{
    if (state == NONE)
        makeRing();
    if (ring != NULL)
        record(TRACE_WILL_SLEEP, event, modeIndex((RLStringRef)event->info), (uintptr_t)event->object);
}

static void didSleep(const struct ProbeEvent *event) { plain(TRACE_DID_SLEEP, event); }
/* A call of RLRunLoopWakeUp is not drawn; a wake-up that ends a sleep is. */
static void sent(const struct ProbeEvent *event)
{
    if (event->kind != kRLRunLoopProbeWakeUp)
        plain(TRACE_SENT, event);
}
static void received(const struct ProbeEvent *event) { plain(TRACE_RECEIVED, event); }
static void dropped(const struct ProbeEvent *event) { plain(TRACE_DROPPED, event); }

/* --- beginning and end of the process ------------------------------------------------------------------------------------- */

const struct ProbePart *traceBegin(void)
{
    static const struct ProbePart part = {willCall, didCall, willSleep, didSleep, sent, received, dropped, NULL};
    const char *records = secure_getenv("RUNLOOP_TRACE_RECORDS");
    if (!traceHasDirectory() || (records != NULL && strcmp(records, "0") == 0))
        return NULL;
    unsigned long wanted = records ? strtoul(records, NULL, 10) : 0;
    if (wanted >= 64 && wanted <= 1 << 24)
        for (capacity = 64; capacity < wanted;)
            capacity *= 2;
    if (pthread_key_create(&threadEnd, endThread) != 0 || pthread_atfork(NULL, NULL, forgetInChild) != 0)
        return NULL;
    return &part;
}

/* At exit: copies the list of mapped files again, as libraries may have been loaded since. */
__attribute__((destructor)) static void end(void)
{
    if (ring != NULL)
        traceCopyMaps();
}
