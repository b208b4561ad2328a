/* echo.c - an echo server and 1 000 clients at once. The server's loop has a thread of its own, the clients are on main's.
 *
 * The server reads no more from a client that does not take its echo, so nothing piles up, however slow a client is.
 * socket-echo.c does the same without the kit. */
#include <RunLoopKit/RunLoopKit.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { clientCount = 1000, rounds = 3, textLength = 10000 };

static RLRunLoopSourceRef addToLoop(RLRunLoopSourceRef source)
{
    if (source == NULL)
        exit((perror("echo"), 1));
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source); /* the loop keeps it */
    return source;
}

/* ---- The server ---- */

static int accepted; /* touched by the server's thread only, and read after the join */

static void serve(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)info;
    if (event->type == kRLStreamEventHasBytesAvailable) {
        RLStreamWrite(stream, event->bytes, event->length);
        if (!RLStreamCanAcceptBytes(stream))
            RLStreamPauseReading(stream);
    } else if (event->type == kRLStreamEventCanAcceptBytes) {
        RLStreamResumeReading(stream);
    } else {
        RLStreamClose(stream); /* takes it out of the loop, which frees it */
    }
}

static void acceptClient(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)type, (void)address, (void)info;
    addToLoop(RLStreamCreate(NULL, *(const RLSocketNativeHandle *)data, 1, serve, NULL));
    if (++accepted == clientCount)
        RLSocketInvalidate(s); /* that was the last one */
}

static void *serverMain(void *listener)
{
    addToLoop(RLSocketCreateRunLoopSource(NULL, listener, 0));
    RLRunLoopRun(); /* ends when no stream is left */
    return NULL;
}

/* ---- The clients ---- */

static RLDataRef text; /* what each of them says */
static int done;

static void hear(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    int *round = info;
    if (event->type == kRLStreamEventOpenCompleted)
        return;
    int isRight = event->length == textLength && memcmp(event->bytes, RLDataGetBytePtr(text), textLength) == 0;
    done += isRight && ++*round == rounds;
    if (!isRight || *round == rounds || !RLStreamWriteData(stream, text))
        RLStreamClose(stream);
}

int main(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max; /* usually 1 024 at first, for the sake of select() */
    setrlimit(RLIMIT_NOFILE, &limit);

    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    RLDataRef address = RLDataCreate(NULL, (const uint8_t *)&any, sizeof any);
    RLSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, address};
    RLSocketRef listener =
        RLSocketCreateWithSocketSignature(NULL, &signature, kRLSocketAcceptCallBack, acceptClient, NULL);
    RLRelease(address);
    pthread_t thread;
    if (listener == NULL || pthread_create(&thread, NULL, serverMain, listener) != 0) {
        perror("echo: cannot start the server");
        return 1;
    }

    address = RLSocketCopyAddress(listener); /* with the port that the system has chosen */
    static uint8_t bytes[textLength];
    for (int i = 0; i < textLength; i++)
        bytes[i] = (uint8_t)(i % 251);
    text = RLDataCreate(NULL, bytes, textLength);
    static int roundsOf[clientCount];
    for (int i = 0; i < clientCount; i++) {
        RLStreamContext context = {.info = &roundsOf[i]};
        RLStreamRef client = addToLoop(RLStreamCreateConnectedToAddress(NULL, address, hear, &context));
        RLStreamSetReadCount(client, textLength); /* a call for each text as a whole */
        RLStreamWriteData(client, text);          /* as soon as it is connected */
    }
    RLRelease(address);
    printf("%d clients connect, and each says %d bytes\n", clientCount, textLength);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0); /* until no stream is left */
    pthread_join(thread, NULL);
    RLRelease(text);
    RLRelease(listener);
    printf("%d clients have heard what they said, %d times\n", done, rounds);
    printf("the server has accepted %d clients; none is left, so its loop has ended\n", accepted);
    return result == kRLRunLoopRunFinished && done == clientCount ? 0 : 1;
}
