/* Reads the counters that librunloop-trace.so has written. The files are not trusted: the process may have died while it was writing, or
   may be writing at this moment. */
#include "Stat.h"
#include "../RunLoopTrace/Companion.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".metrics"

static void makePrintable(char name[TRACE_NAME_SIZE])
{
    name[TRACE_NAME_SIZE - 1] = 0;
    for (char *letter = name; *letter; letter++)
        if (iscntrl((unsigned char)*letter))
            *letter = '?';
}

/* Whether a name is PID-TID.metrics or PID.2-TID.metrics, for one process or, if `process` is 0, for any. */
static int isMetricsName(const char *name, int process)
{
    int its, end = 0;
    if (sscanf(name, "%d-%*d" SUFFIX "%n", &its, &end) != 1 || end == 0)
        sscanf(name, "%d.%*d-%*d" SUFFIX "%n", &its, &end);
    return end > 0 && name[end] == 0 && (process == 0 || its == process);
}

/* Reads a file. Returns NULL, or why the file is not a valid one. If the file has been removed, returns NULL and leaves `file` as it
   was. */
static const char *readMetricsFile(int directory, const char *name, struct MetricsFile *file)
{
    struct stat status;
    const char *trouble = "not written by this version of librunloop-trace";
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? NULL : strerror(errno);
    if (fstat(fd, &status) == 0 && status.st_uid != geteuid() && geteuid() != 0)
        trouble = "belongs to another user";
    else if (S_ISREG(status.st_mode) && status.st_size == sizeof *file &&
             pread(fd, file, sizeof *file, 0) == sizeof *file && file->magic == METRICS_MAGIC &&
             file->size == sizeof *file && isMetricsName(name, file->process)) {
        makePrintable(file->processName);
        makePrintable(file->threadName);
        trouble = NULL;
    }
    close(fd);
    return trouble;
}

static int isAlive(int process) { return kill(process, 0) == 0 || errno == EPERM; }

/* The mappings of a process, in a list of all processes that have been checked. */
struct Mapped {
    struct Mapped *next;
    int process, isHidden; /* whether reading it is not permitted, although the process runs */
    char *text;            /* NULL: it could not be read, or is empty */
};

static struct Mapped *readMapped(struct Mapped *next, int process)
{
    char path[64];
    size_t size = 0;
    struct Mapped *mapped = allocate(sizeof *mapped);
    *mapped = (struct Mapped){.next = next, .process = process};
    snprintf(path, sizeof path, "/proc/%d/maps", process);
    errno = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL || getdelim(&mapped->text, &size, 0, file) < 0) {
        mapped->isHidden = errno == EACCES || errno == EPERM;
        free(mapped->text);
        mapped->text = NULL;
    }
    if (file != NULL)
        fclose(file);
    return mapped;
}

/* Whether the thread that writes a file is still running; also true if that cannot be determined. If so, its process has the file mapped.
   The process ID alone proves nothing, as a process that has ended, or one in another PID namespace, may have had the same. */
static int isWritten(struct Mapped **known, const char *name, int process)
{
    char part[NAME_MAX + 3];
    struct Mapped *mapped = *known;
    while (mapped != NULL && mapped->process != process)
        mapped = mapped->next;
    if (mapped == NULL)
        *known = mapped = readMapped(*known, process);
    snprintf(part, sizeof part, "/%s\n", name);
    return mapped->isHidden || (mapped->text != NULL && strstr(mapped->text, part) != NULL);
}

static void freeMapped(struct Mapped *mapped)
{
    for (struct Mapped *next; mapped != NULL; mapped = next) {
        next = mapped->next;
        free(mapped->text);
        free(mapped);
    }
}

