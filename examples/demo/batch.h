/* batch.h - what the reader passes to a worker: some lines, or a part of one very long line. */
#ifndef BATCH_H
#define BATCH_H

#include <stddef.h>

enum { batchCapacity = 64 * 1024 };

/* Allocated by the reader, freed by the worker; one owner at any time, so it needs no lock. */
typedef struct Batch {
    struct Batch *next; /* in a worker's command buffer */
    size_t length;
    unsigned char bytes[batchCapacity];
} Batch;

#endif
