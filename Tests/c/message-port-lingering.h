/* Descriptors whose close() blocks, and a kernel that looks as if it could not refuse descriptors. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_LINGERING_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_LINGERING_H
#include "message-port-hostile.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* How many seconds a close() blocks. */
enum { HOLD = 60 };

static int lingering_peer;

/* Returns a TCP socket with data that its peer does not read: its last close() blocks for HOLD seconds. */
static UNUSED int lingering_socket(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct linger linger = {1, HOLD};
    static char bytes[65536];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* The sender's buffer holds more than the receiver's. */
    require(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &(int){4096}, sizeof(int)) == 0);
    require(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){1 << 17}, sizeof(int)) == 0);
    require(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0);
    require(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    require(connect(fd, (struct sockaddr *)&address, size) == 0);
    lingering_peer = accept(listener, NULL, NULL);
    close(listener);
    require(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
    while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
    return fd;
}

/* Installs a seccomp filter for the calling thread and those that it creates. Returns false if the kernel has no such filters,
 * as under qemu. */
static bool set_filter(struct sock_filter *filter, size_t count)
{
    struct sock_fprog program = {(unsigned short)count, filter};
    require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    bool is_set = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    require(is_set || errno == EINVAL);
    return is_set;
}

/* Makes the kernel look older than Linux 6.16, the first that can refuse descriptors. Returns false if the kernel has no
 * filters. */
static UNUSED bool forbid_refusal(void)
{
    enum { SO_PASSRIGHTS_NUMBER = 83 };
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_PASSRIGHTS_NUMBER, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return set_filter(filter, sizeof filter / sizeof *filter);
}

/* Makes the creation of threads fail. Returns false if the kernel has no filters. */
static UNUSED bool forbid_threads(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return set_filter(filter, sizeof filter / sizeof *filter);
}

#endif
