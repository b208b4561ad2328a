/* socket-echo.c - an echo server with 1 000 concurrent clients. The server's loop has its own thread; the clients
 * are on main's loop.
 *
 * The server either reads from a client or writes to it, never both. So it stops reading from a client that does not
 * read its echo, and data does not pile up, however slow a client is. */
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { clientCount = 1000, rounds = 3, textLength = 10000 };

/* A socket lives until it is invalidated, so the program keeps no reference to it. */
static RLSocketRef addToLoop(RLSocketRef s)
{
    RLRunLoopSourceRef source = s != NULL ? RLSocketCreateRunLoopSource(kRLAllocatorDefault, s, 0) : NULL;
    if (source == NULL)
        exit((perror("echo"), 1));
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    RLRelease(s);
    return s;
}

/* ---- The server ---- */

static int accepted; /* used by the server's thread only; main reads it after the join */

typedef struct Connection {
    char bytes[4096]; /* from begin to end: read, but not yet written back */
    size_t begin, end;
} Connection;

static void freeConnection(const void *info) { free((void *)info); }

static void serve(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)address, (void)data;
    Connection *connection = info;
    int fd = RLSocketGetNative(s);
    if (type == kRLSocketReadCallBack) {
        ssize_t count = recv(fd, connection->bytes, sizeof connection->bytes, MSG_DONTWAIT);
        if (count > 0) {
            connection->begin = 0;
            connection->end = (size_t)count;
            RLSocketDisableCallBacks(s, kRLSocketReadCallBack); /* until all of it is written */
            RLSocketEnableCallBacks(s, kRLSocketWriteCallBack);
        } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
            RLSocketInvalidate(s); /* closes it, frees the connection, and removes the source from the loop */
        }
    } else {
        ssize_t count = send(fd, connection->bytes + connection->begin, connection->end - connection->begin,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
        connection->begin += count > 0 ? (size_t)count : 0;
        RLSocketEnableCallBacks(s,
                                connection->begin < connection->end ? kRLSocketWriteCallBack : kRLSocketReadCallBack);
    }
}

static void acceptClient(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)type, (void)address, (void)info;
    RLSocketContext context = {.info = calloc(1, sizeof(Connection)), .release = freeConnection};
    addToLoop(RLSocketCreateWithNative(kRLAllocatorDefault, *(const RLSocketNativeHandle *)data,
                                       kRLSocketReadCallBack | kRLSocketWriteCallBack, serve, &context));
    if (++accepted == clientCount)
        RLSocketInvalidate(s); /* that was the last one */
}

static void *serverMain(void *listener)
{
    addToLoop(listener);
    RLRunLoopRun(); /* ends when no socket is left */
    return NULL;
}

/* ---- The clients ---- */

static RLDataRef text; /* what each client sends */

typedef struct Client {
    int heard, round; /* bytes received of this round's text; completed rounds */
} Client;

/* A stream arrives in chunks, which need not be the ones that were sent. */
static void hear(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)type, (void)address;
    Client *client = info;
    int length = (int)RLDataGetLength(data);
    int isRight = length > 0 && length <= textLength - client->heard &&
                  memcmp(RLDataGetBytePtr(data), RLDataGetBytePtr(text) + client->heard, (size_t)length) == 0;
    client->heard += length;
    if (isRight && client->heard < textLength)
        return;
    client->heard = 0;
    if (!isRight || ++client->round == rounds || RLSocketSendData(s, NULL, text, 10) != kRLSocketSuccess)
        RLSocketInvalidate(s);
}

int main(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max; /* usually 1 024 by default, for compatibility with select() */
    setrlimit(RLIMIT_NOFILE, &limit);

    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    RLDataRef address = RLDataCreate(kRLAllocatorDefault, (const uint8_t *)&any, sizeof any);
    RLSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, address};
    RLSocketRef listener =
        RLSocketCreateWithSocketSignature(kRLAllocatorDefault, &signature, kRLSocketAcceptCallBack, acceptClient, NULL);
    RLRelease(address);
    pthread_t thread;
    if (listener == NULL || pthread_create(&thread, NULL, serverMain, listener) != 0) {
        perror("echo: cannot start the server");
        return 1;
    }

    signature.address = RLSocketCopyAddress(listener); /* with the port that the system has chosen */
    static uint8_t bytes[textLength];
    for (int i = 0; i < textLength; i++)
        bytes[i] = (uint8_t)(i % 251);
    text = RLDataCreate(kRLAllocatorDefault, bytes, textLength);
    static Client clients[clientCount];
    for (int i = 0; i < clientCount; i++) {
        RLSocketContext context = {.info = &clients[i]};
        RLSocketRef client = addToLoop(RLSocketCreateConnectedToSocketSignature(
            kRLAllocatorDefault, &signature, kRLSocketDataCallBack, hear, &context, 10));
        if (RLSocketSendData(client, NULL, text, 10) != kRLSocketSuccess)
            perror("echo: send");
    }
    RLRelease(signature.address);
    printf("%d clients are connected, and each has sent %d bytes\n", clientCount, textLength);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0); /* until no socket is left */
    pthread_join(thread, NULL);
    RLRelease(text);

    int done = 0;
    for (int i = 0; i < clientCount; i++)
        done += clients[i].round == rounds;
    printf("%d clients received what they sent, %d times\n", done, rounds);
    printf("the server has accepted %d clients; none is left, so its loop has ended\n", accepted);
    return result == kRLRunLoopRunFinished && done == clientCount ? 0 : 1;
}
