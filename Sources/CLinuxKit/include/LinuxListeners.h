/* Listening sockets. Part of CLinuxKit.h. */
#ifndef CLINUXKIT_LISTENERS_H
#define CLINUXKIT_LISTENERS_H
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Creates a stream socket that listens at an address; -1 with errno on failure. In C because socket types are an enum
   and addresses have many types. */
static inline int linux_listen(const void *address, unsigned size)
{
    const struct sockaddr *at = address;
    int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    const int yes = 1, no = 0;
    if (at->sa_family != AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (at->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    int is_bound = bind(fd, at, size) == 0;
    if (is_bound && listen(fd, SOMAXCONN) == 0)
        return fd;
    int error = errno;
    if (is_bound && at->sa_family == AF_UNIX && ((const struct sockaddr_un *)address)->sun_path[0] != 0)
        unlink(((const struct sockaddr_un *)address)->sun_path);
    syscall(SYS_close, fd);
    errno = error;
    return -1;
}
/* Accepts a connection; -1 with errno on failure. By syscall(2), because accept() is a cancellation point. */
static inline int linux_accept(int fd)
{
    return (int)syscall(SYS_accept4, fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}
static inline int linux_is_listening(int fd)
{
    int type = 0, listens = 0;
    socklen_t size = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}
/* Fills in a struct sockaddr_un; a path that begins with `@` is an abstract name. Returns the size, 0 if the path does
   not fit or is empty. In C because Swift imports the path, an array, as a tuple. */
static inline unsigned linux_path_address(const char *path, struct sockaddr_un *address)
{
    size_t length = strlen(path);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (length == 0 || length >= sizeof address->sun_path)
        return 0;
    memcpy(address->sun_path, path, length);
    if (path[0] != '@')
        return sizeof *address;
    address->sun_path[0] = 0;
    return (unsigned)(offsetof(struct sockaddr_un, sun_path) + length);
}
/* Copies the address to which a socket is bound. Returns its size, 0 if there is none. */
static inline unsigned linux_local_address(int fd, struct sockaddr_storage *address)
{
    socklen_t size = sizeof *address;
    return getsockname(fd, (struct sockaddr *)address, &size) == 0 ? size : 0;
}
/* Returns the port of an IPv4 or IPv6 address; 0 if the address is of another kind. */
static inline int linux_port(const void *address)
{
    const struct sockaddr *at = address;
    return at->sa_family == AF_INET    ? ntohs(((const struct sockaddr_in *)address)->sin_port)
           : at->sa_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)address)->sin6_port)
                                       : 0;
}
/* Identifies the file of a socket in the file system; zeros if there is none. */
struct linux_socket_file {
    uint64_t device, inode;
};
static inline struct linux_socket_file linux_find_socket_file(const char *path)
{
    struct stat status;
    if (path[0] == '@' || lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return (struct linux_socket_file){0};
    return (struct linux_socket_file){status.st_dev, status.st_ino};
}
/* Removes the socket at a path if it is still this file. Returns 1 if it was removed. */
static inline int linux_remove_socket_file(const char *path, struct linux_socket_file file)
{
    struct linux_socket_file now = linux_find_socket_file(path);
    return file.inode != 0 && now.device == file.device && now.inode == file.inode && unlink(path) == 0;
}
/* Locks the directory of a path while a socket is created there, because a socket that is bound but not listening yet
   looks abandoned. Waits for a second at most. Returns a descriptor, or -1 if the directory cannot be locked. */
static inline int linux_lock_directory(const char *path)
{
    char directory[sizeof((struct sockaddr_un *)0)->sun_path];
    const char *end = strrchr(path, '/');
    size_t length = end == NULL || end == path ? 1 : (size_t)(end - path);
    memcpy(directory, end == NULL ? "." : path, length);
    directory[length] = 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (i == 100 || (errno != EWOULDBLOCK && errno != EINTR)) {
            syscall(SYS_close, fd);
            return -1;
        }
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return fd;
}
/* Unlocks the directory before closing it, because a child that was forked meanwhile also has the descriptor and would
   keep the lock. */
static inline void linux_unlock_directory(int fd)
{
    flock(fd, LOCK_UN);
    syscall(SYS_close, fd);
}
/* Returns whether nothing listens at a socket in the file system. */
static inline int linux_is_abandoned(const struct sockaddr_un *address, unsigned size)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return 0;
    int is_refused = syscall(SYS_connect, fd, address, size) != 0 && errno == ECONNREFUSED;
    syscall(SYS_close, fd);
    return is_refused;
}

#endif
