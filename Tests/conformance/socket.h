/* socket.h - helpers shared by the conformance programs about CFSocket: sockets that log their callbacks, and
 * settle().
 *
 * CoreFoundation watches sockets on a separate thread, which signals a source some time after a descriptor becomes
 * ready. settle() waits until that thread has noticed everything that is ready. Afterwards a run of 0 seconds makes
 * the callbacks for exactly what is ready, with either library. Most programs are a sequence of such steps, each
 * with one line of output. */
#ifndef SOCKET_H
#define SOCKET_H

#include "trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define READ kCFSocketReadCallBack
#define ACCEPT kCFSocketAcceptCallBack
#define DATA kCFSocketDataCallBack
#define CONNECT kCFSocketConnectCallBack
#define WRITE kCFSocketWriteCallBack
#define CLOSES kCFSocketCloseOnInvalidate

/** A socket that logs its callbacks, and then acts. */
typedef struct Sock Sock;
struct Sock {
    const char *name; /* prefix of its log entries; may be NULL */
    void (*action)(Sock *sock, CFSocketCallBackType type);
    CFSocketRef socket;
    CFRunLoopSourceRef source;
    int fd;       /* its descriptor */
    ino_t inode;  /* identifies the file */
    int far;      /* the other end, which has no CFSocket */
    int accepted; /* the descriptor from the last accept callback */
    size_t takes; /* bytes that a read callback reads; reading at another time would bypass CF */
    int calls;
    CFIndex bytes; /* total of the data callbacks */
};

static inline const char *error_name(SInt32 error)
{
    const char *name = strerrorname_np(error);
    return name ? name : "?";
}

/* ---- Descriptors ---- */

static inline void require(int truth)
{
    if (!truth) {
        perror("a system call of the test failed");
        abort();
    }
}

static inline void say(int fd, const char *words)
{
    require(write(fd, words, strlen(words)) == (ssize_t)strlen(words));
}

/** Reads once and logs the number of bytes. */
static inline void take(int fd, size_t size)
{
    static char buffer[1 << 16];
    require(size <= sizeof buffer);
    ssize_t got = recv(fd, buffer, size, MSG_DONTWAIT);
    if (got < 0)
        note("took %s", error_name(errno));
    else
        note("took %zd", got);
}

static inline ino_t inode_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

/** Whether the descriptor is open and still the same file. (CF's own threads may reuse its number.) */
static inline int is_open(const Sock *sock) { return inode_of(sock->fd) == sock->inode; }

/** Waits until poll() reports the events: data sent to 127.0.0.1 may arrive after send() has returned. */
static inline void await(int fd, short events)
{
    struct pollfd waited = {.fd = fd, .events = events};
    require(poll(&waited, 1, 10000) == 1);
}

/** Writes until the buffer is full. */
static inline void fill(int fd)
{
    static const char zeros[4096];
    while (send(fd, zeros, sizeof zeros, MSG_DONTWAIT) > 0)
        continue;
    while (send(fd, zeros, 1, MSG_DONTWAIT) > 0)
        continue;
    require(errno == EAGAIN);
}

/** Reads until nothing is left. */
static inline void drain(int fd)
{
    static char buffer[4096];
    while (recv(fd, buffer, sizeof buffer, MSG_DONTWAIT) > 0)
        continue;
}

static inline void sock_called(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data,
                               void *info)
{
    Sock *sock = info;
    const char *name = sock->name ? sock->name : "";
    sock->calls++;
    if (socket != sock->socket)
        note("other socket:");
    if (type == READ) {
        note("%sREAD%s", name, address || data ? "(?)" : "");
    } else if (type == WRITE) {
        note("%sWRITE%s", name, address || data ? "(?)" : "");
    } else if (type == ACCEPT) {
        sock->accepted = *(const CFSocketNativeHandle *)data;
        note("%sACCEPT", name);
    } else if (type == DATA) {
        sock->bytes += CFDataGetLength(data);
        note("%sDATA(%ld)", name, (long)CFDataGetLength(data));
    } else if (type == CONNECT) {
        note("%sCONNECT(%s)%s", name, data ? error_name(*(const SInt32 *)data) : "", address ? "?" : "");
    } else {
        note("%stype %lu?", name, (unsigned long)type);
    }
    if (type == READ && sock->takes > 0)
        take(sock->fd, sock->takes);
    if (sock->action)
        sock->action(sock, type);
}

/* ---- Sockets ---- */

