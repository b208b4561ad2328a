/* Helpers shared by the tests of the kit, in addition to Tests/c/harness.h. */
#ifndef RUNLOOP_TESTS_KIT_KIT_H
#define RUNLOOP_TESTS_KIT_KIT_H
#include "harness.h"
#include <RunLoopKit/RunLoopKit.h>
#include <fcntl.h>
#include <netinet/in.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED 1
#endif
#endif
#ifndef THREAD_SANITIZED
#define THREAD_SANITIZED 0
#endif

/* Whether this machine has an IPv6 address. Without one, IPv6 sockets can be bound, but serve IPv4 only. */
static inline bool has_ipv6(void)
{
    struct sockaddr_in6 own = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool is_there = fd >= 0 && bind(fd, (struct sockaddr *)&own, sizeof own) == 0;
    close(fd);
    return is_there;
}

/* Returns a blocking connection to the address of a listener or server. */
static inline int connect_client(RLListenerRef listener)
{
    RLDataRef address = RLListenerCopyAddress(listener);
    ck_assert_ptr_nonnull(address);
    const struct sockaddr *to = (const void *)RLDataGetBytePtr(address);
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(connect(fd, to, (socklen_t)RLDataGetLength(address)) == 0);
    RLRelease(address);
    return fd;
}

/* Calls a function with stderr redirected to a pipe, and stores the output in `text`. Keeps the function's errno. */
static inline void capture_stderr(void (*body)(void), char *text, size_t size)
{
    int ends[2], saved = dup(STDERR_FILENO);
    require(saved >= 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    body();
    int error = errno;
    ssize_t count = read(ends[0], text, size - 1);
    text[count > 0 ? count : 0] = 0;
    require(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
    close(saved);
    close_pipe(ends);
    errno = error;
}

/* Asserts that a call reports this line to the program's error handler, not to stderr, and sets errno to EINVAL. */
static inline void assert_reports_at(const char *file, int at, void (*body)(void), const char *line)
{
    char said[64], function[64], parameter[64];
    int end = 0;
    errno = 0;
    capture_stderr(body, said, sizeof said);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_str_eq(said, "");
    require(sscanf(line, "runloop: %63[^:]: %63[^:]: %n", function, parameter, &end) == 2);
    assert_misuse_at(file, at, function, parameter, line + end);
}
#define assert_reports(body, line) assert_reports_at(__FILE__, __LINE__, body, line)

/* Runs one pass of this thread's loop, and further ones while there is something to do. */
static inline void run_passes(void)
{
    while (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1) == kRLRunLoopRunHandledSource) {}
}

/* Adds a source to the default mode of this thread's loop, and returns it for brevity. */
static inline RLRunLoopSourceRef add(RLRunLoopSourceRef source)
{
    ck_assert_ptr_nonnull(source);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    return source;
}

#endif
