/* worker.h - a thread that lives in its run loop and counts the batches that others put into its command buffer.
 *
 * The buffer is the guide's custom input source: schedule registers the worker with its client, perform handles what
 * is in the buffer, cancel takes the registration back. */
#ifndef WORKER_H
#define WORKER_H

#include "batch.h"
#include "record.h"
#include "tally.h"

#include <pthread.h>

enum { workerBatchLimit = 8 }; /* a worker that has so many waiting is full */

/* The client of the workers, and its loop. The functions are called on that loop, with the Worker. */
typedef struct WorkerClient {
    RLRunLoopRef loop;
    RLRunLoopFunction registerWorker; /* the worker's source is in its loop: it can be given work */
    RLRunLoopFunction workerHasRoom;  /* after workerIsFull has said true */
    RLRunLoopFunction removeWorker;   /* the worker has no work any more, and must not be given any */
    void *info;
} WorkerClient;

typedef struct Worker {
    int number;
    bool slow; /* takes its time for each batch, as a worker with more to do would */
    const WorkerClient *client;
    RLRunLoopSourceRef source; /* owned */
    RLRunLoopRef loop;         /* owned; set before registerWorker is called */
    pthread_t thread;

    pthread_mutex_t lock; /* guards the five below: the command buffer */
    Batch *first;
    Batch **end; /* where the next batch is linked */
    int waiting;
    bool closed;         /* no batch will follow */
    bool clientIsPaused; /* the client wants to hear when there is room */

    /* The worker's thread only; for the client after workerJoin. */
    uint64_t batches;
    Tally tally;
    LoopRecord record;
} Worker;

/* Starts the thread. The worker, in memory of the caller that does not move, registers itself with the client.
 * Returns false with errno. */
bool workerStart(Worker *worker, int number, bool slow, const WorkerClient *client);

/* For the client, on its loop's thread, between registerWorker and removeWorker: */
void workerGive(Worker *worker, Batch *batch); /* takes the batch over */
int workerCountWaiting(Worker *worker);
bool workerIsFull(Worker *worker); /* if so, workerHasRoom will be called once */
void workerClose(Worker *worker);  /* once: there is no more work; removeWorker follows when all is done */

/* After removeWorker. */
void workerJoin(Worker *worker);
void workerFree(Worker *worker);

#endif
