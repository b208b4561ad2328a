/* Two streams, each on a socket pair, for the tests of RLStreamForward. */
#ifndef RUNLOOP_TESTS_KIT_STREAM_FORWARD_H
#define RUNLOOP_TESTS_KIT_STREAM_FORWARD_H
#include "stream-filter.h"

static struct ear a, b;
static int peer_of_a, peer_of_b;

static inline void make_two(void)
{
    a = b = (struct ear){0};
    peer_of_a = listen_to_pair(&a);
    peer_of_b = listen_to_pair(&b);
}

static inline void end_two(void)
{
    end_ear(&a);
    end_ear(&b);
    close(peer_of_a);
    close(peer_of_b);
}

/* Whether the peer of this end of a socket pair has ended writing, and everything was read. */
static inline bool has_ended(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK) == 0;
}

/* Returns the byte at a position of a text with a long period; say_text() writes that text, and check_text() checks
 * it. */
static inline char text_at(size_t position) { return (char)(position % 251 ^ position / 251); }
static inline size_t say_text(int fd, size_t from, size_t all)
{
    char bytes[5000];
    while (from < all) {
        size_t length = all - from < sizeof bytes ? all - from : sizeof bytes;
        for (size_t i = 0; i < length; i++)
            bytes[i] = text_at(from + i);
        ssize_t count = write(fd, bytes, length);
        if (count < 0)
            break;
        from += (size_t)count;
    }
    return from;
}
static inline size_t check_text(int fd, size_t from, size_t most)
{
    char bytes[5000];
    ssize_t count = read(fd, bytes, most < sizeof bytes ? most : sizeof bytes);
    for (ssize_t i = 0; i < count; i++)
        require(bytes[i] == text_at(from + (size_t)i));
    return count > 0 ? from + (size_t)count : from;
}

/* Fills the queue of b with data received by a, so that a pauses reading. */
static inline void let_it_rest(void)
{
    small_buffers(RLStreamGetNativeDescriptor(b.stream));
    ck_assert(RLStreamForward(a.stream, b.stream));
    size_t said = 0;
    for (size_t before = 1; said != before; run_passes()) {
        before = said;
        said = say_text(peer_of_a, said, 10000000);
    }
    assert_said(&a, "");
}

#endif
