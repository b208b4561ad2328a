/* reader.h - reads a file or pipe through a version-1 source, and splits the data into batches of whole lines. */
#ifndef READER_H
#define READER_H

#include "batch.h"

#include <RunLoop/RunLoop.h>

#include <stdbool.h>
#include <stdint.h>

/* Callbacks of the reader, called on the loop's thread. */
typedef struct ReaderClient {
    /* Receives the bytes as read() returns them. */
    void (*bytesRead)(void *info, const unsigned char *bytes, size_t length);
    /* Takes ownership of the batch. If it does not end a line, the next batch continues that line. May call
     * readerPause. */
    void (*batchRead)(void *info, Batch *batch, bool endsLine);
    /* The last callback, called once: end of file, or an error (an errno value). */
    void (*finished)(void *info, int error);
    void *info;
} ReaderClient;

typedef struct Reader {
    int fd; /* not owned */
    const ReaderClient *client;
    RLRunLoopSourceRef source; /* owned */
    Batch *batch;              /* owned: the batch being filled */
    bool reading;              /* the source is in the loop */
    uint64_t bytes, pauses;
} Reader;

/* Nothing is read before readerResume. Returns false with errno. */
bool readerInit(Reader *reader, int fd, const ReaderClient *client);
void readerFree(Reader *reader);

/* Removes the source from the current loop and adds it again: in between, nothing is read and nothing is lost. */
void readerPause(Reader *reader);
void readerResume(Reader *reader);

#endif
