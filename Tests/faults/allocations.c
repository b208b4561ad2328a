/* A program that uses everything while one allocation fails, or all from one on. This is repeated, each time in a
 * new process, with the first, second, … allocation, until none is left to fail. Afterwards, with memory, everything
 * must work.
 *
 *     allocations one|all [N]     N: only that allocation, in this process (for a debugger)
 *
 * The program defines the allocation functions, so the library calls them like every other part of the process. */
#include "faults.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- allocations that fail ---- */

/* Only allocations of threads that set this fail, and so none while libc or a sanitizer starts a thread. */
static __thread bool armed;
static atomic_long allocations, fail_at;
static atomic_int failures;
static bool fail_all;

static bool must_fail(void)
{
    long at = atomic_load(&fail_at);
    if (at == 0 || !armed)
        return false;
    long number = atomic_fetch_add(&allocations, 1) + 1;
    if (number != at && !(fail_all && number > at))
        return false;
    atomic_fetch_add(&failures, 1);
    errno = ENOMEM;
    return true;
}

#include "failing-memory.h"

/* ---- complaints: behavior that differs from the headers ---- */

static char complaints[1 << 16];
static long attempted;
static atomic_int complaint_length;

static void complain(const char *format, const char *what, long value)
{
    char line[300];
    int length = snprintf(line, sizeof line, "allocation %ld: ", attempted);
    length += snprintf(line + length, sizeof line - (size_t)length, format, what, value);
    int at = atomic_fetch_add(&complaint_length, length);
    if (at + length < (int)sizeof complaints)
        memcpy(complaints + at, line, (size_t)length);
}

static void refused(const char *what, int error, int failures_before)
{
    if (failures_before == failures)
        complain("%s: failed though nothing was refused, errno %ld\n", what, error);
    else if (error != ENOMEM)
        complain("%s: failed with errno %ld instead of ENOMEM\n", what, error);
}

/* Evaluates to the created object, or 0, in which case errno must be ENOMEM. */
#define MAKE(expression)                                  \
    ({                                                    \
        int failures_before = failures;                   \
        errno = 0;                                        \
        __typeof__(expression) made = (expression);       \
        if (!made)                                        \
            refused(#expression, errno, failures_before); \
        made;                                             \
    })
/* Makes a call without a result; afterwards either `holds` is true, or errno is ENOMEM. */
#define ADD(call, holds)                            \
    do {                                            \
        int failures_before = failures;             \
        errno = 0;                                  \
        call;                                       \
        int error = errno;                          \
        if (!(holds))                               \
            refused(#call, error, failures_before); \
    } while (0)
/* Makes a call that the headers do not allow to fail. */
#define MUST(call, holds)                                          \
    do {                                                           \
        call;                                                      \
        if (!(holds))                                              \
            complain("%s: had no effect\n", #call "; " #holds, 0); \
    } while (0)

/* ---- infos with reference counts ---- */

static atomic_int retains, releases, schedules, cancels, owed_releases, performed;

static const void *retain(const void *info)
{
    atomic_fetch_add(&retains, 1);
    return info;
}
static void release(const void *info)
{
    (void)info;
    atomic_fetch_add(&releases, 1);
}
static void release_perform(void *info)
{
    (void)info;
    atomic_fetch_sub(&owed_releases, 1);
}
static void schedule(void *info, RLRunLoopRef loop, RLRunLoopMode mode)
{
    (void)info, (void)loop, (void)mode;
    atomic_fetch_add(&schedules, 1);
}
static void cancel(void *info, RLRunLoopRef loop, RLRunLoopMode mode)
{
    (void)info, (void)loop, (void)mode;
    atomic_fetch_add(&cancels, 1);
}
static RLStringRef describe(const void *info)
{
    (void)info;
    return RLStringCreateWithCString(NULL, "info", kRLStringEncodingUTF8);
}
static void release_object(const void *object)
{
    if (object)
        RLRelease(object);
}

/* ---- the scenario: each part leaves nothing behind ---- */

enum { source_count = 80, timer_count = 8 };
static RLRunLoopMode extra, second;
static const RLRunLoopMode *const modes[] = {&kRLRunLoopDefaultMode, &kRLRunLoopCommonModes, &extra};
enum { mode_count = sizeof modes / sizeof *modes };

#include "allocations-values.h"
#include "allocations-items.h"
#include "allocations-descriptors.h"
#include "allocations-threads.h"

static void scenario(void)
{
    RLRunLoopRef loop = MAKE(RLRunLoopGetCurrent());
    if (!loop)
        loop = MAKE(RLRunLoopGetMain());
    if (!loop || !RLRunLoopGetCurrent())
        return;
    use_values();
    use_collections();
    extra = MAKE(RLStringCreateWithCString(NULL, "extra", kRLStringEncodingUTF8));
    second = MAKE(RLStringCreateWithCString(NULL, "second", kRLStringEncodingUTF8));
    if (extra && second) {
        use_modes(loop);
        use_sources(loop);
        use_descriptors(loop);
        use_descriptor_objects(loop);
        use_sockets(loop);
        use_timers(loop);
        use_observers(loop);
        use_performs(loop);
        use_nested_runs(loop);
        wait_in_vain();
        use_threads(loop);
    }
    release_object(extra);
    release_object(second);
}

/* ---- once there is memory again ---- */

static void works(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    CHECK(loop != NULL && RLRunLoopGetMain() == loop);
    static atomic_int performs, timers, posts;
    struct watched watched;
    open_pipe(&watched);
    write_byte(&watched);
    RLRunLoopSourceRef port = watch(&watched, loop), source = new_source(&performs, loop);
    RLRunLoopTimerContext context = {.info = &timers};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, count_timer, &context);
    CHECK(timer != NULL);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopCommonModes);
    RLRunLoopAddCommonMode(loop, RLSTR("afterwards"));
    CHECK(RLRunLoopContainsTimer(loop, timer, RLSTR("afterwards")));
    RLRunLoopSourceSignal(source);
    CHECK(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, count_up, &posts));
    for (int i = 0; i < 1000 && (watched.performed == 0 || performs == 0 || timers == 0 || posts == 0); i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    CHECK(watched.performed == 1 && performs == 1 && timers == 1 && posts == 1);
    struct looper looper;
    start_looper(&looper);
    CHECK(RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, count_up, &posts, 1e10) && posts == 2);
    stop_looper(&looper);
    end_source(source);
    end_source(port);
    RLRelease(timer);
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0) == kRLRunLoopRunFinished);
}

