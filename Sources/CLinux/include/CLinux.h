/* The only door to Linux: the system's headers, and static inline shims for what Swift cannot import
   (variadic functions, macros, thread-local variables, constants that come in as enums or as
   integers of another width). Each shim says why it is here. No logic. */
#ifndef CLINUX_H
#define CLINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <bsd/libutil.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* errno is a macro. */
static inline int linux_errno(void) { return errno; }
static inline void linux_set_errno(int value) { errno = value; }

/* Thread-local variables are not imported. initial-exec makes an access one instruction; the slot is
   8 bytes, well inside what glibc keeps free for libraries that are loaded late. */
extern __thread void *linux_thread_slot_variable __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline __attribute__((always_inline)) void *linux_thread_slot(void) { return linux_thread_slot_variable; }
/* Compared here: in Swift the slot is an optional, and compilers test it for nil first. */
static inline __attribute__((always_inline)) int linux_thread_has(const void *value)
{
    return linux_thread_slot_variable == value;
}
static inline void linux_set_thread_slot(void *value) { linux_thread_slot_variable = value; }

/* Inline assembly: keeps the compiler, not the processor, from moving memory accesses across. */
static inline void linux_compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

/* Inline assembly, with a number so that the linker does not fold functions that differ only in their names. */
static inline void linux_callout_barrier(uint32_t which) { __asm__ volatile("" : : "r"(which) : "memory"); }

/* A cast: Swift's conversion tests for what cannot be converted. `value` is well below 2^63. */
static inline int64_t linux_integer(double value) { return (int64_t)value; }

/* Inline assembly: tells the processor that this is a spin loop. */
static inline void linux_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* A builtin: tells the processor that this line will be needed soon. Any address will do. */
static inline void linux_prefetch(const void *address) { __builtin_prefetch(address, 1); }

/* The same for a line that another processor has now, and that will be written to: nobody keeps a copy. Inline assembly on x86, where
   the builtin means the above unless told that the processor is not one of the first, for which the instruction does nothing. */
static inline void linux_prefetch_alone(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

/* The same for the line that a pointer points to, wherever that is: somebody may be writing it at this moment. */
__attribute__((no_sanitize("thread"))) static inline void linux_prefetch_what(const void *pointer)
{
    __builtin_prefetch(*(void *const volatile *)pointer);
}

/* A value that somebody may be writing at this moment, of which it does not matter whether it is the old or the new one. For
   ThreadSanitizer that is a race, even if it were atomic on this side only; hence volatile. */
__attribute__((no_sanitize("thread"))) static inline uint32_t linux_peek(const uint32_t *place)
{
    return *(const volatile uint32_t *)place;
}

/* syscall(2) is variadic. What is a system call and nothing else goes through it: each function of glibc that the library
   names is a search through all libraries whenever a program starts, and 80 bytes. `deadline`: CLOCK_MONOTONIC, or NULL. */
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

static inline int linux_process(void) { return (int)syscall(SYS_getpid); }
static inline uint32_t linux_user(void) { return (uint32_t)syscall(SYS_geteuid); }
static inline uint32_t linux_group(void) { return (uint32_t)syscall(SYS_getegid); }
static inline int linux_is_main_thread(void) { return (int)syscall(SYS_gettid) == linux_process(); }
static inline void linux_yield(void) { syscall(SYS_sched_yield); }
static inline void linux_wish_huge_pages(void *memory, size_t size)
{
    syscall(SYS_madvise, memory, size, MADV_HUGEPAGE);
}

/* Bits of longs: the only processor that a thread may run on (0: the calling one), -1 if several, or too many to ask. */
static inline int linux_only_processor(int thread)
{
    uint64_t set[16], *last = NULL;
    long size = syscall(SYS_sched_getaffinity, thread, sizeof set, set);
    for (uint64_t *word = set; word < set + size / 8; word++) {
        if (*word != 0 && (last != NULL || (*word & (*word - 1)) != 0))
            return -1;
        last = *word != 0 ? word : last;
    }
    return last == NULL ? -1 : (int)(last - set) * 64 + __builtin_ctzll(*last);
}

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
static inline int linux_epoll_create(void) { return (int)syscall(SYS_epoll_create1, EPOLL_CLOEXEC); }
static inline int linux_epoll_ctl(int epoll, int operation, int fd, uint32_t events, uint64_t tag)
{
    struct epoll_event event = {.events = events, .data = {.u64 = tag}};
    return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, &event);
}
static inline uint64_t linux_epoll_tag(const struct epoll_event *event) { return event->data.u64; }
/* No cancellation points, as glibc's are: who is cancelled in the middle would leave a lock held, a wake-up half made. */
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
static inline int linux_eventfd(void) { return (int)syscall(SYS_eventfd2, 0, EFD_CLOEXEC); }

