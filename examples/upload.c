/* upload.c - 5 MB for a reader that takes its time: what the system does not take waits, without being copied, and the writer is told
 * when all of it is handed over. */
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
    RLStreamWrite(stream, "have come\n", 10); /* and what was appended: one system call */
    RLStreamCloseWhenWritten(stream);
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
        printf("the reader says: %.*s", (int)event->length, (const char *)event->bytes);
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
    RLStreamSetReadCount(reader, 1000); /* small pieces, and so many calls */
    RLDataRef data = RLDataCreateWithBytesNoCopy(NULL, bytes, sizeof bytes, kRLAllocatorNull);
    RLStreamWriteData(writer, data); /* is not copied: what does not fit waits as it is */
    printf("%s of it waits\n", RLStreamGetQueuedLength(writer) > 4000000 ? "most" : "little");
    RLStreamFlush(writer, sent, NULL);
    RLStreamPauseReading(writer); /* until then */
    RLStreamShutdown(writer);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
    RLRelease(data);
    return result == kRLRunLoopRunFinished && taken == sizeof bytes ? 0 : 1;
}
