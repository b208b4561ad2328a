/* loop-thread.c - the skeleton of a thread that lives in its run loop (listing 3-2 of the guide).
 *
 * The thread runs the loop repeatedly and checks why each run returned. All four results occur. */
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

typedef struct Worker {
    RLRunLoopRef loop; /* set by the thread before it posts `idle`; retained for main */
    sem_t idle;        /* posted once the thread has nothing to do */
    int performed;
    int results[5]; /* how often each RLRunLoopRunResult was returned */
} Worker;

static void performWork(void *info)
{
    Worker *worker = info;
    /* During a callback the loop is not waiting. */
    if (!RLRunLoopIsWaiting(RLRunLoopGetCurrent()))
        worker->performed++;
    puts("thread: the source is performed");
}

static void stopCurrentLoop(void *info)
{
    (void)info;
    RLRunLoopStop(RLRunLoopGetCurrent());
}

static void *skeletonThreadMain(void *argument)
{
    Worker *worker = argument;
    RLRunLoopRef loop = RLRunLoopGetCurrent();

    /* Set up: without a source or timer, a run returns immediately. */
    RLRunLoopSourceContext context = {.info = worker, .perform = performWork};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(kRLAllocatorDefault, 0, &context);
    if (source != NULL) {
        RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
        RLRunLoopSourceSignal(source); /* there is work from the start */
    }
    RLRetain(loop); /* for main, which may use the loop after this thread has exited */
    worker->loop = loop;

    RLTimeInterval seconds = 0.1;
    int done = 0;
    do {
        /* Run until a source was handled or the time has elapsed. */
        RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, seconds, 1);
        worker->results[result]++;
        switch (result) {
        case kRLRunLoopRunHandledSource:
            puts("thread: HandledSource - one source was served; there may be more, so run again");
            break;
        case kRLRunLoopRunTimedOut:
            puts("thread: TimedOut - nothing happened in time; a moment for housekeeping, then run again");
            seconds = 60.0;
            sem_post(&worker->idle);
            break;
        case kRLRunLoopRunStopped:
            puts("thread: Stopped - the loop was asked to return; remove the source and run again");
            RLRunLoopSourceInvalidate(source); /* also removes it from every mode */
            break;
        case kRLRunLoopRunFinished:
            puts("thread: Finished - no source and no timer is left, so the thread ends");
            done = 1;
            break;
        }
    } while (!done);

    /* Clean up. */
    if (source != NULL)
        RLRelease(source);
    return NULL;
}

int main(void)
{
    Worker worker = {0};
    pthread_t thread;
    if (sem_init(&worker.idle, 0, 0) != 0 || pthread_create(&thread, NULL, skeletonThreadMain, &worker) != 0) {
        fputs("loop-thread: cannot start the thread\n", stderr);
        return 1;
    }
    sem_wait(&worker.idle);
    puts("main:   the thread is idle; stop its loop");
    /* RLRunLoopStop(worker.loop) would have no effect between two runs. A function posted to the loop is not lost:
     * it waits for the next run. */
    int posted = RLRunLoopPostFunction(worker.loop, kRLRunLoopDefaultMode, stopCurrentLoop, NULL);
    if (!posted || pthread_join(thread, NULL) != 0)
        return 1;
    RLRelease(worker.loop);
    sem_destroy(&worker.idle);

    int ok = worker.performed == 1;
    for (int result = kRLRunLoopRunFinished; result <= kRLRunLoopRunHandledSource; result++)
        ok = ok && worker.results[result] == 1;
    puts(ok ? "main:   each of the four results was returned once" : "main:   not as expected");
    return ok ? 0 : 1;
}
