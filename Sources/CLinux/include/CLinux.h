/* The only door to Linux: the system's headers, and static inline shims for what Swift cannot import
   (variadic functions, macros, thread-local variables, constants that come in as enums or as
   integers of another width). Each shim says why it is here. No logic. */
#ifndef CLINUX_H
#define CLINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* errno is a macro. */
static inline int linux_errno(void) { return errno; }
static inline void linux_set_errno(int value) { errno = value; }

/* Thread-local variables are not imported. initial-exec makes an access one instruction; the slot is
   8 bytes, well inside what glibc keeps free for libraries that are loaded late. */
extern __thread void *linux_thread_slot_variable __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline __attribute__((always_inline)) void *linux_thread_slot(void) { return linux_thread_slot_variable; }
static inline void linux_set_thread_slot(void *value) { linux_thread_slot_variable = value; }

/* Inline assembly: keeps the compiler, not the processor, from moving memory accesses across. */
static inline void linux_compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

/* Inline assembly, with a number so that the linker does not fold functions that differ only in their names. */
static inline void linux_callout_barrier(uint32_t which) { __asm__ volatile("" : : "r"(which) : "memory"); }

/* Inline assembly: tells the processor that this is a spin loop. */
static inline void linux_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* A builtin: tells the processor that this line will be written to soon. Any address will do. */
static inline void linux_prefetch(const void *address) { __builtin_prefetch(address, 1); }

/* syscall(2) is variadic; glibc has no futex or membarrier of its own. `deadline` is absolute
   CLOCK_MONOTONIC, NULL for none. */
static inline int linux_futex_wait(const void *word, uint32_t expected, const struct timespec *deadline)
{
    return (int)syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, deadline, NULL,
                        FUTEX_BITSET_MATCH_ANY);
}
static inline void linux_futex_wake(const void *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
}
static inline int linux_membarrier_register(void)
{
    return (int)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}
static inline int linux_membarrier(void)
{
    return (int)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static inline int linux_membarrier_global(void) { return (int)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0); }

/* gettid has no glibc wrapper before 2.30. */
static inline int linux_is_main_thread(void) { return (int)syscall(SYS_gettid) == getpid(); }

/* epoll_pwait2 came with Linux 5.11 and glibc 2.35: through syscall(2), so that the library loads with
   an older glibc, and answers ENOSYS on an older kernel. */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
static inline int linux_epoll_pwait2(int epoll, struct epoll_event *events, int capacity,
                                     const struct timespec *timeout)
{
    return (int)syscall(SYS_epoll_pwait2, epoll, events, capacity, timeout, NULL, 0);
}

/* EPOLLIN is imported as a member of an enum, EPOLL_CLOEXEC as an integer: one type for each here.
   epoll_event is packed with a union in it: filled and read here. */
static const uint32_t linux_EPOLLIN = EPOLLIN;
static const uint32_t linux_EPOLLOUT = EPOLLOUT;
static const uint32_t linux_EPOLLRDHUP = EPOLLRDHUP;
static const uint32_t linux_EPOLLERR = EPOLLERR;
static const uint32_t linux_EPOLLHUP = EPOLLHUP;
static const uint32_t linux_EPOLLET = EPOLLET;
static inline int linux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }
static inline int linux_epoll_ctl(int epoll, int operation, int fd, uint32_t events, uint64_t tag)
{
    struct epoll_event event = {.events = events, .data = {.u64 = tag}};
    return epoll_ctl(epoll, operation, fd, &event);
}
static inline uint64_t linux_epoll_tag(const struct epoll_event *event) { return event->data.u64; }
/* glibc's epoll_wait, read, write and close are cancellation points: a thread that is cancelled in the middle of our work
   would leave a lock held or a wake-up half made. */
