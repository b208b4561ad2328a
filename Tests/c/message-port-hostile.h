/* A server in this process, and hostile peers on plain sockets. Each hostile peer must be disconnected with one diagnostic, and
 * the server must continue to serve others. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_HOSTILE_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_HOSTILE_H
#include "message-port-frames.h"
#include <poll.h>
#include <sys/mman.h>

static atomic_int calls;

static UNUSED RLDataRef echo(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    atomic_fetch_add(&calls, 1);
    return RLRetain(data);
}

static struct server server;

/* Serves NAME, and lets the peers in even if they run as another user. */
static UNUSED void serve_peers(RLMessagePortCallBack callout)
{
    if (peer_user)
        ck_assert_int_eq(chmod(name_directory, 01777), 0);
    serve(&server, NAME, callout, NULL);
    ck_assert(RLMessagePortSetAllowsOtherUsers(server.port, peer_user != 0));
}

static UNUSED void begin(void)
{
    use_own_directory();
    serve_peers(echo);
}

/* Like `begin`, with this callback. If `user` is not 0, the attacks come from another user, which is let in. */
static UNUSED void begin_with_peer(int user, RLMessagePortCallBack callout)
{
    use_own_directory();
    peer_user = user ? OTHER_USER : 0;
    serve_peers(callout);
}

static UNUSED void finish(void)
{
    end_server(&server);
    remove_own_directory();
}

/* Gives the server time to receive what has been sent, even on a slow machine. */
static UNUSED void turn(void)
{
    RLRunLoopRunInMode(MODE, 0.002, false);
    for (int pass = 0; pass < 8; pass++)
        RLRunLoopRunInMode(MODE, 0, false);
}

/* Serves until another process has called say_ready. */
static UNUSED void turn_until_ready(int end)
{
    for (struct pollfd said = {end, POLLIN, 0}; poll(&said, 1, 0) == 0;)
        turn();
    turn();
}

static UNUSED void greet(int fd)
{
    send_hello(fd);
    turn();
    ck_assert_int_eq(take_diagnostics(), 0);
}

/* Asserts that the peer has been disconnected, with one diagnostic, and closes its socket. */
static UNUSED void expect_disconnect(int fd)
{
    char byte;
    turn();
    turn();
    ck_assert_int_eq(take_diagnostics(), 1);
    ck_assert_int_eq(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
    close(fd);
}

/* Plays a client that completes the handshake and sends one packet, for which it must be disconnected. */
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

/* Plays an honest client, in another process: it must still be served. */
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

/* Plays an honest client that may have `limit` descriptors, more than this process. Diagnostics are not examined. */
static UNUSED void expect_service_of(rlim_t limit)
{
    int before = calls;
    pid_t child = fork_child();
    if (child == 0) {
        limit_descriptors(limit);
        ask_as_child(NULL);
        _exit(0);
    }
    while (calls == before)
        turn();
    end_process(child, 0);
}

/* Returns how long an honest client needs, in the best of three tries; *worst is the worst of them. */
static UNUSED double service_seconds(double *worst)
{
    double best = HUGE_VAL;
    *worst = 0;
    for (int count = 0; count < 3; count++) {
        double before = monotonic_seconds();
        expect_service();
        double seconds = monotonic_seconds() - before;
        best = seconds < best ? seconds : best;
        *worst = seconds > *worst ? seconds : *worst;
    }
    return best;
}

/* Returns the time limit for an honest client during an attack that would otherwise delay it by many seconds: half a second, and
 * four times what it needs before the attack, in case the machine gets busier meanwhile. */
static UNUSED double honest_time_limit(void)
{
    double worst;
    service_seconds(&worst);
    return 0.5 + 4 * worst;
}

static UNUSED void expect_service_within(double limit)
{
    double worst;
    ck_assert_double_lt(service_seconds(&worst), limit);
}

/* ---- the server is hostile ---- */

#define VICTIM RLSTR("com.example.victim")

static struct sockaddr_un victim_address;

/* For a server process: returns a listening socket at the address of VICTIM, to which clients connect without a port behind it. */
static UNUSED int listen_as_victim(void)
{
    struct server victim;
    become_peer();
    serve(&victim, VICTIM, echo, NULL);
    victim_address = address_of("victim");
    unlink(victim_address.sun_path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (bind(listener, (struct sockaddr *)&victim_address, sizeof victim_address) || listen(listener, 8))
        _exit(1);
    return listener;
}

static UNUSED RLMessagePortRef remote_of_victim(void)
{
    RLMessagePortRef remote = RLMessagePortCreateRemoteOfUser(NULL, VICTIM, peer_user ? peer_user : geteuid());
    ck_assert_ptr_nonnull(remote);
    return remote;
}

#endif
