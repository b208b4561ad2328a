/* pidfd.c - watching child processes through pidfds: the exit of a child becomes a callback on the loop, without
 * SIGCHLD and without a waiting thread.
 *
 * A pidfd becomes readable when its process exits. Three children run until they are told to exit. The callback for
 * each exit tells the next child to exit. */
#define _GNU_SOURCE /* syscall */
#include <RunLoop/RunLoop.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { childCount = 3, pidfdKind = 3 /* P_PIDFD, which glibc has since 2.36 */ };

typedef struct Child {
    const char *name;
    int status;   /* its exit status */
    int goOn;     /* write end of a pipe; closing it tells the child to exit */
    int wasHeard; /* its exit, with the expected status */
    struct Child *next;
    RLFileDescriptorRef watched; /* closes the pidfd when invalidated */
} Child;

/* Called once, on the loop's thread, after the child has exited: callbacks of descriptor objects are one-shot. */
static void childEnded(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    Child *child = info;
    siginfo_t how = {0};
    if (types != kRLFileDescriptorReadCallBack ||
        waitid((idtype_t)pidfdKind, (id_t)RLFileDescriptorGetNativeDescriptor(f), &how, WEXITED | WNOHANG) != 0) {
        perror("pidfd: waitid");
        return;
    }
    child->wasHeard = how.si_code == CLD_EXITED && how.si_status == child->status;
    printf("the %s child has ended with status %d\n", child->name, how.si_status);
    RLFileDescriptorInvalidate(f); /* removes its source from the loop, and closes the pidfd */
    if (child->next != NULL) {
        printf("the %s child is told to end\n", child->next->name);
        close(child->next->goOn);
    }
}

/* The child's main function: waits until all copies of the write end are closed. */
static void live(int pipeEnd, int status)
{
    char byte;
    while (read(pipeEnd, &byte, 1) > 0)
        ;
    _exit(status);
}

static int start(Child *children, int number)
{
    Child *child = &children[number];
    int ends[2];
    if (pipe(ends) != 0)
        return 0;
    pid_t pid = fork();
    if (pid == 0) {
        for (int other = number + 1; other < childCount; other++) /* write ends of the children started earlier */
            close(children[other].goOn);
        close(ends[1]);
        live(ends[0], child->status);
    }
    close(ends[0]);
    child->goOn = ends[1];
    if (pid < 0)
        return 0;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* since Linux 5.3; glibc has a wrapper since 2.36 */
    if (pidfd < 0)
        return 0;

    RLFileDescriptorContext context = {.info = child};
    child->watched = RLFileDescriptorCreate(kRLAllocatorDefault, pidfd, 1, childEnded, &context);
    if (child->watched == NULL) {
        close(pidfd); /* ownership was not transferred */
        return 0;
    }
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(kRLAllocatorDefault, child->watched, 0);
    if (source == NULL)
        return 0;
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source); /* the descriptor object keeps it */
    RLFileDescriptorEnableCallBacks(child->watched, kRLFileDescriptorReadCallBack);
    return 1;
}

int main(void)
{
    Child children[childCount] = {
        {.name = "first", .status = 10, .next = &children[1]},
        {.name = "second", .status = 20, .next = &children[2]},
        {.name = "third", .status = 30},
    };
    for (int number = childCount - 1; number >= 0; number--) {
        if (!start(children, number)) {
            perror("pidfd: cannot start or watch a child");
            return 1;
        }
    }
    puts("three children run, and three pidfds are watched");
    printf("a pass of the loop finds none of them ready: %s\n",
           RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1) == kRLRunLoopRunTimedOut ? "timed out" : "NOT so");

    printf("the first child is told to end\n");
    close(children[0].goOn);
    /* Runs until nothing is left to watch. */
    int ok = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0) == kRLRunLoopRunFinished;
    puts("no child is left, so the loop has finished");

    for (Child *child = children; child < children + childCount; child++) {
        /* An invalid object still has a type, but no descriptor and no info. */
        RLFileDescriptorContext context = {.version = 0};
        RLFileDescriptorGetContext(child->watched, &context);
        ok = ok && child->wasHeard && RLGetTypeID(child->watched) == RLFileDescriptorGetTypeID() &&
             RLFileDescriptorGetNativeDescriptor(child->watched) == -1 && context.info == NULL;
        RLRelease(child->watched);
    }
    return ok ? 0 : 1;
}
