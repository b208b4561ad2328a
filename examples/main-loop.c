/* main-loop.c - a main thread that serves requests of other threads, although its loop has no source and no timer.
 *
 * RLRunLoopRun() would return immediately, because the loop is empty. RLRunLoopRunAsCF(), which programs compiled
 * with the headers in CoreFoundation/ know as CFRunLoopRun(), waits in the main thread until another thread stops
 * it. */
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <stdio.h>

static RLRunLoopRef mainLoop;
static int answered;

static void answer(void *info)
{
    printf("the main thread answers a %s\n", (const char *)info);
    answered++;
}

static void *worker(void *info)
{
    (void)info;
    if (!RLRunLoopPerformFunctionAndWait(mainLoop, kRLRunLoopCommonModes, answer, "worker", 60))
        puts("nobody answered");
    RLRunLoopStop(mainLoop); /* the loop is still running: it has just answered */
    return NULL;
}

int main(void)
{
    mainLoop = RLRunLoopGetCurrent();
    RLRunLoopRunResult empty = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
    RLRunLoopRunResult idle = RLRunLoopRunInModeAsCF(kRLRunLoopDefaultMode, 0.01, 0);
    printf("an empty loop: %s; as in CF: %s\n", empty == kRLRunLoopRunFinished ? "finished" : "?",
           idle == kRLRunLoopRunTimedOut ? "timed out" : "?");

    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL) != 0) {
        fputs("main-loop: cannot start a thread\n", stderr);
        return 1;
    }
    RLRunLoopRunAsCF();
    pthread_join(thread, NULL);
    puts("stopped");
    return answered == 1 && empty == kRLRunLoopRunFinished && idle == kRLRunLoopRunTimedOut ? 0 : 1;
}
