/* run-loop-source.h - an input source with a command buffer (listings 3-3 to 3-7 and 3-9 of the guide).
 *
 * Any thread adds commands to the buffer; the thread whose loop contains the source handles them. */
#ifndef RUN_LOOP_SOURCE_H
#define RUN_LOOP_SOURCE_H

#include <RunLoop/RunLoop.h>

typedef struct RunLoopSource RunLoopSource;

/* Handles one command, on the thread of the source's loop. `data` is valid during the call. */
typedef void (*CommandHandler)(RunLoopSource *source, long command, const char *data, void *info);

/* A client, which is notified when the source is added to a loop and when it leaves it: the role of the guide's
 * application delegate. Both functions are called on `loop` with a RunLoopContext. */
typedef struct Client {
    RLRunLoopRef loop;
    RLRunLoopFunction registerSource; /* posted; the function takes ownership of the context and frees it */
    RLRunLoopFunction removeSource;   /* the source waits for it; the client must not touch the source afterwards */
    void *info;
} Client;

/* What the client needs to signal a source: the source, and the loop to wake. */
typedef struct RunLoopContext {
    RLRunLoopRef runLoop; /* valid until removeSource has returned */
    RunLoopSource *source;
    const Client *client;
} RunLoopContext;

/* Returns NULL if out of memory. The client must live as long as the source. */
RunLoopSource *RunLoopSourceCreate(const Client *client, CommandHandler handler, void *info);
/* Frees an invalidated source, along with any commands that were not handled. */
void RunLoopSourceDestroy(RunLoopSource *source);

/* Call on the thread that is to handle the commands. */
void RunLoopSourceAddToCurrentRunLoop(RunLoopSource *source);
void RunLoopSourceInvalidate(RunLoopSource *source);

/* Any thread: add one or more commands to the buffer, then fire them all. Returns 0 if out of memory. */
int RunLoopSourceAddCommand(RunLoopSource *source, long command, const char *data);
void RunLoopSourceFireAllCommands(RunLoopSource *source, RLRunLoopRef runLoop);

#endif
