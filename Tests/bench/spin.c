/* spin.c - what RLRunLoopSetSpinInterval gains and costs on two CPUs: prints a table of pairs, which are microseconds for a round trip,
 * and microseconds of processor time that the waiting threads take for each sleep. Medians of ROUNDS rounds. `make spin` runs it.
 *
 *     immediately    two loops wake each other, and each answers in its callback
 *     work           the same, but one of them works for 10 us before it answers
 *     timer          a thread wakes a loop a thousand times a second: microseconds until its callback */
#include "support.h"

#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <sched.h>

enum { ROUNDS = 7, COUNTS = 4 };
static const double intervals[COUNTS] = {0, 5e-6, 20e-6, 50e-6};
enum mode { IMMEDIATELY, WORK, TIMER };

static struct end {
    RLRunLoopRef loop;
    RLRunLoopSourceRef source;
    uint64_t processor_time;
} ends[2];

static enum mode mode;
static double interval;
static uint64_t calls, total, woken_at, latency;
static pthread_barrier_t ready;
static int cpus[2];

static uint64_t own_processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void wake(struct end *end)
{
    RLRunLoopSourceSignal(end->source);
    RLRunLoopWakeUp(end->loop);
}

static void work_until(uint64_t time)
{
    while (now_ns() < time)
        ;
}

static void perform(void *info)
{
    struct end *self = info;
    if (mode == TIMER) {
        latency += now_ns() - woken_at;
        calls++;
        return;
    }
    if (self == &ends[1]) {
        if (mode == WORK)
            work_until(now_ns() + 10000);
        wake(&ends[0]);
        return;
    }
    if (++calls < total) {
        wake(&ends[1]);
        return;
    }
    RLRunLoopStop(ends[1].loop);
    RLRunLoopStop(ends[0].loop);
}

static void prepare(struct end *self, int cpu)
{
    pin_to(cpus[cpu]);
    self->loop = RLRunLoopGetCurrent();
    RLRunLoopSourceContext context = {.info = self, .perform = perform};
    self->source = RLRunLoopSourceCreate(NULL, 0, &context);
    CHECK(self->loop != NULL && self->source != NULL);
    RLRunLoopAddSource(self->loop, self->source, kRLRunLoopDefaultMode);
    RLRunLoopSetSpinInterval(self->loop, interval);
    pthread_barrier_wait(&ready);
}

static void run(struct end *self)
{
    uint64_t before = own_processor_time();
    RLRunLoopRun();
    self->processor_time = own_processor_time() - before;
    RLRunLoopSourceInvalidate(self->source);
    RLRelease(self->source);
}

static void *second(void *unused)
{
    (void)unused;
    if (mode == TIMER) {
        pin_to(cpus[1]);
        pthread_barrier_wait(&ready);
        for (uint64_t index = 0; index < total; index++) {
            struct timespec pause = {.tv_nsec = 1000000};
            nanosleep(&pause, NULL);
            woken_at = now_ns();
            wake(&ends[0]);
        }
        RLRunLoopStop(ends[0].loop);
        return NULL;
    }
    prepare(&ends[1], 1);
    run(&ends[1]);
    return NULL;
}

/* Measures the time of a round trip, or of a wake-up, and the processor time of a sleep, in microseconds. */
static void measure(double *time, double *processor_time)
{
    pthread_t thread;
    calls = latency = 0;
    total = mode == TIMER ? 200 : 4000;
    pthread_barrier_init(&ready, NULL, 2);
    CHECK(pthread_create(&thread, NULL, second, NULL) == 0);
    prepare(&ends[0], 0);
    uint64_t begin = now_ns();
    if (mode != TIMER)
        wake(&ends[1]);
    run(&ends[0]);
    uint64_t end = now_ns();
    pthread_join(thread, NULL);
    CHECK(calls > 0);
    *time = (double)(mode == TIMER ? latency : end - begin) / (double)calls / 1e3;
    uint64_t processor = ends[0].processor_time + (mode == TIMER ? 0 : ends[1].processor_time);
    *processor_time = (double)processor / (double)(mode == TIMER ? total : 2 * total) / 1e3;
}

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

int main(void)
{
    static const char *const names[] = {"replies arrive immediately", "replies arrive after 10 us of work",
                                        "woken a thousand times a second, one way"};
    if (usable_cpus() < 2) {
        fprintf(stderr, "spin: needs two CPUs\n");
        return 1;
    }
    cpus[0] = nth_cpu(0);
    cpus[1] = nth_cpu(1);
    printf("| interval, us | 0 | 5 | 20 | 50 |\n|---|--:|--:|--:|--:|\n");
    for (mode = IMMEDIATELY; mode <= TIMER; mode++) {
        double times[COUNTS][ROUNDS], processor_times[COUNTS][ROUNDS];
        for (int round = 0; round < ROUNDS; round++)
            for (int index = 0; index < COUNTS; index++) {
                interval = intervals[(index + round) % COUNTS];
                measure(&times[(index + round) % COUNTS][round], &processor_times[(index + round) % COUNTS][round]);
            }
        printf("| %s |", names[mode]);
        for (int index = 0; index < COUNTS; index++) {
            qsort(times[index], ROUNDS, sizeof(double), compare);
            qsort(processor_times[index], ROUNDS, sizeof(double), compare);
            printf(" %.1f, %.1f |", times[index][ROUNDS / 2], processor_times[index][ROUNDS / 2]);
        }
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