/* Returns the exit status: 0 an allocation failed and all was well, 1 something did not work, 3 complaints, 4 none
 * failed. */
static int attempt(long n)
{
    alarm(60);
    RLSetErrorHandler(no_mistake, NULL);
    attempted = n;
    atomic_store(&fail_at, n);
    armed = true;
    scenario();
    atomic_store(&fail_at, 0);
    if (retains != releases)
        complain("%s: %ld are left\n", "infos", retains - releases);
    if (schedules != cancels)
        complain("%s: %ld without a cancel\n", "schedules", schedules - cancels);
    if (owed_releases != 0)
        complain("%s: %ld not released\n", "infos of performs", owed_releases);
    works();
    if (complaint_length > 0)
        return write(1, complaints, strlen(complaints)) < 0 ? 1 : 3;
    return failures > 0 ? 0 : 4;
}

/* Attempts that run at the same time: most of an attempt's time is waiting. */
enum { at_once = 4 };

/* Returns whether there was an allocation left to fail. */
static bool report(long n, int status)
{
    if (WIFSIGNALED(status))
        dprintf(1, "allocation %ld: ended by signal %d (%s)\n", n, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3 && WEXITSTATUS(status) != 4)
        dprintf(1, "allocation %ld: exit status %d\n", n, WEXITSTATUS(status));
    return !WIFEXITED(status) || WEXITSTATUS(status) != 4;
}

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    fail_all = strcmp(argv[1], "all") == 0;
    if (argc > 2)
        return attempt(atol(argv[2]));
    long next = 1, running = 0, numbers[at_once];
    pid_t children[at_once] = {0};
    bool more = true;
    while (more || running > 0) {
        for (int i = 0; more && i < at_once; i++) {
            if (children[i] != 0)
                continue;
            numbers[i] = next++;
            children[i] = fork();
            CHECK(children[i] >= 0);
            if (children[i] == 0)
                _exit(attempt(numbers[i]));
            running++;
        }
        int status;
        pid_t child = wait(&status);
        CHECK(child > 0);
        for (int i = 0; i < at_once; i++) {
            if (children[i] == child) {
                more = report(numbers[i], status) && more;
                children[i] = 0;
                running--;
            }
        }
    }
    dprintf(1, "tried %ld\n", next - 1);
    return 0;
}
