/* run-loop-source.c - the three callbacks of a version-0 source, and the command buffer behind them. */
#include "run-loop-source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Command {
    struct Command *next;
    long command;
    char data[];
} Command;

struct RunLoopSource {
    RLRunLoopSourceRef runLoopSource; /* owned */
    const Client *client;
    CommandHandler handler;
    void *info;
    pthread_mutex_t lock; /* guards the two fields below */
    Command *first;
    Command **end; /* where the next command is linked */
};

/* Listing 3-4: the source was added to a mode of a loop. Notify the client without waiting for it. */
static void scheduleRoutine(void *info, RLRunLoopRef rl, RLRunLoopMode mode)
{
    RunLoopSource *source = info;
    RunLoopContext *context = malloc(sizeof *context);
    (void)mode;
    if (context != NULL) {
        *context = (RunLoopContext){.runLoop = rl, .source = source, .client = source->client};
        if (RLRunLoopPostFunction(source->client->loop, kRLRunLoopDefaultMode, source->client->registerSource, context))
            return;
        free(context);
    }
    fputs("run-loop-source: the client could not be told about the source\n", stderr);
}

/* Listing 3-6: the source leaves a mode, because it is removed or invalidated. Wait until the client has dropped its
 * reference; then the source can be destroyed. (The client must not be waiting for this thread.) */
static void cancelRoutine(void *info, RLRunLoopRef rl, RLRunLoopMode mode)
{
    RunLoopSource *source = info;
    RunLoopContext context = {.runLoop = rl, .source = source, .client = source->client};
    (void)mode;
    if (!RLRunLoopPerformFunctionAndWait(source->client->loop, kRLRunLoopDefaultMode, source->client->removeSource,
                                         &context, 10.0))
        fputs("run-loop-source: the client did not answer\n", stderr);
}

/* Listing 3-5: the source was signalled. Signals are coalesced, so handle all commands in the buffer. */
static void performRoutine(void *info)
{
    RunLoopSource *source = info;
    pthread_mutex_lock(&source->lock);
    Command *command = source->first; /* take the whole list, so that the handlers run without the lock */
    source->first = NULL;
    source->end = &source->first;
    pthread_mutex_unlock(&source->lock);

    while (command != NULL) {
        Command *next = command->next;
        source->handler(source, command->command, command->data, source->info);
        free(command);
        command = next;
    }
}

/* Listing 3-7, first half. */
RunLoopSource *RunLoopSourceCreate(const Client *client, CommandHandler handler, void *info)
{
    RunLoopSource *source = calloc(1, sizeof *source);
    if (source == NULL)
        return NULL;
    source->client = client;
    source->handler = handler;
    source->info = info;
    source->end = &source->first;
    pthread_mutex_init(&source->lock, NULL);

    /* No retain and release callbacks: `source` outlives its RLRunLoopSource, see RunLoopSourceDestroy. */
    RLRunLoopSourceContext context = {
        .version = 0,
        .info = source,
        .schedule = scheduleRoutine,
        .cancel = cancelRoutine,
        .perform = performRoutine,
    };
    source->runLoopSource = RLRunLoopSourceCreate(kRLAllocatorDefault, 0, &context); /* copies the context */
    if (source->runLoopSource == NULL) {
        RunLoopSourceDestroy(source);
        return NULL;
    }
    return source;
}

void RunLoopSourceDestroy(RunLoopSource *source)
{
    if (source->runLoopSource != NULL)
        RLRelease(source->runLoopSource);
    for (Command *command = source->first; command != NULL;) {
        Command *next = command->next;
        free(command);
        command = next;
    }
    pthread_mutex_destroy(&source->lock);
    free(source);
}

/* Listing 3-7, second half: this calls scheduleRoutine. */
void RunLoopSourceAddToCurrentRunLoop(RunLoopSource *source)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source->runLoopSource, kRLRunLoopDefaultMode);
}

/* Invalidating the source calls cancelRoutine, once for each mode that the source is in. */
void RunLoopSourceInvalidate(RunLoopSource *source) { RLRunLoopSourceInvalidate(source->runLoopSource); }

int RunLoopSourceAddCommand(RunLoopSource *source, long command, const char *data)
{
    size_t size = strlen(data) + 1;
    Command *added = malloc(sizeof *added + size);
    if (added == NULL)
        return 0;
    added->next = NULL;
    added->command = command;
    memcpy(added->data, data, size);
    pthread_mutex_lock(&source->lock);
    *source->end = added;
    source->end = &added->next;
    pthread_mutex_unlock(&source->lock);
    return 1;
}

/* Listing 3-9: signal the source and wake its loop. A signal alone does not wake a sleeping loop. */
void RunLoopSourceFireAllCommands(RunLoopSource *source, RLRunLoopRef runLoop)
{
    RLRunLoopSourceSignal(source->runLoopSource);
    RLRunLoopWakeUp(runLoop);
}
