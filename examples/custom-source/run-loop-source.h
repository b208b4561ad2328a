/* run-loop-source.h - an input source with a command buffer (listings 3-3 to 3-7 and 3-9 of the guide).
 *
 * Any thread puts commands into the buffer; the thread whose loop the source is in handles them. */
#ifndef RUN_LOOP_SOURCE_H
#define RUN_LOOP_SOURCE_H

#include <RunLoop/RunLoop.h>

typedef struct RunLoopSource RunLoopSource;

/* Handles one command, on the thread of the source's loop. `data` is valid during the call. */
typedef void (*CommandHandler)(RunLoopSource *source, long command, const char *data, void *info);

/* Is told that the source is in a loop, and that it no longer is: the guide's application delegate.
 * Both functions are called on `loop` with a RunLoopContext. */
typedef struct Client {
    RLRunLoopRef loop;
    RLRunLoopFunction registerSource; /* posted; the function owns the context and frees it */
    RLRunLoopFunction removeSource;   /* waited for: afterwards the client must not touch the source */
    void *info;
} Client;

/* What the client needs to reach a source: the source, and the loop to wake for it. */
typedef struct RunLoopContext {
    RLRunLoopRef runLoop; /* valid until removeSource has returned */
    RunLoopSource *source;
    const Client *client;
} RunLoopContext;

/* Returns NULL without memory. The client must live as long as the source. */
RunLoopSource *RunLoopSourceCreate(const Client *client, CommandHandler handler, void *info);
/* Frees an invalidated source, and commands that were not handled. */
void RunLoopSourceDestroy(RunLoopSource *source);

/* On the thread that is to handle the commands. */
void RunLoopSourceAddToCurrentRunLoop(RunLoopSource *source);
void RunLoopSourceInvalidate(RunLoopSource *source);

/* From any thread: fill the buffer with one or more commands, then fire them all. Returns 0 without memory. */
int RunLoopSourceAddCommand(RunLoopSource *source, long command, const char *data);
void RunLoopSourceFireAllCommands(RunLoopSource *source, RLRunLoopRef runLoop);

#endif
