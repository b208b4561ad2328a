/* What the tests of the kit share, beside Tests/c/harness.h: lines on stderr, as the kit writes its reports there. */
#ifndef RUNLOOP_TESTS_KIT_KIT_H
#define RUNLOOP_TESTS_KIT_KIT_H
#include "harness.h"
#include <RunLoopKit/RunLoopKit.h>
#include <fcntl.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED 1
#endif
#endif
#ifndef THREAD_SANITIZED
#define THREAD_SANITIZED 0
#endif

/* Calls a function with stderr in a pipe, and puts what it has written into text. */
static inline void capture_stderr(void (*body)(void), char *text, size_t size)
{
    int ends[2], saved = dup(STDERR_FILENO);
    require(saved >= 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    body();
    ssize_t count = read(ends[0], text, size - 1);
    text[count > 0 ? count : 0] = 0;
    require(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
    close(saved);
    close_pipe(ends);
}

/* What a call reports is that line, and errno is EINVAL. */
#define assert_reports(call, line)                 \
    do {                                           \
        char said_[1024];                          \
        errno = 0;                                 \
        capture_stderr(call, said_, sizeof said_); \
        ck_assert_str_eq(said_, line "\n");        \
    } while (0)

/* One pass of this thread's loop, and then further ones while there is something to do. */
static inline void run_passes(void)
{
    while (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1) == kRLRunLoopRunHandledSource) {}
}

/* A source in the default mode of this thread's loop; returned for brevity. */
static inline RLRunLoopSourceRef add(RLRunLoopSourceRef source)
{
    ck_assert_ptr_nonnull(source);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    return source;
}

#endif
