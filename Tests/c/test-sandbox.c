/* Checks a sandbox that is set up late: a seccomp filter that denies membarrier(2), by which other threads enter a loop's locks. */
#include "harness.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Installs a filter for all threads of the process, permanently; therefore only in children. */
static void deny(int call, int other_call, unsigned error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)other_call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    child_assert(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    child_assert(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
    errno = 0;
    child_assert(syscall(call, 0, 0, 0) < 0 && errno == (int)error);
}

/* -- Other threads use a loop that runs -- */

/* Few rounds: without membarrier, a thread that takes the loop's lock visits each processor, and on a busy machine waits for its
 * turn there. */
enum { rounds = 25, threads = 3 };
static struct looper looper;
static atomic_int fired, performed;

static void *use_the_loop(UNUSED void *info)
{
    for (int i = 0; i < rounds; i++) {
        /* Takes the loop's lock from another thread. */
        RLRunLoopTimerRef timer = make_timer(0, 0, count_timer, &fired);
        RLRunLoopAddTimer(looper.loop, timer, kRLRunLoopDefaultMode);
        RLRelease(timer);
        RLRunLoopCancelPerformFunction(looper.loop, NULL, &fired);
        child_assert(
            RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, count_perform, &performed, HUGE_VAL));
    }
    return NULL;
}

/* The loop's own thread takes and releases the same lock meanwhile. */
static void keep_busy(RLRunLoopTimerRef timer, UNUSED void *info)
{
    RLRunLoopTimerSetNextFireDate(timer, 0);
    RLRunLoopRemoveTimer(looper.loop, timer, RLSTR("none"));
}

static void use_from_outside(void)
{
    pthread_t others[threads];
    cpu_set_t before, after;
    RLRunLoopTimerRef busy = make_timer(0, 1, keep_busy, NULL);
    RLRunLoopAddTimer(looper.loop, busy, kRLRunLoopDefaultMode);
    use_the_loop(NULL);
    for (int i = 0; i < threads; i++)
        others[i] = start_thread(use_the_loop, NULL);
    for (int i = 0; i < threads; i++)
        join_thread(others[i]);
    child_assert(sched_getaffinity(0, sizeof before, &before) == 0);
    use_the_loop(NULL);
    child_assert(sched_getaffinity(0, sizeof after, &after) == 0);
    child_assert(CPU_EQUAL(&before, &after)); /* the thread may run wherever it could before */
    drop_timer(busy);
    await_count(&fired, (threads + 2) * rounds);
    child_assert(performed == (threads + 2) * rounds);
}

static void deny_membarrier_and_use(void *error)
{
    looper_start(&looper);
    deny(SYS_membarrier, SYS_membarrier, (unsigned)(uintptr_t)error);
    use_from_outside();
    looper_stop(&looper);
}

START_TEST(loops_continue_when_membarrier_is_denied)
{
    ck_assert_int_eq(run_in_child(deny_membarrier_and_use, (void *)(uintptr_t)EPERM), 0);
    ck_assert_int_eq(run_in_child(deny_membarrier_and_use, (void *)(uintptr_t)ENOSYS), 0);
}
END_TEST

/* Denied before there is a loop: the locks never rely on membarrier. */
static void deny_first(UNUSED void *info)
{
    deny(SYS_membarrier, SYS_sched_setaffinity, EPERM);
    looper_start(&looper);
    use_from_outside();
    looper_stop(&looper);
}

START_TEST(loops_work_if_membarrier_was_denied_from_the_start) { ck_assert_int_eq(run_in_child(deny_first, NULL), 0); }
END_TEST

/* -- No way left -- */

static int output;

static void deny_both_and_use(UNUSED void *info)
{
    RLSetErrorHandler(NULL, NULL);
    looper_start(&looper);
    deny(SYS_membarrier, SYS_sched_setaffinity, EPERM);
    dup2(output, 2);
    use_from_outside();
}

/* The library cannot continue after that, so it ends the process, but says why. */
START_TEST(a_process_denied_membarrier_and_its_fallback_aborts_with_a_reason)
{
    char text[512] = "";
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    output = ends[1];
    ck_assert_int_eq(run_in_child(deny_both_and_use, NULL), 128 + SIGABRT);
    ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
    ck_assert_ptr_nonnull(strstr(text, "runloop: a seccomp filter denies both membarrier"));
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
}
END_TEST

/* Set on a thread that is to behave as if its control group, unlike that of other threads, excluded the first processor. */
static _Thread_local bool has_no_first_processor;

/* Replaces libc's syscall() in calls by the library. Reads six arguments even if the caller has passed fewer. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
    static long (*_Atomic real)(long, ...);
    va_list list;
    long arguments[6];
    va_start(list, number);
    for (int index = 0; index < 6; index++)
        arguments[index] = va_arg(list, long);
    va_end(list);
    if (has_no_first_processor && number == SYS_sched_setaffinity && *(uint64_t *)arguments[2] == 1) {
        errno = EINVAL;
        return -1;
    }
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "syscall");
        long (*function)(long, ...);
        memcpy(&function, &found, sizeof function);
        real = function;
    }
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

static void deny_the_first_processor_and_use(UNUSED void *info)
{
    RLSetErrorHandler(NULL, NULL);
    looper_start(&looper);
    deny(SYS_membarrier, SYS_membarrier, EPERM);
    dup2(output, 2);
    has_no_first_processor = true;
    use_from_outside();
}

START_TEST(a_thread_that_cannot_reach_all_processors_of_others_aborts)
{
    char text[512] = "";
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    output = ends[1];
    ck_assert_int_eq(run_in_child(deny_the_first_processor_and_use, NULL), 128 + SIGABRT);
    ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
    ck_assert_ptr_nonnull(strstr(text, "runloop: a seccomp filter denies both membarrier"));
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("sandbox");
    TCase *tcase = add_case(suite, "sandbox", 120);
    tcase_add_test(tcase, loops_continue_when_membarrier_is_denied);
    tcase_add_test(tcase, loops_work_if_membarrier_was_denied_from_the_start);
    tcase_add_test(tcase, a_process_denied_membarrier_and_its_fallback_aborts_with_a_reason);
    tcase_add_test(tcase, a_thread_that_cannot_reach_all_processors_of_others_aborts);
    return suite;
}