/* Sockets. sockaddr comes as bytes; errors come back as negative numbers where it is wanted. SOCK_STREAM is an enum. */
static const int linux_SOCK_STREAM = SOCK_STREAM;
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
static inline int linux_name_of(int fd, int peer, struct sockaddr *address, uint32_t *size)
{
    return (int)syscall(peer ? SYS_getpeername : SYS_getsockname, fd, address, size);
}
static inline int linux_socket_option(int fd, int name, void *value, uint32_t *size)
{
    return (int)syscall(SYS_getsockopt, fd, SOL_SOCKET, name, value, size);
}
static inline long linux_readable_bytes(int fd)
{
    int count;
    return syscall(SYS_ioctl, fd, FIONREAD, &count) < 0 ? -1 : count;
}
static inline int linux_fcntl(int fd, int command, int argument)
{
    return (int)syscall(SYS_fcntl, fd, command, argument);
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
static inline int linux_ppoll(struct pollfd *look, struct timespec *timeout)
{
    return (int)syscall(SYS_ppoll, look, 1, timeout, NULL, 0);
}

/* SOCK_SEQPACKET is imported as a member of an enum; addresses are unions by cast. 0, or -1 with errno. */
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

/* Whether the process has no thread but this one, as glibc knows it. */
static inline int linux_is_single_threaded(void) { return __libc_single_threaded; }
/* The system calls of each request and reply, without the C library and its errno: the result, or an error number below 0.
   sendto(2) on a connected socket; sendmsg(2) and recvmsg(2) have their flags where that has the size. */
static inline long linux_call_on_packet(long number, long fd, const void *what, size_t size, long flags)
{
    long result;
#if defined(__x86_64__) && defined(__LP64__)
    register long fourth __asm__("r10") = flags, fifth __asm__("r8") = 0, sixth __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(fd), "S"(what), "d"(size), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__) && defined(__LP64__)
    register long which __asm__("x8") = number, first __asm__("x0") = fd, third __asm__("x2") = (long)size;
    register const void *second __asm__("x1") = what;
    register long fourth __asm__("x3") = flags, fifth __asm__("x4") = 0, sixth __asm__("x5") = 0;
    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory");
    result = first;
#else
    int saved = errno;
    result = syscall(number, fd, what, size, flags, NULL, 0);
    if (result < 0) {
        result = -errno;
        errno = saved;
    }
#endif
    return result;
}
/* The macros of cmsg(3). One packet, and perhaps one descriptor with it (`passed`, -1 for none). Never waits, raises no
   SIGPIPE. Below 0: an error number. */
