/* Shared declarations of the command `runloop`. The functions of a file are grouped below its name. */
#ifndef RUNLOOP_COMMAND_H
#define RUNLOOP_COMMAND_H
#include "../RunLoopTrace/Symbols.h"
#include "../RunLoopTrace/TraceFile.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The message for a program in which no run loop was seen. */
#define NO_LOOP                                                                                            \
    "no run loop was seen: the program uses none, is linked with librunloop.a, runs with privileges that " \
    "you do not have, or could not be recorded (a line above says why)"

/* Main.c */

/* Prints `runloop: …` and a newline to stderr, and exits with status 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints `runloop: …` and a newline to stderr. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* malloc() and realloc() that end the command if memory runs out. */
void *allocate(size_t size);
void *reallocate(void *memory, size_t size);

/* Prints the usage of the command that runs, or of all commands if none does. Returns 2, the status for wrong
   arguments. */
int printUsage(FILE *file);

/* Commands. Each receives its arguments, of which the first is its name, and returns the exit status. */

/* TraceCommand.c */
int traceCommand(int count, char **arguments);
/* RunCommand.c */
int runCommand(int count, char **arguments);
/* ExplainCommand.c */
int explainCommand(int count, char **arguments);
/* StatCommand.c */
int statCommand(int count, char **arguments);
/* TopCommand.c */
int topCommand(int count, char **arguments);

/* Launch.c */

/* Adds the companion to LD_PRELOAD, for the programs that this process executes. Exits if that is not possible. */
void preloadCompanion(void);
/* The places for directories with records, in order of preference; NULL if a variable is not set or not an absolute
   path. The first with enough room that can be written to is used. */
enum { TRACE_PARENTS = 3 };
void traceParents(const char *parents[TRACE_PARENTS]);
#define TRACE_DIRECTORY "runloop-trace-"
/* Runs a program with the companion preloaded, which leaves its files in a new directory. Calls `tick`, unless NULL,
   every `seconds` seconds. Returns the program's exit status, or 128 + the signal that ended it; -1, after a line on
   stderr, if the program cannot be executed. `records`: how many each thread keeps; 0: events are only counted. A
   SIGTERM or SIGHUP to this process is passed on to the program. */
int launchTraced(char **program, unsigned long records, char directory[4096], double seconds, void (*tick)(void *),
                 void *info);
/* Returns the process ID of that program. */
int launchedProcess(void);
/* Waits until a process has ended, or for some seconds (0: no limit), or until a signal arrives. Returns whether the
   process has ended. */
int waitForEnd(int process, double seconds);
/* Removes such a directory and its files. */
void removeDirectory(const char *directory);

/* Rings.c */

/* A thread of a traced process. */
struct Thread {
    struct TraceHeader header;
    int process;            /* a number from 1; header.process is that in its PID namespace, which is not unique */
    char processFile[32];   /* how the names of its process's files begin */
    struct Module *modules; /* the modules of its process */
    uint64_t overwritten;   /* how many records were lost because the file was full */
};
/* A record with the thread that wrote it, and its time in nanoseconds of CLOCK_BOOTTIME. */
struct Event {
    uint64_t time;
    struct TraceRecord record;
    uint32_t thread; /* index into Recording.threads */
};
struct Recording {
    struct Thread *threads;
    struct Event *events; /* sorted by time */
    size_t threadCount, eventCount;
    int processCount;
};
/* Reads all files in a directory. A file that is not a valid file of this version is named in one line and left out. */
struct Recording readRecording(const char *directory);

/* Perfetto.c */

/* The type of a trace entry. The values are those of TrackEvent.Type. */
enum Shape { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
struct Entry {
    enum Shape shape;
    uint64_t time, track;
    const char *name, *category;          /* NULL: none */
    const uint64_t *departing, *arriving; /* the numbers of the arrows that start or end here */
    size_t departingCount, arrivingCount;
    double count; /* for a counter */
    /* A note that is shown with the entry: NULL, or a text. */
    const char *noteName, *note;
};
void writeProcessTrack(FILE *file, uint64_t track, int process, const char *name);
void writeThreadTrack(FILE *file, uint64_t track, int process, int thread, const char *name);
void writeCounterTrack(FILE *file, uint64_t track, uint64_t parent, const char *name, const char *unit);
void writeEntry(FILE *file, const struct Entry *entry);

/* Draw.c */

/* Writes a recording as a Perfetto trace. */
void drawTrace(const struct Recording *recording, FILE *file);

#endif
