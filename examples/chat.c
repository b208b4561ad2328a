/* chat.c - a line-based chat with three clients: each line goes to all members; slow members are disconnected. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>
#include <string.h>

enum { personCount = 3 };
static const char *const lines[] = {"* all are here\n", "ann: hello everybody\n", "bob: hello ann\n", "cat: goodbye\n"};

static void admit(RLListenerRef server, RLStreamRef member, void *members)
{
    RLStreamSetReadDelimiter(member, "\n", 1, 128); /* one event for each line */
    if (RLStreamGroupAdd(members, member) == personCount) {
        RLStreamGroupWrite(members, lines[0], (RLIndex)strlen(lines[0]), NULL);
        RLListenerClose(server); /* the room is full */
    }
}

static void serve(RLStreamRef member, const RLStreamEvent *event, void *members)
{
    if (event->type == kRLStreamEventHasBytesAvailable)
        RLStreamGroupWrite(members, event->bytes, event->length, NULL); /* a member with 64 KiB unread fails */
    else
        RLStreamClose(member); /* end of stream, or an error; the member leaves the group */
}

static void takePart(RLStreamRef person, const RLStreamEvent *event, void *info)
{
    const char *const *line = info; /* the line to wait for, followed by the line to say */
    if (event->length > 0 && memcmp(event->bytes, line[0], (size_t)event->length) == 0) {
        printf("after \"%.5s…\" it is %s", line[0], line[1]);
        RLStreamWrite(person, line[1], (RLIndex)strlen(line[1]));
        RLStreamCloseWhenWritten(person);
    }
}

int main(void)
{
    RLStreamContext context = {.info = RLStreamGroupCreate(NULL)};
    RLListenerRef server = RLScheduleSource(RLServerCreateWithHost(NULL, "localhost", NULL, admit, serve, &context));
    RLDataRef address = RLListenerCopyAddress(server);
    for (int i = 0; i < personCount; i++) {
        RLStreamContext words = {.info = (void *)(lines + i)};
        RLStreamRef person = RLScheduleSource(RLStreamCreateConnectedToAddress(NULL, address, takePart, &words));
        RLStreamSetReadDelimiter(person, "\n", 1, 128);
    }
    RLRelease(address);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0); /* until no stream is left */
    RLRelease(context.info);
    return result == kRLRunLoopRunFinished ? 0 : 1;
}
