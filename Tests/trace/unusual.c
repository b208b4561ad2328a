/* A program that does to itself what the companion has to survive without affecting it: unusual WHAT. */
#include <RunLoopTrace/RunLoopTrace.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODE kRLRunLoopDefaultMode

static void nothing(void *info) { (void)info; }

static void post(RLRunLoopFunction function)
{
    RLRunLoopPostFunction(RLRunLoopGetCurrent(), MODE, function, NULL);
    RLRunLoopRunInMode(MODE, 0, 0);
}

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        abort();
}

static void wait_for_signal(void *info)
{
    (void)info;
    pause();
    exit(7);
}

static void wait_for_byte(void *info)
{
    char byte;
    (void)info;
    say("waits\n");
    if (read(STDIN_FILENO, &byte, 1) < 0)
        abort();
}

static void await_end_of_input(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
}

static void *run_briefly(void *info)
{
    post(nothing);
    return info;
}

static void run_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_briefly, NULL) == 0)
        pthread_join(thread, NULL);
}

/* From now on a system call kills the process, or fails with an error. */
static void deny(unsigned call, unsigned result)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, result),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        exit(77);
}

/* Becomes a child that continues after its parent has exited, and then uses another thread. */
static void become_daemon(void)
{
    if (fork() > 0)
        _exit(7);
    post(nothing);
    await_end_of_input();
    run_thread();
    say("daemon\n");
    _exit(0);
}

static int calls;
static void count_call(const RLRunLoopProbeCall *call)
{
    (void)call;
    calls++;
}

/* Returns how many calls the program's own probe has received, after an explanation. */
static int set_probe(void)
{
    static const RLRunLoopProbe probe = {.willCall = count_call};
    RLStallWatchStart(1, NULL, NULL);
    RLRunLoopSetProbe(&probe);
    RLRelease(RLRunLoopCopyExplanation(RLRunLoopGetCurrent()));
    post(nothing);
    return calls;
}

/* Tries to start things twice when no thread can be created. Returns whether all calls report the failure. */
static int start_twice(void)
{
    deny(SYS_clone3, SECCOMP_RET_ERRNO | EAGAIN);
    deny(SYS_clone, SECCOMP_RET_ERRNO | EAGAIN);
    return !RLStallWatchStart(1, NULL, NULL) && !RLStallWatchStart(1, NULL, NULL) && !RLExplainStart(0);
}

static void nest(void *info)
{
    static int depth;
    (void)info;
    if (++depth < 20)
        post(nest);
    else
        wait_for_byte(NULL);
}

/* Called by the companion while it creates a thread's file. Once, this signals a source three times, as a signal handler might. */
static RLRunLoopSourceRef signalled;
pid_t gettid(void)
{
    RLRunLoopSourceRef source = signalled;
    signalled = NULL;
    for (int i = 0; source != NULL && i < 3; i++)
        RLRunLoopSourceSignal(source);
    return (pid_t)syscall(SYS_gettid);
}

static void signal_early(void)
{
    RLRunLoopSourceContext context = {.perform = nothing};
    signalled = RLRunLoopSourceCreate(NULL, 0, &context);
    run_thread();
}

static void tick(RLRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }

/* Sleeps, with names that contain terminal control sequences. */
static void sleep_with_names(void)
{
    RLStringRef mode = RLStringCreateWithCString(NULL, "mode\033[2J\302\233", kRLStringEncodingUTF8);
    prctl(PR_SET_NAME, "red\033[31m");
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), RLRunLoopTimerCreateWithDelay(NULL, 1000, 0, tick, NULL), mode);
    RLRunLoopRunInMode(mode, 1000, 0);
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    if (strcmp(what, "no shared memory") == 0)
        deny(SYS_shmget, SECCOMP_RET_ERRNO | ENOSPC);
    post(nothing);
    if (strcmp(what, "no shared memory") == 0)
        post(wait_for_byte);
    else if (strcmp(what, "default signals") == 0) {
        signal(SIGUSR1, SIG_DFL);
        post(wait_for_byte);
    } else if (strcmp(what, "small files") == 0) {
        struct rlimit limit = {0, 0};
        dlopen("libresolv.so.2", RTLD_NOW);
        setrlimit(RLIMIT_FSIZE, &limit);
        run_thread();
    } else if (strcmp(what, "sandbox") == 0)
        deny(SYS_openat, SECCOMP_RET_KILL_PROCESS);
    else if (strcmp(what, "own probe") == 0)
        return set_probe() == 1 ? 7 : 1;
    else if (strcmp(what, "no threads") == 0)
        return start_twice() ? 7 : 1;
    else if (strcmp(what, "nested") == 0)
        post(nest);
    else if (strcmp(what, "interrupted") == 0)
        post(wait_for_signal);
    else if (strcmp(what, "early signals") == 0)
        signal_early();
    else if (strcmp(what, "names") == 0)
        sleep_with_names();
    else if (strcmp(what, "threads") == 0)
        for (int number = 0; number < 30; number++)
            run_thread();
    else if (strcmp(what, "daemon") == 0)
        become_daemon();
    else if (strcmp(what, "many posts") == 0)
        for (int number = 0; number < 4000; number++)
            post(nothing);
    return 7;
}
