/* Files.h: with system calls alone, since a signal handler may be what records first. */
#include "Files.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static char directory[4000];
static int hasReported;

void traceUseDirectory(const char *path)
{
    if (path != NULL && strlen(path) < sizeof directory)
        strcpy(directory, path);
}

int traceHasDirectory(void) { return directory[0] != 0; }

static void appendText(char **end, const char *text)
{
    size_t length = strlen(text);
    memcpy(*end, text, length + 1);
    *end += length;
}

static void appendNumber(char **end, unsigned number)
{
    if (number >= 10)
        appendNumber(end, number / 10);
    *(*end)++ = (char)('0' + number % 10);
    **end = 0;
}

/* One line for the whole process: what the first thread cannot do, the others cannot either. */
static void report(const char *path)
{
    char line[sizeof directory + 200], *end = line;
    if (__atomic_exchange_n(&hasReported, 1, __ATOMIC_RELAXED))
        return;
    appendText(&end, "runloop: not recorded: ");
    appendText(&end, path);
    appendText(&end, ": ");
    appendText(&end, strerrordesc_np(errno) ? strerrordesc_np(errno) : "unknown error");
    appendText(&end, "\n");
    if (write(STDERR_FILENO, line, (size_t)(end - line)) < 0)
        return;
}

/* DIRECTORY/PID.maps, DIRECTORY/PID-TID.ring or DIRECTORY/PID-TID.metrics. */
static void makePath(char *path, const char *suffix, int isOfThread)
{
    char *end = path;
    appendText(&end, directory);
    appendText(&end, "/");
    appendNumber(&end, (unsigned)getpid());
    if (isOfThread) {
        appendText(&end, "-");
        appendNumber(&end, (unsigned)gettid());
    }
    appendText(&end, suffix);
}

void *traceMapFile(const char *suffix, size_t size)
{
    char path[sizeof directory + 64];
    makePath(path, suffix, 1);
    /* A thread of an earlier program with this number, before exec(), may have left one. */
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        report(path);
        return NULL;
    }
    /* With blocks for all of it: a full disk fails here, not by SIGBUS in the middle of a callback. A file larger than the process may
       make would send it SIGXFSZ. */
    struct rlimit limit;
    int isTooLarge = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size;
    int error = isTooLarge ? EFBIG : posix_fallocate(fd, 0, (off_t)size);
    void *mapped = error == 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        errno = error ? error : errno;
        report(path);
        unlink(path);
    }
    close(fd);
    return mapped == MAP_FAILED ? NULL : mapped;
}

void traceCopyMaps(void)
{
    char path[sizeof directory + 64], buffer[4096];
    makePath(path, ".maps", 0);
    int from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    ssize_t size;
    while (from >= 0 && to >= 0 && (size = read(from, buffer, sizeof buffer)) > 0)
        if (write(to, buffer, (size_t)size) != size)
            break;
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
}

void traceReadName(const char *path, char name[TRACE_NAME_SIZE])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t size = read(fd, name, TRACE_NAME_SIZE - 1);
    close(fd);
    name[size > 0 ? size : 0] = 0;
    name[strcspn(name, "\n")] = 0;
}
