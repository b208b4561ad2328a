/* runloop trace: runs a program and writes a trace. */
#include "Command.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file is opened before the program runs: if it cannot be written, that is known at once. */
int traceCommand(int count, char **arguments)
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
        if (option == '?')
            return printUsage(stderr);
        if (*end != 0 || records < 64 || records > 1 << 24) {
            warn("RECORDS is a number from 64 to 16777216");
            return 2;
        }
    }
    if (optind == count)
        return printUsage(stderr);
    FILE *file = fopen(path, "wbe");
    if (file == NULL)
        fail("%s: %s", path, strerror(errno));
    int status = launchTraced(arguments + optind, records, directory, 0, NULL, NULL);
    struct Recording recording = readRecording(directory);
    removeDirectory(directory);
    drawTrace(&recording, file);
    if (ferror(file) | fclose(file))
        fail("%s: %s", path, strerror(errno));
    if (recording.threadCount == 0)
        warn("no run loop was seen: the program uses none, or is linked with librunloop.a, which cannot be traced");
    else
        warn("%s: %zu event%s of %zu thread%s; open it with https://ui.perfetto.dev", path, recording.eventCount,
             recording.eventCount == 1 ? "" : "s", recording.threadCount, recording.threadCount == 1 ? "" : "s");
    return status;
}
