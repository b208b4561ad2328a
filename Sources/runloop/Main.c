/* runloop - inspects the run loops of programs: see runloop(1) */
#include "Command.h"
#include <RunLoop/RLBase.h>
#include <locale.h>
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

/* The command that this process runs; NULL: none yet. */
static const struct Command *current;

int printUsage(FILE *file)
{
    const struct Command *first = current ? current : commands, *end = current ? current + 1 : commands + COMMANDS;
    for (const struct Command *command = first; command < end; command++)
        fprintf(file, "%s runloop %s %s\n", command == first ? "usage:" : "      ", command->name, command->synopsis);
    for (const struct Command *command = first; command < end; command++)
        fprintf(file, "\n%s: %s", command->name, command->summary);
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

static int isOneOf(const char *word, const char *full, const char *brief)
{
    return strcmp(word, full) == 0 || strcmp(word, brief) == 0;
}

static const struct Command *commandNamed(const char *name)
{
    for (size_t index = 0; index < COMMANDS; index++)
        if (strcmp(name, commands[index].name) == 0)
            return &commands[index];
    warn("no command `%s'; see `runloop --help'", name);
    exit(2);
}

static int printHelp(const char *command)
{
    current = command ? commandNamed(command) : NULL;
    printUsage(stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}

int main(int count, char **arguments)
{
    /* For mbrtowc(): texts are UTF-8. */
    setlocale(LC_CTYPE, "C.UTF-8");
    if (count < 2)
        return printUsage(stderr);
    if (isOneOf(arguments[1], "--help", "-h") || strcmp(arguments[1], "help") == 0)
        return printHelp(arguments[2]);
    if (isOneOf(arguments[1], "--version", "-V")) {
        printf("runloop %d.%d.%d\n", RL_VERSION_MAJOR, RL_VERSION_MINOR, RL_VERSION_PATCH);
        return 0;
    }
    current = commandNamed(arguments[1]);
    if (count > 2 && isOneOf(arguments[2], "--help", "-h"))
        return printHelp(arguments[1]);
    /* getopt() begins its messages with this name. */
    char name[64];
    snprintf(name, sizeof name, "runloop %s", current->name);
    arguments[1] = name;
    return current->run(count - 1, arguments + 1);
}