/** Creates a CFSocket on a descriptor, in no loop. */
static inline CFSocketRef create_on(Sock *sock, int fd, CFOptionFlags types)
{
    CFSocketContext context = {.info = sock};
    sock->fd = fd;
    sock->inode = inode_of(fd);
    return sock->socket = CFSocketCreateWithNative(NULL, fd, types, sock_called, &context);
}

static inline void make_pair(Sock *sock, int type)
{
    int ends[2];
    require(socketpair(AF_UNIX, type, 0, ends) == 0);
    sock->fd = ends[0];
    sock->far = ends[1];
    sock->inode = inode_of(sock->fd);
}

/** Creates a CFSocket on one end of a stream socket pair, in no loop. */
static inline CFSocketRef create_pair(Sock *sock, CFOptionFlags types)
{
    make_pair(sock, SOCK_STREAM);
    return create_on(sock, sock->fd, types);
}

/** Adds the socket's source to a mode of this thread's loop. */
static inline void add_to(Sock *sock, CFStringRef mode)
{
    if (!sock->source)
        sock->source = CFSocketCreateRunLoopSource(NULL, sock->socket, 0);
    CFRunLoopAddSource(HERE, sock->source, mode);
}

/** Does what create_pair() does, and adds the socket to the default mode of this thread's loop. */
static inline void add_pair(Sock *sock, CFOptionFlags types)
{
    create_pair(sock, types);
    add_to(sock, MODE);
}

/* ---- Steps ---- */

static inline void settled(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data,
                           void *info)
{
    (void)socket, (void)type, (void)address, (void)data, (void)info;
}

/** Returns when CoreFoundation's thread has noticed everything that is ready: it notices a new socket after the
 * older ones. The new socket has an unused descriptor number, because a select() in progress may still contain the
 * used ones. */
static inline void settle(void)
{
    static atomic_int turn;
    Sock probe = {0};
    make_pair(&probe, SOCK_STREAM);
    int fd = fcntl(probe.fd, F_DUPFD_CLOEXEC, 500 + atomic_fetch_add(&turn, 1) % 500);
    require(fd >= 0);
    close(probe.fd);
    probe.fd = fd;
    say(probe.far, "x");
    CFSocketRef socket = CFSocketCreateWithNative(NULL, probe.fd, READ, settled, NULL);
    CFSocketSetSocketFlags(socket, CLOSES);
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, socket, 0);
    CFRunLoopAddSource(HERE, source, CFSTR("settle"));
    if (CFRunLoopRunInMode(CFSTR("settle"), AGES, true) != kCFRunLoopRunHandledSource)
        note("no callback in settle()!");
    CFSocketInvalidate(socket);
    CFRelease(source);
    CFRelease(socket);
    close(probe.far);
}

/** Calls back one ready socket, if there is one: "label: callbacks -> HandledSource". */
static inline void step_in(CFStringRef mode, const char *label)
{
    settle();
    run(label, mode, 0, true);
}

static inline void step(const char *label) { step_in(MODE, label); }

/* ---- Addresses ---- */

static inline CFDataRef inet_address(in_port_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return CFDataCreate(NULL, (const UInt8 *)&address, sizeof address);
}

/** Returns an AF_UNIX address for which the kernel picks a free abstract name. */
static inline CFDataRef unix_address(void)
{
    sa_family_t family = AF_UNIX;
    return CFDataCreate(NULL, (const UInt8 *)&family, sizeof family);
}

/** Returns the address that a descriptor is bound to. */
static inline CFDataRef address_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    require(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    return CFDataCreate(NULL, (const UInt8 *)&address, size);
}

/** Returns a descriptor bound to a free address of AF_UNIX or AF_INET (127.0.0.1), not listening. */
static inline int bound(int family, int type)
{
    int fd = socket(family, type | SOCK_CLOEXEC, 0);
    CFDataRef wish = family == AF_INET ? inet_address(0) : unix_address();
    require(fd >= 0);
    require(bind(fd, (const struct sockaddr *)CFDataGetBytePtr(wish), (socklen_t)CFDataGetLength(wish)) == 0);
    CFRelease(wish);
    return fd;
}

static inline int listener(int family)
{
    int fd = bound(family, SOCK_STREAM);
    require(listen(fd, 8) == 0);
    return fd;
}

/** Returns a blocking client that has connected to a listening descriptor. */
static inline int client_of(int listening, int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CFDataRef address = address_of(listening);
    require(fd >= 0 &&
            connect(fd, (const struct sockaddr *)CFDataGetBytePtr(address), (socklen_t)CFDataGetLength(address)) == 0);
    CFRelease(address);
    return fd;
}

#endif