static inline long linux_send_packet(int fd, const void *head, size_t headSize, const void *body, size_t bodySize,
                                     int passed)
{
    /* What is small is copied together: the kernel needs longer for two parts than this. */
    if (passed < 0 && headSize + bodySize <= 512) {
        char packet[512];
        memcpy(packet, head, headSize);
        if (bodySize > 0)
            memcpy(packet + headSize, body, bodySize);
        return linux_call_on_packet(SYS_sendto, fd, packet, headSize + bodySize, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    if (passed < 0 && bodySize == 0)
        return linux_call_on_packet(SYS_sendto, fd, head, headSize, MSG_NOSIGNAL | MSG_DONTWAIT);
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
    return linux_call_on_packet(SYS_sendmsg, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT, 0);
}
/* Lets who receives from a socket wait, for so long. Nothing restarts such a wait after a signal: see signal(7). */
static inline int linux_let_wait(int fd, long microseconds)
{
    struct timeval limit = {0, microseconds};
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0
               ? -1
               : setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}
/* What came with a packet: the descriptor; -2 for several, which are closed; -3 for one that this process has no number for. */
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
        *passed = truncated ? -3 : first;
    } else if (count > 0) {
        syscall(SYS_close, first);
        *passed = -2;
    }
}
/* One packet. `*passed`: -1 if no descriptor came with it, else as above. The result is the true size, also of a packet that was
   cut, or an error number below 0. */
static inline long linux_receive_packet(int fd, void *buffer, size_t bufferSize, int *passed, int waits)
{
    struct iovec part = {buffer, bufferSize};
    union {
        char space[CMSG_SPACE(8 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
    *passed = -1;
    size_t flags = (waits ? 0 : MSG_DONTWAIT) | MSG_CMSG_CLOEXEC | MSG_TRUNC;
    long size = linux_call_on_packet(SYS_recvmsg, fd, &message, flags, 0);
    if (size >= 0 && (message.msg_controllen != 0 || message.msg_flags & MSG_CTRUNC))
        linux_take_passed(&message, passed);
    return size;
}
/* The constants are macros. A file for so many bytes, unless it would be larger than the process may make files (`ulimit -f`): to
   try would raise SIGXFSZ. */
static inline int linux_memory_file(off_t size)
{
    uint64_t limit[2];
    if (syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, limit) == 0 && (uint64_t)size > limit[0]) {
        errno = EFBIG;
        return -1;
    }
    return (int)syscall(SYS_memfd_create, "runloop", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}
/* A file that cannot shrink under its reader. */
static inline int linux_seal_size(int fd) { return linux_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL); }
static inline int linux_is_sealed(int fd)
{
    int seals = linux_fcntl(fd, F_GET_SEALS, 0);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}
static inline int linux_seal_growth(int fd) { return linux_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW); }
static inline off_t linux_first_hole(int fd) { return syscall(SYS_lseek, fd, (off_t)0, SEEK_HOLE); }
/* Whether a file that cannot be made smaller has all its pages and keeps them from now on: one that cannot be written to but
   through a mapping that is there already (Linux 5.1) cannot get holes either. Who else has sealed it does not matter. */
static inline int linux_keep_pages(int fd, off_t size)
{
    (void)linux_fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
    int seals = linux_fcntl(fd, F_GET_SEALS, 0);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0 &&
           linux_first_hole(fd) >= size;
}
/* Whether this Linux has what it takes. */
static inline int linux_can_keep_pages(void)
{
    int fd = linux_memory_file(0);
    int can = fd >= 0 && linux_fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0;
    if (fd >= 0)
        syscall(SYS_close, fd);
    return can;
}
/* All pages at once, or an error. */
static inline int linux_allocate(int fd, off_t size) { return (int)syscall(SYS_fallocate, fd, 0, (off_t)0, size); }
static inline long linux_pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
    return syscall(SYS_pwrite64, fd, buffer, size, offset);
}
static inline long linux_pread(int fd, void *buffer, size_t size, off_t offset)
{
    return syscall(SYS_pread64, fd, buffer, size, offset);
}

/* The flags are of several types. */
static inline void linux_make_directory(const char *path) { syscall(SYS_mkdirat, AT_FDCWD, path, 0700); }
static inline int linux_open_directory(const char *path)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}
/* Variadic. Does not wait for the lock, follows no link, and what it gives is the file of that name still. */
static inline int linux_open_locked(int directory, const char *name)
{
    return flopenat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}
