/* Streams: reading and writing without blocking or SIGPIPE, connecting, a lock that survives fork(). Part of
   CLinuxKit.h. */
#ifndef CLINUXKIT_STREAMS_H
#define CLINUXKIT_STREAMS_H
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/single_threaded.h>
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
static inline int linux_has_peer(int fd)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    return syscall(SYS_getpeername, fd, &peer, &size) == 0;
}
/* Returns whether a socket is still connecting. A connection that has ended has no peer either, but is readable: it
   reports end-of-stream. */
static inline int linux_is_connecting(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    struct timespec now = {0};
    return !linux_has_peer(fd) && errno == ENOTCONN && syscall(SYS_ppoll, &end, 1, &now, NULL, 0) == 0;
}
/* Returns and clears the pending error of a socket; 0 if there is none. */
static inline int linux_take_socket_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}
/* Creates a stream socket and begins to connect it without blocking. Returns the descriptor, or -1 with errno. */
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
/* Makes an open file non-blocking. Returns 1, 0 if it was so before, or -1 with errno. */
static inline int linux_add_nonblocking(int fd)
{
    int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) != 0)
        return flags < 0 ? -1 : 0;
    return syscall(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK) == 0 ? 1 : -1;
}
static inline void linux_remove_nonblocking(int fd)
{
    int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
    if (flags >= 0)
        syscall(SYS_fcntl, fd, F_SETFL, flags & ~O_NONBLOCK);
}
/* Opens a terminal once more, without blocking: descriptors 0, 1 and 2 usually share one open file, whose flags must stay
   as they are. Returns the new descriptor; -1 if this is no terminal, or cannot be opened. The controlling end of a
   pseudoterminal cannot: that would make another pseudoterminal. */
static inline int linux_open_terminal_again(int fd)
{
    struct winsize size;
    unsigned number;
    if (syscall(SYS_ioctl, fd, TIOCGWINSZ, &size) < 0 || syscall(SYS_ioctl, fd, TIOCGPTN, &number) == 0)
        return -1;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int flags = linux_access_mode(fd) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags);
}
/* Returns whether a descriptor is ready for one of the events, or has failed. By syscall(2), because poll() is a
   cancellation point. */
static inline int linux_is_ready(int fd, short events)
{
    struct pollfd ready = {.fd = fd, .events = events};
    struct timespec now = {0};
    return syscall(SYS_ppoll, &ready, 1, &now, NULL, (size_t)8) > 0;
}
static inline int linux_end_writing(int fd) { return (int)syscall(SYS_shutdown, fd, SHUT_WR); }

static inline long linux_stream_read(int fd, int is_socket, void *bytes, long size)
{
    if (is_socket)
        return syscall(SYS_recvfrom, fd, bytes, size, MSG_DONTWAIT, NULL, NULL);
    return syscall(SYS_read, fd, bytes, size);
}
/* Writes to a descriptor that is not a socket. Only send(2) can suppress SIGPIPE; here the signal is blocked meanwhile,
   and consumed unless it was pending before. It can have been pending only if it was blocked. If another process has made
   a pipe blocking, and its reader leaves while the call waits for room, the signal is sent although a part was written.
   So the signal is looked for whenever not all was written. */
static inline long linux_write_pipe(int fd, const struct iovec *parts, int count)
{
    const uint64_t pipe = 1ULL << (SIGPIPE - 1);
    uint64_t before = 0, pending = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &pipe, &before, sizeof pipe);
    int was_blocked = (before & pipe) != 0;
    if (was_blocked)
        syscall(SYS_rt_sigpending, &pending, sizeof pending);
    long written = syscall(SYS_writev, fd, parts, count), left = -written;
    for (int index = 0; index < count; index++)
        left += (long)parts[index].iov_len;
    if (left != 0 && (pending & pipe) == 0) {
        struct timespec now = {0};
        int error = errno;
        syscall(SYS_rt_sigtimedwait, &pipe, NULL, &now, sizeof pipe);
        errno = error;
    }
    if (!was_blocked)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
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

