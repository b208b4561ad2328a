/* Requests and replies between two processes: this library beside hand-written sockets, ZeroMQ and nng; and one way between
 * two threads. Each server echoes; the rounds are interleaved, and medians are printed.
 *
 *     make -C Tests/bench messages        both ends on one CPU, then one CPU each
 *
 * `hand` is what this library does without any of the rest: epoll, send, recv on a socket pair (SEQPACKET up to 128 KB, a
 * stream beyond, since a packet has to fit into the socket's buffer). It watches no time limit; all others do. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <RunLoop/RunLoop.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_ZMQ
#include <zmq.h>
#endif
#ifdef WITH_NNG
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#endif

static size_t size;
static char directory[] = "/tmp/messages-XXXXXX", address[64];
static int ends[2];

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
        bytes = calloc(1, size);
    }
    for (int index = 0; index < count; index++) {
        send_all(ends[0], bytes);
        move_all(epoll, ends[0], bytes);
    }
}

/* ---- ours ---- */

static RLDataRef echo(RLMessagePortRef local, int32_t id, RLDataRef data, void *info)
{
    (void)local, (void)id, (void)info;
    return RLRetain(data);
}

static void our_server(void)
{
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR("echo"), echo, NULL, NULL);
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRunLoopRun();
}

static void our_client(int count)
{
    static RLMessagePortRef port;
    static RLDataRef data;
    if (data == NULL) {
        char *bytes = calloc(1, size);
        data = RLDataCreate(NULL, (uint8_t *)bytes, (RLIndex)size);
        free(bytes);
    }
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

#ifdef WITH_ZMQ
static void zmq_server(void)
{
    void *socket = zmq_socket(zmq_ctx_new(), ZMQ_REP);
    if (zmq_bind(socket, address) != 0)
        fail("ZeroMQ");
    for (;;) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket, 0) < 0 || zmq_msg_send(&message, socket, 0) < 0)
            exit(0);
    }
}

static void zmq_client(int count)
{
    static void *socket;
    static char *bytes;
    if (socket == NULL) {
        bytes = calloc(1, size);
        socket = zmq_socket(zmq_ctx_new(), ZMQ_REQ);
        zmq_connect(socket, address);
    }
    for (int index = 0; index < count; index++)
        if (zmq_send(socket, bytes, size, 0) < 0 || zmq_recv(socket, bytes, size, 0) != (int)size)
            fail("ZeroMQ");
}
#endif

#ifdef WITH_NNG
static void nng_server(void)
{
    nng_socket socket;
    void *bytes;
    size_t length;
    if (nng_rep0_open(&socket) || nng_setopt_size(socket, NNG_OPT_RECVMAXSZ, 0) || nng_listen(socket, address, NULL, 0))
        fail("nng");
    while (nng_recv(socket, &bytes, &length, NNG_FLAG_ALLOC) == 0)
        nng_send(socket, bytes, length, NNG_FLAG_ALLOC);
}

static void nng_client(int count)
{
    static nng_socket socket;
    static char *bytes;
    if (bytes == NULL) {
        bytes = calloc(1, size);
        nng_req0_open(&socket);
        nng_setopt_size(socket, NNG_OPT_RECVMAXSZ, 0);
        while (nng_dial(socket, address, NULL, 0) != 0) {
        }
    }
    for (int index = 0; index < count; index++) {
        size_t length = size;
        if (nng_send(socket, bytes, size, 0) != 0 || nng_recv(socket, bytes, &length, 0) != 0 || length != size)
            fail("nng");
    }
}
#endif

static const struct peer {
    const char *name;
    void (*server)(void), (*client)(int count);
} peers[] = {
    {"hand", hand_server, hand_client},
    {"ours", our_server, our_client},
#ifdef WITH_ZMQ
    {"ZeroMQ", zmq_server, zmq_client},
#endif
#ifdef WITH_NNG
    {"nng", nng_server, nng_client},
#endif
};
enum { PEERS = sizeof peers / sizeof *peers, ROUNDS = 5 };

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static void measure(size_t bytes, int count, int server_cpu)
{
    pid_t servers[PEERS];
    double times[PEERS][ROUNDS];
    size = bytes;
    if (socketpair(AF_UNIX, size > 131072 ? SOCK_STREAM : SOCK_SEQPACKET, 0, ends) != 0)
        fail("socketpair");
    for (int peer = 0; peer < PEERS; peer++) {
        snprintf(address, sizeof address, "ipc://%s/%s", directory, peers[peer].name);
        servers[peer] = fork();
        if (servers[peer] == 0) {
            pin(server_cpu);
            close(ends[0]);
            peers[peer].server();
            exit(0);
        }
    }
    /* The clients in a process of their own: what they keep belongs to this size. */
    pid_t client = fork();
    if (client == 0) {
        pin(0);
        close(ends[1]);
        for (int round = -1; round < ROUNDS; round++) {
            for (int peer = 0; peer < PEERS; peer++) {
                snprintf(address, sizeof address, "ipc://%s/%s", directory, peers[peer].name);
                double begin = now();
                peers[peer].client(round < 0 ? count / 10 + 1 : count);
                if (round >= 0)
                    times[peer][round] = (now() - begin) / count * 1e6;
            }
        }
        printf("%8zu B, %s:", size, server_cpu == 0 ? "one CPU " : "two CPUs");
        for (int peer = 0; peer < PEERS; peer++) {
            qsort(times[peer], ROUNDS, sizeof(double), compare);
            printf("   %s %.2f us (%.2f)", peers[peer].name, times[peer][ROUNDS / 2], times[peer][ROUNDS / 2] / times[0][ROUNDS / 2]);
        }
        printf("\n");
        exit(0);
    }
    int status;
    waitpid(client, &status, 0);
    for (int peer = 0; peer < PEERS; peer++) {
        kill(servers[peer], SIGKILL);
        waitpid(servers[peer], NULL, 0);
    }
    close(ends[0]);
    close(ends[1]);
    if (status != 0)
        exit(1);
}

int main(void)
{
    if (mkdtemp(directory) == NULL)
        fail(directory);
    setenv("RUNLOOP_PORT_DIR", directory, 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("a request and its reply, microseconds (ratio to hand)\n");
    for (int server_cpu = 0; server_cpu < 2; server_cpu++) {
        measure(64, 5000, server_cpu);
        measure(32768, 1000, server_cpu);
        measure(1 << 20, 100, server_cpu);
    }
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}
