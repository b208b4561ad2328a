/* Makes allocations of one thread fail: either one allocation, or all from that one on. */
#ifndef RUNLOOP_TESTS_KIT_MEMORY_H
#define RUNLOOP_TESTS_KIT_MEMORY_H
#include "files.h"

#include <dlfcn.h>

/* Whether allocations of this thread may fail. */
static __thread bool armed;
static long allocations, fail_at;
static int failures;
static bool fail_all;

__attribute__((unused, no_sanitize("address"))) static bool must_fail(void)
{
    if (!armed || (++allocations != fail_at && !(fail_all && allocations > fail_at)))
        return false;
    failures++;
    errno = ENOMEM;
    return true;
}

/* ThreadSanitizer's allocator cannot be called under another name, so nothing fails with it. */
static UNUSED bool refuses_fork_handlers;
#if !THREAD_SANITIZED
#include "../faults/failing-memory.h"

/* The type of the function that pthread_atfork(), a part of each library, calls. It seldom allocates, but it may
 * fail. Other libraries may call it before the constructor below. */
typedef int register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library);
static register_atfork *libc_register_atfork;
__attribute__((constructor)) static void find_register_atfork(void)
{
    libc_register_atfork = (register_atfork *)dlsym(RTLD_NEXT, "__register_atfork");
}
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library)
{
    if (libc_register_atfork == NULL)
        find_register_atfork();
    return refuses_fork_handlers || must_fail() ? ENOMEM : libc_register_atfork(before, parent, child, library);
}
#endif

/* Returns its argument. If that is NULL, requires that errno is ENOMEM and that an allocation has failed. */
static UNUSED void *made(void *object)
{
    static int failures_before;
    require(object != NULL || (errno == ENOMEM && failures > failures_before));
    failures_before = failures;
    return object;
}
#define MADE(call) made((errno = 0, (void *)(call)))

#endif
