/* Helpers shared by the tests of RLStream. */
#ifndef RUNLOOP_TESTS_KIT_STREAM_H
#define RUNLOOP_TESTS_KIT_STREAM_H
#include "kit.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* A stream and the events it has reported: "(data)", O open, R room, E end, !ERRNO an error. */
struct ear {
    RLStreamRef stream;
    char said[4096];
    size_t length;
    int calls;
    size_t bytes;
    RLStreamResult result; /* of the last error */
    void (*action)(struct ear *ear, const RLStreamEvent *event);
};

static inline void ear_notes(struct ear *ear, const char *bytes, size_t length)
{
    if (length > sizeof ear->said - 1 - ear->length)
        length = sizeof ear->said - 1 - ear->length;
    memcpy(ear->said + ear->length, bytes, length);
    ear->length += length;
    ear->said[ear->length] = 0;
}

static inline void ear_hears(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    struct ear *ear = info;
    require(ear->stream == NULL || stream == ear->stream);
    require((event->bytes != NULL) == (event->length > 0));
    require((event->length > 0) == (event->type == kRLStreamEventHasBytesAvailable));
    require((event->result != 0) == (event->type == kRLStreamEventErrorOccurred) &&
            (event->error != 0) == (event->result != 0));
    ear->calls++;
    ear->bytes += (size_t)event->length;
    switch (event->type) {
    case kRLStreamEventHasBytesAvailable:
        ear_notes(ear, "(", 1);
        ear_notes(ear, (const char *)event->bytes, (size_t)event->length);
        ear_notes(ear, ")", 1);
        break;
    case kRLStreamEventOpenCompleted:
        ear_notes(ear, "O", 1);
        break;
    case kRLStreamEventCanAcceptBytes:
        ear_notes(ear, "R", 1);
        break;
    case kRLStreamEventEndEncountered:
        ear_notes(ear, "E", 1);
        break;
    default:
        require(event->type == kRLStreamEventErrorOccurred);
        ear->result = event->result;
        ear_notes(ear, "!", 1);
        const char *name = event->error > 0 ? strerrorname_np(event->error) : "EAI";
        ear_notes(ear, name, strlen(name));
    }
    if (ear->action)
        ear->action(ear, event);
}

#define assert_said(ear, expected)               \
    do {                                         \
        ck_assert_str_eq((ear)->said, expected); \
        (ear)->said[0] = 0, (ear)->length = 0;   \
    } while (0)

/* Creates a stream that owns the descriptor, in the default mode of this thread's loop. */
static inline void listen_to(struct ear *ear, int fd)
{
    RLStreamContext context = {.info = ear};
    ear->stream = add(RLStreamCreate(NULL, fd, 1, ear_hears, &context));
}

/* Creates a stream on one end of a socket pair; returns the other end, which is non-blocking. */
static inline int listen_to_pair(struct ear *ear)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    require(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    listen_to(ear, ends[0]);
    return ends[1];
}

static inline void end_ear(struct ear *ear)
{
    RLStreamClose(ear->stream);
    RLRelease(ear->stream);
    ear->stream = NULL;
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
static inline void serve_elsewhere(struct ear *ear, double seconds)
{
    join_thread(start_thread(serve_here, &(struct elsewhere){ear->stream, seconds}));
}

static inline void say(int fd, const char *text) { require(write(fd, text, strlen(text)) == (ssize_t)strlen(text)); }

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
