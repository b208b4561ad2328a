/* Child processes: pidfds, waiting for one child, starting programs, pipes. Part of CLinuxKit.h. */
#ifndef CLINUXKIT_CHILDREN_H
#define CLINUXKIT_CHILDREN_H
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* glibc has functions for these only since 2.36. The system calls exist since Linux 5.1 and 5.3. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
static inline int linux_pidfd_open(int process) { return (int)syscall(SYS_pidfd_open, process, 0U); }
static inline int linux_pidfd_send_signal(int pidfd, int number)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0U);
}

/* waitid(2) with the child's resource usage, which glibc's function omits. 3 is P_PIDFD, which exists since Linux 5.4.
   In C because the members of siginfo_t are in a union. */
struct linux_end {
    int process, code, status;
    struct rusage usage;
};
static inline int linux_wait_for(int pidfd, int options, struct linux_end *end)
{
    siginfo_t information = {0};
    int result = (int)syscall(SYS_waitid, 3, pidfd, &information, options, &end->usage);
    end->process = information.si_pid;
    end->code = information.si_code;
    end->status = information.si_status;
    return result;
}
/* Returns whether the process is a child that has not been waited for, without waiting for it; 0 with errno
   otherwise. */
static inline int linux_is_child(int pidfd)
{
    struct linux_end end;
    return linux_wait_for(pidfd, WEXITED | WNOHANG | WNOWAIT | __WALL, &end) == 0;
}
static inline int linux_wait_for_end(int pidfd, struct linux_end *end)
{
    return linux_wait_for(pidfd, WEXITED | WNOHANG | __WALL, end);
}
/* Kills a child that has no pidfd, and waits for it. */
static inline void linux_kill_child(int process)
{
    syscall(SYS_kill, process, SIGKILL);
    while (syscall(SYS_wait4, process, NULL, 0, NULL) < 0 && errno == EINTR) {}
}

static const int linux_CLD_EXITED = CLD_EXITED, linux_CLD_KILLED = CLD_KILLED, linux_CLD_DUMPED = CLD_DUMPED;

/* Creates a pipe whose ends are close-on-exec. ends[0] is the read end. */
static inline int linux_pipe(int ends[2]) { return (int)syscall(SYS_pipe2, ends, O_CLOEXEC); }
/* Makes one end of a pipe nonblocking. The other end has its own flags. */
static inline int linux_set_nonblocking(int fd) { return (int)syscall(SYS_fcntl, fd, F_SETFL, O_NONBLOCK); }
/* Creates a close-on-exec duplicate above the standard descriptors. */
static inline int linux_duplicate_above_standard(int fd) { return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3); }
/* Creates a descriptor that is always readable. */
static inline int linux_readable_descriptor(void) { return (int)syscall(SYS_eventfd2, 1U, EFD_CLOEXEC); }

/* Creates a descriptor that becomes readable at each change of `fd`, until linux_forget_changes() is called. -1 with
   errno on failure. */
static inline int linux_open_changes(int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    int changes = epoll_create1(EPOLL_CLOEXEC);
    if (changes < 0 || epoll_ctl(changes, EPOLL_CTL_ADD, fd, &event) == 0)
        return changes;
    int error = errno;
    syscall(SYS_close, changes);
    errno = error;
    return -1;
}
/* Consumes the pending change. By syscall(2), because epoll_wait() is a cancellation point. */
static inline void linux_forget_changes(int changes)
{
    struct epoll_event event;
    syscall(SYS_epoll_pwait, changes, &event, 1, 0, NULL, (size_t)8);
}

enum linux_spawn_flags { linux_search_path = 1, linux_new_group = 2, linux_new_session = 4 };

/* The sources of a child's standard descriptors other than descriptors above the standard ones: the same descriptor of
   this process, /dev/null, and a duplicate of the child's output. */
enum { linux_spawn_inherit = 0, linux_spawn_null = -2, linux_spawn_output = -3 };

/* Starts a program. Returns 0 or an error number. In C because posix_spawn()'s arguments are built by some twenty
   calls, each of which can run out of memory. */
int linux_spawn(int *process, const char *program, const char *const *arguments, const char *const *environment,
                const char *directory, int flags, const int sources[3]);

#endif
