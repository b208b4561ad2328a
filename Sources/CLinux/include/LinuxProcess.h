/* The process: errno, who it is and whose, its environment, and libdispatch if it has that. Part of CLinux.h. */
#ifndef CLINUX_PROCESS_H
#define CLINUX_PROCESS_H
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* errno is a macro. */
static inline int linux_errno(void) { return errno; }
static inline void linux_set_errno(int value) { errno = value; }

static inline int linux_process(void) { return (int)syscall(SYS_getpid); }
static inline uint32_t linux_user(void) { return (uint32_t)syscall(SYS_geteuid); }
static inline uint32_t linux_group(void) { return (uint32_t)syscall(SYS_getegid); }

/* secure_getenv: a program with another user's rights does not believe its environment. */
static inline const char *linux_environment(const char *name) { return secure_getenv(name); }

/* Variadic. */
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
