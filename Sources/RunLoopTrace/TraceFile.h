/* The files by which a traced process hands over what it has recorded: librunloop-trace.so writes them, the command `runloop` reads
   them, also while the process runs and after it was killed.

   One file per thread, PID-TID.ring: a page with the header, then `capacity` records, of which the oldest are overwritten. One file per
   process, PID.maps: a copy of /proc/PID/maps, by which addresses are found in files. Further processes of this number, in PID namespaces of
   their own or after exec(), write PID.2-TID.ring and PID.2.maps, and so on. */
#ifndef RUNLOOP_TRACEFILE_H
#define RUNLOOP_TRACEFILE_H
#include <stdint.h>
#include <time.h>

#define TRACE_MAGIC 0x3145434152544C52u /* "RLTRACE1" */
#define TRACE_HEADER_SIZE 4096
#define TRACE_MODES 16
#define TRACE_NAME_SIZE 64

/* What a record is about: the functions of RLRunLoopProbe, in their order. 0: the record was never written. */
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
    uint64_t function : 48; /* its address; of a sleep the index of the mode's name */
    uint64_t detail : 8;    /* the lowest bits */
    uint64_t kind : 4;      /* kRLRunLoopProbeTimer, … */
    uint64_t part : 4;
    uint64_t info;
    /* Of a timer's call its date, a double. Of requests, replies and sleeps the number. Otherwise the object. */
    uint64_t what;
};
_Static_assert(sizeof(struct TraceRecord) == 32, "two records to a cache line");

struct TraceHeader {
    uint64_t magic;
    uint32_t recordSize; /* with the magic: which version of this file it is */
    uint32_t capacity;   /* a power of two */
    int32_t process, thread;
    /* A reading of both clocks: `ticks` counts as the processor does, nanoseconds are traceClock(). The reader takes a second reading. */
    uint64_t ticks, nanoseconds;
    char processName[TRACE_NAME_SIZE];
    char threadName[TRACE_NAME_SIZE];
    uint64_t written; /* how many records were begun. The writing thread adds, others read. */
    uint64_t lost;    /* events of signal handlers that came while the file was being made */
    uint32_t modes;   /* how many names follow; one that finds no room is called like the last */
    char modeNames[TRACE_MODES][TRACE_NAME_SIZE];
};
_Static_assert(sizeof(struct TraceHeader) <= TRACE_HEADER_SIZE, "the header has a page of its own");

/* The processor's counter, which all of them share and which goes on while they sleep; 0 where there is none. */
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

/* Nanoseconds of the clock that counts, as the counter does, while the machine is suspended. */
static inline uint64_t traceClock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

#endif
