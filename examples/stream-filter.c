/* stream-filter.c - a custom filter between a stream and its descriptor: each end first sends its key of a toy
 * cipher. */
#include <RunLoopKit/RunLoopKit.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

enum { XON = 0x11, XOFF = 0x13 }; /* as in terminals: resume output, suspend output */

typedef struct Cipher {
    const char *name;
    uint8_t own, theirs; /* keys: of the data we send; of the peer's data, once it is known */
} Cipher;

static void start(RLStreamRef stream, void *info)
{
    Cipher *cipher = info;
    RLStreamFilterSend(stream, &cipher->own, 1);
}

static void receive(RLStreamRef stream, const uint8_t *bytes, RLIndex length, void *info)
{
    Cipher *cipher = info;
    if (length == 0 && cipher->theirs != 0)
        RLStreamFilterEnd(stream); /* this cipher has no closing message: any end is fine */
    if (length == 0)
        return;
    if (cipher->theirs == 0) {
        cipher->theirs = *bytes++;
        length--;
        if (cipher->theirs < 0x80) {
            RLStreamFilterFail(stream, kRLStreamRefused, EPROTO); /* an ASCII character is not a key */
            return;
        }
        RLStreamFilterOpen(stream);
    }
    for (RLIndex i = 0; i < length; i++) {
        uint8_t plain = bytes[i] ^ cipher->theirs;
        if (plain == XOFF || plain == XON)
            RLStreamFilterHoldWrites(stream, plain == XOFF);
        else
            RLStreamFilterDeliver(stream, &plain, 1);
    }
}

static void encipher(RLStreamRef stream, const uint8_t *bytes, RLIndex length, void *info)
{
    Cipher *cipher = info;
    for (RLIndex i = 0; i < length; i++) {
        uint8_t secret = bytes[i] ^ cipher->own;
        RLStreamFilterSend(stream, &secret, 1);
    }
}

static void shutDown(RLStreamRef stream, void *info) { (void)stream, (void)info; }

static void tell(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    Cipher *cipher = info;
    switch (event->type) {
    case kRLStreamEventOpenCompleted:
        printf("%s: the keys are exchanged\n", cipher->name);
        break;
    case kRLStreamEventHasBytesAvailable:
        printf("%s receives: %.*s", cipher->name, (int)event->length, (const char *)event->bytes);
        RLStreamShutdown(stream); /* takes effect once the answer is written */
        break;
    case kRLStreamEventEndEncountered:
        RLStreamClose(stream);
        break;
    default:
        printf("%s: refused (%d)\n", cipher->name, event->result == kRLStreamRefused);
        RLStreamClose(stream);
    }
}

static RLStreamRef begin(int fd, Cipher *cipher)
{
    RLStreamContext context = {.info = cipher};
    RLStreamFilter filter = {
        .info = cipher, .start = start, .receive = receive, .write = encipher, .shutdown = shutDown};
    RLStreamRef stream = RLStreamCreate(NULL, fd, 1, tell, &context);
    if (stream == NULL || !RLStreamSetFilter(stream, &filter))
        perror("stream-filter");
    RLStreamSetReadDelimiter(stream, "\n", 1, 100); /* lines of deciphered text */
    RLRunLoopAddSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
    return stream;
}

int main(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    Cipher ann = {.name = "ann", .own = 0xA5}, bob = {.name = "bob", .own = 0x9C};
    RLStreamRef streams[] = {begin(ends[0], &ann), begin(ends[1], &bob)};
    RLStreamWrite(streams[0], "can you read this?\n", 19); /* waits for the keys */
    RLStreamWrite(streams[1], "\023every \021word\n", 13); /* with XOFF and XON */
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
    int ok =
        result == kRLRunLoopRunFinished && RLStreamGetFilterInfo(streams[0], receive) == NULL; /* removed at the end */
    RLRelease(streams[0]);
    RLRelease(streams[1]);

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || send(ends[1], "hello", 5, 0) != 5) /* a peer without cipher */
        return 1;
    ann.theirs = 0;
    streams[0] = begin(ends[0], &ann);
    result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
    RLRelease(streams[0]);
    return ok && result == kRLRunLoopRunFinished ? 0 : 1;
}
