/* Makes allocations of one thread fail: either one allocation, or all from that one on. */
#ifndef RUNLOOP_TESTS_KIT_MEMORY_H
#define RUNLOOP_TESTS_KIT_MEMORY_H
#include "files.h"

#include <dlfcn.h>
#include <sys/un.h>

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

/* Returns a non-blocking connection to a listener or server at a path. */
static UNUSED int connect_to(RLListenerRef listener)
{
    struct sockaddr_un address;
    socklen_t size = sizeof address;
    require(getsockname(RLListenerGetNativeDescriptor(listener), (struct sockaddr *)&address, &size) == 0);
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    require(connect(client, (struct sockaddr *)&address, size) == 0);
    return client;
}

static struct lifetime life; /* the info of everything that is tried */

struct attempt {
    bool (*use)(void);
    long fail_at;
    bool fail_all;
};
enum { nothing_failed = 77 };

static inline void attempt(void *info)
{
    struct attempt *attempt = info;
    /* Lines that say what is missing are expected here. */
    require(RLRunLoopGetCurrent() != NULL && freopen("/dev/null", "w", stderr) != NULL);
    fail_at = attempt->fail_at;
    fail_all = attempt->fail_all;
    armed = true;
    bool works = attempt->use();
    armed = false;
    require(lifetime_held(&life) == 0 && (works || failures > 0));
    require(attempt->use() && lifetime_held(&life) == 0);
    _exit(failures > 0 ? 0 : nothing_failed);
}

/* Calls a function in child processes while each of its allocations fails in turn, alone or with all that follow. It returns
 * whether everything worked. */
static inline void try_without_memory(bool (*use)(void), bool fail_all)
{
    struct attempt each = {.use = use, .fail_all = fail_all};
    int status = 0;
    while (status == 0) {
        each.fail_at++;
        status = run_in_child(attempt, &each);
        ck_assert_msg(status == 0 || status == nothing_failed, "allocation %ld: status %d", each.fail_at, status);
    }
    ck_assert_int_gt(each.fail_at, THREAD_SANITIZED ? 0 : 3);
}

#endif
