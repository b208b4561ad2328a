/* echo.c - an echo server and 400 clients at once. The server reads no more from a client that does not take its echo, so
 * nothing piles up, and disconnects those that do nothing. socket-echo.c does the same without the kit. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>
#include <string.h>

enum { clientCount = 400, textLength = 100000 };
static uint8_t text[textLength + clientCount]; /* each client says another part of it */
static int accepted, done;

static void acceptClient(RLListenerRef listener, int descriptor, void *info)
{
    (void)info;
    RLStreamRef stream = RLScheduleSource(RLStreamCreate(NULL, descriptor, 1, NULL, NULL)); /* the loop keeps it */
    RLStreamSetIdleLimit(stream, 30);
    RLStreamForwardBoth(stream, stream); /* all that it receives to itself, until it ends */
    if (++accepted == clientCount)
        RLListenerClose(listener);
}

static void hear(RLStreamRef stream, const RLStreamEvent *event, void *said)
{
    if (event->type == kRLStreamEventOpenCompleted)
        return;
    done += event->length == textLength && memcmp(event->bytes, said, textLength) == 0; /* or an error */
    RLStreamClose(stream);
}

int main(void)
{
    for (uint32_t i = 0, number = 1; i < sizeof text; i++)
        text[i] = (uint8_t)((number = number * 1664525 + 1013904223) >> 24);
    RLListenerRef listener = RLScheduleSource(RLListenerCreateWithHost(NULL, "localhost", NULL, acceptClient, NULL));
    RLDataRef address = RLListenerCopyAddress(listener); /* with the port that the system has chosen */
    for (int i = 0; i < clientCount; i++) {
        RLStreamContext context = {.info = text + i};
        RLStreamRef client = RLScheduleSource(RLStreamCreateConnectedToAddress(NULL, address, hear, &context));
        RLStreamSetReadCount(client, textLength);    /* a call for the text as a whole */
        RLStreamWrite(client, text + i, textLength); /* as soon as it is connected */
    }
    RLRelease(address);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0); /* until nothing is left */
    printf("%d of %d clients have heard the %d bytes that they said\n", done, clientCount, textLength);
    return done == clientCount ? 0 : 1;
}
