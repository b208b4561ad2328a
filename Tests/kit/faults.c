/* A program that spawns a child and creates another one by fork() while system calls fail: strace injects the
 * failures (test_kit.py). It prints the outcome for each child, and whether a child is left that nothing waits for. */
#include <RunLoopKit/RunLoopKit.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void ended(RLChildRef child, const RLChildStatus *status, void *info)
{
    (void)child;
    *(RLChildEnd *)info = status->end;
}

static void try_child(const char *name, RLChildRef child, const RLChildEnd *end)
{
    int error = errno;
    if (child == NULL) {
        printf("%s %s, ", name, strerrorname_np(error));
        return;
    }
    RLChildSendSignal(child, SIGTERM);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), child, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0);
    printf("%s ended %d, ", name, *end);
    if (*end == kRLChildLost)
        kill(RLChildGetProcess(child), SIGKILL); /* it only seems lost because of the injected failure */
    RLRelease(child);
}

int main(void)
{
    const char *const arguments[] = {"sleep", "3600", NULL};
    RLChildSpawnOptions options = {
        .program = "sleep", .arguments = arguments, .flags = kRLChildSearchPath, .output = kRLChildPipe};
    RLChildEnd end = 0;
    RLChildContext context = {.info = &end};
    alarm(60);
    try_child("spawned", RLChildCreateBySpawning(NULL, &options, ended, &context), &end);
    int is_left = waitpid(-1, NULL, WNOHANG) != -1;
    pid_t process = fork();
    if (process == 0) {
        pause();
        _exit(0);
    }
    end = 0;
    try_child("forked", RLChildCreate(NULL, process, ended, &context), &end);
    printf("left %d\n", is_left);
    kill(process, SIGKILL);
    return 0;
}
