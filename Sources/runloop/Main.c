/* runloop - looks into the run loops of programs: runloop(1) */
#include "Command.h"
#include <RunLoop/RLBase.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: runloop trace [-o FILE] [-n RECORDS] PROGRAM [ARGUMENT ...]\n"
    "\n"
    "Runs a program and writes what its run loops did: callbacks, sleeps, and arrows from what was sent to\n"
    "what came of it. FILE (trace.pftrace) is opened with https://ui.perfetto.dev. Processes that the program\n"
    "starts are in it, too. Each thread keeps its last RECORDS events (65536).\n";

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

/* The file is opened before the program runs: if it cannot be written, that is known at once. */
static int trace(int count, char **arguments)
{
    const char *path = "trace.pftrace";
    unsigned long records = 65536;
    int option;
    char directory[4096];
    optind = 1;
    while ((option = getopt(count, arguments, "+o:n:")) != -1) {
        char *end = "";
        if (option == 'o')
            path = optarg;
        else if (option == 'n')
            records = strtoul(optarg, &end, 10);
        if (option == '?' || *end != 0 || records < 64 || records > 1 << 24) {
            fputs(option == '?' ? usage : "runloop: RECORDS is a number from 64 to 16777216\n", stderr);
            return 2;
        }
    }
    if (optind == count) {
        fputs(usage, stderr);
        return 2;
    }
    FILE *file = fopen(path, "wbe");
    if (file == NULL)
        fail("%s: %s", path, strerror(errno));
    int status = launchTraced(arguments + optind, records, directory);
    struct Recording recording = readRecording(directory);
    removeDirectory(directory);
    drawTrace(&recording, file);
    if (ferror(file) | fclose(file))
        fail("%s: %s", path, strerror(errno));
    if (recording.threadCount == 0)
        warn("no run loop was seen: the program uses none, or is linked with librunloop.a, which cannot be traced");
    else
        warn("%s: %zu events of %zu threads; open it with https://ui.perfetto.dev", path, recording.eventCount,
             recording.threadCount);
    return status;
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "trace") == 0)
        return trace(count - 1, arguments + 1);
    int isHelp = count == 2 && (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0);
    if (count == 2 && strcmp(arguments[1], "--version") == 0) {
        printf("runloop %d.%d.%d\n", RL_VERSION_MAJOR, RL_VERSION_MINOR, RL_VERSION_PATCH);
        return 0;
    }
    fputs(usage, isHelp ? stdout : stderr);
    return isHelp ? 0 : 2;
}
