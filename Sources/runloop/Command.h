/* What the files of the command `runloop` share. A file's functions are grouped below its name. */
#ifndef RUNLOOP_COMMAND_H
#define RUNLOOP_COMMAND_H
#include "../RunLoopTrace/Symbols.h"
#include "../RunLoopTrace/TraceFile.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Why nothing was seen. */
#define NO_LOOP                                                                                                     \
    "no run loop was seen: the program uses none, is linked with librunloop.a, runs with other rights than yours, " \
    "or could not be recorded (then a line above says why)"

/* Main.c */

/* Prints `runloop: …` and a new line to stderr, and ends the command with status 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line to stderr. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* malloc and realloc that end the command if there is no memory. */
void *allocate(size_t size);
void *reallocate(void *memory, size_t size);

/* Prints how the command of this process is used, or all of them if it has none. Returns 2, the status for wrong arguments. */
int printUsage(FILE *file);

/* Commands, each with its arguments, of which the first is its name. They return the exit status. */

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

/* Adds the companion to LD_PRELOAD, for the programs that this process executes. Ends the command if that cannot be done. */
void preloadCompanion(void);
/* Where directories for records may be: the first that is not NULL, and can be written to, is used. */
enum { TRACE_PARENTS = 3 };
void traceParents(const char *parents[TRACE_PARENTS]);
#define TRACE_DIRECTORY "runloop-trace-"
/* Runs a program with the companion preloaded, which leaves its files in a new directory. Calls `tick`, unless that is NULL, every so many
   seconds. Returns the program's exit status, or 128 + the signal that ended it; -1, after a line on stderr, if it cannot be executed.
   `records`: how many of each thread; 0: it only counts. A SIGTERM or SIGHUP to this process is passed on to the program. */
int launchTraced(char **program, unsigned long records, char directory[4096], double seconds, void (*tick)(void *),
                 void *info);
/* The number of that program's process. */
int launchedProcess(void);
/* Waits until a process has ended, or some seconds (0: no limit), or a signal comes. Returns whether it has ended. */
int waitForEnd(int process, double seconds);
/* Removes such a directory with what is in it. */
void removeDirectory(const char *directory);

/* Rings.c */

/* A thread of a traced process. */
struct Thread {
    struct TraceHeader header;
    int process;          /* from 1 on; header.process is the number in its PID namespace, which others may have, too */
    char processFile[32]; /* how the names of its process's files begin */
    struct Module *modules; /* of its process */
    uint64_t overwritten;   /* how many records were lost because the file was full */
};
/* A record with the thread that wrote it, and when: nanoseconds of CLOCK_BOOTTIME. */
struct Event {
    uint64_t time;
    struct TraceRecord record;
    uint32_t thread; /* an index */
};
struct Recording {
    struct Thread *threads;
    struct Event *events; /* by time */
    size_t threadCount, eventCount;
    int processCount;
};
/* Reads all files of a directory. A file that is none of ours, or of another version, is named in one line and left out. */
struct Recording readRecording(const char *directory);

/* Perfetto.c */

/* What an entry of a trace is. The numbers are those of TrackEvent.Type. */
enum Shape { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
struct Entry {
    enum Shape shape;
    uint64_t time, track;
    const char *name, *category;          /* NULL: none */
    const uint64_t *departing, *arriving; /* the numbers of arrows that begin or end here */
    size_t departingCount, arrivingCount;
    double count; /* of a counter */
    /* A note beside it: NULL, or a text. */
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
