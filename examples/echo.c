/* echo.c - an echo server with 400 concurrent clients. The server stops reading from a client that does not read its
 * echo, so data does not pile up, and it disconnects idle clients. socket-echo.c is the same program without the
 * kit. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>
#include <string.h>

enum { clientCount = 400, textLength = 100000 };
static uint8_t text[textLength + clientCount]; /* each client sends a different part of it */
static int accepted, done;

static void acceptClient(RLListenerRef server, RLStreamRef stream, void *info)
{
    (void)info;
    RLStreamSetIdleLimit(stream, 30);
    RLStreamForwardBoth(stream, stream); /* echoes all data until the stream ends */
    if (++accepted == clientCount)
        RLListenerClose(server);
}

static void hear(RLStreamRef stream, const RLStreamEvent *event, void *said)
{
    if (event->type == kRLStreamEventOpenCompleted)
        return;
    done += event->length == textLength && memcmp(event->bytes, said, textLength) == 0; /* otherwise an error */
    RLStreamClose(stream);
}

int main(void)
{
    for (uint32_t i = 0, number = 1; i < sizeof text; i++)
        text[i] = (uint8_t)((number = number * 1664525 + 1013904223) >> 24);
    RLListenerRef server = RLScheduleSource(RLServerCreateWithHost(NULL, "localhost", NULL, acceptClient, NULL, NULL));
    RLDataRef address = RLListenerCopyAddress(server); /* with the port that the system has chosen */
    for (int i = 0; i < clientCount; i++) {
        RLStreamContext context = {.info = text + i};
        RLStreamRef client = RLScheduleSource(RLStreamCreateConnectedToAddress(NULL, address, hear, &context));
        RLStreamSetReadCount(client, textLength);    /* one callback for the whole text */
        RLStreamWrite(client, text + i, textLength); /* sent once the client is connected */
    }
    RLRelease(address);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0); /* until nothing is left in the loop */
    printf("%d of %d clients received the %d bytes that they sent\n", done, clientCount, textLength);
    return done == clientCount ? 0 : 1;
}
