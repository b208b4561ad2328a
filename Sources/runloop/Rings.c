/* Reads the records that librunloop-trace.so has written. The files are not trusted: the process may have died while it was writing, or may
   be writing at this moment. */
#include "Command.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many of the records that the header counts as started may be unfinished. */
#define MARGIN 16

/* A reading of both clocks. Together with the one in a header, it determines the line by which ticks are converted to time. */
struct Clocks {
    uint64_t ticks, nanoseconds;
};

static struct Clocks readClocks(void)
{
    struct Clocks now = {.nanoseconds = traceClock()};
    now.ticks = traceHasCounter() ? traceCounter() : now.nanoseconds;
    return now;
}

/* Converts a reading of the counter to time. All threads use the line of the thread that began first, so that cause and effect in two
   threads stay in order. */
static uint64_t timeOf(uint64_t ticks, const struct TraceHeader *first, const struct Clocks *now)
{
    if (now->ticks <= first->ticks)
        return now->nanoseconds;
    double rate = (double)(now->nanoseconds - first->nanoseconds) / (double)(now->ticks - first->ticks);
    double distance = (double)(int64_t)(ticks - first->ticks) * rate;
    return first->nanoseconds + (uint64_t)(int64_t)distance;
}

/* Whether a file is complete and has the format of this version. */
static int isOurs(const struct TraceHeader *header, size_t size)
{
    return size >= TRACE_HEADER_SIZE && header->magic == TRACE_MAGIC &&
           header->recordSize == sizeof(struct TraceRecord) && header->capacity >= 64 &&
           (header->capacity & (header->capacity - 1)) == 0 &&
           size == TRACE_HEADER_SIZE + (size_t)header->capacity * sizeof(struct TraceRecord);
}

/* A ring that is read while its thread may still be writing. */
struct Ring {
    struct TraceHeader *header; /* the whole file; NULL if it cannot be read */
    size_t size;
    uint64_t writtenSince; /* how many records had been started when the last one had been read */
};

/* Reads a whole file; the caller frees its header. */
static struct Ring readRing(int directory, const char *name)
{
    struct Ring ring = {0};
    struct stat status;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        if (fd >= 0)
            close(fd);
        return ring;
    }
    char *content = allocate((size_t)status.st_size);
    ssize_t got;
    for (; ring.size < (size_t)status.st_size; ring.size += (size_t)got)
        if ((got = read(fd, content + ring.size, (size_t)status.st_size - ring.size)) <= 0)
            break;
    ring.header = (struct TraceHeader *)content;
    if (pread(fd, &ring.writtenSince, sizeof ring.writtenSince, offsetof(struct TraceHeader, written)) !=
        sizeof ring.writtenSince)
        ring.writtenSince = 0;
    close(fd);
    return ring;
}

/* Returns the number of the oldest record that was certainly not overwritten while the file was being read. In place of an overwritten
   record there is a newer one, after which all others would seem out of order. */
static uint64_t firstRecord(const struct Ring *ring)
{
    uint64_t written = ring->header->written, begun = ring->writtenSince;
    begun = begun > written ? begun + MARGIN : written;
    uint64_t first = begun > ring->header->capacity ? begun - ring->header->capacity : 0;
    return first < written ? first : written;
}

/* Adds the records of one file. Records that were never finished are out of order, and are left out. */
static void addRecords(struct Recording *recording, const struct TraceHeader *header, uint64_t first)
{
    const struct TraceRecord *records = (const struct TraceRecord *)((const char *)header + TRACE_HEADER_SIZE);
    uint64_t last = 0;
    recording->events =
        reallocate(recording->events, (recording->eventCount + header->written - first) * sizeof(struct Event));
    for (uint64_t number = first; number < header->written; number++) {
        const struct TraceRecord *record = &records[number & (header->capacity - 1)];
        if (record->part < TRACE_WILL_CALL || record->part > TRACE_DROPPED || record->ticks < last)
            continue;
        last = record->ticks;
        recording->events[recording->eventCount++] =
            (struct Event){.time = number, .record = *record, .thread = (uint32_t)recording->threadCount};
    }
}

/* Adds a thread with its records. The threads of one process share its number and modules. */
static void addThread(struct Recording *recording, const char *directory, const char *name, const struct Ring *ring)
{
    char path[8192];
    struct TraceHeader *header = ring->header;
    header->processName[TRACE_NAME_SIZE - 1] = header->threadName[TRACE_NAME_SIZE - 1] = 0;
    for (int index = 0; index < TRACE_MODES; index++)
        header->modeNames[index][TRACE_NAME_SIZE - 1] = 0;
    struct Thread thread = {.header = *header, .overwritten = firstRecord(ring)};
    snprintf(thread.processFile, sizeof thread.processFile, "%.*s", (int)strcspn(name, "-"), name);
    addRecords(recording, header, thread.overwritten);
    for (size_t index = 0; index < recording->threadCount; index++)
        if (strcmp(recording->threads[index].processFile, thread.processFile) == 0) {
            thread.process = recording->threads[index].process;
            thread.modules = recording->threads[index].modules;
        }
    snprintf(path, sizeof path, "%s/%s.maps", directory, thread.processFile);
    if (thread.process == 0) {
        thread.process = ++recording->processCount;
        thread.modules = readModules(path);
    }
    recording->threads = reallocate(recording->threads, (recording->threadCount + 1) * sizeof thread);
    recording->threads[recording->threadCount++] = thread;
}

/* Orders events by time; events of one thread at the same time as they were written. */
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
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".ring") != 0)
            continue;
        struct Ring ring = readRing(dirfd(list), entry->d_name);
        if (ring.header == NULL || !isOurs(ring.header, ring.size))
            warn("%s/%s: not written by this version of librunloop-trace; skipped", directory, entry->d_name);
        else
            addThread(&recording, directory, entry->d_name, &ring);
        free(ring.header);
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
