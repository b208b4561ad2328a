/* Correct programs that pass data from thread to thread through the library: a race detector must report nothing.
 * The data is ordinary memory without locks or atomics; only the library orders the accesses. `racy-…` are controls:
 * programs that are wrong, and must be reported. */
#include "../waiting.h"
#include <RunLoop/RunLoop.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 100
#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)
#define MODE kRLRunLoopDefaultMode

/* The main thread's loop, to which everything is sent. Set before any other thread is created. */
static RLRunLoopRef loop;
static pthread_t threads[2];
static void *(*sender_body)(void *);
/* What senders write and callbacks read. */
static int numbers[ROUNDS];
static int sum, calls, awaited;

static void count(int *number)
{
    sum += *number;
    if (++calls == awaited)
        RLRunLoopStop(loop);
}

static int *new_number(int value)
{
    int *number = malloc(sizeof *number);
    CHECK(number != NULL);
    *number = value;
    return number;
}

static void never(RLRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }
static void keep_running(void)
{
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateRearmable(NULL, never, NULL);
    RLRunLoopAddTimer(loop, timer, MODE);
    RLRelease(timer);
}

static void start(int senders, void *(*body)(void *))
{
    keep_running();
    sender_body = body;
    awaited = ROUNDS;
    for (long i = 0; i < senders; i++)
        CHECK(pthread_create(&threads[i], NULL, sender_body, (void *)i) == 0);
}

static void run_and_join(int senders)
{
    CHECK(RLRunLoopRunInMode(MODE, 1e10, 0) == kRLRunLoopRunStopped);
    for (int i = 0; i < senders; i++)
        pthread_join(threads[i], NULL);
    CHECK(calls == awaited);
}

/* -- Functions -- */

static void take_number(void *info)
{
    int *number = info;
    count(number);
    free(number);
}

static void *post_numbers(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2)
        CHECK(RLRunLoopPostFunction(loop, MODE, take_number, new_number((int)i)));
    return NULL;
}

static void post(void)
{
    start(2, post_numbers);
    run_and_join(2);
}

static void *perform_numbers(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2) {
        CHECK(RLRunLoopPerformFunction(loop, MODE, take_number, new_number((int)i)));
        RLRunLoopWakeUp(loop);
    }
    return NULL;
}

static void perform(void)
{
    start(2, perform_numbers);
    run_and_join(2);
}

static void read_number(void *info) { count(info); }
static void *release_numbers(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2)
        CHECK(RLRunLoopPostFunctionWithRelease(loop, MODE, read_number, new_number((int)i), free));
    return NULL;
}

static void post_with_release(void)
{
    start(2, release_numbers);
    run_and_join(2);
}

/* Both directions: the function reads what the caller wrote, and the caller what the function wrote. */
static void double_number(void *info)
{
    *(int *)info *= 2;
    count(info);
}

static void *wait_for_numbers(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2) {
        int number = (int)i;
        CHECK(RLRunLoopPerformFunctionAndWait(loop, MODE, double_number, &number, 1e10));
        CHECK(number == 2 * i);
    }
    return NULL;
}

static void and_wait(void)
{
    start(2, wait_for_numbers);
    run_and_join(2);
}

static void *delay_numbers(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2)
        CHECK(RLRunLoopPerformFunctionAfterDelay(loop, MODE, take_number, new_number((int)i), i % 3 * 0.0005));
    return NULL;
}

static void after_delay(void)
{
    start(2, delay_numbers);
    run_and_join(2);
}

/* -- Sources -- */

static RLRunLoopSourceRef sources[ROUNDS];

static void *signal_sources(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2) {
        numbers[i] = (int)i;
        RLRunLoopSourceSignal(sources[i]);
        RLRunLoopWakeUp(loop);
    }
    return NULL;
}

static void make_sources(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        RLRunLoopSourceContext context = {.info = &numbers[i], .perform = read_number};
        sources[i] = RLRunLoopSourceCreate(NULL, 0, &context);
        RLRunLoopAddSource(loop, sources[i], MODE);
    }
}

static void drop_sources(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        RLRunLoopSourceInvalidate(sources[i]);
        RLRelease(sources[i]);
    }
}

static void signalled(void)
{
    make_sources();
    start(2, signal_sources);
    run_and_join(2);
    drop_sources();
}

/* Only signals, without a wake-up: the loop is awake anyway. */
static void *signal_only(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2) {
        numbers[i] = (int)i;
        RLRunLoopSourceSignal(sources[i]);
    }
    return NULL;
}

static void signalled_awake(void)
{
    make_sources();
    start(2, signal_only);
    while (calls < awaited)
        RLRunLoopRunInMode(MODE, 0, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    drop_sources();
}

/* Sources created by other threads, whose info is freed only by their release callback. */
static void release_number(const void *info) { free((void *)info); }
static void *add_sources(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2) {
        RLRunLoopSourceContext context = {
            .info = new_number((int)i), .perform = read_number, .release = release_number};
        RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, i, &context);
        RLRunLoopSourceSignal(source);
        RLRunLoopAddSource(loop, source, MODE);
        RLRelease(source);
    }
    return NULL;
}

