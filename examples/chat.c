/* chat.c - a chat of lines, and three people who take part. What one says goes to all; those that do not read are
 * disconnected. socket-chat.c does the same without the kit. */
#include <RunLoopKit/RunLoopKit.h>
#include <stdio.h>
#include <string.h>

static const struct Person {
    const char *hears, *says; /* what they wait for, and their answer */
} people[] = {{"* 3", "ann: hello everybody\n"}, {"ann", "bob: hello ann\n"}, {"bob", "cat: goodbye\n"}};
enum { personCount = sizeof people / sizeof people[0] };
static RLStreamRef members[personCount];
static int memberCount;

static RLRunLoopSourceRef add(RLRunLoopSourceRef source)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    return source;
}

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
        RLStreamClose(member); /* the end, or an error */
}

static void acceptMember(RLListenerRef listener, int descriptor, void *info)
{
    char line[32];
    (void)info;
    RLStreamRef member = members[memberCount++] = add(RLStreamCreate(NULL, descriptor, 1, serve, NULL));
    RLStreamSetReadDelimiter(member, "\n", 1, 128); /* a call for each line */
    RLStreamSetHighWaterMark(member, 512);
    tellAll(line, snprintf(line, sizeof line, "* %d here\n", memberCount));
    if (memberCount == personCount)
        RLListenerClose(listener); /* the room is full */
}

static void takePart(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    const struct Person *person = info;
    if (event->type != kRLStreamEventHasBytesAvailable)
        return;
    if (memcmp(event->bytes, person->hears, 3) == 0 &&
        RLStreamWrite(stream, person->says, (RLIndex)strlen(person->says)))
        printf("after \"%.*s…\" it is %s", 3, person->hears, person->says);
    if (memcmp(event->bytes, "cat", 3) == 0)
        RLStreamClose(stream);
}

int main(void)
{
    RLListenerRef listener = add(RLListenerCreateWithHost(NULL, "localhost", NULL, acceptMember, NULL));
    RLDataRef address = RLListenerCopyAddress(listener);
    for (int i = 0; i < personCount; i++) {
        RLStreamContext context = {.info = (void *)&people[i]};
        RLStreamRef person = add(RLStreamCreateConnectedToAddress(NULL, address, takePart, &context));
        RLStreamSetReadDelimiter(person, "\n", 1, 128);
        RLRelease(person); /* the loop keeps it */
    }
    RLRelease(address);
    int isDone = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0) == kRLRunLoopRunFinished; /* nothing is left */
    for (int i = 0; i < memberCount; i++)
        RLRelease(members[i]);
    RLRelease(listener);
    return isDone ? 0 : 1;
}
