/* Implements Files.h, without stdio and malloc(), because the first event may be recorded in a signal handler. */
#include "Files.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static char directory[4000];
static int wasThere, hasReported;

/* Several processes can have the same PID, in different PID namespaces or before and after exec(). This is the ordinal of this process
   among them, from 1; 0 until the first file is created. */
static int ordinal;
enum { MOST_NAMES = 9999 };
/* The number of libraries that had been loaded and unloaded when the mappings were last copied. */
static uint64_t copied;

/* The child chooses a name, and copies its mappings, when it first records. */
static void forgetInChild(void)
{
    ordinal = 0;
    copied = 0;
}

void traceUseDirectory(const char *path)
{
    if (path != NULL && strlen(path) < sizeof directory)
        strcpy(directory, path);
    wasThere = access(directory, F_OK) == 0;
    pthread_atfork(NULL, NULL, forgetInChild);
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

ssize_t writeQuietly(int fd, const struct iovec *parts, int count)
{
    static const int numbers[] = {SIGPIPE, SIGXFSZ};
    static const struct timespec now;
    sigset_t both, before, pending, caused;
    sigemptyset(&both);
    sigaddset(&both, SIGPIPE);
    sigaddset(&both, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &both, &before);
    sigpending(&pending);
    ssize_t size = writev(fd, parts, count);
    int error = errno;
    sigemptyset(&caused);
    for (int index = 0; index < 2; index++)
        if (!sigismember(&pending, numbers[index]))
            sigaddset(&caused, numbers[index]);
    if (size < 0 && (error == EPIPE || error == EFBIG))
        sigtimedwait(&caused, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return size;
}

/* Prints one line for the process and the children it forks afterwards, since a file that the first thread cannot create, the others cannot
   either. Prints nothing if the directory has been removed: the command that reads it has ended, and this process has outlived it. */
static void report(const char *path)
{
    char line[sizeof directory + 200], *end = line;
    int error = errno;
    if ((wasThere && access(directory, F_OK) != 0) || __atomic_exchange_n(&hasReported, 1, __ATOMIC_RELAXED))
        return;
    appendText(&end, "runloop: not recorded: ");
    appendText(&end, path);
    appendText(&end, ": ");
    appendText(&end, strerrordesc_np(error) ? strerrordesc_np(error) : "unknown error");
    appendText(&end, "\n");
    writeQuietly(STDERR_FILENO, &(struct iovec){line, (size_t)(end - line)}, 1);
}

/* Writes the path of one of the files described in TraceFile.h. */
static void makePath(char *path, int its, const char *suffix, int isOfThread)
{
    char *end = path;
    appendText(&end, directory);
    appendText(&end, "/");
    appendNumber(&end, (unsigned)getpid());
    if (its > 1) {
        appendText(&end, ".");
        appendNumber(&end, (unsigned)its);
    }
    if (isOfThread) {
        appendText(&end, "-");
        appendNumber(&end, (unsigned)gettid());
    }
    appendText(&end, suffix);
}

/* Reserves the first name that no process has by creating its file of mappings. Another thread, or a signal handler on this one, may do
   this at the same time. Returns the ordinal of the name, or 0 if that file cannot be created. */
static int takeName(char *path)
{
    int its = __atomic_load_n(&ordinal, __ATOMIC_RELAXED);
    for (int next = 1; its == 0; next++) {
        makePath(path, next, ".maps", 0);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno == EEXIST && next < MOST_NAMES)
            continue;
        if (fd < 0)
            break;
        close(fd);
        if (__atomic_compare_exchange_n(&ordinal, &its, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            its = next;
        else
            unlink(path);
    }
    return its;
}

void *traceMapFile(const char *suffix, size_t size)
{
    char path[sizeof directory + 64];
    int its = takeName(path);
    if (its == 0) {
        report(path);
        return NULL;
    }
    makePath(path, its, suffix, 1);
    /* A thread that has ended may have had this thread ID. */
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        report(path);
        return NULL;
    }
    /* All blocks are allocated here, so that a full disk causes an error now and not SIGBUS in the middle of a callback. A file larger than
       the process's limit would send it SIGXFSZ. */
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

/* Stores the number of libraries that have been loaded and unloaded. */
static int countLibraries(struct dl_phdr_info *library, size_t size, void *count)
{
    (void)size;
    *(uint64_t *)count = library->dlpi_adds + library->dlpi_subs;
    return 1;
}

void traceCopyMaps(void)
{
    uint64_t count = 0;
    dl_iterate_phdr(countLibraries, &count);
    /* Nothing is opened in vain, because opening a file may kill a process that has locked itself into a sandbox. */
    if (__atomic_exchange_n(&copied, count, __ATOMIC_RELAXED) == count)
        return;
    char path[sizeof directory + 64], buffer[4096];
    makePath(path, ordinal, ".maps", 0);
    int from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    ssize_t size;
    while (from >= 0 && to >= 0 && (size = read(from, buffer, sizeof buffer)) > 0)
        if (writeQuietly(to, &(struct iovec){buffer, (size_t)size}, 1) != size)
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