/* Returns the text for an error number, a constant; NULL if the number is unknown. In C because strerrordesc_np() is
   declared for _GNU_SOURCE only. */
static inline const char *linux_describe_error(int error) { return strerrordesc_np(error); }

/* Finds bytes in other bytes; NULL if there are none. In C because memmem() is declared for _GNU_SOURCE only. */
static inline const void *linux_find(const void *bytes, long count, const void *wanted, long length)
{
    return length == 1 ? memchr(bytes, *(const unsigned char *)wanted, (size_t)count)
                       : memmem(bytes, (size_t)count, wanted, (size_t)length);
}

/* -- The state of a thread --------------------------------------------------------------------------------------- */

/* What a thread is doing with streams: `innermost` is its innermost call for a stream, `spare` memory for the next one.
   For chains of forwarded streams, `freed` lists the streams whose handles have been freed and that have to be ended,
   `collects` says whether a handle that is freed now adds its stream to them, and `drains` whether the thread is
   already ending them. Thread-local, which Swift cannot import. */
struct linux_stream_thread {
    void *innermost, *spare, *freed;
    uint8_t collects, drains;
};
extern __thread struct linux_stream_thread linux_stream_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* Returns the calling thread's state, whose address also identifies the thread. */
static inline struct linux_stream_thread *linux_this_stream_thread(void) { return &linux_stream_thread; }

/* -- Locks --------------------------------------------------------------------------------------------------------- */

/* A recursive lock. In the child of a fork() only the thread that called fork() can be holding it. While the process
   has one thread, it executes no locked instruction. Race detectors are notified of it as of the core's locks: see
   LinuxRaces.h. */
struct linux_stream_lock {
    uint32_t word;                     /* 0: free, 1: held, 2: held, and threads may be asleep. A futex. */
    uint32_t depth;                    /* how many times the owner has taken it */
    struct linux_stream_thread *owner; /* NULL: it is free */
    uint32_t forks;                    /* the count of forks when this lock was last used */
    int was_broken; /* a thread held the lock when the process forked, so the data that it guards may be inconsistent */
};
/* The number of fork()s between the process that loaded the library and this one, and the thread that called the last
   one. */
extern uint32_t linux_kit_forks __attribute__((visibility("hidden")));
extern struct linux_stream_thread *linux_kit_forking_thread __attribute__((visibility("hidden")));
static inline uint32_t linux_kit_fork_count(void) { return linux_kit_forks; }
void linux_stream_lock_init(struct linux_stream_lock *lock);
/* Returns 1 at the lock's first use in the child of a fork(), and frees the lock there unless the thread that called
   fork() holds it; otherwise returns 0. Takes the kit's lock. */
int linux_stream_lock_recover(struct linux_stream_lock *lock);
void linux_stream_lock_acquire(struct linux_stream_lock *lock);
void linux_stream_lock_release(struct linux_stream_lock *lock);
static inline __attribute__((always_inline)) int linux_stream_lock(struct linux_stream_lock *lock)
{
    int is_first =
        __atomic_load_n(&lock->forks, __ATOMIC_ACQUIRE) != linux_kit_forks && linux_stream_lock_recover(lock);
    if (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) != &linux_stream_thread) {
        if (__libc_single_threaded && lock->word == 0)
            lock->word = 1;
        else
            linux_stream_lock_acquire(lock);
        __atomic_store_n(&lock->owner, &linux_stream_thread, __ATOMIC_RELAXED);
    }
    lock->depth++;
    return is_first;
}
static inline __attribute__((always_inline)) void linux_stream_unlock(struct linux_stream_lock *lock)
{
    if (--lock->depth > 0)
        return;
    __atomic_store_n(&lock->owner, NULL, __ATOMIC_RELAXED);
    if (__libc_single_threaded)
        lock->word = 0;
    else
        linux_stream_lock_release(lock);
}
static inline int linux_is_forking_thread(const struct linux_stream_thread *thread)
{
    return thread == linux_kit_forking_thread;
}

#endif
