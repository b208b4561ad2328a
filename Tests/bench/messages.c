/* Requests and replies between two processes, and one-way messages: this library compared with hand-written sockets,
 * ZeroMQ, nng, sd-bus and libuv's pipes. Each server echoes. One way, the last message of a round is marked, and the
 * server answers it on a pipe. Each library has its own client process; the rounds are interleaved, and medians are
 * printed.
 *
 *     make -C Tests/bench messages        both ends on one CPU, then on one CPU each
 *     build/bench/messages one 64 0       one way only (`both`: there and back), this size, the server on this CPU; arguments
 *                                         may be omitted from the end
 *
 * `hand` does what this library does, and nothing else: epoll, send, recv on a socket pair (SEQPACKET up to 128 KB,
 * a stream beyond, since a packet has to fit into the socket's buffer). It has no time limit. sd-bus and libuv also
 * use socket pairs; sd-bus without a broker, as systemd's own programs do among themselves. Neither hand nor libuv
 * transmits the length of a message, its sender, or the request that a reply belongs to: both ends know the size.
 * One way, ZeroMQ, nng and sd-bus collect messages for which the reader is too slow, and send them together; this
 * library puts small ones into memory shared by both processes. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "../own-directory.h"
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static size_t size;
static char directory[OWN_DIRECTORY_SIZE], address[80];
static int ends[2], bus_ends[2], uv_ends[2], acknowledgements[2];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Returns the data to send. It is written to, because untouched memory is one page of zeros and takes no space in
 * the CPU cache. */
static char *filled(void)
{
    char *bytes = malloc(size);
    return memset(bytes, 2, size);
}

/* One way, the last message of a round begins with this. */
enum { LAST = 1 };

static void acknowledge(const void *message)
{
    if (*(const char *)message == LAST && write(acknowledgements[1], "", 1) != 1)
        fail("acknowledgement");
}

static void await_acknowledgement(void)
{
    char byte;
    if (read(acknowledgements[0], &byte, 1) != 1)
        fail("acknowledgement");
}

/* ---- hand ---- */

static int watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    return epoll;
}

static void move_all(int epoll, int fd, char *bytes)
{
    struct epoll_event event;
    for (size_t done = 0; done < size;) {
        epoll_wait(epoll, &event, 1, -1);
        for (ssize_t some; done < size && (some = recv(fd, bytes + done, size - done, MSG_DONTWAIT)) != -1;) {
            if (some == 0)
                exit(0);
            done += (size_t)some;
        }
    }
}

static void send_all(int fd, const char *bytes)
{
    for (size_t done = 0; done < size;) {
        ssize_t some = send(fd, bytes + done, size - done, MSG_NOSIGNAL);
        if (some < 0)
            exit(0);
        done += (size_t)some;
    }
}

static void hand_server(void)
{
    char *bytes = malloc(size);
    for (int epoll = watch(ends[1]);;) {
        move_all(epoll, ends[1], bytes);
        send_all(ends[1], bytes);
    }
}

static void hand_client(int count)
{
    static int epoll;
    static char *bytes;
    if (bytes == NULL) {
        epoll = watch(ends[0]);
        bytes = filled();
    }
    for (int index = 0; index < count; index++) {
        send_all(ends[0], bytes);
        move_all(epoll, ends[0], bytes);
    }
}

static void hand_sink(void)
{
    char *bytes = malloc(size);
    for (int epoll = watch(ends[1]);;) {
        move_all(epoll, ends[1], bytes);
        acknowledge(bytes);
    }
}

static void hand_source(int count)
{
    static char *bytes;
    if (bytes == NULL)
        bytes = filled();
    for (int index = 1; index <= count; index++) {
        bytes[0] = index == count ? LAST : 0;
        send_all(ends[0], bytes);
    }
    await_acknowledgement();
}

/* ---- this library ---- */

static RLDataRef echo(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    (void)local, (void)id, (void)info;
    return RLRetain(data);
}

static RLDataRef swallow(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    (void)local, (void)id, (void)info;
    acknowledge(RLDataGetBytePtr(data));
    return NULL;
}

