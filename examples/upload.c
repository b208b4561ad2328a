/* upload.c - sending 5 MB to a slow reader: data that the system does not accept is queued without being copied, and
 * the writer is notified when there is room for more, and when all of it has been handed over. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>
#include <sys/socket.h>

static void take(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    RLIndex *taken = info;
    char answer[32];
    *taken += event->length;
    if (event->type != kRLStreamEventEndEncountered)
        return;
    RLStreamAppend(stream, answer, snprintf(answer, sizeof answer, "%ld bytes ", (long)*taken));
    RLStreamWrite(stream, "have come\n", 10); /* and the appended data, in one system call */
    RLStreamCloseWhenWritten(stream);
}

static void sent(RLStreamRef stream, RLStreamResult result, int error, void *info)
{
    (void)info;
    printf("writing has ended: %s\n", RLStreamResultGetText(result, error));
    RLStreamResumeReading(stream); /* to receive the answer */
}

static void hear(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)info;
    if (event->type == kRLStreamEventHasBytesAvailable)
        printf("the reader says: %.*s", (int)event->length, (const char *)event->bytes);
    else if (event->type == kRLStreamEventCanAcceptBytes)
        printf("half a megabyte waits: there is room for more\n");
    else
        RLStreamClose(stream);
}

int main(void)
{
    static uint8_t bytes[5000000];
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    RLIndex taken = 0;
    RLStreamContext context = {.info = &taken};
    RLStreamRef reader = RLScheduleSource(RLStreamCreate(NULL, ends[0], 1, take, &context));
    RLStreamRef writer = RLScheduleSource(RLStreamCreate(NULL, ends[1], 1, hear, NULL));
    RLStreamSetReadCount(reader, 1000); /* small chunks, so that there are many callbacks */
    RLDataRef data = RLDataCreateWithBytesNoCopy(NULL, bytes, sizeof bytes, kRLAllocatorNull);
    RLStreamWriteData(writer, data); /* not copied: data that the system does not accept is queued as it is */
    RLStreamSetHighWaterMark(writer, 1000000);
    printf("%s of it waits, and %s\n", RLStreamGetQueuedLength(writer) > 4000000 ? "most" : "little",
           RLStreamCanAcceptBytes(writer) ? "there is room" : "there is no room for more");
    RLStreamFlush(writer, sent, NULL);
    RLStreamPauseReading(writer); /* until the flush is done */
    RLStreamShutdown(writer);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
    RLRelease(data);
    return result == kRLRunLoopRunFinished && taken == sizeof bytes ? 0 : 1;
}
