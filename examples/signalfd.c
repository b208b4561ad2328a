/* signalfd.c - signals delivered as events: no handler that interrupts the program, so a callback may do anything.
 *
 * The signals are blocked, so the kernel queues them, and a signalfd returns them. Block them before any thread is
 * created: a thread that does not block them would still be interrupted.
 *
 * Child processes inherit the mask, so SIGTERM would not reach them. Restore the old mask for them, with posix_spawn
 * as here or with sigprocmask() between fork() and exec(). */
#define _GNU_SOURCE /* sigqueue, SIGRTMIN */
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Heard {
    int user;    /* SIGUSR1 */
    int queued;  /* SIGRTMIN */
    int sum;     /* of the values that were sent with them */
    int strange; /* anything else */
} Heard;

static void hear(const struct signalfd_siginfo *signal, Heard *heard)
{
    const char *sender = (pid_t)signal->ssi_pid == getpid() ? "this process" : "another process";
    if (signal->ssi_signo == SIGUSR1) {
        heard->user++;
        printf("  SIGUSR1 from %s\n", sender);
    } else if ((int)signal->ssi_signo == SIGRTMIN) {
        heard->queued++;
        heard->sum += signal->ssi_int;
        printf("  SIGRTMIN with the number %d from %s\n", signal->ssi_int, sender);
    } else if (signal->ssi_signo == SIGTERM) {
        puts("  SIGTERM: the loop is stopped, and the program ends in good order");
        RLRunLoopStop(RLRunLoopGetCurrent());
    } else {
        heard->strange++;
    }
}

/* Called on the loop's thread, like any callback. Reads all pending signals, then enables itself again. */
static void signalsReady(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    (void)types;
    struct signalfd_siginfo signal;
    ssize_t count;
    while ((count = read(RLFileDescriptorGetNativeDescriptor(f), &signal, sizeof signal)) == sizeof signal)
        hear(&signal, info);
    if (count < 0 && errno != EAGAIN)
        perror("signalfd: read");
    RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
}

static void terminate(void *info)
{
    (void)info;
    kill(getpid(), SIGTERM); /* as another program or a service manager would do */
}

/* Starts a program that sends itself SIGTERM, with this program's original signal mask. Returns whether SIGTERM
 * ended it. */
static int childHearsSIGTERM(const sigset_t *oldMask)
{
    char *arguments[] = {"sh", "-c", "kill -TERM $$; sleep 10", NULL}, *environment[] = {NULL};
    posix_spawnattr_t attributes;
    pid_t child;
    int status = 0;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, oldMask);
    int error = posix_spawn(&child, "/bin/sh", NULL, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    return error == 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

static void pass(void) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0); }

int main(void)
{
    sigset_t signals, oldMask;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGRTMIN);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, &oldMask);
    int fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) {
        perror("signalfd");
        return 1;
    }

    Heard heard = {0};
    RLFileDescriptorContext context = {.info = &heard};
    RLFileDescriptorRef watched = RLFileDescriptorCreate(kRLAllocatorDefault, fd, 1, signalsReady, &context);
    RLRunLoopSourceRef source =
        watched != NULL ? RLFileDescriptorCreateRunLoopSource(kRLAllocatorDefault, watched, 0) : NULL;
    if (source == NULL) {
        perror("signalfd: cannot watch");
        return 1;
    }
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    RLFileDescriptorEnableCallBacks(watched, kRLFileDescriptorReadCallBack);

    puts("SIGUSR1 is sent; nothing happens until the loop runs");
    kill(getpid(), SIGUSR1);
    puts("the loop runs:");
    pass();

    puts("SIGUSR1 is sent twice: the kernel keeps an ordinary signal once");
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR1);
    pass();

    puts("SIGRTMIN is sent with 1, 2 and 3: real-time signals queue, in order");
    for (int number = 1; number <= 3; number++)
        sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = number});
    pass();

    int heardByChild = childHearsSIGTERM(&oldMask);
    puts(heardByChild ? "a child process got the old mask back: SIGTERM ends it" : "the child did not hear of SIGTERM");

    puts("the loop runs until it is told to end:");
    RLRunLoopPerformFunctionAfterDelay(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, terminate, NULL, 0.01);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0);

    RLFileDescriptorInvalidate(watched); /* closes fd */
    RLRelease(watched);
    printf("heard: SIGUSR1 %d times, SIGRTMIN %d times, the sum of their numbers is %d\n", heard.user, heard.queued,
           heard.sum);
    return result == kRLRunLoopRunStopped && heard.user == 2 && heard.queued == 3 && heard.sum == 6 && !heard.strange &&
                   heardByChild
               ? 0
               : 1;
}
