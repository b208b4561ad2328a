/* A peer on a plain socket that sends a large payload, or only a part of one. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_PAYLOAD_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_PAYLOAD_H
#include "message-port-hostile.h"
#include <poll.h>
#include <sys/resource.h>

enum { MEGABYTE = 1 << 20, PIECE_SIZE = 64 * 1024 };

static uint8_t zeros[sizeof(struct head) + PIECE_SIZE];

struct payload {
    int fd;
    bool has_begun;
    uint8_t kind;
    uint32_t id;
    int32_t message;
    size_t length, sent;
};

/* A client that has sent the first packet of the handshake. */
static UNUSED struct payload payload_of(size_t length)
{
    struct payload payload = {.fd = plain_socket(), .kind = REQUEST, .id = 1, .message = 1, .length = length};
    send_hello(payload.fd);
    require(fcntl(payload.fd, F_SETFL, O_NONBLOCK) == 0);
    return payload;
}

/* Sends as much as fits into the socket buffer, until `limit` bytes of the payload are sent. Returns whether it sent any. */
static UNUSED bool send_up_to(struct payload *payload, size_t limit)
{
    struct head head = request(payload->length, PIECES);
    size_t before = payload->sent;
    head.kind = payload->kind;
    head.id = payload->id;
    head.message = payload->message;
    if (!payload->has_begun)
        payload->has_begun = send(payload->fd, &head, sizeof head, MSG_NOSIGNAL) > 0;
    while (payload->has_begun && payload->sent < limit) {
        size_t rest = limit - payload->sent;
        head.kind = PIECE;
        head.location = INLINE;
        head.id = 0;
        head.length = rest < PIECE_SIZE ? rest : PIECE_SIZE;
        memcpy(zeros, &head, sizeof head);
        if (send(payload->fd, zeros, sizeof head + head.length, MSG_NOSIGNAL) < 0)
            break;
        payload->sent += head.length;
    }
    return payload->sent > before;
}

static UNUSED void send_all_up_to(struct payload *payload, size_t limit)
{
    while (payload->sent < limit)
        if (!send_up_to(payload, limit))
            RLRunLoopRunInMode(MODE, 0, false);
}

/* Sends as much of a payload as the server receives. Returns whether that is all of it. */
static UNUSED bool send_until_it_waits(struct payload *payload)
{
    for (int still = 0; still < 20 && payload->sent < payload->length; still++, turn())
        if (send_up_to(payload, payload->length))
            still = 0;
    return payload->sent == payload->length;
}

/* Sends up to `limit` bytes, and blocks whenever the socket buffer is full until the server has read from it. */
static UNUSED void push_up_to(struct payload *payload, size_t limit)
{
    for (struct pollfd room = {payload->fd, POLLOUT, 0}; payload->sent < limit; poll(&room, 1, -1))
        send_up_to(payload, limit);
}

static UNUSED long most_resident_megabytes(void)
{
    struct rusage usage;
    require(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss / 1024;
}

/* Uses up the memory that this process may take of a server: with as many payloads of 1 MB as fit into it, one that takes most of
 * the rest, and, if `with_exemption`, one that is exempt from the limit. */
static UNUSED void hold_memory(bool with_exemption)
{
    enum { HELD = 63, REST = 1000 * 1024 };
    for (int count = 0; count < HELD + 1 + with_exemption; count++) {
        struct payload payload = payload_of(count < HELD ? MEGABYTE : count == HELD ? REST : 1500000000);
        send_all_up_to(&payload, PIECE_SIZE);
        turn();
    }
}

#endif
