/* worker.h - a thread that lives in its run loop and counts the batches that others put into its command buffer.
 *
 * The buffer is the guide's custom input source: schedule registers the worker with its client, perform handles the
 * batches in the buffer, cancel withdraws the registration. */
#ifndef WORKER_H
#define WORKER_H

#include "batch.h"
#include "record.h"
#include "tally.h"

#include <pthread.h>

enum { workerBatchLimit = 8 }; /* a worker with this many batches waiting is full */

/* The client of the workers, and its loop. The functions are called on that loop, with the Worker as argument. */
typedef struct WorkerClient {
    RLRunLoopRef loop;
    RLRunLoopFunction registerWorker; /* the worker's source is in its loop: the worker accepts work */
    RLRunLoopFunction workerHasRoom;  /* called after workerIsFull has returned true */
    RLRunLoopFunction removeWorker;   /* the worker has finished all work and accepts no more */
    void *info;
} WorkerClient;

typedef struct Worker {
    int number;
    bool slow; /* simulates a worker with more to do: sleeps after each batch */
    const WorkerClient *client;
    RLRunLoopSourceRef source; /* owned */
    RLRunLoopRef loop;         /* owned; set before registerWorker is called */
    pthread_t thread;

    pthread_mutex_t lock; /* guards the five fields below: the command buffer */
    Batch *first;
    Batch **end; /* where the next batch is linked */
    int waiting;
    bool closed;         /* no batch will follow */
    bool clientIsPaused; /* notify the client when there is room */

    /* Used by the worker's thread only; by the client after workerJoin. */
    uint64_t batches;
    Tally tally;
    LoopRecord record;
} Worker;

/* Starts the thread. The worker is memory of the caller, which must not move. The worker registers itself with the
 * client. Returns false with errno. */
bool workerStart(Worker *worker, int number, bool slow, const WorkerClient *client);

/* For the client, on its loop's thread, between registerWorker and removeWorker: */
void workerGive(Worker *worker, Batch *batch); /* takes ownership of the batch */
int workerCountWaiting(Worker *worker);
bool workerIsFull(Worker *worker); /* if so, workerHasRoom will be called once */
void workerClose(Worker *worker);  /* call once: no more work follows; removeWorker is called when all is done */

/* Call after removeWorker. */
void workerJoin(Worker *worker);
void workerFree(Worker *worker);

#endif
