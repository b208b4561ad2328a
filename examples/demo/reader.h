/* reader.h - reads a file or pipe through a version-1 source, and cuts what it reads into batches of whole lines. */
#ifndef READER_H
#define READER_H

#include "batch.h"

#include <RunLoop/RunLoop.h>

#include <stdbool.h>
#include <stdint.h>

/* Called on the loop's thread. */
typedef struct ReaderClient {
    /* The bytes as they come from read(). */
    void (*bytesRead)(void *info, const unsigned char *bytes, size_t length);
    /* Takes the batch over. If it does not end a line, the next batch goes on with that line. May call readerPause. */
    void (*batchRead)(void *info, Batch *batch, bool endsLine);
    /* Once, as the last call: end of file, or an error (errno). */
    void (*finished)(void *info, int error);
    void *info;
} ReaderClient;

typedef struct Reader {
    int fd; /* not owned */
    const ReaderClient *client;
    RLRunLoopSourceRef source; /* owned */
    Batch *batch;              /* owned: is being filled */
    bool reading;              /* the source is in the loop */
    uint64_t bytes, pauses;
} Reader;

/* The reader does not read before readerResume. Returns false with errno. */
bool readerInit(Reader *reader, int fd, const ReaderClient *client);
void readerFree(Reader *reader);

/* Takes the source out of the current loop and puts it back: nothing is read and nothing is lost meanwhile. */
void readerPause(Reader *reader);
void readerResume(Reader *reader);

#endif