static void source_added(void)
{
    start(2, add_sources);
    run_and_join(2);
}

/* -- Timers and observers -- */

static void fire(RLRunLoopTimerRef timer, void *info)
{
    RLRunLoopTimerInvalidate(timer);
    take_number(info);
}

static void *add_timers(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2) {
        RLRunLoopTimerContext context = {.info = new_number((int)i)};
        RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, i % 3 * 0.0005, i % 2, fire, &context);
        RLRunLoopAddTimer(loop, timer, MODE);
        RLRelease(timer);
    }
    return NULL;
}

static void timer(void)
{
    start(2, add_timers);
    run_and_join(2);
}

static void observe(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer, (void)activity;
    take_number(info);
}

static void *add_observers(void *sender)
{
    for (long i = (long)sender; i < ROUNDS; i += 2) {
        RLRunLoopObserverContext context = {.info = new_number((int)i)};
        RLRunLoopObserverRef observer = RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeTimers, 0, 0, observe, &context);
        RLRunLoopAddObserver(loop, observer, MODE);
        RLRunLoopWakeUp(loop);
        RLRelease(observer);
    }
    return NULL;
}

static void observer(void)
{
    start(2, add_observers);
    run_and_join(2);
}

/* -- Stop and wake-up -- */

static void *write_and_stop(void *unused)
{
    numbers[0] = 17;
    until_asleep(loop);
    RLRunLoopStop(loop);
    return unused;
}

static void stop(void)
{
    start(1, write_and_stop);
    CHECK(RLRunLoopRunInMode(MODE, 1e10, 0) == kRLRunLoopRunStopped);
    CHECK(numbers[0] == 17);
    pthread_join(threads[0], NULL);
}

static void look(RLRunLoopObserverRef seen, RLRunLoopActivity activity, void *info)
{
    (void)seen, (void)activity;
    CHECK(*(int *)info == 17);
    RLRunLoopStop(loop);
}

static void *write_and_wake(void *unused)
{
    until_asleep(loop);
    numbers[0] = 17;
    RLRunLoopWakeUp(loop);
    return unused;
}

static void wake_up(void)
{
    RLRunLoopObserverContext context = {.info = numbers};
    RLRunLoopObserverRef seen = RLRunLoopObserverCreate(NULL, kRLRunLoopAfterWaiting, 1, 0, look, &context);
    RLRunLoopAddObserver(loop, seen, MODE);
    start(1, write_and_wake);
    CHECK(RLRunLoopRunInMode(MODE, 1e10, 0) == kRLRunLoopRunStopped);
    pthread_join(threads[0], NULL);
    RLRunLoopObserverInvalidate(seen);
    RLRelease(seen);
}

#include "handover-ports.h"

/* -- Controls -- */

static void *post_and_write(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(RLRunLoopPostFunction(loop, MODE, read_number, &numbers[i]));
        numbers[i] = i; /* too late: the function may already be reading it */
    }
    return unused;
}

static void racy_post(void)
{
    start(1, post_and_write);
    run_and_join(1);
}

static void *signal_and_write(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        RLRunLoopSourceSignal(sources[0]);
        RLRunLoopWakeUp(loop);
        numbers[0] = i; /* too late */
    }
    until_asleep(loop);
    RLRunLoopStop(loop);
    return unused;
}

static void read_without_counting(void *info) { sum += *(int *)info; }

static void racy_signal(void)
{
    RLRunLoopSourceContext context = {.info = numbers, .perform = read_without_counting};
    sources[0] = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(loop, sources[0], MODE);
    start(1, signal_and_write);
    RLRunLoopRunInMode(MODE, 1e10, 0);
    pthread_join(threads[0], NULL);
    RLRunLoopSourceInvalidate(sources[0]);
    RLRelease(sources[0]);
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {{"post", post},
            {"post-before-run", post_before_run},
            {"perform", perform},
            {"post-with-release", post_with_release},
            {"and-wait", and_wait},
            {"after-delay", after_delay},
            {"signal", signalled},
            {"signal-awake", signalled_awake},
            {"source-added", source_added},
            {"timer", timer},
            {"observer", observer},
            {"stop", stop},
            {"wake-up", wake_up},
            {"port", ports},
            {"port-before-run", ports_before_run},
            {"message-port", message_ports},
            {"references", references},
            {"racy-post", racy_post},
            {"racy-signal", racy_signal}};

static void try(const char *name)
{
    size_t i = 0;
    while (i < sizeof ways / sizeof *ways && strcmp(ways[i].name, name) != 0)
        i++;
    CHECK(i < sizeof ways / sizeof *ways);
    sum = calls = 0;
    ways[i].run();
}

/* Runs the named programs, or lists them. */
int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 1 && i < sizeof ways / sizeof *ways; i++)
        puts(ways[i].name);
    loop = RLRunLoopGetCurrent();
    for (int i = 1; i < argc; i++)
        try(argv[i]);
    return 0;
}
