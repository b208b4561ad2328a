/* main.c - counts lines, words and bytes of a file or pipe with several threads, each of which lives in its run
 * loop.
 *
 *   main thread    a version-1 source reads the input             (reader.c)
 *                  a repeating timer prints the progress          (here)
 *   worker threads a version-0 source with a command buffer       (worker.c) counts (tally.c)
 *   every loop     an observer records what the loop did          (record.c)
 *
 * What happens, in order: each worker adds its source to its loop and thereby registers with main. When all have
 * registered, main begins to read, and gives each batch of lines to the worker with the fewest batches waiting. If
 * that worker is full, main removes its own source from its loop, and adds it again when the worker has room. At the
 * end of the input main closes the workers. Each one finishes its work, invalidates its source, and is removed; the
 * last removal stops main's loop. Then the sums of the workers are compared with an independent count (reference.c). */
#define _POSIX_C_SOURCE 200809L /* O_CLOEXEC */
#include "reader.h"
#include "reference.h"
#include "report.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { exitRight = 0, exitWrong = 1, exitUsage = 2 };
enum { maximumWorkers = 64, defaultWorkers = 4 };

static const char usage[] = "usage: demo [--workers N] [--slow] [FILE]\n"
                            "Counts the lines, words and bytes of FILE, or of standard input, with N worker threads\n"
                            "(1 to 64, 4 by default) that run their own loops, and checks the result against an\n"
                            "independent count. With --slow each batch of lines takes 10 ms longer, which shows\n"
                            "how main is held back.\n"
                            "Exit status: 0 if the totals are right, 1 if they are wrong or something else failed,\n"
                            "2 if the command line is invalid or the input cannot be read.\n";

typedef struct Demo {
    const char *inputName;
    int workerCount;
    bool slow;
    Worker workers[maximumWorkers];
    WorkerClient workerClient;
    Reader reader;
    ReaderClient readerClient;
    Reference *reference;
    LoopRecord record;

    /* Used on main's thread only: the workers' notifications are delivered in main's loop. */
    int current; /* index of the worker that gets the next batch */
    int registered, removed;
    int readError;
} Demo;

static bool fail(const char *what)
{
    fprintf(stderr, "demo: %s: %s\n", what, strerror(errno));
    return false;
}

/* ---- Called by the workers, in main's loop ---- */

static void chooseWorker(Demo *demo);

static void registerWorker(void *info)
{
    Worker *worker = info;
    Demo *demo = worker->client->info;
    if (++demo->registered == demo->workerCount) {
        chooseWorker(demo);
        readerResume(&demo->reader); /* all workers have checked in: begin to read */
    }
}

static void workerHasRoom(void *info)
{
    Worker *worker = info;
    Demo *demo = worker->client->info;
    readerResume(&demo->reader);
}

static void removeWorker(void *info)
{
    Worker *worker = info;
    Demo *demo = worker->client->info;
    if (++demo->removed == demo->workerCount)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

/* ---- Called by the reader, in main's loop ---- */

/* Chooses the worker with the fewest batches waiting; among equals, the next one in turn. */
static void chooseWorker(Demo *demo)
{
    int before = demo->current, fewest = 0;
    for (int i = 1; i <= demo->workerCount; i++) {
        int candidate = (before + i) % demo->workerCount;
        int waiting = workerCountWaiting(&demo->workers[candidate]);
        if (i == 1 || waiting < fewest) {
            demo->current = candidate;
            fewest = waiting;
        }
    }
}

static void bytesRead(void *info, const unsigned char *bytes, size_t length)
{
    Demo *demo = info;
    referenceAdd(demo->reference, bytes, length);
}

static void batchRead(void *info, Batch *batch, bool endsLine)
{
    Demo *demo = info;
    workerGive(&demo->workers[demo->current], batch);
    if (endsLine)
        chooseWorker(demo); /* otherwise the same worker receives the rest of the line */
    /* Back-pressure: while the source is not in the loop, nothing is read, and the pipe fills up. */
    if (workerIsFull(&demo->workers[demo->current]))
        readerPause(&demo->reader);
}

static void readingFinished(void *info, int error)
{
    Demo *demo = info;
    demo->readError = error;
    referenceFinish(demo->reference);
    for (int i = 0; i < demo->workerCount; i++)
        workerClose(&demo->workers[i]);
}

/* ---- Called by main's timer ---- */

static void printProgress(RLRunLoopTimerRef timer, void *info)
{
    Demo *demo = info;
    int waiting = 0;
    (void)timer;
    if (demo->registered < demo->workerCount)
        return;
    for (int i = 0; i < demo->workerCount; i++)
        waiting += workerCountWaiting(&demo->workers[i]);
    const char *more = "";
    if (!RLRunLoopSourceIsValid(demo->reader.source))
        more = ", end of input reached";
    else if (!demo->reader.reading)
        more = ", reading is paused";
    fprintf(stderr, "demo: %.1f MB read, batches waiting for a worker: %d%s\n", (double)demo->reader.bytes / 1e6,
            waiting, more);
}

/* ---- The job ---- */

static bool setUp(Demo *demo, int fd)
{
    demo->readerClient = (ReaderClient){bytesRead, batchRead, readingFinished, demo};
    demo->workerClient = (WorkerClient){RLRunLoopGetMain(), registerWorker, workerHasRoom, removeWorker, demo};
    demo->reference = referenceCreate();
    if (demo->reference == NULL || !readerInit(&demo->reader, fd, &demo->readerClient) ||
        !loopRecordBegin(&demo->record))
        return fail("cannot set up");
    for (int i = 0; i < demo->workerCount; i++) {
        if (!workerStart(&demo->workers[i], i + 1, demo->slow, &demo->workerClient))
            return fail("cannot start a worker");
    }
    return true;
}

static bool runLoop(Demo *demo)
{
    RLRunLoopTimerContext context = {.info = demo};
    RLRunLoopTimerRef progress =
        RLRunLoopTimerCreate(kRLAllocatorDefault, RLAbsoluteTimeGetCurrent() + 0.2, 0.2, 0, 0, printProgress, &context);
    if (progress == NULL)
        return fail("cannot create a timer");
    RLRunLoopTimerSetTolerance(progress, 0.05); /* may be a little late */
    /* The timer also keeps the loop running while the reader is paused: a run of an empty loop finishes. */
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), progress, kRLRunLoopDefaultMode);

    RLRunLoopRun(); /* until removeWorker stops it */

    RLRunLoopTimerInvalidate(progress);
    RLRelease(progress);
    loopRecordEnd(&demo->record);
    for (int i = 0; i < demo->workerCount; i++)
        workerJoin(&demo->workers[i]);
    return true;
}

