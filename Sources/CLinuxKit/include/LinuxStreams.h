/* Streams: reading and writing without waiting and without SIGPIPE, connecting, a lock that survives fork(). Part of CLinuxKit.h. */
#ifndef CLINUXKIT_STREAMS_H
#define CLINUXKIT_STREAMS_H
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* -- Descriptors: by syscall(2), as glibc's functions are cancellation points, or variadic ----------------------------- */

enum linux_stream_kind { linux_not_open = -1, linux_no_socket = 0, linux_stream_socket = 1, linux_other_socket = 2 };
static inline enum linux_stream_kind linux_stream_kind(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;
    if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0)
        return type == SOCK_STREAM ? linux_stream_socket : linux_other_socket;
    return errno == EBADF ? linux_not_open : linux_no_socket;
}
/* Whether a connection is still being made. */
static inline int linux_is_connecting(int fd)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    return syscall(SYS_getpeername, fd, &peer, &size) != 0 && errno == ENOTCONN;
}
/* An error of the socket that was not reported yet, or 0. */
static inline int linux_take_socket_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}
/* A stream socket that connects without waiting. */
static inline int linux_connect(const void *address, unsigned size)
{
    const struct sockaddr *to = address;
    int fd = (int)syscall(SYS_socket, to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || syscall(SYS_connect, fd, to, size) == 0 || errno == EINPROGRESS)
        return fd;
    int error = errno;
    syscall(SYS_close, fd);
    errno = error;
    return -1;
}
static inline int linux_access_mode(int fd)
{
    int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
    return flags < 0 ? -1 : flags & O_ACCMODE;
}
static inline int linux_add_nonblocking(int fd)
{
    int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) != 0)
        return flags < 0 ? -1 : 0;
    return (int)syscall(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK);
}
static inline int linux_end_writing(int fd) { return (int)syscall(SYS_shutdown, fd, SHUT_WR); }

static inline long linux_stream_read(int fd, int is_socket, void *bytes, long size)
{
    if (is_socket)
        return syscall(SYS_recvfrom, fd, bytes, size, MSG_DONTWAIT, NULL, NULL);
    return syscall(SYS_read, fd, bytes, size);
}
/* Only send(2) can leave SIGPIPE out: for the others it is blocked, and taken if it was not pending before. */
static inline long linux_write_pipe(int fd, const struct iovec *parts, int count)
{
    const uint64_t pipe = 1ULL << (SIGPIPE - 1);
    uint64_t before = 0, pending = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &pipe, &before, sizeof pipe);
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    long written = syscall(SYS_writev, fd, parts, count);
    int error = errno;
    struct timespec now = {0};
    if (written < 0 && error == EPIPE && (pending & pipe) == 0)
        while (syscall(SYS_rt_sigtimedwait, &pipe, NULL, &now, sizeof pipe) < 0 && errno == EINTR) {}
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    errno = error;
    return written;
}
static inline long linux_stream_write(int fd, int is_socket, struct iovec *parts, int count)
{
    if (!is_socket)
        return linux_write_pipe(fd, parts, count);
    if (count == 1)
        return syscall(SYS_sendto, fd, parts->iov_base, parts->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    return syscall(SYS_sendmsg, fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Declared by the system's headers for _GNU_SOURCE only. */
static inline const void *linux_find(const void *bytes, long count, const void *wanted, long length)
{
    return length == 1 ? memchr(bytes, *(const unsigned char *)wanted, (size_t)count)
                       : memmem(bytes, (size_t)count, wanted, (size_t)length);
}

/* -- Locks --------------------------------------------------------------------------------------------------------- */

/* A recursive lock: pthread's take twice the time. In the child of a fork() it is free, whatever other threads were doing. */
struct linux_stream_lock {
    pthread_mutex_t mutex;
    pthread_t owner; /* 0: it is free */
    uint32_t forks;  /* how many the process had when this lock was used last */
    uint32_t depth;
    int was_broken; /* another thread held it when the process forked: what it guards may be half changed */
};
/* How many fork()s lie between this process and the one that loaded the library; and the thread that called the last. */
extern uint32_t linux_kit_forks __attribute__((visibility("hidden")));
extern pthread_t linux_kit_forking_thread __attribute__((visibility("hidden")));
void linux_stream_lock_init(struct linux_stream_lock *lock);
/* 1 if this is the first use in the child of a fork(). */
int linux_stream_lock_recover(struct linux_stream_lock *lock);
static inline int linux_stream_lock(struct linux_stream_lock *lock)
{
    pthread_t self = pthread_self();
    int is_first =
        __atomic_load_n(&lock->forks, __ATOMIC_ACQUIRE) != linux_kit_forks && linux_stream_lock_recover(lock);
    if (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) != self) {
        pthread_mutex_lock(&lock->mutex);
        __atomic_store_n(&lock->owner, self, __ATOMIC_RELAXED);
    }
    lock->depth++;
    return is_first;
}
static inline void linux_stream_unlock(struct linux_stream_lock *lock)
{
    if (--lock->depth > 0)
        return;
    __atomic_store_n(&lock->owner, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock->mutex);
}
static inline void linux_stream_lock_destroy(struct linux_stream_lock *lock) { pthread_mutex_destroy(&lock->mutex); }
static inline int linux_is_forking_thread(pthread_t thread) { return pthread_equal(thread, linux_kit_forking_thread); }

/* Calls a function, and another one with the same argument if the thread ends in it. pthread_cleanup_push is a macro. */
void linux_call_until_end(void (*call)(void *argument), void (*thread_ends)(void *argument), void *argument);

#endif
