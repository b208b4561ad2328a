#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const double noTimeout = 1e10; /* seconds: effectively without limit */
static const struct timespec slowBatch = {.tv_nsec = 10 * 1000 * 1000};

/* Without memory for a message to the client, the two sides would wait for each other indefinitely. */
static void endProgram(void)
{
    perror("demo: a worker cannot reach the main loop");
    exit(1);
}

/* ---- The three callbacks of the source, all on the worker's thread ---- */

/* The source was added to a mode of the worker's loop: register with the client, without waiting for it. */
static void schedule(void *info, RLRunLoopRef rl, RLRunLoopMode mode)
{
    Worker *worker = info;
    (void)mode;
    RLRetain(rl); /* the client wakes this loop, so it must not be freed before the client has dropped it */
    worker->loop = rl;
    const WorkerClient *client = worker->client;
    if (!RLRunLoopPostFunction(client->loop, kRLRunLoopDefaultMode, client->registerWorker, worker))
        endProgram();
}

/* The source was invalidated. Wait until the client has dropped the worker: afterwards it neither signals the source
 * nor wakes its loop. */
static void cancel(void *info, RLRunLoopRef rl, RLRunLoopMode mode)
{
    Worker *worker = info;
    (void)rl;
    (void)mode;
    const WorkerClient *client = worker->client;
    if (!RLRunLoopPerformFunctionAndWait(client->loop, kRLRunLoopDefaultMode, client->removeWorker, worker, noTimeout))
        endProgram();
}

/* Takes one batch out of the buffer. Reports whether more are waiting, whether the end is reached, and whether the
 * client, having found the buffer full, must be notified that it is half empty again. */
static Batch *takeBatch(Worker *worker, bool *more, bool *finished, bool *tellClient)
{
    pthread_mutex_lock(&worker->lock);
    Batch *batch = worker->first;
    if (batch != NULL) {
        worker->first = batch->next;
        if (worker->first == NULL)
            worker->end = &worker->first;
        worker->waiting--;
    }
    *more = worker->first != NULL;
    *finished = worker->closed && !*more;
    *tellClient = worker->clientIsPaused && worker->waiting <= workerBatchLimit / 2;
    if (*tellClient)
        worker->clientIsPaused = false;
    pthread_mutex_unlock(&worker->lock);
    return batch;
}

/* The source was signalled. Signals are coalesced: one perform may stand for many batches. Handle one of them and,
 * if there are more, signal the source again, so that timers and requests to stop have their turn between two
 * batches. */
static void perform(void *info)
{
    Worker *worker = info;
    bool more, finished, tellClient;
    Batch *batch = takeBatch(worker, &more, &finished, &tellClient);

    const WorkerClient *client = worker->client;
    if (tellClient && !RLRunLoopPostFunction(client->loop, kRLRunLoopDefaultMode, client->workerHasRoom, worker))
        endProgram();
    if (more)
        RLRunLoopSourceSignal(worker->source); /* no wake-up needed: this loop is awake */
    if (batch != NULL) {
        tallyAdd(&worker->tally, batch->bytes, batch->length);
        worker->batches++;
        free(batch);
        if (worker->slow)
            nanosleep(&slowBatch, NULL);
    }
    if (finished) {
        tallyFinish(&worker->tally);
        RLRunLoopSourceInvalidate(worker->source); /* calls cancel, and leaves the loop empty */
    }
}

/* ---- The thread ---- */

static void *workerMain(void *argument)
{
    Worker *worker = argument;
    if (!loopRecordBegin(&worker->record))
        endProgram();
    RLRunLoopAddSource(RLRunLoopGetCurrent(), worker->source, kRLRunLoopDefaultMode); /* calls schedule */

    /* Returns when the source is invalidated: a run of a loop with neither source nor timer finishes. */
    RLRunLoopRun();

    loopRecordEnd(&worker->record);
    return NULL;
}

bool workerStart(Worker *worker, int number, bool slow, const WorkerClient *client)
{
    *worker = (Worker){.number = number, .slow = slow, .client = client};
    worker->end = &worker->first;
    pthread_mutex_init(&worker->lock, NULL);

    RLRunLoopSourceContext context = {
        .version = 0, /* signalled by the program; version 1 is signalled by the kernel, see reader.c */
        .info = worker,
        .schedule = schedule,
        .cancel = cancel,
        .perform = perform,
    };
    worker->source = RLRunLoopSourceCreate(kRLAllocatorDefault, 0, &context);
    if (worker->source == NULL)
        return false;
    errno = pthread_create(&worker->thread, NULL, workerMain, worker);
    return errno == 0;
}

/* ---- For the client ---- */

/* Data first, then the signal, then the wake-up: the loop may be asleep, and a signal alone does not wake it. */
static void fire(Worker *worker)
{
    RLRunLoopSourceSignal(worker->source);
    RLRunLoopWakeUp(worker->loop);
}

void workerGive(Worker *worker, Batch *batch)
{
    batch->next = NULL;
    pthread_mutex_lock(&worker->lock);
    *worker->end = batch;
    worker->end = &batch->next;
    worker->waiting++;
    pthread_mutex_unlock(&worker->lock);
    fire(worker);
}

int workerCountWaiting(Worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    int waiting = worker->waiting;
    pthread_mutex_unlock(&worker->lock);
    return waiting;
}

bool workerIsFull(Worker *worker)
{
    /* Check and set the flag under one lock: otherwise a worker that makes room in between would not notify the
     * client. */
    pthread_mutex_lock(&worker->lock);
    bool full = worker->waiting >= workerBatchLimit;
    worker->clientIsPaused = full;
    pthread_mutex_unlock(&worker->lock);
    return full;
}

void workerClose(Worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    worker->closed = true;
    pthread_mutex_unlock(&worker->lock);
    fire(worker);
}

void workerJoin(Worker *worker) { pthread_join(worker->thread, NULL); }

void workerFree(Worker *worker)
{
    if (worker->loop != NULL)
        RLRelease(worker->loop);
    if (worker->source != NULL)
        RLRelease(worker->source);
    tallyFree(&worker->tally);
    pthread_mutex_destroy(&worker->lock);
}
