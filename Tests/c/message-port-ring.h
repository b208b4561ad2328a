/* A server in this process, and children that send it so many one-way messages that they share a ring with it. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_RING_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_RING_H
#include "message-port.h"
#include <sched.h>
#include <sys/mman.h>

enum {
    SMALL = 64,
    LARGEST_IN_RING = 4096,
    IN_PACKET = 10000,
    IN_PIECES = 80000,
    RING_THRESHOLD = 16,
    LIVENESS_INTERVAL = 64,
    RING_SIZE = 516 * 1024
};

/* Counters that parent and children share. */
static struct {
    atomic_int received, sent, answers, has_ring;
} * shared;

/* The next id of each sender. The first byte of the data is the sender. */
enum { SENDERS = 4 };
static atomic_int next[SENDERS];

static void check_data(RLDataRef data, int32_t id)
{
    const uint8_t *bytes = RLDataGetBytePtr(data);
    for (RLIndex index = 1; index < RLDataGetLength(data); index++)
        require(bytes[index] == (uint8_t)(id + index));
}

/* Whether the server runs without a deadline; such a run delivers several messages per pass. Loop tests set it to `_i`. */
static int endless;
static atomic_int stop_at = -1; /* the count that ends a run; may be set while another thread receives */

static void count_received(void)
{
    if (atomic_fetch_add(&shared->received, 1) + 1 == stop_at)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

static RLDataRef receive(UNUSED RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    uint8_t sender = RLDataGetLength(data) > 0 ? RLDataGetBytePtr(data)[0] : 0;
    require(id == next[sender]);
    check_data(data, id);
    next[sender]++;
    count_received();
    return RLRetain(data);
}

static RLDataRef data_of(uint8_t sender, int32_t id, size_t size)
{
    static _Thread_local uint8_t bytes[IN_PIECES];
    for (size_t index = 0; index < size; index++)
        bytes[index] = (uint8_t)((size_t)id + index);
    bytes[0] = sender;
    return RLDataCreate(NULL, bytes, (RLIndex)size);
}

static int32_t send_one(RLMessagePortRef remote, uint8_t sender, int32_t id, size_t size, RLTimeInterval limit)
{
    RLDataRef data = size > 0 ? data_of(sender, id, size) : NULL;
    int32_t result = RLMessagePortSendRequest(remote, id, data, limit, 0, NULL, NULL);
    if (data)
        RLRelease(data);
    if (result == kRLMessagePortSuccess)
        atomic_fetch_add(&shared->sent, 1);
    return result;
}

static UNUSED void ask_one(RLMessagePortRef remote, uint8_t sender, int32_t id, size_t size)
{
    RLDataRef data = data_of(sender, id, size), reply = NULL;
    int32_t result = RLMessagePortSendRequest(remote, id, data, 50, 50, MODE, &reply);
    child_assert(result == kRLMessagePortSuccess);
    child_assert(RLDataGetLength(reply) == (RLIndex)size);
    RLRelease(data);
    RLRelease(reply);
    atomic_fetch_add(&shared->sent, 1);
}

static UNUSED RLMessagePortRef connect_to_server(void)
{
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    child_assert(remote != NULL);
    return remote;
}

/* Returns the number of rings mapped in this process: memory files of the library with the size of a ring. */
static UNUSED int rings(void) { return mapped_files("runloop", RING_SIZE, RING_SIZE); }

/* Sends small requests until the server has made the ring, which it does after a number of them. Returns the next id. */
static UNUSED int send_until_ring(RLMessagePortRef remote)
{
    int id = 0;
    while (rings() == 0) {
        require(send_one(remote, 0, id++, SMALL, 50) == kRLMessagePortSuccess);
        sched_yield();
    }
    shared->has_ring = 1;
    return id;
}

/* Serves the client of send_until_ring(), if the server is in this process. */
static UNUSED void serve_until_ring(void)
{
    while (!shared->has_ring)
        RLRunLoopRunInMode(MODE, 0.05, true);
}

static struct server server;

static void begin_with(RLMessagePortCallBack callback)
{
    use_own_directory();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    serve(&server, NAME, callback, NULL);
}

static UNUSED void begin(void) { begin_with(receive); }

static UNUSED void finish(void)
{
    if (server.port)
        end_server(&server);
    remove_own_directory();
}

static UNUSED pid_t start(void (*body)(void))
{
    pid_t child = fork_child();
    if (child == 0) {
        body();
        _exit(0);
    }
    return child;
}

static UNUSED void receive_until(int wanted)
{
    stop_at = wanted;
    while (shared->received < wanted)
        RLRunLoopRunInMode(MODE, endless ? 1e10 : 0.05, !endless);
}

#endif
