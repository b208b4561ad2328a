/* children.c - child processes: a program whose input and output are pipes, read as data arrives; a child that is
 * ended by a signal; and one started by fork() that has exited before the loop watches it.
 *
 * Compile with -lrunloop-kit -lrunloop. */
#define _POSIX_C_SOURCE 200809L /* fork, read, write */
#include <RunLoopKit/RunLoopKit.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads until the end of the pipe, one chunk per callback. */
static void readOutput(RLFileDescriptorRef pipe, RLOptionFlags types, void *info)
{
    char piece[100];
    long *total = info;
    ssize_t count = read(RLFileDescriptorGetNativeDescriptor(pipe), piece, sizeof piece);
    (void)types;
    if (count <= 0) {
        puts("  end of output");
        RLFileDescriptorInvalidate(pipe); /* removes its source from the loop, and closes the descriptor */
        return;
    }
    *total += count;
    printf("  output: %.*s", (int)count, piece);
    RLFileDescriptorEnableCallBacks(pipe, kRLFileDescriptorReadCallBack);
}

static int ends;

static void ended(RLChildRef child, const RLChildStatus *status, void *info)
{
    RLChildStatus again = {.version = 0};
    ends += RLChildGetStatus(child, &again) && again.process == RLChildGetProcess(child);
    if (status->end == kRLChildExited)
        printf("  %s has ended with status %d\n", (const char *)info, status->status);
    else
        printf("  %s was ended by %s\n", (const char *)info, status->status == SIGTERM ? "SIGTERM" : "a signal");
}

static RLChildRef watch(RLChildRef child)
{
    if (child == NULL)
        perror("children");
    else
        RLRunLoopAddSource(RLRunLoopGetCurrent(), child, kRLRunLoopDefaultMode);
    return child;
}

/* Runs sort(1), writing its input and reading its output. */
static int sortWords(void)
{
    const char *const arguments[] = {"sort", NULL}, *words = "pear\napple\norange\n";
    long total = 0;
    RLChildSpawnOptions options = {.program = "sort",
                                   .arguments = arguments,
                                   .flags = kRLChildSearchPath,
                                   .input = kRLChildPipe,
                                   .output = kRLChildPipe};
    RLChildContext context = {.info = "sort"};
    RLFileDescriptorContext counter = {.info = &total};
    RLChildRef child = RLChildCreateBySpawning(NULL, &options, ended, &context);
    if (child == NULL) {
        perror("children");
        return 0;
    }
    RLFileDescriptorRef input = RLChildCreatePipe(child, 0, NULL, NULL);
    RLFileDescriptorRef output = RLChildCreatePipe(child, 1, readOutput, &counter);
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, output, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLFileDescriptorEnableCallBacks(output, kRLFileDescriptorReadCallBack);

    /* The words fit into the pipe, so the write does not block. sort begins at the end of its input. */
    int isWritten = write(RLFileDescriptorGetNativeDescriptor(input), words, strlen(words)) == (ssize_t)strlen(words);
    RLFileDescriptorInvalidate(input);
    while (RLRunLoopSourceIsValid(source)) /* read all output first, although the child may exit earlier */
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 1);
    watch(child);
    int isFinished = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0) == kRLRunLoopRunFinished;
    RLRelease(input);
    RLRelease(source);
    RLRelease(output);
    RLRelease(child);
    return isWritten && isFinished && total == (long)strlen(words);
}

int main(void)
{
    puts("sort is given three words");
    int ok = sortWords();

    puts("a program that would sleep for an hour is asked to exit");
    const char *const arguments[] = {"sleep", "3600", NULL};
    RLChildSpawnOptions options = {.program = "sleep", .arguments = arguments, .flags = kRLChildSearchPath};
    RLChildContext context = {.info = "sleep"};
    RLChildRef sleeper = watch(RLChildCreateBySpawning(NULL, &options, ended, &context));
    if (sleeper == NULL)
        return 1;
    ok = ok && RLChildSendSignal(sleeper, SIGTERM);
    /* The child is the only thing in the loop, so the run ends when the child does. */
    ok = ok && RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0) == kRLRunLoopRunFinished;
    RLRelease(sleeper);

    puts("a child of fork()");
    pid_t process = fork();
    if (process == 0)
        _exit(12);
    context.info = "the child";
    RLChildRef child = watch(RLChildCreate(NULL, process, ended, &context));
    if (child == NULL)
        return 1;
    ok = ok && RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0) == kRLRunLoopRunFinished;
    ok = ok && !RLChildSendSignal(child, SIGTERM); /* it has been reaped */
    RLRelease(child);
    return ok && ends == 3 ? 0 : 1;
}
