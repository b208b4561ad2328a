/* The files of a traced process's records. librunloop-trace.so writes them; the command `runloop` reads them, even
   while the process runs or after it was killed.

   One file per thread, PID-TID.ring: a page with the header, then `capacity` records, of which the oldest are
   overwritten. One file per process, PID.maps: a copy of /proc/PID/maps, which maps addresses to files. Further
   processes with this PID, in other PID namespaces or after exec(), write PID.2-TID.ring and PID.2.maps, and so on. */
#ifndef RUNLOOP_TRACEFILE_H
#define RUNLOOP_TRACEFILE_H
#include <stdint.h>
#include <time.h>

#define TRACE_MAGIC 0x3145434152544C52u /* "RLTRACE1" */
#define TRACE_HEADER_SIZE 4096
#define TRACE_MODES 16
#define TRACE_NAME_SIZE 64

/* The event that a record is about: the functions of RLRunLoopProbe, in their order. 0: the record was never
   written. */
enum TracePart {
    TRACE_WILL_CALL = 1,
    TRACE_DID_CALL,
    TRACE_WILL_SLEEP,
    TRACE_DID_SLEEP,
    TRACE_SENT,
    TRACE_RECEIVED,
    TRACE_DROPPED
};

struct TraceRecord {
    uint64_t ticks;
    uint64_t function : 48; /* the function's address; for the beginning of a sleep, the index of the mode's name */
    uint64_t detail : 8;    /* the lowest bits of the event's detail */
    uint64_t kind : 4;      /* kRLRunLoopProbeTimer, … */
    uint64_t part : 4;
    uint64_t info;
    /* For a call of a timer, its date, a double. For requests and replies, the number. Otherwise the object. */
    uint64_t what;
};
_Static_assert(sizeof(struct TraceRecord) == 32, "two records to a cache line");

struct TraceHeader {
    uint64_t magic;
    uint32_t recordSize; /* with the magic number, the version of this file */
    uint32_t capacity;   /* a power of two */
    int32_t process, thread;
    /* A reading of both clocks: `ticks` counts as the processor does, `nanoseconds` is traceClock(). The reader takes a
       second one. */
    uint64_t ticks, nanoseconds;
    char processName[TRACE_NAME_SIZE];
    char threadName[TRACE_NAME_SIZE];
    uint64_t written; /* how many records were started. The recording thread increments it, others read. */
    uint64_t lost;    /* how many events in signal handlers were dropped because the file was being created */
    uint32_t modes;   /* how many names follow; a name that finds no room counts as the last one */
    char modeNames[TRACE_MODES][TRACE_NAME_SIZE];
};
_Static_assert(sizeof(struct TraceHeader) <= TRACE_HEADER_SIZE, "the header has a page of its own");

/* The processor's counter, which all processors share and which continues while they sleep; 0 where there is none. */
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
static inline int traceHasCounter(void)
{
    unsigned a, b, c, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1 << 8);
}
static inline uint64_t traceCounter(void) { return __rdtsc(); }
#elif defined(__aarch64__)
static inline int traceHasCounter(void) { return 1; }
static inline uint64_t traceCounter(void)
{
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
}
#else
static inline int traceHasCounter(void) { return 0; }
static inline uint64_t traceCounter(void) { return 0; }
#endif

/* The time in nanoseconds on the clock that, like the counter, continues while the machine is suspended. */
static inline uint64_t traceClock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

#endif
