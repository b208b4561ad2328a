/* perform-on-thread.c - calling functions on another thread's loop: immediately, waiting for the result, after a
 * delay, or cancelled. Cocoa's counterparts are performSelector:onThread:waitUntilDone:, …afterDelay: and
 * cancelPreviousPerformRequests. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Worker {
    RLRunLoopRef loop; /* retained for main by the thread before it posts `ready` */
    sem_t ready;       /* the loop can be used */
    sem_t holding;     /* hold() has begun */
    sem_t goOn;        /* hold() may return */
    int sum;           /* written by the worker's thread only; main reads it after waiting, or after the join */
} Worker;

typedef struct Addition {
    Worker *worker;
    int amount;
} Addition;

static void add(void *info) /* called on the worker's thread: no lock needed */
{
    Addition *addition = info;
    addition->worker->sum += addition->amount;
    printf("worker: add %d, the sum is %d\n", addition->amount, addition->worker->sum);
}

static void hold(void *info)
{
    Worker *worker = info;
    sem_post(&worker->holding);
    sem_wait(&worker->goOn);
}

static void stop(void *info)
{
    (void)info;
    RLRunLoopStop(RLRunLoopGetCurrent());
}

static void printOwned(void *info) { printf("worker: %s\n", info != NULL ? (const char *)info : "out of memory"); }

static void print(void *info) { printf("main:   %s\n", (const char *)info); }

static void keepAlive(void *info) { (void)info; /* never signalled; its source only keeps the loop from finishing */ }

static void *workerMain(void *argument)
{
    Worker *worker = argument;
    worker->loop = RLRunLoopGetCurrent();
    RLRetain(worker->loop);
    RLRunLoopSourceContext context = {.perform = keepAlive};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(kRLAllocatorDefault, 0, &context);
    if (source != NULL)
        RLRunLoopAddSource(worker->loop, source, kRLRunLoopDefaultMode);
    sem_post(&worker->ready);
    if (source != NULL) {
        RLRunLoopRun();
        RLRunLoopSourceInvalidate(source);
        RLRelease(source);
    }
    return NULL;
}

static int expect(int condition, const char *what)
{
    if (!condition)
        fprintf(stderr, "perform-on-thread: not as expected: %s\n", what);
    return condition;
}

int main(void)
{
    const RLRunLoopMode mode = kRLRunLoopDefaultMode;
    Worker worker = {0};
    pthread_t thread;
    if (sem_init(&worker.ready, 0, 0) != 0 || sem_init(&worker.holding, 0, 0) != 0 ||
        sem_init(&worker.goOn, 0, 0) != 0 || pthread_create(&thread, NULL, workerMain, &worker) != 0) {
        fputs("perform-on-thread: cannot start the thread\n", stderr);
        return 1;
    }
    sem_wait(&worker.ready);

    /* 1. Queue, then wake. Queueing alone does not wake a sleeping loop, so several functions can share one wake-up. */
    Addition one = {&worker, 1}, two = {&worker, 2}, three = {&worker, 3}, four = {&worker, 4};
    int ok = expect(RLRunLoopPerformFunction(worker.loop, mode, add, &one), "PerformFunction");
    RLRunLoopWakeUp(worker.loop);
    /* 2. Queue and wake in one call. */
    ok &= expect(RLRunLoopPostFunction(worker.loop, mode, add, &two), "PostFunction");
    /* With a release function, the request owns its info. */
    char *owned = strdup("this text was handed over, and is freed now"), *posted = strdup("and so was this one");
    if (!RLRunLoopPerformFunctionWithRelease(worker.loop, mode, printOwned, owned, free))
        free(owned); /* it was not queued, so the caller still owns it */
    if (!RLRunLoopPostFunctionWithRelease(worker.loop, mode, printOwned, posted, free))
        free(posted);
    /* 3. Wait until the function was called. Functions are called in order, so the ones queued above are done as
     * well. Where every microsecond counts, a loop can spin for a while before it sleeps, at the price of a busy
     * processor. */
    RLRunLoopSetSpinInterval(worker.loop, 50e-6);
    ok &= expect(RLRunLoopGetSpinInterval(worker.loop) == 50e-6, "the spin interval");
    ok &= expect(RLRunLoopPerformFunctionAndWait(worker.loop, mode, add, &three, 10.0), "AndWait");
    printf("main:   waited for the last one; the sum is %d\n", worker.sum);
    ok &= expect(worker.sum == 6, "the sum after waiting");

    /* 4. Wait, but with a limit. After a timeout the function is withdrawn, so `four` may go out of scope. */
    ok &= expect(RLRunLoopPostFunction(worker.loop, mode, hold, &worker), "PostFunction hold");
    sem_wait(&worker.holding);
    int called = RLRunLoopPerformFunctionAndWait(worker.loop, mode, add, &four, 0.05);
    printf("main:   the worker is busy; waiting 0.05 s for it %s\n", called ? "was enough" : "timed out");
    ok &= expect(!called, "a timeout");
    sem_post(&worker.goOn);

    /* 5. On the loop's own thread there is nothing to wait for: the function is called immediately. */
    ok &= expect(RLRunLoopPerformFunctionAndWait(RLRunLoopGetMain(), mode, print, "called at once", 0), "own");

    /* 6. Later, here on main. A delayed call can be cancelled, by function and info or by info alone. */
    char cancelled[] = "never printed";
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    char *delayed = strdup("after 0.02 s");
    if (!RLRunLoopPerformFunctionAfterDelayWithRelease(loop, mode, print, delayed, 0.02, free))
        free(delayed);
    ok &= expect(RLRunLoopPerformFunctionAfterDelay(loop, mode, print, cancelled, 0.03), "delay");
    ok &= expect(RLRunLoopPerformFunctionAfterDelay(loop, mode, stop, cancelled, 0.04), "delay");
    ok &= expect(RLRunLoopPerformFunctionAfterDelay(loop, mode, stop, NULL, 0.06), "delay");
    RLIndex first = RLRunLoopCancelPerformFunction(loop, print, cancelled);
    RLIndex rest = RLRunLoopCancelPerformFunction(loop, NULL, cancelled);
    printf("main:   cancelled %ld by function and info, then %ld by info alone\n", first, rest);
    ok &= expect(first == 1 && rest == 1, "the number of cancelled calls");
    ok &= expect(RLRunLoopRunInMode(mode, 10.0, 0) == kRLRunLoopRunStopped, "stopped by the last delayed function");

    /* 7. Shut down: stop is posted like any other function, so it is called after everything posted before it. */
    ok &= expect(RLRunLoopPostFunction(worker.loop, mode, stop, NULL), "PostFunction stop");
    pthread_join(thread, NULL);
    RLRelease(worker.loop);
    ok &= expect(worker.sum == 6, "the function that timed out was never called");
    printf("main:   the worker has ended; the sum is still %d\n", worker.sum);
    return ok ? 0 : 1;
}
