/* Descriptors: reading, writing, closing, waiting for them, and eventfds to end the wait. Part of CLinux.h. */
#ifndef CLINUX_DESCRIPTORS_H
#define CLINUX_DESCRIPTORS_H
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* System calls that, unlike glibc's functions, are not cancellation points; the functions that wait are not either. A
   thread that was cancelled in one would leave a lock held, or a wake-up half done. */
static inline long linux_read(int fd, void *buffer, size_t size) { return syscall(SYS_read, fd, buffer, size); }
static inline long linux_write(int fd, const void *buffer, size_t size) { return syscall(SYS_write, fd, buffer, size); }
static inline int linux_close(int fd) { return (int)syscall(SYS_close, fd); }

/* fcntl(2) is variadic. */
static inline int linux_fcntl(int fd, int command, int argument)
{
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

/* epoll_pwait2, which Linux 5.11 and glibc 2.35 introduced. Called through syscall(2), so that the library loads with
   an older glibc, and fails with ENOSYS on an older kernel. */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
static inline int linux_epoll_pwait2(int epoll, struct epoll_event *events, int capacity,
                                     const struct timespec *timeout)
{
    return (int)syscall(SYS_epoll_pwait2, epoll, events, capacity, timeout, NULL, 0);
}

/* Whether epoll_pwait2 has failed because the kernel or a sandbox does not know it. In C, because each access to a global
   variable of Swift also checks whether it has been initialized. Any thread. */
extern uint8_t linux_lacks_epoll_pwait2 __attribute__((visibility("hidden")));
static inline int linux_may_use_epoll_pwait2(void)
{
    return !__atomic_load_n(&linux_lacks_epoll_pwait2, __ATOMIC_RELAXED);
}
static inline void linux_avoid_epoll_pwait2(void) { __atomic_store_n(&linux_lacks_epoll_pwait2, 1, __ATOMIC_RELAXED); }

/* Constants of epoll with one type: EPOLLIN is imported as a member of an enum, EPOLL_CLOEXEC as an integer. The struct
   epoll_event is packed and contains a union, so it is filled and read here. */
static const uint32_t linux_EPOLLIN = EPOLLIN;
static const uint32_t linux_EPOLLOUT = EPOLLOUT;
static const uint32_t linux_EPOLLRDHUP = EPOLLRDHUP;
static const uint32_t linux_EPOLLMSG = EPOLLMSG;
static const uint32_t linux_EPOLLERR = EPOLLERR;
static const uint32_t linux_EPOLLHUP = EPOLLHUP;
static const uint32_t linux_EPOLLET = EPOLLET;
static inline int linux_epoll_create(void) { return (int)syscall(SYS_epoll_create1, EPOLL_CLOEXEC); }
static inline int linux_epoll_ctl(int epoll, int operation, int fd, uint32_t events, uint64_t tag)
{
    struct epoll_event event = {.events = events, .data = {.u64 = tag}};
    return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, &event);
}
static inline uint64_t linux_epoll_tag(const struct epoll_event *event) { return event->data.u64; }
static inline struct epoll_event linux_epoll_event(uint64_t tag) { return (struct epoll_event){.data = {.u64 = tag}}; }
static inline int linux_epoll_wait(int epoll, struct epoll_event *events, int capacity, int milliseconds)
{
#ifdef SYS_epoll_wait
    return (int)syscall(SYS_epoll_wait, epoll, events, capacity, milliseconds);
#else
    return (int)syscall(SYS_epoll_pwait, epoll, events, capacity, milliseconds, NULL, 8);
#endif
}
static inline int linux_eventfd(void) { return (int)syscall(SYS_eventfd2, 0, EFD_CLOEXEC); }
static inline int linux_timerfd(void) { return (int)syscall(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC); }
/* Sets a timerfd to a time on the monotonic clock, in nanoseconds; zero disarms it. */
static inline int linux_timerfd_set(int fd, uint64_t date)
{
    struct itimerspec setting = {.it_value = {(time_t)(date / 1000000000), (long)(date % 1000000000)}};
    return (int)syscall(SYS_timerfd_settime, fd, TFD_TIMER_ABSTIME, &setting, NULL);
}
/* Fetches the events of a set of at most four descriptors, and drops them. */
static inline int linux_epoll_drop_events(int epoll)
{
    struct epoll_event events[4];
    return linux_epoll_wait(epoll, events, 4, 0);
}

static inline int linux_ppoll(struct pollfd *look, struct timespec *timeout)
{
    return (int)syscall(SYS_ppoll, look, 1, timeout, NULL, 0);
}

#endif
