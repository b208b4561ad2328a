/* runloop top: shows the run loops of all processes that are counted. */
#include "Stat.h"
#include "../RunLoopTrace/Companion.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void add(const char *directory, void *info) { addMetrics(info, directory, 0); }

static struct Sample takeSample(void)
{
    struct Sample sample = {.isQuiet = 1, .isOfLiving = 1};
    forEachDirectory(add, &sample);
    return sample;
}

static void wait(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

int topCommand(int count, char **arguments)
{
    double seconds = 2;
    int option, isBatch = 0;
    optind = 1;
    while ((option = getopt(count, arguments, "+bi:")) != -1) {
        if (option == '?')
            return printUsage(stderr);
        if (option == 'b')
            isBatch = 1;
        else if ((seconds = secondsOf(optarg)) == 0) {
            warn("SECONDS must be a number from 0.01 to 86400");
            return 2;
        }
    }
    if (optind != count)
        return printUsage(stderr);
    static const char *const nothing = "no process is being counted: start one with `runloop stat` or `runloop trace`";
    struct Sample last = takeSample();
    if (isBatch && last.count == 0)
        fail("%s", nothing);
    uint64_t lastTime = clockNow();
    for (;;) {
        wait(seconds);
        struct Sample now = takeSample(), change = copySample(&now);
        uint64_t time = clockNow();
        subtractSample(&change, &last);
        if (!isBatch && isatty(STDOUT_FILENO))
            fputs("\033[H\033[J", stdout);
        printTable(stdout, &change, (double)(time - lastTime) * 1e-9);
        if (!isBatch && now.count == 0)
            puts(nothing);
        if (fflush(stdout) != 0)
            return 1;
        if (isBatch)
            return 0;
        free(change.rows);
        free(last.rows);
        last = now;
        lastTime = time;
    }
}
