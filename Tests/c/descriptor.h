/* Helpers for the tests of descriptor objects and sockets: each makes an object in one line, and callbacks note or count their
 * calls. */
#ifndef RUNLOOP_TESTS_C_DESCRIPTOR_H
#define RUNLOOP_TESTS_C_DESCRIPTOR_H
#include "harness.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
    READ = kRLFileDescriptorReadCallBack,
    WRITE = kRLFileDescriptorWriteCallBack,
};

/* A descriptor object and its source. port_open() adds the source to the default mode of this thread's loop. */
struct port {
    RLFileDescriptorRef object;
    RLRunLoopSourceRef source;
    const char *name; /* noted in each callback, followed by r and w for the types */
    int fd;
    bool reads;              /* each callback reads a byte */
    RLOptionFlags reenables; /* enabled again in each callback */
    void (*action)(struct port *port, RLOptionFlags types);
    atomic_int calls;
    _Atomic RLOptionFlags last; /* atomic: two loops may call back at the same time */
};

static inline void port_called(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    struct port *port = info;
    char byte;
    port->last = types;
    if (port->name) {
        char word[64];
        snprintf(word, sizeof word, "%s%s%s", port->name, types & READ ? "r" : "", types & WRITE ? "w" : "");
        note(word);
    }
    if (port->reads && (types & READ))
        require(read(RLFileDescriptorGetNativeDescriptor(f), &byte, 1) == 1);
    if (port->reenables)
        RLFileDescriptorEnableCallBacks(f, port->reenables);
    if (port->action)
        port->action(port, types);
    port->calls++;
}

static inline void port_make(struct port *port, int fd, bool closes)
{
    RLFileDescriptorContext context = {.info = port};
    port->fd = fd;
    port->object = RLFileDescriptorCreate(NULL, fd, closes, port_called, &context);
    require(port->object != NULL);
}

static inline void port_add(struct port *port, RLRunLoopRef rl, RLRunLoopMode mode, RLIndex order)
{
    port->source = RLFileDescriptorCreateRunLoopSource(NULL, port->object, order);
    require(port->source != NULL);
    RLRunLoopAddSource(rl, port->source, mode);
    RLRelease(port->source);
}

/* Makes the object, adds its source, and enables the callbacks `enabled`. The object does not close the descriptor. */
static inline void port_open(struct port *port, int fd, RLOptionFlags enabled)
{
    port_make(port, fd, false);
    port_add(port, RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, 0);
    RLFileDescriptorEnableCallBacks(port->object, enabled);
}

static inline void port_drop(struct port *port)
{
    RLFileDescriptorInvalidate(port->object);
    RLRelease(port->object);
}

/* A socket whose callbacks note or count their calls. */
struct sock {
    RLSocketRef object;
    RLRunLoopSourceRef source;
    const char *name; /* noted in each callback, followed by a letter for the type */
    void (*action)(struct sock *sock, RLSocketCallBackType type, const void *data);
    atomic_int calls;
    atomic_long bytes;     /* received by data callbacks */
    atomic_int accepted;   /* the client accepted last */
    atomic_int last_error; /* of the last connect callback */
    bool ended;            /* the last data callback had no bytes: end-of-stream */
};

static inline void sock_called(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data,
                               void *info)
{
    struct sock *sock = info;
    require(s == sock->object || sock->object == NULL);
    require((address != NULL) == (type == kRLSocketAcceptCallBack || type == kRLSocketDataCallBack));
    if (sock->name) {
        char word[64];
        snprintf(word, sizeof word, "%s%s", sock->name,
                 type == kRLSocketReadCallBack      ? "r"
                 : type == kRLSocketAcceptCallBack  ? "a"
                 : type == kRLSocketDataCallBack    ? "d"
                 : type == kRLSocketConnectCallBack ? "c"
                 : type == kRLSocketWriteCallBack   ? "w"
                                                    : "?");
        note(word);
    }
    if (type == kRLSocketAcceptCallBack)
        sock->accepted = *(const RLSocketNativeHandle *)data;
    if (type == kRLSocketDataCallBack) {
        sock->bytes += RLDataGetLength(data);
        sock->ended = RLDataGetLength(data) == 0;
    }
    if (type == kRLSocketConnectCallBack)
        sock->last_error = data ? *(const int32_t *)data : 0;
    if (sock->action)
        sock->action(sock, type, data);
    sock->calls++;
}

