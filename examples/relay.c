/* relay.c - a relay between a client and a server. Data and end-of-stream are forwarded in both directions, no
 * faster than the receiver reads. The server reads the client's data slowly. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>

static RLStreamRef toServer; /* the relay's stream to the server */
static RLIndex heard, most;  /* bytes received by the server; most bytes ever queued in the relay */
static char port[8];

static void relay(RLListenerRef listener, int descriptor, void *workers)
{
    toServer = RLStreamCreateConnectedToHost(NULL, "localhost", port, workers, 10, NULL, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), toServer, kRLRunLoopDefaultMode);
    RLStreamForwardBoth(RLScheduleSource(RLStreamCreate(NULL, descriptor, 1, NULL, NULL)), toServer);
    RLListenerClose(listener); /* one client will do for this example */
}

static void serve(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    char answer[64];
    (void)info;
    heard += event->length;
    most = RLStreamGetQueuedLength(toServer) > most ? RLStreamGetQueuedLength(toServer) : most;
    if (event->type == kRLStreamEventEndEncountered) {
        RLStreamWrite(stream, answer, snprintf(answer, sizeof answer, "%ld bytes were received", (long)heard));
        RLStreamCloseWhenWritten(stream);
    }
}

static void acceptRelay(RLListenerRef listener, int descriptor, void *info)
{
    RLStreamRef stream = RLScheduleSource(RLStreamCreate(NULL, descriptor, 1, serve, info));
    RLStreamSetReadCount(stream, 1000); /* small chunks, so that there are many callbacks */
    RLListenerClose(listener);
}

static void hear(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)info;
    if (event->type == kRLStreamEventHasBytesAvailable)
        printf("the server says: %.*s\n", (int)event->length, (const char *)event->bytes);
    else if (event->type != kRLStreamEventOpenCompleted)
        RLStreamClose(stream);
}

int main(void)
{
    static uint8_t bytes[5000000];
    RLListenerContext context = {.info = RLWorkersCreate(NULL, 1)}; /* for host name lookups */
    RLListenerRef front = RLScheduleSource(RLListenerCreateWithHost(NULL, NULL, NULL, relay, &context));
    RLListenerRef back = RLScheduleSource(RLListenerCreateWithHost(NULL, "localhost", NULL, acceptRelay, NULL));
    RLDataRef address = RLListenerCopyAddress(front);
    snprintf(port, sizeof port, "%d", RLListenerGetPort(back));
    RLStreamRef client = RLScheduleSource(RLStreamCreateConnectedToAddress(NULL, address, hear, NULL));
    RLStreamWrite(client, bytes, sizeof bytes);
    RLStreamShutdown(client);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
    printf("the relay buffered %s\n", most < 200000 ? "less than 200 000 bytes at a time" : "too much");
    RLRelease(toServer);
    RLRelease(address);
    RLRelease(context.info);
    return result == kRLRunLoopRunFinished ? 0 : 1;
}