static inline int linux_epoll_wait(int epoll, struct epoll_event *events, int capacity, int milliseconds)
{
#ifdef SYS_epoll_wait
    return (int)syscall(SYS_epoll_wait, epoll, events, capacity, milliseconds);
#else
    return (int)syscall(SYS_epoll_pwait, epoll, events, capacity, milliseconds, NULL, 8);
#endif
}
static inline long linux_read(int fd, void *buffer, size_t size) { return syscall(SYS_read, fd, buffer, size); }
static inline long linux_write(int fd, const void *buffer, size_t size) { return syscall(SYS_write, fd, buffer, size); }
static inline int linux_close(int fd) { return (int)syscall(SYS_close, fd); }
static inline int linux_eventfd(void) { return eventfd(0, EFD_CLOEXEC); }

/* Sockets. sockaddr comes as bytes; the calls that may wait go through syscall(2) for the reason above; errors come back as
   negative numbers where the caller wants them. SOCK_STREAM is an enum. */
static const int linux_SOCK_STREAM = SOCK_STREAM;
static inline int linux_socket(int family, int type, int protocol)
{
    return socket(family, type | SOCK_CLOEXEC, protocol);
}
static inline int linux_bind(int fd, const void *address, uint32_t size)
{
    return bind(fd, (const struct sockaddr *)address, size);
}
static inline int linux_connect(int fd, const void *address, uint32_t size)
{
    return (int)syscall(SYS_connect, fd, address, size);
}
static inline int linux_accept(int fd, struct sockaddr *address, uint32_t *size)
{
    long client = syscall(SYS_accept4, fd, address, size, SOCK_CLOEXEC);
    return client < 0 ? -errno : (int)client;
}
static inline long linux_receive(int fd, void *buffer, size_t size, struct sockaddr *address, uint32_t *address_size)
{
    long count = syscall(SYS_recvfrom, fd, buffer, size, MSG_DONTWAIT, address, address_size);
    return count < 0 ? -errno : count;
}
static inline long linux_send(int fd, const void *bytes, size_t size, const void *address, uint32_t address_size,
                              int waits)
{
    int flags = MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT);
    long count = syscall(SYS_sendto, fd, bytes, size, flags, address, address_size);
    return count < 0 ? -errno : count;
}
static inline int linux_getpeername(int fd, struct sockaddr *address, uint32_t *size)
{
    return getpeername(fd, address, size);
}
static inline int linux_getsockname(int fd, struct sockaddr *address, uint32_t *size)
{
    return getsockname(fd, address, size);
}
static inline long linux_readable_bytes(int fd)
{
    int count;
    return ioctl(fd, FIONREAD, &count) < 0 ? -1 : count;
}
static inline int linux_set_blocking(int fd, int blocks)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -1;
    if (((flags & O_NONBLOCK) == 0) == (blocks != 0))
        return 0;
    return fcntl(fd, F_SETFL, flags ^ O_NONBLOCK) < 0 ? -1 : 1;
}
static inline int linux_ppoll(struct pollfd *look, struct timespec *timeout)
{
    return (int)syscall(SYS_ppoll, look, 1, timeout, NULL, 0);
}

/* Each is variadic. */
static inline int linux_set_timer_slack(unsigned long nanoseconds) { return prctl(PR_SET_TIMERSLACK, nanoseconds); }
static inline int linux_get_timer_slack(void) { return prctl(PR_GET_TIMERSLACK); }
static inline int linux_fcntl_getfd(int fd) { return fcntl(fd, F_GETFD); }
static inline int linux_format_double(char *buffer, size_t size, double value)
{
    return snprintf(buffer, size, "%.3f", value);
}

/* Weak symbols are not imported. These are there if the process has libdispatch (its private interface for CFRunLoop), the
   last one if the program says that it wants its main queue served: include/CoreFoundation/CFRunLoop.h. */
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));
extern const char kRLProgramServesDispatchMainQueue __attribute__((weak));
static inline int linux_has_dispatch(void)
{
    return _dispatch_get_main_queue_handle_4CF != NULL && _dispatch_main_queue_callback_4CF != NULL;
}
static inline int linux_wants_dispatch(void) { return &kRLProgramServesDispatchMainQueue != NULL; }
static inline int linux_dispatch_handle(void) { return _dispatch_get_main_queue_handle_4CF(); }
static inline void linux_dispatch_drain(void) { _dispatch_main_queue_callback_4CF(NULL); }

#endif
