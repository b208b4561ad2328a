/*
 * support.h -- what every benchmark program needs: checks, clocks, random numbers and the one
 * line of JSON that carries its result.
 *
 * Exit status: 0 measured or gave up, EXIT_UNSUPPORTED this combination does not exist,
 * anything else: the library under test did something wrong.
 *
 * BENCH_SCALE in the environment multiplies the amount of work (0.1 = ten times shorter).
 * BENCH_OPERATIONS=N: scenarios that otherwise run for some time do N operations (or the next whole batch), however
 * long that takes, so that two runs can be compared by the instructions that they execute.
 */
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_UNSUPPORTED 77
#define MAYBE_UNUSED __attribute__((unused))

enum { GIVE_UP_SECONDS = 15 };

/* ---- checks: never compiled out ------------------------------------------------------------ */

static _Noreturn MAYBE_UNUSED void fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: not true: %s (errno %d: %s)\n", file, line, what, errno,
            strerror(errno));
    _exit(1);
}

#define CHECK(condition) ((condition) ? (void)0 : fail(__FILE__, __LINE__, #condition))

static inline MAYBE_UNUSED void *allocate(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    CHECK(p != NULL);
    return p;
}

/* ---- clocks -------------------------------------------------------------------------------- */

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- random numbers: splitmix64 with a fixed seed, so that every library gets the same work -- */

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static inline MAYBE_UNUSED uint64_t random_below(uint64_t n)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint64_t)(((__uint128_t)(z ^ (z >> 31)) * n) >> 64);
}

/* ---- the result ------------------------------------------------------------------------------ */

static struct {
    const char *scenario, *variant, *parameter;
    uint64_t begin, end;             /* CLOCK_MONOTONIC                                      */
    uint64_t operations;
    uint64_t size;                   /* the size the machine allowed, 0: none               */
    double value;                    /* 0: nanoseconds per operation, from the lines above   */
    double cpu;                      /* for "echo": nanoseconds of processor time for each  */
} result;

static inline MAYBE_UNUSED void measure_begin(void) { result.begin = now_ns(); }
static inline MAYBE_UNUSED void measure_end(void)   { result.end = now_ns(); }

static MAYBE_UNUSED void print_result(void)
{
    CHECK(result.operations > 0);
    if (result.value == 0)
        result.value = (double)(result.end - result.begin) / (double)result.operations;
    printf("{\"value\": %.8g, \"cpu\": %.8g, \"operations\": %llu, \"size\": %llu}\n", result.value, result.cpu,
           (unsigned long long)result.operations, (unsigned long long)result.size);
    fflush(stdout);
}

static inline MAYBE_UNUSED uint64_t scaled(uint64_t amount)
{
    const char *scale = getenv("BENCH_SCALE");
    uint64_t n = scale ? (uint64_t)((double)amount * atof(scale)) : amount;
    return n ? n : 1;
}

/* BENCH_OPERATIONS, or 0. */
static MAYBE_UNUSED uint64_t fixed_operations(void)
{
    const char *operations = getenv("BENCH_OPERATIONS");
    return operations ? strtoull(operations, NULL, 10) : 0;
}

static void give_up(int signal_number)
{
    (void)signal_number;
    static const char line[] = "{\"value\": null}\n";
    ssize_t written = write(STDOUT_FILENO, line, sizeof line - 1);
    _exit(written > 0 ? 0 : 1);
}

static MAYBE_UNUSED void arm_give_up(void)
{
    signal(SIGALRM, give_up);
    alarm(fixed_operations() ? 0 : GIVE_UP_SECONDS);    /* 0: never */
}

/* ---- the machine ------------------------------------------------------------------------------ */

/* Resident anonymous bytes: heap and stacks, not library pages that happen to be touched. Exact, unlike statm, which
   lags behind by a batch per CPU. */
static MAYBE_UNUSED uint64_t resident_bytes(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    CHECK(f != NULL);
    char line[256];
    unsigned long kilobytes = 0;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "Anonymous: %lu kB", &kilobytes) == 1)
            break;
    fclose(f);
    CHECK(kilobytes > 0);
    return (uint64_t)kilobytes * 1024;
}

/* Pins the calling thread, and those it creates later, to one CPU. */
static MAYBE_UNUSED void pin_to(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

/* Returns the nth of the CPUs that this process may use. */
static MAYBE_UNUSED int nth_cpu(int nth)
{
    cpu_set_t all;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    nth %= CPU_COUNT(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && nth-- == 0)
            return cpu;
    return 0;
}

static MAYBE_UNUSED int usable_cpus(void)
{
    cpu_set_t all;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    return CPU_COUNT(&all);
}

#endif
