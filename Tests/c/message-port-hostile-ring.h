/* A shared ring as its two ends see it, for tests that play one of them. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_HOSTILE_RING_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_HOSTILE_RING_H
#include "message-port-hostile.h"

enum { PAGE = 4096, ROOM = 512 * 1024, RING_SIZE = PAGE + ROOM, TAIL = 0, HEAD = 64, WANTED = 128, ROOM_WANTED = 192 };

/* One end's view of a ring: the socket of the connection, the ring's file, and its mapping. */
struct ring {
    int fd, file;
    uint8_t *memory;
};

static UNUSED atomic_uint *word(struct ring *ring, size_t offset)
{
    return (atomic_uint *)(void *)(ring->memory + offset);
}

static UNUSED struct head head_of_ring(void) { return (struct head){.magic = MAGIC, .kind = RING, .deadline = ~0ull}; }

static UNUSED struct head head_of_doorbell(void)
{
    return (struct head){.magic = MAGIC, .kind = DOORBELL, .deadline = ~0ull};
}

static UNUSED void ring_bell(int fd)
{
    struct head head = head_of_doorbell();
    throw_packet(fd, &head, sizeof head, NULL, 0);
}

static UNUSED void drop_ring(struct ring *ring)
{
    munmap(ring->memory, RING_SIZE);
    close(ring->file);
}

#endif
