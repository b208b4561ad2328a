/* runloop - looks into the run loops of programs: runloop(1) */
#include "Command.h"
#include <RunLoop/RLBase.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct Command {
    const char *name, *synopsis, *summary;
    int (*run)(int count, char **arguments);
} commands[] = {
    {"trace", "[-o FILE] [-n RECORDS] PROGRAM [ARGUMENT ...]",
     "Runs a program and writes what its run loops did: callbacks, sleeps, and arrows from what was sent to\n"
     "what came of it. FILE (trace.pftrace) is opened with https://ui.perfetto.dev. Processes that the program\n"
     "starts are in it, too. Each thread keeps its last RECORDS events (65536).\n",
     traceCommand},
    {"run", "[-s SECONDS[,abort]] [-b SIGNAL] PROGRAM [ARGUMENT ...]",
     "Runs a program that `runloop explain` can ask. -s names callbacks that last longer than SECONDS, once\n"
     "each; -b adds a backtrace, for which SIGNAL is sent to the thread.\n",
     runCommand},
    {"explain", "PID", "Says in plain words what each run loop of a process does, and why.\n", explainCommand},
    {"stat", "[-i SECONDS] PROGRAM [ARGUMENT ...] | PID",
     "Counts what the run loops of a program do, or says what has been counted of a process that was started in\n"
     "this way: passes, sleeps, how long callbacks take, how late timers are. -i also prints every so often.\n",
     statCommand},
    {"top", "[-b] [-i SECONDS]",
     "Shows the run loops of all your processes that are counted, every so many seconds (2). -b: once.\n", topCommand},
};

#define COMMANDS (sizeof commands / sizeof *commands)

int printUsage(FILE *file)
{
    for (size_t index = 0; index < COMMANDS; index++)
        fprintf(file, "%s runloop %s %s\n", index == 0 ? "usage:" : "      ", commands[index].name,
                commands[index].synopsis);
    for (size_t index = 0; index < COMMANDS; index++)
        fprintf(file, "\n%s: %s", commands[index].name, commands[index].summary);
    return 2;
}

void warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("runloop: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("runloop: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void *allocate(size_t size) { return reallocate(NULL, size); }

void *reallocate(void *memory, size_t size)
{
    void *new = realloc(memory, size ? size : 1);
    if (new == NULL)
        fail("out of memory");
    return new;
}

int main(int count, char **arguments)
{
    for (size_t index = 0; count > 1 && index < COMMANDS; index++)
        if (strcmp(arguments[1], commands[index].name) == 0)
            return commands[index].run(count - 1, arguments + 1);
    int isHelp = count == 2 && (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0);
    if (count == 2 && strcmp(arguments[1], "--version") == 0) {
        printf("runloop %d.%d.%d\n", RL_VERSION_MAJOR, RL_VERSION_MINOR, RL_VERSION_PATCH);
        return 0;
    }
    printUsage(isHelp ? stdout : stderr);
    return isHelp ? 0 : 2;
}