static inline void sock_make(struct sock *sock, int fd, RLOptionFlags types)
{
    RLSocketContext context = {.info = sock};
    sock->object = RLSocketCreateWithNative(NULL, fd, types, sock_called, &context);
    require(sock->object != NULL);
}

static inline void sock_add(struct sock *sock, RLRunLoopRef rl, RLRunLoopMode mode, RLIndex order)
{
    sock->source = RLSocketCreateRunLoopSource(NULL, sock->object, order);
    require(sock->source != NULL);
    RLRunLoopAddSource(rl, sock->source, mode);
    RLRelease(sock->source);
}

static inline void sock_open(struct sock *sock, int fd, RLOptionFlags types)
{
    sock_make(sock, fd, types);
    sock_add(sock, RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, 0);
}

static inline void sock_drop(struct sock *sock)
{
    RLSocketInvalidate(sock->object);
    RLRelease(sock->object);
}

static inline void make_pair(int ends[2], int type)
{
    require(socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
}

/* The address of 127.0.0.1 with a port in network byte order; port 0 lets the system choose. */
static inline RLDataRef inet_address(in_port_t network_port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = network_port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return RLDataCreate(NULL, (const uint8_t *)&address, sizeof address);
}

static inline in_port_t port_of(RLSocketRef s)
{
    RLDataRef address = RLSocketCopyAddress(s);
    require(address != NULL);
    in_port_t port = ((const struct sockaddr_in *)RLDataGetBytePtr(address))->sin_port;
    RLRelease(address);
    return port;
}

/* Connects a blocking client to a listening socket. */
static inline int client_of(RLSocketRef listening)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = port_of(listening), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    require(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

/* Listens on a port of 127.0.0.1 that the system chooses. */
static inline void sock_listen(struct sock *sock, RLOptionFlags types)
{
    RLSocketContext context = {.info = sock};
    RLDataRef address = inet_address(0);
    RLSocketSignature signature = {PF_INET, SOCK_STREAM, 0, address};
    sock->object = RLSocketCreateWithSocketSignature(NULL, &signature, types, sock_called, &context);
    require(sock->object != NULL);
    sock_add(sock, RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, 0);
    RLRelease(address);
}

static inline bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

/* Makes one pass of this thread's loop without sleeping. Returns true if a source performed. */
static inline bool poll_once(void)
{
    return RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1) == kRLRunLoopRunHandledSource;
}

/* Sleeps until a source performs. */
static inline void run_once(void)
{
    require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1) == kRLRunLoopRunHandledSource);
}

static inline void count_pass(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer, (void)activity;
    ++*(int *)info;
}

/* Returns how many passes a run of 0.12 s makes while no callback is due. A loop that spins makes thousands. A few are
 * legitimate: failed registrations are retried every 50 ms, and events may turn out to be stale. */
static inline int passes_while_idle(void)
{
    int passes = 0;
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_pass, &passes);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.12, 0);
    drop_observer(observer);
    return passes;
}

static inline void put(int fd) { require(write(fd, "x", 1) == 1); }
static inline void take(int fd)
{
    char byte;
    require(read(fd, &byte, 1) == 1);
}

/* Writes until the buffer is full. */
static inline void fill(int fd)
{
    static const char zeros[4096];
    while (write(fd, zeros, sizeof zeros) > 0) {}
    while (write(fd, zeros, 1) > 0) {}
    require(errno == EAGAIN);
}

/* Reads until nothing is left. Returns the number of bytes. */
static inline long drain_fd(int fd)
{
    static char buffer[1 << 16];
    long sum = 0, count;
    while ((count = read(fd, buffer, sizeof buffer)) > 0)
        sum += count;
    return sum;
}

#endif
