/* Helpers shared by the tests of RLStream. */
#ifndef RUNLOOP_TESTS_KIT_STREAM_H
#define RUNLOOP_TESTS_KIT_STREAM_H
#include "kit.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* A stream and the events it has reported: "(data)", O open, R room, E end, !ERRNO an error. */
struct spy {
    RLStreamRef stream;
    char seen[4096];
    size_t length;
    int calls;
    size_t bytes;
    RLStreamResult result; /* of the last error */
    void (*action)(struct spy *spy, const RLStreamEvent *event);
};

static inline void spy_notes(struct spy *spy, const char *bytes, size_t length)
{
    if (length > sizeof spy->seen - 1 - spy->length)
        length = sizeof spy->seen - 1 - spy->length;
    memcpy(spy->seen + spy->length, bytes, length);
    spy->length += length;
    spy->seen[spy->length] = 0;
}

static inline void spy_callback(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    struct spy *spy = info;
    require(spy->stream == NULL || stream == spy->stream);
    require((event->bytes != NULL) == (event->length > 0));
    require((event->length > 0) == (event->type == kRLStreamEventHasBytesAvailable));
    require((event->result != 0) == (event->type == kRLStreamEventErrorOccurred) &&
            (event->error != 0) == (event->result != 0));
    spy->calls++;
    spy->bytes += (size_t)event->length;
    switch (event->type) {
    case kRLStreamEventHasBytesAvailable:
        spy_notes(spy, "(", 1);
        spy_notes(spy, (const char *)event->bytes, (size_t)event->length);
        spy_notes(spy, ")", 1);
        break;
    case kRLStreamEventOpenCompleted:
        spy_notes(spy, "O", 1);
        break;
    case kRLStreamEventCanAcceptBytes:
        spy_notes(spy, "R", 1);
        break;
    case kRLStreamEventEndEncountered:
        spy_notes(spy, "E", 1);
        break;
    default:
        require(event->type == kRLStreamEventErrorOccurred);
        spy->result = event->result;
        spy_notes(spy, "!", 1);
        const char *name = event->error > 0 ? strerrorname_np(event->error) : "EAI";
        spy_notes(spy, name, strlen(name));
    }
    if (spy->action)
        spy->action(spy, event);
}

#define assert_seen(spy, expected)               \
    do {                                         \
        ck_assert_str_eq((spy)->seen, expected); \
        (spy)->seen[0] = 0, (spy)->length = 0;   \
    } while (0)

/* Creates a stream that owns the descriptor, in the default mode of this thread's loop. */
static inline void spy_on(struct spy *spy, int fd)
{
    RLStreamContext context = {.info = spy};
    spy->stream = add(RLStreamCreate(NULL, fd, 1, spy_callback, &context));
}

/* Creates a stream on one end of a socket pair; returns the other end, which is non-blocking. */
static inline int spy_on_pair(struct spy *spy)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    require(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    spy_on(spy, ends[0]);
    return ends[1];
}

static inline void end_spy(struct spy *spy)
{
    RLStreamClose(spy->stream);
    RLRelease(spy->stream);
    spy->stream = NULL;
}

struct elsewhere {
    RLStreamRef stream;
    double seconds;
};
static inline void *serve_here(void *info)
{
    const struct elsewhere *elsewhere = info;
    add(elsewhere->stream);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, elsewhere->seconds, 0);
    return NULL;
}

/* Serves the stream on the loop of another thread for some time. The thread has exited when this returns. */
static inline void serve_elsewhere(struct spy *spy, double seconds)
{
    join_thread(start_thread(serve_here, &(struct elsewhere){spy->stream, seconds}));
}

static inline void send_text(int fd, const char *text)
{
    require(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

/* Returns everything that the stream has written so far. */
static inline const char *take(int fd)
{
    static char text[4096];
    ssize_t count = read(fd, text, sizeof text - 1);
    text[count > 0 ? count : 0] = 0;
    return count < 0 && errno != EAGAIN ? strerrorname_np(errno) : text;
}

static inline void small_buffers(int fd)
{
    int size = 1;
    require(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0);
}

/* Reads and discards all available data; returns the number of bytes. */
static inline size_t drain(int fd)
{
    static char bytes[65536];
    size_t all = 0;
    ssize_t count;
    while ((count = read(fd, bytes, sizeof bytes)) > 0)
        all += (size_t)count;
    return all;
}

/* The results passed to the callbacks of RLStreamFlush, in order. */
static char flushed[64];
static inline void note_flush(UNUSED RLStreamRef stream, RLStreamResult result, int error, void *info)
{
    require((result == kRLStreamSuccess) == (error == 0));
    size_t length = strlen(flushed);
    flushed[length] = *(const char *)info;
    flushed[length + 1] = (char)('0' + result);
    flushed[length + 2] = 0;
}
#define assert_flushed(expected)             \
    do {                                     \
        ck_assert_str_eq(flushed, expected); \
        flushed[0] = 0;                      \
    } while (0)

#endif
