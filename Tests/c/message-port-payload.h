/* A peer on a plain socket that sends a large payload, or only a part of one. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_PAYLOAD_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_PAYLOAD_H
#include "message-port-hostile.h"
#include <poll.h>

enum { MEGABYTE = 1 << 20, PIECE_SIZE = 64 * 1024 };

static uint8_t zeros[sizeof(struct head) + PIECE_SIZE];

struct payload {
    int fd;
    bool has_begun;
    uint8_t kind;
    uint32_t id;
    size_t length, sent;
};

/* A client that has sent the first packet of the handshake. */
static UNUSED struct payload payload_of(size_t length)
{
    struct payload payload = {.fd = plain_socket(), .kind = REQUEST, .id = 1, .length = length};
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

/* Sends up to `limit` bytes, and blocks whenever the socket buffer is full until the server has read from it. */
static UNUSED void push_up_to(struct payload *payload, size_t limit)
{
    for (struct pollfd room = {payload->fd, POLLOUT, 0}; payload->sent < limit; poll(&room, 1, -1))
        send_up_to(payload, limit);
}

#endif
