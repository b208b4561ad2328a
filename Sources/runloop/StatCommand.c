/* runloop stat: counts what the run loops of a program do. */
#include "Stat.h"
#include "../RunLoopTrace/Companion.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is being observed, and what was last seen. */
struct Watched {
    const char *directory;
    int process; /* 0: all that have files there */
    FILE *output;
    double seconds;
    struct Sample last;
};

static volatile sig_atomic_t isInterrupted;
static void interrupt(int number)
{
    (void)number;
    isInterrupted = 1;
}

double secondsOf(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    return end != text && *end == 0 && seconds >= 0.01 && seconds <= 86400 ? seconds : 0;
}

void subtractSample(struct Sample *sample, const struct Sample *earlier)
{
    for (size_t index = 0; index < sample->count; index++)
        for (size_t other = 0; other < earlier->count; other++) {
            struct Row *row = &sample->rows[index];
            const struct Row *before = &earlier->rows[other];
            if (row->process == before->process && row->thread == before->thread && row->began == before->began)
                metricsSubtract(&row->metrics, &before->metrics);
        }
}

struct Sample copySample(const struct Sample *sample)
{
    struct Sample copy = *sample;
    copy.rows = allocate(sample->count * sizeof *copy.rows);
    if (sample->count > 0)
        memcpy(copy.rows, sample->rows, sample->count * sizeof *copy.rows);
    return copy;
}

/* Prints what has been counted since the last time. Threads that had exited by then are left out. */
static void printInterval(void *info)
{
    struct Watched *watched = info;
    struct Sample now = {.isQuiet = 1}, running = {0};
    addMetrics(&now, watched->directory, watched->process);
    struct Sample change = copySample(&now);
    subtractSample(&change, &watched->last);
    for (size_t index = 0; index < change.count; index++)
        if (change.rows[index].metrics.elapsed > 0)
            change.rows[running.count++] = change.rows[index];
    running.rows = change.rows;
    if (running.count > 0)
        printTable(watched->output, &running, 0);
    fputc('\n', watched->output);
    fflush(watched->output);
    free(change.rows);
    free(watched->last.rows);
    watched->last = now;
}

/* Extends the counts of the program that was launched until `end`, when it ended. If its process has executed several programs, that is the
   end of the last one. */
static void addTimeUntilEnd(struct Sample *sample, int process, uint64_t end)
{
    for (size_t index = 0; index < sample->count; index++) {
        struct Row *row = &sample->rows[index];
        uint64_t last = row->began + row->metrics.elapsed;
        int isLast = row->process == process && row->end != KNOWN && last < end;
        for (size_t other = 0; other < sample->count; other++)
            isLast &= sample->rows[other].process != process || sample->rows[other].began <= row->began ||
                      sample->rows[other].thread != row->thread;
        if (!isLast)
            continue;
        row->metrics.elapsed += end - last;
        row->metrics.slept += row->end == ASLEEP ? end - last : 0;
        row->end = KNOWN;
    }
}

static int statProgram(char **program, double seconds)
{
    char directory[4096];
    struct Watched watched = {.directory = directory, .output = stderr, .seconds = seconds};
    int status = launchTraced(program, 0, directory, seconds, seconds > 0 ? printInterval : NULL, &watched);
    uint64_t end = clockNow();
    struct Sample all = {0};
    if (status < 0)
        return 1;
    addMetrics(&all, directory, 0);
    addTimeUntilEnd(&all, launchedProcess(), end);
    removeDirectory(directory);
    printSummary(stderr, &all);
    if (all.count == 0)
        warn(NO_LOOP);
    free(all.rows);
    free(watched.last.rows);
    return status;
}

/* Prints the counts of a process that was started earlier. With `seconds`, also prints a table at each interval, and the summary has only
   what was counted meanwhile. */
static int statProcess(int process, double seconds)
{
    char directory[4096];
    struct Sample first = {0}, all = {.isQuiet = 1};
    struct Watched watched = {.directory = directory, .process = process, .output = stdout, .seconds = seconds};
    int isRunning = findMetrics(process, directory);
    if (isRunning && seconds > 0) {
        struct sigaction action = {.sa_handler = interrupt};
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        addMetrics(&first, directory, process);
        watched.last = copySample(&first);
        while (!isInterrupted && !waitForEnd(process, seconds))
            if (!isInterrupted)
                printInterval(&watched);
        addMetrics(&all, directory, process);
        /* The directory is removed when the process ends, if another `runloop stat` started it. */
        if (all.count == 0)
            all = copySample(&watched.last);
        subtractSample(&all, &first);
    } else {
        all.isQuiet = 0;
        addMetrics(&all, directory, process);
    }
    printSummary(stdout, &all);
    if (!isRunning)
        warn("%d has ended", process);
    if (all.count == 0)
        fail("%d: no run loop was seen", process);
    return fflush(stdout) == 0 ? 0 : 1;
}

int statCommand(int count, char **arguments)
{
    double seconds = 0;
    int option;
    optind = 1;
    while ((option = getopt(count, arguments, "+i:")) != -1) {
        if (option == '?')
            return printUsage(stderr);
        seconds = secondsOf(optarg);
        if (seconds == 0) {
            warn("SECONDS must be a number from 0.01 to 86400");
            return 2;
        }
    }
    if (optind == count)
        return printUsage(stderr);
    char *end;
    long process = strtol(arguments[optind], &end, 10);
    if (*end == 0 && process > 0 && process <= INT32_MAX && optind == count - 1)
        return statProcess((int)process, seconds);
    return statProgram(arguments + optind, seconds);
}
