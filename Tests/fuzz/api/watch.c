/* Failures, crashes and hangs: each report contains the seed, and what every thread was doing. */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static atomic_bool is_watching, has_failed;
static pthread_t watcher;

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void doing(const char *what, int with)
{
    if (self == NULL)
        return;
    self->doing = what;
    self->with = with;
}

static void dump(void)
{
    for (int index = 0; index < MOST_THREADS; index++) {
        struct thread *thread = &threads[index];
        const char *what = thread->doing;
        if (what == NULL)
            continue;
        fprintf(stderr, "  thread %d%s: %s, slot %d, %d callbacks deep, life %d%s%s\n", index,
                thread == self ? " (this one)" : "", what, thread->with, thread->depth, thread->lives,
                thread->over ? ", is to end" : "",
                thread->lonely != NULL ? ", waits for the end of its only item" : "");
        for (int depth = 0; depth < thread->depth && depth < DEEPEST; depth++)
            print_info(thread->calls[depth]);
        if (thread->lonely != NULL)
            print_info(thread->lonely);
    }
}

/* Prints gdb's view of this process, with --stacks. Does not run fork handlers, which may be what is broken. */
static void print_stacks(void)
{
    if (!config.stacks)
        return;
    char number[16];
    snprintf(number, sizeof number, "%d", getpid());
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        dup2(2, 1);
        execlp("gdb", "gdb", "-q", "-nx", "-batch", "-ex", "set print frame-arguments none", "-ex",
               "thread apply all bt 30", "-p", number, (char *)NULL);
        _exit(127);
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

_Noreturn static void give_up(void)
{
    if (self != NULL && self->in_fork) {
        print_stacks();
        _exit(99);
    }
    dump();
    print_stacks();
    _exit(98);
}

/* Several threads may fail at the same time: the first one reports, unless it fails in doing so. */
static void speak_first(void)
{
    static pthread_t speaker;
    if (has_failed++ == 0) {
        speaker = pthread_self();
        return;
    }
    if (!pthread_equal(speaker, pthread_self()))
        sleep(60);
    _exit(97);
}

_Noreturn void fail(int line, const char *format, ...)
{
    speak_first();
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "seed %llu: FAILED (line %d): ", (unsigned long long)config.seed, line);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "%s\n", self != NULL && self->in_fork ? " (in the child of a fork)" : "");
    va_end(arguments);
    give_up();
}

static void crashed(int signal)
{
    speak_first();
    fprintf(stderr, "seed %llu: CRASHED by signal %d (%s)%s\n", (unsigned long long)config.seed, signal,
            strsignal(signal), self != NULL && self->in_fork ? " in the child of a fork" : "");
    give_up();
}

static void reported(const char *message, UNUSED void *info) { fail(__LINE__, "a mistake was reported: %s", message); }

static void *watch(UNUSED void *unused)
{
    double end = now() + config.patience;
    while (is_watching && now() < end)
        usleep(20000);
    if (is_watching && !has_failed++) {
        fprintf(stderr, "seed %llu: HANGS since %.0f s\n", (unsigned long long)config.seed, config.patience);
        give_up();
    }
    return NULL;
}

void start_watching(void)
{
    /* The last one is for children of fork() that hang. */
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGALRM};
    struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_NODEFER};
    for (size_t index = 0; index < sizeof deadly / sizeof *deadly; index++)
        if (getenv("FUZZ_SANITIZED") == NULL || config.stacks || deadly[index] == SIGILL || deadly[index] == SIGTRAP ||
            deadly[index] == SIGALRM)
            sigaction(deadly[index], &action, NULL);
    RLSetErrorHandler(reported, NULL);
    is_watching = true;
    check(pthread_create(&watcher, NULL, watch, NULL) == 0, "no thread");
}

void stop_watching(void)
{
    is_watching = false;
    pthread_join(watcher, NULL);
}

/* Pauses for up to a tenth of a millisecond. */
void pause_briefly(struct dice *dice)
{
    unsigned kind = below(dice, 4);
    if (kind == 0)
        sched_yield();
    else if (kind == 1)
        for (volatile unsigned spins = below(dice, 3000); spins > 0; spins--)
            continue;
    else if (kind == 2)
        usleep(below(dice, 100));
}

int open_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    check(directory != NULL, "no /proc");
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* Acts like a sandbox that is set up late: from now on membarrier fails with EPERM in every thread. */
void deny_membarrier(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}
