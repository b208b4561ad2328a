/* chat.c - a chat of lines: a server and three clients on one loop. What one says goes to the others. The streams keep what a
 * client has not read yet; the server disconnects those that are too slow. socket-chat.c does the same without the kit. */
#include <RunLoopKit/RunLoopKit.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { personCount = 3 };

static RLStreamRef add(RLStreamRef stream)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
    return stream;
}

/* ---- The server ---- */

static RLStreamRef members[personCount];
static int memberCount;

static void tellAll(RLStreamRef except, const void *line, RLIndex length)
{
    for (int i = 0; i < memberCount; i++) {
        if (members[i] != except && RLStreamWrite(members[i], line, length) && !RLStreamCanAcceptBytes(members[i]))
            RLStreamClose(members[i]); /* too slow */
    }
}

static void serve(RLStreamRef member, const RLStreamEvent *event, void *info)
{
    (void)info;
    if (event->type == kRLStreamEventHasBytesAvailable) {
        tellAll(member, event->bytes, event->length); /* a line */
    } else {                                          /* the end, or an error */
        RLStreamClose(member);
        tellAll(member, "* somebody has left\n", 20);
    }
}

static void acceptMember(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)type, (void)address, (void)info;
    RLStreamRef member = RLStreamCreate(NULL, *(const RLSocketNativeHandle *)data, 1, serve, NULL);
    RLStreamSetReadDelimiter(member, "\n", 1, 128);
    RLStreamSetHighWaterMark(member, 512);
    members[memberCount++] = add(member);
    tellAll(NULL, "* somebody has come\n", 20);
    if (memberCount == personCount)
        RLSocketInvalidate(s); /* the room is full */
}

/* ---- The clients ---- */

static struct Person {
    const char *name;
    char heard[512];
} people[personCount] = {{.name = "ann"}, {.name = "bob"}, {.name = "cat"}};

/* Which client, having read which words, says what, or leaves (""). */
static const struct Turn {
    int who;
    const char *heard, *says;
} script[] = {
    {0, "* somebody has come\n* somebody has come\n* somebody has come\n", "ann: hello everybody\n"},
    {1, "ann: hello everybody\n", "bob: hello ann\n"},
    {2, "bob: hello ann\n", "cat: hello, and goodbye\n"},
    {2, "bob: hello ann\n", ""},
    {0, "* somebody has left\n", ""},
    {1, "* somebody has left\n* somebody has left\n", ""},
    {-1, "", ""},
};
static const struct Turn *turn = script;

static void takePart(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    struct Person *person = info;
    if (event->type == kRLStreamEventOpenCompleted) {
        struct sockaddr_in peer;
        if (getpeername(RLStreamGetNativeDescriptor(stream), (struct sockaddr *)&peer, &(socklen_t){sizeof peer}) == 0)
            printf("%s is connected to %s\n", person->name, inet_ntoa(peer.sin_addr));
        return;
    }
    strncat(person->heard, (const char *)event->bytes, (size_t)event->length);
    for (; turn->who == person - people && strstr(person->heard, turn->heard) != NULL; turn++) {
        if (turn->says[0] == 0 || !RLStreamWrite(stream, turn->says, (RLIndex)strlen(turn->says)))
            RLStreamClose(stream);
    }
}

int main(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    RLDataRef address = RLDataCreate(NULL, (const uint8_t *)&any, sizeof any);
    RLSocketRef server = RLSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, kRLSocketAcceptCallBack, acceptMember, NULL);
    int ok = server != NULL && RLSocketSetAddress(server, address) == kRLSocketSuccess;
    RLRelease(address);
    RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(NULL, server, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    address = RLSocketCopyAddress(server); /* with the port that the system has chosen */
    for (int i = 0; i < personCount; i++) {
        RLStreamContext context = {.info = &people[i]};
        RLRelease(add(RLStreamCreateConnectedToAddress(NULL, address, takePart, &context))); /* the loop has it */
    }
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0); /* until no stream is left */
    RLRelease(address);
    for (int i = 0; i < personCount; i++) {
        printf("what %s has heard:\n%s", people[i].name, people[i].heard);
        RLRelease(members[i]);
    }
    RLRelease(server);
    return ok && result == kRLRunLoopRunFinished && turn->who < 0 ? 0 : 1;
}
