/* relay.c - a relay between a client and a server: what each sends is forwarded to the other, no faster than that one reads, and so
 * are the ends. The server takes its time for what the client sends. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>

static RLStreamRef client, sides[2]; /* of the relay: the client's, the server's */
static RLIndex heard, most;          /* bytes that have come to the server, that have ever waited in the relay */
static char port[8];

static RLRunLoopSourceRef add(RLRunLoopSourceRef source)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    return source;
}

static void relay(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    static int ended;
    (void)stream, (void)info;
    if (event->type == kRLStreamEventOpenCompleted || (event->type == kRLStreamEventEndEncountered && ++ended < 2))
        return;
    RLStreamCloseWhenWritten(sides[0]); /* both directions have ended, or one has failed */
    RLStreamCloseWhenWritten(sides[1]);
}

static void serve(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    char answer[64];
    (void)info;
    heard += event->length;
    most = RLStreamGetQueuedLength(sides[1]) > most ? RLStreamGetQueuedLength(sides[1]) : most;
    if (event->type != kRLStreamEventEndEncountered)
        return;
    RLStreamAppend(stream, answer, snprintf(answer, sizeof answer, "%ld bytes ", (long)heard));
    RLStreamWrite(stream, "have come\n", 10); /* and what was appended */
    RLStreamCloseWhenWritten(stream);
}

static void acceptStream(RLListenerRef listener, int descriptor, void *workers)
{
    RLListenerClose(listener); /* for this example */
    if (workers == NULL) {     /* the server's listener */
        RLRunLoopSourceRef stream = add(RLStreamCreate(NULL, descriptor, 1, serve, NULL));
        RLStreamSetReadCount(stream, 1000); /* small pieces, and so many calls */
        RLRelease(stream);                  /* the loop keeps it */
        return;
    }
    sides[0] = add(RLStreamCreate(NULL, descriptor, 1, relay, NULL));
    sides[1] = add(RLStreamCreateConnectedToHost(NULL, "localhost", port, workers, 10, relay, NULL));
    RLStreamForward(sides[0], sides[1]);
    RLStreamForward(sides[1], sides[0]);
}

static void sent(RLStreamRef stream, RLStreamResult result, int error, void *info)
{
    (void)error, (void)info;
    printf("all was handed to the system%s\n", result == kRLStreamSuccess ? "" : ", or never will be");
    RLStreamResumeReading(stream); /* now for the answer */
}

static void hear(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)info;
    if (event->type == kRLStreamEventHasBytesAvailable)
        printf("the server says: %.*s", (int)event->length, (const char *)event->bytes);
    else if (event->type != kRLStreamEventOpenCompleted)
        RLStreamClose(stream);
}

int main(void)
{
    static uint8_t bytes[5000000];
    RLWorkersRef workers = RLWorkersCreate(NULL, 1); /* look names up */
    RLListenerContext context = {.info = workers};
    RLListenerRef front = add(RLListenerCreateWithHost(NULL, NULL, NULL, acceptStream, &context));
    RLListenerRef back = add(RLListenerCreateWithHost(NULL, "localhost", NULL, acceptStream, NULL));
    snprintf(port, sizeof port, "%d", RLListenerGetPort(front));
    client = add(RLStreamCreateConnectedToHost(NULL, "127.0.0.1", port, NULL, 10, hear, NULL));
    snprintf(port, sizeof port, "%d", RLListenerGetPort(back));
    RLDataRef data = RLDataCreateWithBytesNoCopy(NULL, bytes, sizeof bytes, kRLAllocatorNull);
    RLStreamWriteData(client, data); /* is not copied: what does not fit waits as it is */
    RLStreamFlush(client, sent, NULL);
    RLStreamPauseReading(client); /* until then */
    RLStreamShutdown(client);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
    printf("the relay has held %s\n", most < 200000 ? "less than 200 000 bytes at a time" : "too much");
    RLTypeRef all[] = {client, data, sides[0], sides[1], front, back, workers};
    for (int i = 0; i < 7; i++)
        RLRelease(all[i]);
    return result == kRLRunLoopRunFinished ? 0 : 1;
}
