/* socket-chat.c - a line-based chat: a server and three clients on one loop, without blocking calls. Each line is
 * sent to the other clients. The server queues data for slow clients, and disconnects those that are too slow. */
#include <RunLoop/RunLoop.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { personCount = 3 };

static RLSocketRef addToLoop(RLSocketRef s)
{
    RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(kRLAllocatorDefault, s, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    return s;
}

/* ---- The server ---- */

static struct Member {
    char line[128]; /* the part of the current line received so far */
    char news[512]; /* data that is still to be written */
    size_t lineLength, newsLength;
} memberInfos[personCount];
static RLSocketRef members[personCount];
static int memberCount;

static void tellAll(RLSocketRef except, const char *line)
{
    for (int i = 0; i < memberCount; i++) {
        if (members[i] == except || !RLSocketIsValid(members[i]))
            continue;
        RLSocketContext context = {.version = 0};
        RLSocketGetContext(members[i], &context);
        struct Member *member = context.info;
        size_t room = sizeof member->news - member->newsLength;
        member->newsLength += (size_t)snprintf(member->news + member->newsLength, room, "%s\n", line);
        if (member->newsLength < sizeof member->news)
            RLSocketEnableCallBacks(members[i], kRLSocketWriteCallBack);
        else
            RLSocketInvalidate(members[i]); /* too slow */
    }
}

static void serve(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)address;
    struct Member *member = info;
    if (type == kRLSocketWriteCallBack) { /* called again while it is enabled, because of the flag */
        RLIndex count = RLSocketSendBytes(s, NULL, (const uint8_t *)member->news, (RLIndex)member->newsLength);
        if (count > 0) /* the rest stays for the next callback */
            memmove(member->news, member->news + count, member->newsLength -= (size_t)count);
        if (member->newsLength == 0)
            RLSocketDisableCallBacks(s, kRLSocketWriteCallBack);
        return;
    }
    for (RLIndex i = 0; i < RLDataGetLength(data); i++) { /* data arrives in chunks, which need not be lines */
        char byte = (char)RLDataGetBytePtr(data)[i];
        member->line[member->lineLength++] = byte != '\n' ? byte : 0;
        if (byte == '\n' || member->lineLength == sizeof member->line - 1) {
            tellAll(s, member->line);
            member->lineLength = 0;
        }
    }
    if (RLDataGetLength(data) == 0) /* end of stream; the socket invalidates itself after this callback */
        tellAll(s, "* a guest has left");
}

static void acceptMember(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)type, (void)address, (void)info;
    RLSocketContext context = {.info = &memberInfos[memberCount]};
    RLSocketRef member = RLSocketCreateWithNative(kRLAllocatorDefault, *(const RLSocketNativeHandle *)data,
                                                  kRLSocketDataCallBack | kRLSocketWriteCallBack, serve, &context);
    RLSocketSetSocketFlags(member, RLSocketGetSocketFlags(member) | kRLSocketAutomaticallyReenableWriteCallBack);
    members[memberCount++] = addToLoop(member);
    tellAll(NULL, "* a guest has joined");
    if (memberCount == personCount)
        RLSocketInvalidate(s); /* the room is full */
}

/* ---- The clients ---- */

static struct Person {
    const char *name;
    char heard[512];
} people[personCount] = {{.name = "ann"}, {.name = "bob"}, {.name = "cat"}};

/* Which client, having read which text, says what, or leaves (""). */
static const struct Turn {
    int who;
    const char *heard, *says;
} script[] = {
    {0, "* a guest has joined\n* a guest has joined\n* a guest has joined\n", "ann: hello everybody\n"},
    {1, "ann: hello everybody\n", "bob: hello ann\n"},
    {2, "bob: hello ann\n", "cat: hello, and goodbye\n"},
    {2, "bob: hello ann\n", ""},
    {0, "* a guest has left\n", ""},
    {1, "* a guest has left\n* a guest has left\n", ""},
    {-1, "", ""},
};
static const struct Turn *turn = script;

static void takePart(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)address;
    struct Person *person = info;
    if (type == kRLSocketConnectCallBack) {
        RLDataRef peer = data == NULL ? RLSocketCopyPeerAddress(s) : NULL; /* data: the reason of a failure */
        if (peer != NULL) {
            const struct sockaddr_in *in = (const void *)RLDataGetBytePtr(peer);
            printf("%s is connected to %s\n", person->name, inet_ntoa(in->sin_addr));
            RLRelease(peer);
        }
        return;
    }
    strncat(person->heard, (const char *)RLDataGetBytePtr(data), (size_t)RLDataGetLength(data));
    for (; turn->who == person - people && strstr(person->heard, turn->heard) != NULL; turn++) {
        RLDataRef words = RLDataCreate(kRLAllocatorDefault, (const uint8_t *)turn->says, (RLIndex)strlen(turn->says));
        if (RLDataGetLength(words) == 0 || RLSocketSendData(s, NULL, words, 1) != kRLSocketSuccess)
            RLSocketInvalidate(s);
        RLRelease(words);
    }
}

int main(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    RLDataRef address = RLDataCreate(kRLAllocatorDefault, (const uint8_t *)&any, sizeof any);
    RLSocketRef server = RLSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, kRLSocketAcceptCallBack, acceptMember, NULL);
    int ok = RLGetTypeID(server) == RLSocketGetTypeID() && RLSocketSetAddress(server, address) == kRLSocketSuccess;
    RLRelease(address);
    address = RLSocketCopyAddress(addToLoop(server)); /* with the port that the system has chosen */
    for (int i = 0; i < personCount; i++) {
        RLSocketContext context = {.info = &people[i]};
        RLSocketRef s = RLSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, kRLSocketConnectCallBack | kRLSocketDataCallBack,
                                       takePart, &context);
        RLSocketConnectToAddress(addToLoop(s), address, -1); /* -1: in the background */
        RLRelease(s);                                        /* the socket lives until it is invalidated */
    }
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0); /* until no socket is left */
    RLRelease(address);
    for (int i = 0; i < personCount; i++) {
        printf("what %s received:\n%s", people[i].name, people[i].heard);
        RLRelease(members[i]);
    }
    RLRelease(server);
    return ok && result == kRLRunLoopRunFinished && turn->who < 0 ? 0 : 1;
}
