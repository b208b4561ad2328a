#define _GNU_SOURCE /* memrchr */
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void finish(Reader *reader, int error)
{
    /* A file at its end stays readable: if the source stayed in the loop, it would be performed without end. */
    RLRunLoopSourceInvalidate(reader->source);
    reader->reading = false;
    if (reader->batch != NULL && reader->batch->length > 0 && error == 0) {
        Batch *last = reader->batch;
        reader->batch = NULL;
        reader->client->batchRead(reader->client->info, last, true);
    }
    reader->client->finished(reader->client->info, error);
}

/* Hands over everything up to the last \n read; the rest begins the next batch. A line that fills a whole batch is
 * handed over in chunks, so that memory does not grow with the longest line. */
static bool handOver(Reader *reader, size_t newBytes)
{
    Batch *batch = reader->batch;
    const unsigned char *newline = memrchr(batch->bytes + batch->length - newBytes, '\n', newBytes);
    if (newline == NULL && batch->length < batchCapacity)
        return true; /* no complete line so far */

    Batch *next = malloc(sizeof *next);
    if (next == NULL)
        return false;
    size_t used = newline != NULL ? (size_t)(newline + 1 - batch->bytes) : batch->length;
    next->length = batch->length - used;
    memcpy(next->bytes, batch->bytes + used, next->length);
    batch->length = used;
    reader->batch = next;
    reader->client->batchRead(reader->client->info, batch, newline != NULL);
    return true;
}

/* ---- The two callbacks of a version-1 source ---- */

static int getPort(void *info)
{
    Reader *reader = info;
    return reader->fd;
}

/* The descriptor is readable. One read() per callback: the loop calls again while there is something to read, and
 * everything else in the loop has its turn in between. Regular files are always readable. */
static void perform(void *info)
{
    Reader *reader = info;
    unsigned char *place = reader->batch->bytes + reader->batch->length;
    ssize_t count = read(reader->fd, place, batchCapacity - reader->batch->length);
    if (count > 0) {
        reader->bytes += (uint64_t)count;
        reader->batch->length += (size_t)count;
        reader->client->bytesRead(reader->client->info, place, (size_t)count);
        if (!handOver(reader, (size_t)count))
            finish(reader, ENOMEM);
    } else if (count == 0) {
        finish(reader, 0);
    } else if (errno != EINTR && errno != EAGAIN) {
        finish(reader, errno);
    }
}

/* ---- */

bool readerInit(Reader *reader, int fd, const ReaderClient *client)
{
    *reader = (Reader){.fd = fd, .client = client};
    reader->batch = malloc(sizeof *reader->batch);
    if (reader->batch == NULL)
        return false;
    reader->batch->length = 0;

    RLRunLoopSourceContext1 context = {.version = 1, .info = reader, .getPort = getPort, .perform = perform};
    /* One function creates both kinds of source; the version says which context is passed. */
    reader->source = RLRunLoopSourceCreate(kRLAllocatorDefault, 0, (RLRunLoopSourceContext *)&context);
    return reader->source != NULL;
}

void readerFree(Reader *reader)
{
    if (reader->source != NULL) {
        RLRunLoopSourceInvalidate(reader->source);
        RLRelease(reader->source);
    }
    free(reader->batch);
}

void readerPause(Reader *reader)
{
    if (!reader->reading)
        return;
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), reader->source, kRLRunLoopDefaultMode);
    reader->reading = false;
    reader->pauses++;
}

void readerResume(Reader *reader)
{
    if (reader->reading || !RLRunLoopSourceIsValid(reader->source))
        return;
    RLRunLoopAddSource(RLRunLoopGetCurrent(), reader->source, kRLRunLoopDefaultMode);
    reader->reading = true;
}
