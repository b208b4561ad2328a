/* chat.c - a line-based chat server with three clients. Each line is sent to all members; a member that does not
 * read fast enough is disconnected. socket-chat.c is the same program without the kit. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>
#include <string.h>

enum { personCount = 3 };
/* Client i waits for line i, then says line i + 1. */
static const char *const lines[] = {"* all are here\n", "ann: hello everybody\n", "bob: hello ann\n", "cat: goodbye\n"};
static RLStreamRef members[personCount];
static int memberCount;

static void tellAll(const void *line, RLIndex length)
{
    for (int i = 0; i < memberCount; i++)
        if (RLStreamWrite(members[i], line, length) && !RLStreamCanAcceptBytes(members[i]))
            RLStreamClose(members[i]); /* too slow */
}

static void serve(RLStreamRef member, const RLStreamEvent *event, void *info)
{
    (void)info;
    if (event->type == kRLStreamEventHasBytesAvailable)
        tellAll(event->bytes, event->length);
    else
        RLStreamClose(member); /* end of stream, or an error */
}

static void acceptMember(RLListenerRef listener, int descriptor, void *info)
{
    RLStreamRef member = members[memberCount++] = RLStreamCreate(NULL, descriptor, 1, serve, info);
    RLStreamSetReadDelimiter(member, "\n", 1, 128); /* one callback per line */
    RLStreamSetHighWaterMark(member, 512);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), member, kRLRunLoopDefaultMode);
    if (memberCount == personCount) {
        tellAll(lines[0], (RLIndex)strlen(lines[0]));
        RLListenerClose(listener); /* the room is full */
    }
}

static void takePart(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    const char *const *line = info;
    if (event->length > 0 && memcmp(event->bytes, line[0], (size_t)event->length) == 0) {
        RLStreamWrite(stream, line[1], (RLIndex)strlen(line[1]));
        printf("after \"%.5s…\" it is %s", line[0], line[1]);
    }
    if (event->length > 0 && memcmp(event->bytes, "cat", 3) == 0)
        RLStreamClose(stream);
}

int main(void)
{
    RLListenerRef listener = RLScheduleSource(RLListenerCreateWithHost(NULL, "localhost", NULL, acceptMember, NULL));
    RLDataRef address = RLListenerCopyAddress(listener);
    for (int i = 0; i < personCount; i++) {
        RLStreamContext context = {.info = (void *)(lines + i)};
        RLStreamRef person = RLScheduleSource(RLStreamCreateConnectedToAddress(NULL, address, takePart, &context));
        RLStreamSetReadDelimiter(person, "\n", 1, 128);
    }
    RLRelease(address);
    int isDone = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0) == kRLRunLoopRunFinished; /* nothing is left */
    for (int i = 0; i < memberCount; i++)
        RLRelease(members[i]);
    return isDone ? 0 : 1;
}
