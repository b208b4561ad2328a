/* relay.c - a relay stands between a client and a server, and passes on what each of them sends: bytes, the end of each direction,
 * and how fast the other one reads. The server here is slow: it takes its time for each piece of what a program prints. */
#include <RunLoopKit/RunLoopKit.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static RLStreamRef add(RLStreamRef stream)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
    return stream;
}

/* ---- The relay: all of it ---- */

typedef struct Relay {
    RLStreamRef sides[2];
    RLIndex most; /* bytes that have ever waited */
    int ended, passed;
} Relay;

static void flushed(RLStreamRef stream, RLStreamResult result, int error, void *info)
{
    (void)stream, (void)error;
    Relay *relay = info;
    relay->passed += result == kRLStreamSuccess;
}

static void relayEvent(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    Relay *relay = info;
    RLStreamRef other = relay->sides[stream == relay->sides[0]];
    if (event->type == kRLStreamEventHasBytesAvailable) {
        if (RLStreamWrite(other, event->bytes, event->length) && !RLStreamCanAcceptBytes(other))
            RLStreamPauseReading(stream); /* until the other side has taken some of it */
        if (RLStreamGetQueuedLength(other) > relay->most)
            relay->most = RLStreamGetQueuedLength(other);
    } else if (event->type == kRLStreamEventCanAcceptBytes) {
        RLStreamResumeReading(other);
    } else if (event->type == kRLStreamEventEndEncountered && ++relay->ended < 2) {
        RLStreamFlush(other, flushed, relay);
        RLStreamShutdown(other);
    } else { /* both directions have ended, or one has failed */
        RLStreamClose(stream);
        RLStreamClose(other);
    }
}

/* ---- Both ends ---- */

enum { length = 5000000 };

static void serve(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    long *heard = info;
    *heard += event->length;
    if (event->type == kRLStreamEventEndEncountered) { /* now it answers */
        char answer[64];
        snprintf(answer, sizeof answer, "%ld bytes have come", *heard);
        RLStreamAppend(stream, answer, (RLIndex)strlen(answer));
        RLStreamAppend(stream, "\n", 1);
        RLStreamShutdown(stream); /* writes them, too */
        RLStreamClose(stream);
    }
}

static void hearAnswer(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)info;
    if (event->type == kRLStreamEventHasBytesAvailable)
        printf("the server says: %.*s", (int)event->length, (const char *)event->bytes);
    else
        RLStreamClose(stream); /* the end */
}

int main(void)
{
    int left[2], right[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, left) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, right) != 0) {
        perror("relay");
        return 1;
    }
    Relay relay = {0};
    RLStreamContext context = {.info = &relay};
    relay.sides[0] = add(RLStreamCreate(NULL, left[1], 1, relayEvent, &context));
    relay.sides[1] = add(RLStreamCreate(NULL, right[0], 1, relayEvent, &context));

    long heard = 0;
    context.info = &heard;
    RLStreamRef client = add(RLStreamCreate(NULL, left[0], 1, hearAnswer, NULL));
    RLStreamRef server = add(RLStreamCreate(NULL, right[1], 1, serve, &context));
    RLStreamSetReadCount(server, 1000); /* small pieces, and so many calls */

    static uint8_t bytes[length];
    RLDataRef data = RLDataCreateWithBytesNoCopy(NULL, bytes, length, kRLAllocatorNull);
    RLStreamWriteData(client, data); /* is not copied: what does not fit waits as it is */
    RLRelease(data);
    RLStreamShutdown(client);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);

    printf("the relay has passed on the end, and held %s\n",
           relay.most < 200000 ? "less than 200 000 bytes at a time" : "too much");
    int ok = result == kRLRunLoopRunFinished && heard == length && relay.passed == 1;
    RLRelease(client);
    RLRelease(server);
    RLRelease(relay.sides[0]);
    RLRelease(relay.sides[1]);
    return ok ? 0 : 1;
}