static void serve(RLMessagePortCallBack callout)
{
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR("echo"), callout, NULL, NULL);
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRunLoopRun();
}

static void our_server(void) { serve(echo); }
static void our_sink(void) { serve(swallow); }

static RLDataRef our_data(char first)
{
    char *bytes = filled();
    bytes[0] = first;
    RLDataRef data = RLDataCreate(NULL, (uint8_t *)bytes, (RLIndex)size);
    free(bytes);
    return data;
}

static void our_client(int count)
{
    static RLMessagePortRef port;
    static RLDataRef data;
    if (data == NULL)
        data = our_data(0);
    while (port == NULL)
        port = RLMessagePortCreateRemote(NULL, RLSTR("echo"));
    for (int index = 0; index < count; index++) {
        RLDataRef reply = NULL;
        if (RLMessagePortSendRequest(port, 1, data, 10, 10, kRLRunLoopDefaultMode, &reply) != kRLMessagePortSuccess ||
            RLDataGetLength(reply) != (RLIndex)size)
            fail("ours");
        RLRelease(reply);
    }
}

static void our_source(int count)
{
    static RLMessagePortRef port;
    static RLDataRef data, last;
    if (data == NULL) {
        data = our_data(0);
        last = our_data(LAST);
    }
    while (port == NULL)
        port = RLMessagePortCreateRemote(NULL, RLSTR("echo"));
    for (int index = 1; index <= count; index++)
        if (RLMessagePortSendRequest(port, 1, index == count ? last : data, 10, 0, NULL, NULL) != kRLMessagePortSuccess)
            fail("ours");
    await_acknowledgement();
}

#ifdef WITH_ZMQ
#include "messages-zmq.h"
#endif
#ifdef WITH_NNG
#include "messages-nng.h"
#endif
#ifdef WITH_SD_BUS
#include "messages-sd-bus.h"
#endif
#ifdef WITH_UV
#include "messages-uv.h"
#endif

struct peer {
    const char *name;
    void (*server)(void), (*client)(int count);
};

static const struct peer both_ways[] = {
    {"hand", hand_server, hand_client},
    {"ours", our_server, our_client},
#ifdef WITH_ZMQ
    {"ZeroMQ", zmq_server, zmq_client},
#endif
#ifdef WITH_NNG
    {"nng", nng_server, nng_client},
#endif
#ifdef WITH_SD_BUS
    {"sd-bus", bus_server, bus_client},
#endif
#ifdef WITH_UV
    {"libuv", uv_server, uv_client},
#endif
};

static const struct peer one_way[] = {
    {"hand", hand_sink, hand_source},
    {"ours", our_sink, our_source},
#ifdef WITH_ZMQ
    {"ZeroMQ", zmq_sink, zmq_source},
#endif
#ifdef WITH_NNG
    {"nng", nng_sink, nng_source},
#endif
#ifdef WITH_SD_BUS
    {"sd-bus", bus_sink, bus_source},
#endif
#ifdef WITH_UV
    {"libuv", uv_sink, uv_source},
#endif
};
enum { PEERS = sizeof both_ways / sizeof *both_ways, ROUNDS = 9 };

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static void make_pair(int type, int pair[2])
{
    if (socketpair(AF_UNIX, type, 0, pair) != 0)
        fail("socketpair");
}

static void close_both(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

static void set_address(const struct peer *peer) { snprintf(address, sizeof address, "ipc://%s/%s", directory, peer->name); }

static pid_t start_server(const struct peer *peer, int cpu)
{
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(cpu);
        close(ends[0]);
        close(bus_ends[0]);
        close(uv_ends[0]);
        peer->server();
        exit(0);
    }
    return server;
}

struct client {
    pid_t process;
    int orders[2], times[2];
};

/* Each library has its own client process, because in a process with another library's threads every system call
 * takes longer, and this library has to lock. The client runs a round on request. */