void addMetrics(struct Sample *sample, const char *directory, int process)
{
    DIR *list = opendir(directory);
    struct Mapped *mapped = NULL;
    struct dirent *entry;
    while (list != NULL && (entry = readdir(list)) != NULL) {
        struct MetricsFile file = {0};
        if (!isMetricsName(entry->d_name, process))
            continue;
        const char *trouble = readMetricsFile(dirfd(list), entry->d_name, &file);
        if (trouble != NULL && !sample->isQuiet)
            warn("%s/%s: %s; skipped", directory, entry->d_name, trouble);
        if (trouble != NULL || file.magic == 0 || (sample->isOfLiving && !isAlive(file.process)))
            continue;
        int isRunning = !file.ended && isWritten(&mapped, entry->d_name, file.process);
        sample->rows = reallocate(sample->rows, (sample->count + 1) * sizeof *sample->rows);
        struct Row *row = &sample->rows[sample->count++];
        *row = (struct Row){.process = file.process, .thread = file.thread, .began = file.began, .ended = file.ended};
        row->end = file.ended || isRunning ? KNOWN : file.sleep & 1 ? ASLEEP : AWAKE;
        memcpy(row->processName, file.processName, TRACE_NAME_SIZE);
        memcpy(row->threadName, file.threadName, TRACE_NAME_SIZE);
        metricsRead(&file, isRunning ? clockNow() : file.last, &row->metrics);
    }
    if (list != NULL)
        closedir(list);
    freeMapped(mapped);
}

void forEachDirectory(void (*function)(const char *directory, void *info), void *info)
{
    const char *parents[TRACE_PARENTS];
    traceParents(parents);
    for (int index = 0; index < TRACE_PARENTS; index++) {
        int isDouble = 0;
        for (int earlier = 0; earlier < index; earlier++)
            isDouble |= parents[index] && parents[earlier] && strcmp(parents[index], parents[earlier]) == 0;
        DIR *list = parents[index] && !isDouble ? opendir(parents[index]) : NULL;
        struct dirent *entry;
        struct stat status;
        char path[8192];
        while (list != NULL && (entry = readdir(list)) != NULL) {
            snprintf(path, sizeof path, "%s/%s", parents[index], entry->d_name);
            if (strncmp(entry->d_name, TRACE_DIRECTORY, strlen(TRACE_DIRECTORY)) == 0 && lstat(path, &status) == 0 &&
                S_ISDIR(status.st_mode) && (status.st_uid == geteuid() || geteuid() == 0))
                function(path, info);
        }
        if (list != NULL)
            closedir(list);
    }
}

/* Finds the directory of the files that a running process has mapped. Returns 0 if it has none mapped. */
static int findMapped(int process, char directory[4096])
{
    char path[64], line[8192], name[4096];
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", process);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        fail("%d: %s", process, errno == ENOENT ? "no such process" : strerror(errno));
    errno = 0;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%*s %*s %*s %*s %*s %4095[^\n]", name) != 1 || strrchr(name, '/') == NULL ||
            !isMetricsName(strrchr(name, '/') + 1, process))
            continue;
        strcpy(directory, dirname(name));
        found = 1;
    }
    if (errno != 0)
        fail("%d: %s", process, strerror(errno));
    fclose(file);
    return found;
}

struct Search {
    int process, found;
    char *directory;
};

static void look(const char *directory, void *info)
{
    struct Search *search = info;
    DIR *list = opendir(directory);
    struct dirent *entry;
    while (list != NULL && !search->found && (entry = readdir(list)) != NULL)
        if (isMetricsName(entry->d_name, search->process)) {
            snprintf(search->directory, 4096, "%s", directory);
            search->found = 1;
        }
    if (list != NULL)
        closedir(list);
}

int findMetrics(int process, char directory[4096])
{
    if (isAlive(process)) {
        if (!findMapped(process, directory))
            fail("%d: not being counted: start it with `runloop stat` or `runloop trace`", process);
        return 1;
    }
    struct Search search = {.process = process, .directory = directory};
    forEachDirectory(look, &search);
    if (!search.found)
        fail("%d: no such process", process);
    return 0;
}
