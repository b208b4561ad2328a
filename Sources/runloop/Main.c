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
     "Runs a program and records what its run loops do: callbacks, sleeps, and arrows from each post, signal,\n"
     "message or wake-up to its effect. Open FILE (default: trace.pftrace) with https://ui.perfetto.dev. Child\n"
     "processes are recorded, too. The last RECORDS events of each thread are kept (default: 65536).\n",
     traceCommand},
    {"run", "[-s SECONDS[,abort]] [-b SIGNAL] PROGRAM [ARGUMENT ...]",
     "Runs a program so that `runloop explain` can query it. -s reports each callback that takes longer than\n"
     "SECONDS, once; -b adds a backtrace, for which SIGNAL is sent to the thread.\n",
     runCommand},
    {"explain", "PID", "Explains in plain words what each run loop of a process is doing, and why.\n", explainCommand},
    {"stat", "[-i SECONDS] PROGRAM [ARGUMENT ...] | PID",
     "Runs a program and counts what its run loops do: passes, sleeps, how long callbacks take, how late timers\n"
     "are. With PID, prints the counts so far of a process that `runloop stat` or `runloop trace` started. -i also\n"
     "prints the counts of each interval of SECONDS.\n",
     statCommand},
    {"top", "[-b] [-i SECONDS]",
     "Shows the run loops of all your processes that are being counted, every SECONDS (default: 2). -b prints\n"
     "them once.\n",
     topCommand},
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
    warn("unknown command `%s'; see `runloop --help'", name);
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
