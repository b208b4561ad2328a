/* echo.c - an echo server and 400 clients at once. The server reads no more from a client that does not take its echo, so
 * nothing piles up, and disconnects those that do nothing. socket-echo.c does the same without the kit. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>
#include <string.h>

enum { clientCount = 400, textLength = 100000 };
static uint8_t text[textLength + clientCount]; /* each client says another part of it */
static RLListenerRef listener;
static int done, ended;

static RLRunLoopSourceRef add(RLRunLoopSourceRef source)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source); /* the loop keeps it */
    return source;
}

static void serve(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)event, (void)info;          /* the end, or an error */
    RLStreamCloseWhenWritten(stream); /* takes it out of the loop, which frees it */
}

static void acceptClient(RLListenerRef self, int descriptor, void *info)
{
    (void)self, (void)info;
    RLStreamRef stream = add(RLStreamCreate(NULL, descriptor, 1, serve, NULL));
    RLStreamForward(stream, stream); /* all that it receives to itself */
    RLStreamSetIdleLimit(stream, 30);
}

static void hear(RLStreamRef stream, const RLStreamEvent *event, void *said)
{
    if (event->type == kRLStreamEventOpenCompleted)
        return;
    done += event->length == textLength && memcmp(event->bytes, said, textLength) == 0; /* or an error */
    RLStreamClose(stream);
    if (++ended == clientCount)
        RLListenerClose(listener);
}

int main(void)
{
    for (uint32_t i = 0, number = 1; i < sizeof text; i++)
        text[i] = (uint8_t)((number = number * 1664525 + 1013904223) >> 24);
    listener = add(RLListenerCreateWithHost(NULL, "localhost", NULL, acceptClient, NULL));
    RLDataRef address = RLListenerCopyAddress(listener); /* with the port that the system has chosen */
    for (int i = 0; i < clientCount; i++) {
        RLStreamContext context = {.info = text + i};
        RLStreamRef client = add(RLStreamCreateConnectedToAddress(NULL, address, hear, &context));
        RLStreamSetReadCount(client, textLength);    /* a call for the text as a whole */
        RLStreamWrite(client, text + i, textLength); /* as soon as it is connected */
    }
    RLRelease(address);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0); /* until nothing is left */
    printf("%d of %d clients have heard the %d bytes that they said\n", done, clientCount, textLength);
    return done == clientCount ? 0 : 1;
}