/* Without following a link, and without waiting: for the socket itself, not for what it leads to. */
static inline int linux_open_path(int directory, const char *name)
{
    return (int)syscall(SYS_openat, directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}
/* S_ISSOCK is a macro. */
static inline int linux_is_socket(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}
static inline int linux_is_mine(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_uid == linux_user();
}
/* A directory of the user's own, of root's, or of `trusted`, in which nobody else can take away or replace what the user has
   put there: not writable for others, or sticky. */
static inline int linux_is_guarded(int fd, uid_t trusted)
{
    struct stat status;
    return fstat(fd, &status) == 0 &&
           (status.st_uid == linux_user() || status.st_uid == 0 || status.st_uid == trusted) &&
           ((status.st_mode & 022) == 0 || (status.st_mode & S_ISVTX) != 0);
}
/* Whether `name` still stands for the file that is open. */
static inline int linux_is_same_file(int fd, int directory, const char *name)
{
    struct stat open, named;
    return fstat(fd, &open) == 0 && syscall(SYS_newfstatat, directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}
/* How many bytes a file really has: sparse ones have less than they say. */
struct linux_file_identity {
    uint64_t device, inode;
};
static inline int64_t linux_memory_file_bytes(int fd, struct linux_file_identity *identity)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return -1;
    identity->device = status.st_dev;
    identity->inode = status.st_ino;
    return (int64_t)status.st_blocks * 512 < status.st_size ? (int64_t)status.st_blocks * 512 : status.st_size;
}
/* MAP_FAILED is a macro with a cast. */
static inline void *linux_map(int fd, size_t size, int writable)
{
    int rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *address = mmap(NULL, size, rights, MAP_SHARED | MAP_POPULATE, fd, 0);
    return address == MAP_FAILED ? NULL : address;
}
static inline int linux_unmap(void *address, size_t size) { return munmap(address, size); }
/* The whole of a file; NULL unless it is an ordinary memory file (one of huge pages may lack a page that it seems to
   have) that is not too large, and of which all pages are there and will stay: then no access can fault. That they stay
   is made sure behind the mapping: there is none to write to of a file that keeps its pages. *isWritable: 1 if it can be
   written to, 0 if that is not allowed, -1 with NULL if this process has no memory for it. */
static inline void *linux_map_memory_file(int fd, size_t limit, size_t *size, int *isWritable)
{
    struct statfs system;
    struct stat status;
    *isWritable = 0;
    if (syscall(SYS_fstatfs, fd, &system) != 0 || system.f_type != TMPFS_MAGIC || !linux_is_sealed(fd) ||
        fstat(fd, &status) != 0 || (uint64_t)status.st_size > limit || linux_first_hole(fd) < status.st_size)
        return NULL;
    *size = (size_t)status.st_size;
    void *address = linux_map(fd, *size, 1);
    *isWritable = address != NULL ? 1 : errno == ENOMEM || errno == EAGAIN ? -1 : 0;
    if (*isWritable == 0)
        address = linux_map(fd, *size, 0);
    if (address == NULL || linux_keep_pages(fd, status.st_size))
        return address;
    (void)linux_unmap(address, *size);
    return NULL;
}
static inline int linux_unlink(int directory, const char *name)
{
    return (int)syscall(SYS_unlinkat, directory, name, 0);
}
static inline int linux_rename(int directory, const char *old, const char *new_name)
{
    return (int)syscall(SYS_renameat2, directory, old, directory, new_name, 0);
}
static inline int linux_set_mode(int directory, const char *name, uint32_t mode)
{
    return (int)syscall(SYS_fchmodat, directory, name, mode);
}
/* secure_getenv: a program with another user's rights does not believe its environment. */
static inline const char *linux_environment(const char *name) { return secure_getenv(name); }

/* Variadic. A function of glibc, because Tests/c/test-wakeup-adjust.c puts one of its own in its place. */
static inline int linux_set_timer_slack(unsigned long nanoseconds) { return prctl(PR_SET_TIMERSLACK, nanoseconds); }
static inline int linux_get_timer_slack(void) { return prctl(PR_GET_TIMERSLACK); }
static inline int linux_format_double(char *buffer, size_t size, double value, int is_exact)
{
    return snprintf(buffer, size, is_exact ? "%.17g" : "%.3f", value);
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
