/* Reading what librunloop-trace.so has written. Nothing that is in these files is trusted: the process may have died while it wrote, or
   may be writing at this moment. */
#include "Command.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t nanosecondsOf(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* What turns ticks into time: a reading of this moment, which with the one in a header makes a line. */
struct Clocks {
    uint64_t ticks, nanoseconds, asleep; /* asleep: what CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC */
};

static struct Clocks readClocks(void)
{
    struct Clocks now;
    now.nanoseconds = nanosecondsOf(CLOCK_MONOTONIC);
    now.ticks = traceHasCounter() ? traceCounter() : now.nanoseconds;
    now.asleep = nanosecondsOf(CLOCK_BOOTTIME) - nanosecondsOf(CLOCK_MONOTONIC);
    return now;
}

/* All threads are placed by one line, that of the thread that began first, so that what one does for the other is in order. */
static uint64_t timeOf(uint64_t ticks, const struct TraceHeader *first, const struct Clocks *now)
{
    if (now->ticks <= first->ticks)
        return now->nanoseconds + now->asleep;
    double rate = (double)(now->nanoseconds - first->nanoseconds) / (double)(now->ticks - first->ticks);
    double distance = (double)(int64_t)(ticks - first->ticks) * rate;
    return first->nanoseconds + (uint64_t)(int64_t)distance + now->asleep;
}

static int isOurs(const struct TraceHeader *header, size_t size)
{
    return size >= TRACE_HEADER_SIZE && header->magic == TRACE_MAGIC &&
           header->recordSize == sizeof(struct TraceRecord) && header->capacity >= 64 &&
           (header->capacity & (header->capacity - 1)) == 0 &&
           size == TRACE_HEADER_SIZE + (size_t)header->capacity * sizeof(struct TraceRecord);
}

/* The whole file; NULL if it cannot be read. */
static void *readFile(int directory, const char *name, size_t *size)
{
    struct stat status;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    char *content = allocate((size_t)status.st_size);
    ssize_t got;
    for (*size = 0; *size < (size_t)status.st_size; *size += (size_t)got)
        if ((got = read(fd, content + *size, (size_t)status.st_size - *size)) <= 0)
            break;
    close(fd);
    return content;
}

/* Adds the records of one file. Those that were overwritten while it was read, or were never finished, are out of order: they go. */
static void addRecords(struct Recording *recording, const struct TraceHeader *header)
{
    const struct TraceRecord *records = (const struct TraceRecord *)((const char *)header + TRACE_HEADER_SIZE);
    uint64_t count = header->written < header->capacity ? header->written : header->capacity;
    uint64_t first = header->written - count, last = 0;
    recording->events = reallocate(recording->events, (recording->eventCount + count) * sizeof(struct Event));
    for (uint64_t number = first; number < header->written; number++) {
        const struct TraceRecord *record = &records[number & (header->capacity - 1)];
        if (record->part < TRACE_WILL_CALL || record->part > TRACE_DROPPED || record->ticks < last)
            continue;
        last = record->ticks;
        recording->events[recording->eventCount++] =
            (struct Event){.time = number, .record = *record, .thread = (uint32_t)recording->threadCount};
    }
}

static void addThread(struct Recording *recording, const char *directory, struct TraceHeader *header)
{
    char path[8192];
    header->processName[TRACE_NAME_SIZE - 1] = header->threadName[TRACE_NAME_SIZE - 1] = 0;
    for (int index = 0; index < TRACE_MODES; index++)
        header->modeNames[index][TRACE_NAME_SIZE - 1] = 0;
    addRecords(recording, header);
    struct Thread thread = {.header = *header, .modules = NULL};
    thread.overwritten = header->written > header->capacity ? header->written - header->capacity : 0;
    for (size_t index = 0; index < recording->threadCount; index++)
        if (recording->threads[index].header.process == header->process)
            thread.modules = recording->threads[index].modules;
    snprintf(path, sizeof path, "%s/%d.maps", directory, header->process);
    if (thread.modules == NULL)
        thread.modules = readModules(path);
    recording->threads = reallocate(recording->threads, (recording->threadCount + 1) * sizeof thread);
    recording->threads[recording->threadCount++] = thread;
}

/* By time; what one thread wrote at one time as it was written. */
static int compareEvents(const void *left, const void *right)
{
    const struct Event *a = left, *b = right;
    if (a->record.ticks != b->record.ticks)
        return a->record.ticks < b->record.ticks ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->time < b->time ? -1 : 1;
}

struct Recording readRecording(const char *directory)
{
    struct Recording recording = {0};
    struct Clocks now = readClocks();
    DIR *list = opendir(directory);
    if (list == NULL)
        fail("%s: %s", directory, strerror(errno));
    struct dirent *entry;
    while ((entry = readdir(list)) != NULL) {
        size_t size, length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".ring") != 0)
            continue;
        struct TraceHeader *header = readFile(dirfd(list), entry->d_name, &size);
        if (header == NULL || !isOurs(header, size))
            warn("%s/%s: not a file of this version of librunloop-trace; left out", directory, entry->d_name);
        else
            addThread(&recording, directory, header);
        free(header);
    }
    closedir(list);
    const struct TraceHeader *first = NULL;
    for (size_t index = 0; index < recording.threadCount; index++)
        if (first == NULL || recording.threads[index].header.ticks < first->ticks)
            first = &recording.threads[index].header;
    if (recording.eventCount > 0)
        qsort(recording.events, recording.eventCount, sizeof *recording.events, compareEvents);
    for (size_t index = 0; index < recording.eventCount; index++)
        recording.events[index].time = timeOf(recording.events[index].record.ticks, first, &now);
    return recording;
}
