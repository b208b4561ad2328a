/* A server that is this process, and hostile peers that are plain sockets: each is disconnected with one diagnostic,
 * and the server goes on for others. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_HOSTILE_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_HOSTILE_H
#include "message-port-frames.h"
#include <sys/mman.h>

static atomic_int calls;

static UNUSED RLDataRef echo(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    atomic_fetch_add(&calls, 1);
    return RLRetain(data);
}

static struct server server;

static UNUSED void begin(void)
{
    use_own_directory();
    serve(&server, NAME, echo, NULL);
}

static UNUSED void finish(void)
{
    end_server(&server);
    remove_own_directory();
}

/* What has been sent is received, also on a slow machine. */
static UNUSED void turn(void)
{
    RLRunLoopRunInMode(MODE, 0.002, false);
    for (int pass = 0; pass < 8; pass++)
        RLRunLoopRunInMode(MODE, 0, false);
}

static UNUSED void greet(int fd)
{
    send_hello(fd);
    turn();
    ck_assert_int_eq(take_diagnostics(), 0);
}

/* The peer has been disconnected, with one diagnostic. */
static UNUSED void expect_disconnect(int fd)
{
    char byte;
    turn();
    turn();
    ck_assert_int_eq(take_diagnostics(), 1);
    ck_assert_int_eq(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
    close(fd);
}

/* A client that completes the handshake, sends one packet, and is disconnected. */
static UNUSED void throw_request(struct head head, size_t extra, const int *passed, int count)
{
    static char packet[70000];
    int fd = plain_socket();
    greet(fd);
    memcpy(packet, &head, sizeof head);
    throw_packet(fd, packet, sizeof head + extra, passed, count);
    expect_disconnect(fd);
}

static UNUSED struct head request(uint64_t length, uint8_t location)
{
    return (struct head){.magic = MAGIC,
                         .kind = REQUEST,
                         .location = location,
                         .id = 1,
                         .message = 1,
                         .length = length,
                         .deadline = ~0ull};
}

/* A client in another process is still served. */
static UNUSED void ask_as_child(UNUSED void *info)
{
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    child_assert(remote != NULL);
    RLDataRef reply = NULL;
    child_assert(ask(remote, 1, "honest", 20, MODE, &reply) == kRLMessagePortSuccess);
    child_assert(is_text(reply, "honest"));
    RLRelease(reply);
    RLRelease(remote);
}

static UNUSED void expect_service(void)
{
    int before = calls;
    pid_t child = fork_child();
    if (child == 0) {
        ask_as_child(NULL);
        _exit(0);
    }
    while (calls == before)
        RLRunLoopRunInMode(MODE, 0.05, true);
    end_process(child, 0);
    ck_assert_int_eq(take_diagnostics(), 0);
}

/* ---- the server is hostile ---- */

#define VICTIM RLSTR("com.example.victim")

static struct sockaddr_un victim_address;

/* For a server process: the socket to which clients of VICTIM connect, without a port behind it. */
static UNUSED int listen_as_victim(void)
{
    struct server victim;
    serve(&victim, VICTIM, echo, NULL);
    victim_address = address_of("victim");
    unlink(victim_address.sun_path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (bind(listener, (struct sockaddr *)&victim_address, sizeof victim_address) || listen(listener, 8))
        _exit(1);
    return listener;
}

#endif
