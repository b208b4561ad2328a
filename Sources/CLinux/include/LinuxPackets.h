/* Packets between processes: sockets with a path, and the descriptors that travel with a packet. Part of CLinux.h. */
#ifndef CLINUX_PACKETS_H
#define CLINUX_PACKETS_H
#include "LinuxSockets.h"
#include <string.h>
#include <sys/un.h>

/* SOCK_SEQPACKET is imported as a member of an enum; addresses are unions by cast. */
static inline int linux_socket_of_packets(void) { return linux_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0); }
static inline int linux_unix_address(struct sockaddr_un *address, const char *path)
{
    size_t length = strlen(path);
    if (length >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length);
    return 0;
}
static inline int linux_unix_listen(int fd, const char *path, int backlog)
{
    struct sockaddr_un address;
    int bad = linux_unix_address(&address, path) != 0 || linux_bind(fd, &address, sizeof address) != 0;
    return bad ? -1 : linux_listen(fd, backlog);
}
static inline int linux_unix_connect(int fd, const char *path)
{
    struct sockaddr_un address;
    return linux_unix_address(&address, path) != 0 ? -1 : linux_connect(fd, &address, sizeof address);
}
static inline int linux_accept_packets(int fd)
{
    return (int)syscall(SYS_accept4, fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}
static inline int linux_peer_credentials(int fd, int *pid, unsigned *uid, unsigned *gid)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (linux_socket_option(fd, SO_PEERCRED, &peer, &size) != 0)
        return -1;
    *pid = peer.pid;
    *uid = peer.uid;
    *gid = peer.gid;
    return 0;
}
static inline int linux_shutdown(int fd) { return (int)syscall(SYS_shutdown, fd, SHUT_RDWR); }

/* The macros of cmsg(3). Sends one packet, with a descriptor unless `passed` is -1. Never blocks, raises no SIGPIPE. */
static inline long linux_send_packet(int fd, const void *head, size_t headSize, const void *body, size_t bodySize,
                                     int passed)
{
    /* Small parts are joined: for two parts the kernel takes longer than this copy. */
    if (passed < 0 && headSize + bodySize <= 512) {
        char packet[512];
        memcpy(packet, head, headSize);
        if (bodySize > 0)
            memcpy(packet + headSize, body, bodySize);
        return syscall(SYS_sendto, fd, packet, headSize + bodySize, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
    }
    if (passed < 0 && bodySize == 0)
        return syscall(SYS_sendto, fd, head, headSize, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
    struct iovec parts[2] = {{(void *)(uintptr_t)head, headSize}, {(void *)(uintptr_t)body, bodySize}};
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = bodySize > 0 ? 2 : 1};
    if (passed >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = sizeof control.space;
        struct cmsghdr *item = CMSG_FIRSTHDR(&message);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(item), &passed, sizeof passed);
    }
    return syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What came with a packet instead of one descriptor. */
static const int linux_passed_several = -2; /* They are closed. */
static const int linux_passed_refused = -3; /* One that this process has no number for. */

/* Sets `*passed` if a descriptor came with a packet: to that, or to one of the constants above. */
static __attribute__((noinline, unused)) void linux_take_passed(struct msghdr *message, int *passed)
{
    int count = 0, first = -1;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL; item = CMSG_NXTHDR(message, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t offset = 0; CMSG_LEN(offset) + sizeof(int) <= item->cmsg_len; offset += sizeof(int)) {
            int one;
            memcpy(&one, CMSG_DATA(item) + offset, sizeof one);
            if (first < 0)
                first = one;
            else
                syscall(SYS_close, one);
            count++;
        }
    }
    int truncated = (message->msg_flags & MSG_CTRUNC) != 0;
    if (count + truncated == 1) {
        *passed = truncated ? linux_passed_refused : first;
    } else if (count > 0) {
        syscall(SYS_close, first);
        *passed = linux_passed_several;
    }
}

/* Receives one packet, and a descriptor if one came with it; `*passed` is -1 if none did. Returns the true size, also of a packet
   that was cut off. */
static inline long linux_receive_packet(int fd, void *buffer, size_t bufferSize, int *passed)
{
    struct iovec part = {buffer, bufferSize};
    union {
        char space[CMSG_SPACE(8 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
    *passed = -1;
    int flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC;
    long size = syscall(SYS_recvmsg, fd, &message, flags);
    if (size >= 0 && (message.msg_controllen != 0 || message.msg_flags & MSG_CTRUNC))
        linux_take_passed(&message, passed);
    return size;
}

#endif
