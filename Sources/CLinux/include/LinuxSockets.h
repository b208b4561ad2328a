/* Sockets; addresses are bytes. Part of CLinux.h. */
#ifndef CLINUX_SOCKETS_H
#define CLINUX_SOCKETS_H
#include "LinuxDescriptors.h"
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Constants that are otherwise imported as members of an enum. */
static const int linux_SOCK_STREAM = SOCK_STREAM;
static const int linux_SOCK_SEQPACKET = SOCK_SEQPACKET;

static inline int linux_socket(int family, int type, int protocol)
{
    return (int)syscall(SYS_socket, family, type | SOCK_CLOEXEC, protocol);
}
static inline int linux_bind(int fd, const void *address, uint32_t size)
{
    return (int)syscall(SYS_bind, fd, address, size);
}
static inline int linux_listen(int fd, int backlog) { return (int)syscall(SYS_listen, fd, backlog); }
static inline int linux_connect(int fd, const void *address, uint32_t size)
{
    return (int)syscall(SYS_connect, fd, address, size);
}
static inline int linux_accept(int fd, struct sockaddr *address, uint32_t *size)
{
    return (int)syscall(SYS_accept4, fd, address, size, SOCK_CLOEXEC);
}
static inline long linux_receive(int fd, void *buffer, size_t size, struct sockaddr *address, uint32_t *address_size)
{
    return syscall(SYS_recvfrom, fd, buffer, size, MSG_DONTWAIT, address, address_size);
}
static inline long linux_send(int fd, const void *bytes, size_t size, const void *address, uint32_t address_size,
                              int waits)
{
    int flags = MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT);
    return syscall(SYS_sendto, fd, bytes, size, flags, address, address_size);
}
static inline int linux_name_of(int fd, int peer, struct sockaddr *address, uint32_t *size)
{
    return (int)syscall(peer ? SYS_getpeername : SYS_getsockname, fd, address, size);
}
static inline int linux_socket_option(int fd, int name, void *value, uint32_t *size)
{
    return (int)syscall(SYS_getsockopt, fd, SOL_SOCKET, name, value, size);
}
static inline int linux_set_socket_option(int fd, int name, int value)
{
    return (int)syscall(SYS_setsockopt, fd, SOL_SOCKET, name, &value, sizeof value);
}
/* Returns a number that identifies the open file; 0 if the descriptor is not open. Bit 30 is set for a socket. Two
   sockets have the same number only by a rare coincidence. */
static inline uint32_t linux_open_file_identity(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return 0;
    uint64_t both = (uint64_t)status.st_dev * 0x9e3779b97f4a7c15u + (uint64_t)status.st_ino;
    uint32_t identity = (uint32_t)(both ^ both >> 32) & ~(1u << 30);
    return identity | 1u << 31 | (uint32_t)S_ISSOCK(status.st_mode) << 30;
}
static inline long linux_readable_bytes(int fd)
{
    int count;
    return syscall(SYS_ioctl, fd, FIONREAD, &count) < 0 ? -1 : count;
}

static inline int linux_set_blocking(int fd, int blocks)
{
    int flags = linux_fcntl(fd, F_GETFL, 0);
    if (flags < 0)
        return -1;
    if (((flags & O_NONBLOCK) == 0) == (blocks != 0))
        return 0;
    return linux_fcntl(fd, F_SETFL, flags ^ O_NONBLOCK) < 0 ? -1 : 1;
}

#endif
