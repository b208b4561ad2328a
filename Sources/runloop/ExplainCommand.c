/* runloop explain: asks a process what its loops are doing. */
#include "../RunLoopTrace/Inspection.h"
#include "Command.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIME_LIMIT 100 /* tenths of a second */

/* Returns the content of a file below /proc/PID, whose size is not known in advance, and a terminating 0. NULL if it cannot be read. */
static char *readOf(int process, const char *name, size_t *size)
{
    char path[64], *content = allocate(1);
    ssize_t got = -1;
    snprintf(path, sizeof path, "/proc/%d/%s", process, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (*size = 0; fd >= 0; *size += (size_t)got) {
        content = reallocate(content, *size + 4097);
        if ((got = read(fd, content + *size, 4096)) <= 0)
            break;
    }
    if (fd >= 0)
        close(fd);
    content[*size] = 0;
    if (got == 0)
        return content;
    free(content);
    return NULL;
}

static char stateOf(int thread)
{
    size_t size;
    char *text = readOf(thread, "stat", &size), *end = text ? strrchr(text, ')') : NULL;
    char state = end != NULL && end[1] == ' ' ? end[2] : 0;
    free(text);
    return state;
}

/* Returns a thread of the process that has not ended: normally the main thread, but that may have called pthread_exit(). 0 if there is
   none. */
static int livingThreadOf(int process)
{
    char path[64], state = stateOf(process);
    if (state != 0 && state != 'Z')
        return process;
    snprintf(path, sizeof path, "/proc/%d/task", process);
    DIR *tasks = opendir(path);
    struct dirent *entry;
    int living = 0;
    while (tasks != NULL && living == 0 && (entry = readdir(tasks)) != NULL) {
        int thread = atoi(entry->d_name);
        state = thread > 0 ? stateOf(thread) : 0;
        living = state != 0 && state != 'Z' && state != 'X' ? thread : 0;
    }
    if (tasks != NULL)
        closedir(tasks);
    return living;
}

/* Exits if the process cannot answer. Returns one of the process's threads that has not ended. */
static int checkState(int process)
{
    int thread = livingThreadOf(process);
    char state = thread > 0 ? stateOf(thread) : 0;
    if (state == 'T' || state == 't')
        fail("process %d is stopped and cannot answer", process);
    if (state == 0 || state == 'Z')
        fail("process %d has ended", process);
    return thread;
}

/* Returns the process ID that a process has in its own PID namespace. */
static int numberInside(int process)
{
    size_t size;
    char *status = readOf(process, "status", &size), *line = status ? strstr(status, "\nNStgid:") : NULL;
    int number = process;
    for (char *word = line ? strtok(line, " \t\n") : NULL; (word = word ? strtok(NULL, "\t") : NULL) != NULL;) {
        number = atoi(word);
        if (strchr(word, '\n') != NULL)
            break;
    }
    free(status);
    return number;
}

/* Whether a process is in this command's IPC namespace, whose segments this command can attach; true if that is not known. */
static int sharesSegments(int process)
{
    char path[64], its[64] = "", ours[64] = "";
    snprintf(path, sizeof path, "/proc/%d/ns/ipc", process);
    ssize_t itsLength = readlink(path, its, sizeof its - 1),
            ourLength = readlink("/proc/self/ns/ipc", ours, sizeof ours - 1);
    return itsLength < 0 || ourLength < 0 || strcmp(its, ours) == 0;
}

/* Exits if the process cannot answer. Returns the process's /proc/PID/maps, which the caller frees. */
static char *checkProcess(int process)
{
    struct stat status;
    char path[64];
    size_t size;
    snprintf(path, sizeof path, "/proc/%d", process);
    if (stat(path, &status) != 0)
        fail("no process %d", process);
    if (status.st_uid != geteuid() && geteuid() != 0)
        fail("process %d belongs to another user", process);
    int thread = checkState(process);
    if (!sharesSegments(thread))
        fail("process %d is in another container (another IPC namespace): run this command inside it", process);
    char *maps = readOf(thread, "maps", &size);
    if (maps == NULL)
        fail("process %d: %s", process, strerror(errno));
    if (size == 0)
        fail("process %d has ended", process);
    if (strstr(maps, "/librunloop-trace.so") == NULL)
        fail("process %d cannot be queried: start it with `runloop run`", process);
    return maps;
}

/* Returns the shared memory through which a process is queried; exits if there is none. Leaves the process's other segments alone. */
static struct Inspection *findInspection(int process, char *maps)
{
    int inside = numberInside(process), isForbidden = 0;
    for (char *line = strtok(maps, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        unsigned long number;
        struct shmid_ds status;
        if (strstr(line, " /SYSV") == NULL || sscanf(line, "%*s %*s %*s %*s %lu", &number) != 1)
            continue;
        if (shmctl((int)number, IPC_STAT, &status) != 0) {
            isForbidden |= errno == EACCES;
            continue;
        }
        if (status.shm_segsz != sizeof(struct Inspection))
            continue;
        struct Inspection *found = shmat((int)number, NULL, 0);
        if (found == (void *)-1)
            continue;
        if (__atomic_load_n(&found->magic, __ATOMIC_ACQUIRE) == INSPECTION_MAGIC && found->size == sizeof *found &&
            found->process == inside)
            return found;
        shmdt(found);
    }
    if (isForbidden)
        fail("process %d was started as another user: only that user and root can query it", process);
    fail("process %d does not answer: it has not run a loop yet, or was not started with `runloop run`", process);
}

/* Returns a copy of the last answer, which another command may have asked for. Exits if the process has ended, since one that was killed
   while it wrote never finishes the answer. */
static char *copyText(int process, const struct Inspection *its)
{
    char *text = allocate(sizeof its->text + 1);
    for (;;) {
        uint32_t before = __atomic_load_n(&its->changes, __ATOMIC_ACQUIRE), length = its->length;
        if (length > sizeof its->text)
            length = 0;
        memcpy(text, its->text, length);
        text[length] = 0;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (before % 2 == 0 && before == __atomic_load_n(&its->changes, __ATOMIC_RELAXED))
            return text;
        checkState(process);
        usleep(1000);
    }
}

/* Queries a process and returns its answer, which the caller frees. Exits if there is no answer within ten seconds. */
static char *ask(int process, struct Inspection *its)
{
    uint32_t mine = __atomic_add_fetch(&its->asked, 1, __ATOMIC_SEQ_CST), answered;
    ringBell(&its->bell);
    for (int tenths = 0; (int32_t)((answered = __atomic_load_n(&its->answered, __ATOMIC_ACQUIRE)) - mine) < 0;
         tenths++) {
        checkState(process);
        if (tenths == TIME_LIMIT)
            fail("process %d does not answer", process);
        awaitBell(&its->answered, answered, 100000000);
    }
    return copyText(process, its);
}

int explainCommand(int count, char **arguments)
{
    char *end = NULL;
    long process = count == 2 ? strtol(arguments[1], &end, 10) : 0;
    if (process <= 0 || process > INT32_MAX || *end != 0)
        return printUsage(stderr);
    char *maps = checkProcess((int)process);
    char *text = ask((int)process, findInspection((int)process, maps));
    if (*text == 0)
        fail("process %d has not run a loop yet", (int)process);
    fputs(text, stdout);
    free(text);
    free(maps);
    return fflush(stdout) == 0 ? 0 : 1;
}