static int conclude(Demo *demo)
{
    if (demo->readError != 0) {
        fprintf(stderr, "demo: %s: %s\n", demo->inputName, strerror(demo->readError));
        return exitUsage;
    }
    Tally total = {.table = NULL};
    for (int i = 0; i < demo->workerCount; i++)
        tallyMerge(&total, &demo->workers[i].tally);
    printf("%s, counted by %d worker%s\n\n", demo->inputName, demo->workerCount, demo->workerCount == 1 ? "" : "s");
    reportSummary(demo->workers, demo->workerCount, &demo->record, &demo->reader, &total);
    bool right = referenceAgrees(demo->reference, &total);
    puts(right ? "check: an independent count of the same bytes agrees" : "check: FAILED");
    tallyFree(&total);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "demo: cannot write the summary: %s\n", strerror(errno));
        return exitWrong;
    }
    return right ? exitRight : exitWrong;
}

static void tearDown(Demo *demo)
{
    for (int i = 0; i < demo->workerCount; i++)
        workerFree(&demo->workers[i]);
    readerFree(&demo->reader);
    referenceDestroy(demo->reference);
}

/* ---- The program ---- */

/* If a standard stream is closed, the next file opened by the program or the library would get its number, and
 * receive the printed text. Fill the gaps with descriptors that refuse to be used. */
static bool fillStandardStreams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return false;
    }
    return true;
}

/* Returns -1 to continue, or an exit status. */
static int parseArguments(Demo *demo, int count, char **arguments)
{
    bool options = true, hasFile = false;
    for (int i = 1; i < count; i++) {
        const char *argument = arguments[i];
        if (options && strcmp(argument, "--help") == 0)
            return fputs(usage, stdout) >= 0 && fflush(stdout) == 0 ? exitRight : exitWrong;
        if (options && strcmp(argument, "--") == 0) {
            options = false;
        } else if (options && strcmp(argument, "--slow") == 0) {
            demo->slow = true;
        } else if (options && strcmp(argument, "--workers") == 0 && i + 1 < count) {
            char *end;
            long number = strtol(arguments[++i], &end, 10);
            if (*end != '\0' || number < 1 || number > maximumWorkers) {
                fprintf(stderr, "demo: %s: must be from 1 to %d\n", arguments[i], maximumWorkers);
                return exitUsage;
            }
            demo->workerCount = (int)number;
        } else if ((options && argument[0] == '-' && argument[1] != '\0') || hasFile) {
            fprintf(stderr, "demo: %s: invalid argument\n%s", argument, usage);
            return exitUsage;
        } else {
            demo->inputName = argument;
            hasFile = true;
        }
    }
    return -1;
}

int main(int count, char **arguments)
{
    static Demo demo = {.inputName = "-", .workerCount = defaultWorkers}; /* zeroed, and large for a stack */
    signal(SIGPIPE, SIG_IGN); /* a closed stdout makes printf fail instead of ending the program */
    if (!fillStandardStreams())
        return exitWrong;
    int status = parseArguments(&demo, count, arguments);
    if (status >= 0)
        return status;

    int fd = STDIN_FILENO;
    if (strcmp(demo.inputName, "-") == 0) {
        demo.inputName = "standard input";
    } else if ((fd = open(demo.inputName, O_RDONLY | O_CLOEXEC)) < 0) {
        fail(demo.inputName);
        return exitUsage;
    }
    if (!setUp(&demo, fd) || !runLoop(&demo))
        return exitWrong; /* exiting also ends all threads that were started */
    status = conclude(&demo);
    tearDown(&demo);
    if (fd != STDIN_FILENO)
        close(fd);
    return status;
}
