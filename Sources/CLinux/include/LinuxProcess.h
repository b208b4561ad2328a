/* The process: errno, its IDs, its environment, and libdispatch if that is loaded. Part of CLinux.h. */
#ifndef CLINUX_PROCESS_H
#define CLINUX_PROCESS_H
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Shims, because errno is a macro. */
static inline int linux_errno(void) { return errno; }
static inline void linux_set_errno(int value) { errno = value; }

static inline int linux_process(void) { return (int)syscall(SYS_getpid); }
static inline uint32_t linux_user(void) { return (uint32_t)syscall(SYS_geteuid); }
static inline uint32_t linux_group(void) { return (uint32_t)syscall(SYS_getegid); }

/* Uses secure_getenv, because a program that runs with another user's rights must not trust its environment. */
static inline const char *linux_environment(const char *name) { return secure_getenv(name); }

/* Formats a number with a decimal point in every locale, some of which have several bytes in its place. In C, because
   snprintf(3) is variadic. */
static inline int linux_format_double(char *buffer, size_t size, double value, int is_exact)
{
    int length = snprintf(buffer, size, is_exact ? "%.17g" : "%.3f", value), before = buffer[0] == '-', after;
    if (length >= (int)size)
        length = (int)size - 1;
    while (buffer[before] >= '0' && buffer[before] <= '9')
        before++;
    for (after = before; after < length && (buffer[after] < '0' || buffer[after] > '9'); after++)
        if (buffer[after] == 'e' || buffer[after] == 'n') /* an exponent, inf, nan */
            return length;
    if (after == length)
        return before; /* no fraction, or none that fits: then what there is of the point does not count */
    buffer[before] = '.';
    memmove(buffer + before + 1, buffer + after, (size_t)(length - after + 1));
    return length - (after - before) + 1;
}

/* Weak symbols, which Swift does not import. The functions are libdispatch's private interface for CFRunLoop and exist
   if libdispatch is loaded. The constant exists if the program was compiled with include/CoreFoundation/CFRunLoop.h,
   and so wants its main queue to be served. */
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