static void start_client(const struct peer *peer, struct client *client)
{
    if (pipe(client->orders) != 0 || pipe(client->times) != 0)
        fail("pipe");
    client->process = fork();
    if (client->process != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(0);
    close(ends[1]);
    close(bus_ends[1]);
    close(uv_ends[1]);
    close(client->orders[1]);
    for (int count; read(client->orders[0], &count, sizeof count) == sizeof count;) {
        double begin = now();
        peer->client(count);
        double time = (now() - begin) / count * 1e6;
        if (write(client->times[1], &time, sizeof time) != sizeof time)
            fail("time");
    }
    _exit(0);
}

static double run(const struct client *client, int count)
{
    double time = 0;
    if (write(client->orders[1], &count, sizeof count) != sizeof count ||
        read(client->times[0], &time, sizeof time) != sizeof time)
        fail("client");
    return time;
}

static char **wanted;

static int is_wanted(int argument, const char *value)
{
    for (int index = 0; index < argument; index++)
        if (wanted[index] == NULL)
            return 1;
    return wanted[argument] == NULL || strcmp(wanted[argument], value) == 0;
}

static void measure(const struct peer *peers, size_t bytes, int count, int server_cpu)
{
    char text[2][32];
    snprintf(text[0], sizeof text[0], "%zu", bytes);
    snprintf(text[1], sizeof text[1], "%d", server_cpu);
    if (!is_wanted(0, peers == one_way ? "one" : "both") || !is_wanted(1, text[0]) || !is_wanted(2, text[1]))
        return;
    pid_t servers[PEERS];
    struct client clients[PEERS];
    double times[PEERS][ROUNDS];
    size = bytes;
    make_pair(size > 131072 ? SOCK_STREAM : SOCK_SEQPACKET, ends);
    make_pair(SOCK_STREAM, bus_ends);
    make_pair(SOCK_STREAM, uv_ends);
    if (pipe(acknowledgements) != 0)
        fail("pipe");
    for (int peer = 0; peer < PEERS; peer++) {
        set_address(&peers[peer]);
        servers[peer] = start_server(&peers[peer], server_cpu);
        start_client(&peers[peer], &clients[peer]);
    }
    for (int peer = 0; peer < PEERS; peer++)
        run(&clients[peer], count / 10 + 1);
    /* Each round begins with a different library. */
    for (int round = 0; round < ROUNDS; round++)
        for (int turn = 0; turn < PEERS; turn++)
            times[(turn + round) % PEERS][round] = run(&clients[(turn + round) % PEERS], count);
    printf("%8zu B, %s, %s:", size, peers == one_way ? "one way " : "and back", server_cpu == 0 ? "one CPU " : "two CPUs");
    for (int peer = 0; peer < PEERS; peer++) {
        qsort(times[peer], ROUNDS, sizeof(double), compare);
        printf("   %s %.2f us (%.2f)", peers[peer].name, times[peer][ROUNDS / 2], times[peer][ROUNDS / 2] / times[0][ROUNDS / 2]);
    }
    printf("\n");
    for (int peer = 0; peer < PEERS; peer++) {
        kill(clients[peer].process, SIGKILL);
        waitpid(clients[peer].process, NULL, 0);
        kill(servers[peer], SIGKILL);
        waitpid(servers[peer], NULL, 0);
        close_both(clients[peer].orders);
        close_both(clients[peer].times);
    }
    close_both(ends);
    close_both(bus_ends);
    close_both(uv_ends);
    close_both(acknowledgements);
}

int main(int count, char **arguments)
{
    (void)count;
    wanted = arguments + 1;
    make_directory_for_names(directory);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("microseconds (ratio to hand); the sizes are those of the data\n");
    for (int server_cpu = 0; server_cpu < 2; server_cpu++) {
        measure(both_ways, 64, 5000, server_cpu);
        measure(both_ways, 32768, 1000, server_cpu);
        measure(both_ways, 65536, 1000, server_cpu);
        measure(both_ways, 1 << 20, 100, server_cpu);
        measure(one_way, 64, 50000, server_cpu);
        measure(one_way, 1024, 20000, server_cpu);
        measure(one_way, 4096, 20000, server_cpu);
        measure(one_way, 65536, 2000, server_cpu);
        measure(one_way, 1 << 20, 100, server_cpu);
    }
    remove_directory(directory);
    return 0;
}
