/* runloop trace: runs a program and writes a trace. */
#include "Command.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opens the file before the program runs, so that it is known at once if it cannot be written. An earlier trace stays until there is a new
   one. */
static FILE *openTrace(const char *path, int *isNew)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *isNew = fd >= 0;
    if (fd < 0 && errno == EEXIST)
        fd = open(path, O_WRONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file == NULL)
        fail("%s: %s", path, strerror(errno));
    return file;
}

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
            warn("RECORDS must be a number from 64 to 16777216");
            return 2;
        }
    }
    if (optind == count)
        return printUsage(stderr);
    int isNew;
    FILE *file = openTrace(path, &isNew);
    int status = launchTraced(arguments + optind, records, directory, 0, NULL, NULL);
    if (status < 0) {
        if (isNew)
            unlink(path);
        return 1;
    }
    struct Recording recording = readRecording(directory);
    removeDirectory(directory);
    int error = ftruncate(fileno(file), 0) != 0 && errno != EINVAL; /* EINVAL: a pipe, or a device */
    drawTrace(&recording, file);
    if (error | ferror(file) | fclose(file))
        fail("%s: %s", path, strerror(errno));
    if (recording.threadCount == 0)
        warn(NO_LOOP);
    else
        warn("%s: %zu event%s from %zu thread%s; open it with https://ui.perfetto.dev", path, recording.eventCount,
             recording.eventCount == 1 ? "" : "s", recording.threadCount, recording.threadCount == 1 ? "" : "s");
    return status;
}
