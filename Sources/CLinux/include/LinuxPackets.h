/* Packets between processes: sockets with a path, and descriptors that are passed with a packet. Part of CLinux.h. */
#ifndef CLINUX_PACKETS_H
#define CLINUX_PACKETS_H
#include "LinuxSockets.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

/* Shims, because SOCK_SEQPACKET is imported as a member of an enum, and addresses are unions by cast. */
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

/* Sends one packet, with a descriptor unless `passed` is -1; a shim because of the macros of cmsg(3). Never blocks, and
   raises no SIGPIPE. */
static inline long linux_send_packet(int fd, const void *head, size_t headSize, const void *body, size_t bodySize,
                                     int passed)
{
    /* Join small parts: for two parts, the kernel takes longer than this copy. */
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

/* The maximum number of descriptors that a packet can carry. The kernel would close those for which there is no room,
   in this thread. */
#define LINUX_PASSED_LIMIT 253

/* Values that stand for anything but a single descriptor that was received with a packet. */
static const int linux_passed_several = -2; /* Several, which are being closed. */
static const int linux_passed_refused = -3; /* One for which this process has no number left. */

/* Closes descriptors on a separate thread. `sender` stands for the process that has passed them; 0 for sockets of this
   process. At most eight threads do this: if none is free, or none can be created, the descriptors stay open until a
   thread gets to them. If memory runs out, they stay open permanently. Any thread. Defined in Closing.c. */
void linux_close_apart(const int *fds, int count, uint64_t sender);

/* Whether descriptors that `sender` has passed still have to be closed. One load if no process has passed any. Any
   thread. */
extern int linux_closes_passed;
int linux_finds_passed(uint64_t sender);
static inline int linux_is_closing(uint64_t sender)
{
    return __atomic_load_n(&linux_closes_passed, __ATOMIC_RELAXED) && linux_finds_passed(sender);
}

/* Called before and after fork(), which copies the list of what is to be closed, but not the threads. */
void linux_lock_closings(void);
void linux_unlock_closings(int in_child);

/* Whether there is a packet. It stays in the socket, with its descriptors, for which this leaves no room. Nor is there
   room for the sender's credentials, which come with each packet, but not with the end of the connection: so a truncated
   message is a packet, even an empty one. The first call may fail with ECONNRESET, if the peer has closed its end without
   receiving everything. */
static inline int linux_peek_packet(int fd)
{
    struct msghdr message = {0};
    int wants = 1;
    syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_PASSCRED, &wants, sizeof wants);
    while (syscall(SYS_recvmsg, fd, &message, MSG_PEEK | MSG_DONTWAIT) < 0)
        if (errno != ECONNRESET && errno != EINTR)
            return 0;
    return (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
}

/* Sets whether the socket, and the sockets that it accepts, refuse descriptors. Returns 1, or 0 if the kernel does not
   support this (before 6.16). */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif
static inline int linux_refuse_passed(int fd, int refuses)
{
    int passes = !refuses;
    return syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_PASSRIGHTS, &passes, sizeof passes) == 0;
}

/* Sets `*passed` if a descriptor was received with a packet: to that descriptor, or to one of the constants above. */
static __attribute__((noinline, unused)) void linux_take_passed(struct msghdr *message, int *passed, uint64_t sender)
{
    int count = 0, fds[LINUX_PASSED_LIMIT];
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL; item = CMSG_NXTHDR(message, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t offset = 0; CMSG_LEN(offset) + sizeof(int) <= item->cmsg_len && count < LINUX_PASSED_LIMIT;
             offset += sizeof(int))
            memcpy(&fds[count++], CMSG_DATA(item) + offset, sizeof(int));
    }
    int truncated = (message->msg_flags & MSG_CTRUNC) != 0;
    if (count + truncated == 1) {
        *passed = truncated ? linux_passed_refused : fds[0];
    } else if (count > 0) {
        linux_close_apart(fds, count, sender);
        *passed = linux_passed_several;
    }
}

/* Receives one packet into one buffer, or into two if `body` has room. Returns the true size, even if the packet was
   truncated. `passed` is not NULL if the packet may carry descriptors of `sender`; it receives -1 if there were none. */
static inline long linux_receive_packet(int fd, void *buffer, size_t bufferSize, void *body, size_t bodySize,
                                        int *passed, uint64_t sender)
{
    int flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC;
    if (passed == NULL && bodySize == 0)
        return syscall(SYS_recvfrom, fd, buffer, bufferSize, flags, NULL, NULL);
    struct iovec parts[2] = {{buffer, bufferSize}, {body, bodySize}};
    union {
        char space[CMSG_SPACE(LINUX_PASSED_LIMIT * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = bodySize > 0 ? 2 : 1,
                             .msg_control = passed ? &control : NULL,
                             .msg_controllen = passed ? sizeof control.space : 0};
    if (passed)
        *passed = -1;
    long size = syscall(SYS_recvmsg, fd, &message, flags);
    if (passed && size >= 0 && (message.msg_controllen != 0 || message.msg_flags & MSG_CTRUNC))
        linux_take_passed(&message, passed, sender);
    return size;
}

#endif
