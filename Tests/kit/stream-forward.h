/* Two streams, each on a socket pair, for the tests of RLStreamForward. */
#ifndef RUNLOOP_TESTS_KIT_STREAM_FORWARD_H
#define RUNLOOP_TESTS_KIT_STREAM_FORWARD_H
#include "stream-filter.h"

static struct spy a, b;
static int peer_of_a, peer_of_b;

static inline void make_two(void)
{
    a = b = (struct spy){0};
    peer_of_a = spy_on_pair(&a);
    peer_of_b = spy_on_pair(&b);
}

static inline void end_two(void)
{
    end_spy(&a);
    end_spy(&b);
    close(peer_of_a);
    close(peer_of_b);
}

/* Whether the peer of this end of a socket pair has ended writing, and everything was read. */
static inline bool has_ended(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK) == 0;
}

/* Returns the byte at a position of a text with a long period; send_pattern() writes that text, and check_pattern() checks
 * it. */
static inline char pattern_at(size_t position) { return (char)(position % 251 ^ position / 251); }
static inline size_t send_pattern(int fd, size_t from, size_t all)
{
    char bytes[5000];
    while (from < all) {
        size_t length = all - from < sizeof bytes ? all - from : sizeof bytes;
        for (size_t i = 0; i < length; i++)
            bytes[i] = pattern_at(from + i);
        ssize_t count = write(fd, bytes, length);
        if (count < 0)
            break;
        from += (size_t)count;
    }
    return from;
}
static inline size_t check_pattern(int fd, size_t from, size_t most)
{
    char bytes[5000];
    ssize_t count = read(fd, bytes, most < sizeof bytes ? most : sizeof bytes);
    for (ssize_t i = 0; i < count; i++)
        require(bytes[i] == pattern_at(from + (size_t)i));
    return count > 0 ? from + (size_t)count : from;
}

/* Fills the queue of b with data received by a, so that a pauses reading. */
static inline void pause_source(void)
{
    small_buffers(RLStreamGetNativeDescriptor(b.stream));
    ck_assert(RLStreamForward(a.stream, b.stream));
    size_t sent = 0;
    for (size_t before = 1; sent != before; run_passes()) {
        before = sent;
        sent = send_pattern(peer_of_a, sent, 10000000);
    }
    assert_seen(&a, "");
}

#endif
