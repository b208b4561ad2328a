/* main.c - a worker thread with a custom input source, and the main thread as its client (listing 3-8).
 *
 *   worker: adds the source to its loop      -> schedule -> main: registerSource
 *   main:   addCommand …, fireAllCommands    -> perform  -> worker: handles the commands
 *   worker: the last command invalidates it  -> cancel   -> main: removeSource */
#include "run-loop-source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { commandPrint = 1, commandAdd = 2, commandQuit = 3 };
enum { maximumSources = 4 };

/* The client: keeps a list of the sources that it can signal. Used on the main thread only. */
typedef struct Delegate {
    RunLoopContext *sourcesToPing[maximumSources]; /* owned */
    int count;
    int registered, removed;
} Delegate;

static void registerSource(void *info)
{
    RunLoopContext *context = info;
    Delegate *delegate = context->client->info;
    if (delegate->count == maximumSources) {
        free(context);
        return;
    }
    delegate->sourcesToPing[delegate->count++] = context;
    delegate->registered++;
    puts("main:   a source has registered");
    RLRunLoopStop(RLRunLoopGetCurrent()); /* ends the run in which main waits for the registration */
}

static void removeSource(void *info)
{
    const RunLoopContext *removed = info; /* borrowed: the worker waits until this function returns */
    Delegate *delegate = removed->client->info;
    for (int i = 0; i < delegate->count; i++) {
        RunLoopContext *context = delegate->sourcesToPing[i];
        if (context->source == removed->source && context->runLoop == removed->runLoop) {
            delegate->sourcesToPing[i] = delegate->sourcesToPing[--delegate->count];
            free(context);
            delegate->removed++;
            puts("main:   the source is gone");
            break;
        }
    }
    RLRunLoopStop(RLRunLoopGetCurrent());
}

typedef struct Worker {
    RunLoopSource *source;
    int sum;
    int handled;
} Worker;

static void handleCommand(RunLoopSource *source, long command, const char *data, void *info)
{
    Worker *worker = info;
    worker->handled++;
    switch (command) {
    case commandPrint:
        printf("worker: print \"%s\"\n", data);
        break;
    case commandAdd:
        worker->sum += atoi(data);
        printf("worker: add %s, the sum is %d\n", data, worker->sum);
        break;
    case commandQuit:
        puts("worker: quit, so the source is invalidated");
        RunLoopSourceInvalidate(source);
        break;
    }
}

static void *workerMain(void *argument)
{
    Worker *worker = argument;
    RunLoopSourceAddToCurrentRunLoop(worker->source);
    RLRunLoopRun(); /* until its only source is invalidated */
    puts("worker: the loop has finished, nothing is left in it");
    return NULL;
}

static void keepRunning(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    (void)info;
}

int main(void)
{
    Delegate delegate = {.count = 0};
    Client client = {RLRunLoopGetMain(), registerSource, removeSource, &delegate};
    Worker worker = {.sum = 0};
    worker.source = RunLoopSourceCreate(&client, handleCommand, &worker);
    if (worker.source == NULL) {
        perror("custom-source: source");
        return 1;
    }

    pthread_t thread;
    if (pthread_create(&thread, NULL, workerMain, &worker) != 0) {
        fputs("custom-source: cannot start the worker\n", stderr);
        return 1;
    }

    /* Wait for the registration. It is posted to this loop, so it is not lost if it was posted before this run. But
     * a run of an empty loop returns immediately, so add a timer whose only purpose is to keep the loop running. */
    RLRunLoopTimerRef keeper =
        RLRunLoopTimerCreate(kRLAllocatorDefault, RLAbsoluteTimeGetCurrent() + 3600.0, 0, 0, 0, keepRunning, NULL);
    if (keeper == NULL) {
        perror("custom-source: timer");
        return 1;
    }
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), keeper, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0);
    if (delegate.registered != 1) {
        fputs("custom-source: the worker did not register\n", stderr);
        return 1;
    }

    RunLoopContext *context = delegate.sourcesToPing[0];
    puts("main:   four commands go into the buffer");
    int ok = RunLoopSourceAddCommand(context->source, commandPrint, "hello from main") &&
             RunLoopSourceAddCommand(context->source, commandAdd, "20") &&
             RunLoopSourceAddCommand(context->source, commandAdd, "22") &&
             RunLoopSourceAddCommand(context->source, commandQuit, "");
    RunLoopSourceFireAllCommands(context->source, context->runLoop);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0); /* until removeSource stops the loop */
    if (!ok || delegate.removed != 1 || pthread_join(thread, NULL) != 0) {
        fputs("custom-source: the worker did not quit\n", stderr);
        return 1;
    }

    RLRunLoopTimerInvalidate(keeper);
    RLRelease(keeper);
    RunLoopSourceDestroy(worker.source);
    ok = delegate.count == 0 && worker.handled == 4 && worker.sum == 42;
    puts(ok ? "main:   all commands were handled" : "main:   not as expected");
    return ok ? 0 : 1;
}
