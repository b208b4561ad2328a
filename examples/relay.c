/* relay.c - a relay: forwards data between a client and a server in both directions, no faster than the receiver reads. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>

static RLStreamRef toServer;      /* the relay's connection to the server */
static RLIndex waiting, returned; /* bytes in the relay once the server is reached; bytes returned to the client */
static char port[8];

static void relay(RLListenerRef front, RLStreamRef client, void *workers)
{
    toServer = RLStreamCreateConnectedToHost(NULL, "localhost", port, workers, 10, NULL, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), toServer, kRLRunLoopDefaultMode);
    RLStreamForwardBoth(client, toServer); /* until both have ended */
    RLListenerClose(front);                /* one client will do for this example */
}

static void echo(RLListenerRef server, RLStreamRef stream, void *info)
{
    (void)info;
    waiting = RLStreamGetQueuedLength(toServer); /* the rest has stayed with the client */
    RLStreamForwardBoth(stream, stream);
    RLListenerClose(server);
}

static void hear(RLStreamRef client, const RLStreamEvent *event, void *info)
{
    (void)info;
    returned += event->length;
    if (event->type == kRLStreamEventEndEncountered || event->type == kRLStreamEventErrorOccurred)
        RLStreamClose(client);
}

int main(void)
{
    static uint8_t bytes[5000000];
    RLStreamContext context = {.info = RLWorkersCreate(NULL, 1)}; /* for host name lookups */
    RLListenerRef front = RLScheduleSource(RLServerCreateWithHost(NULL, NULL, NULL, relay, NULL, &context));
    RLListenerRef server = RLScheduleSource(RLServerCreateWithHost(NULL, "localhost", NULL, echo, NULL, NULL));
    RLDataRef address = RLListenerCopyAddress(front);
    RLStreamRef client = RLScheduleSource(RLStreamCreateConnectedToAddress(NULL, address, hear, NULL));
    snprintf(port, sizeof port, "%d", RLListenerGetPort(server));
    RLStreamWrite(client, bytes, sizeof bytes);
    RLStreamShutdown(client);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0); /* until no stream is left */
    printf("%ld bytes came back; the relay held %s\n", (long)returned, waiting < 200000 ? "under 200 000" : "too many");
    RLRelease(address);
    RLRelease(toServer);
    RLRelease(context.info);
    return waiting < 200000 && returned == sizeof bytes ? 0 : 1;
}
