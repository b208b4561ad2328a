/* Starts a program with librunloop-trace.so preloaded. */
#include "Command.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMPANION "librunloop-trace.so"

/* Finds the companion beside the libraries that this command was installed with. Otherwise returns only its name, which the loader looks up
   in its usual directories. */
static void findCompanion(char path[4096])
{
    static const char *const folders[] = {"../lib/runloop", "../lib/x86_64-linux-gnu/runloop",
                                          "../lib/aarch64-linux-gnu/runloop", "../lib64/runloop"};
    char self[2048];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *folder = dirname(self);
    for (size_t index = 0; length > 0 && index < sizeof folders / sizeof *folders; index++) {
        char candidate[4096];
        snprintf(candidate, sizeof candidate, "%s/%s/%s", folder, folders[index], COMPANION);
        if (realpath(candidate, path) != NULL)
            return;
    }
    strcpy(path, COMPANION);
}

/* Libraries that are already preloaded stay. */
void preloadCompanion(void)
{
    char companion[4096], preload[8192];
    const char *others = getenv("LD_PRELOAD");
    findCompanion(companion);
    if (strpbrk(companion, " :") != NULL)
        fail("%s: cannot be preloaded because its path contains a space or a colon", companion);
    snprintf(preload, sizeof preload, "%s%s%s", companion, others && *others ? ":" : "", others ? others : "");
    setenv("LD_PRELOAD", preload, 1);
}

static void setEnvironment(const char *directory, unsigned long records)
{
    char number[32];
    snprintf(number, sizeof number, "%lu", records);
    setenv("RUNLOOP_TRACE", directory, 1);
    setenv("RUNLOOP_TRACE_RECORDS", number, 1);
}

void traceParents(const char *parents[TRACE_PARENTS])
{
    parents[0] = getenv("XDG_RUNTIME_DIR");
    parents[1] = getenv("TMPDIR");
    parents[2] = "/tmp";
    for (size_t index = 0; index < TRACE_PARENTS; index++)
        if (parents[index] != NULL && parents[index][0] != '/')
            parents[index] = NULL;
}

/* Whether there is room for the files of 16 threads. */
static int hasRoom(const char *parent, unsigned long records)
{
    struct statvfs room;
    return statvfs(parent, &room) == 0 && (uint64_t)room.f_bavail * room.f_frsize >=
                                              16 * (sizeof(struct TraceHeader) + records * sizeof(struct TraceRecord));
}

/* Creates the directory for the records: in memory, if the system has such a place for this user, and there is room. If no place has enough
   room, the first that can be written to is used. */
static void makeDirectory(char directory[4096], unsigned long records)
{
    const char *parents[TRACE_PARENTS];
    traceParents(parents);
    for (int needsRoom = 1; needsRoom >= 0; needsRoom--)
        for (size_t index = 0; index < TRACE_PARENTS; index++) {
            if (parents[index] == NULL || (needsRoom && !hasRoom(parents[index], records)))
                continue;
            int length = snprintf(directory, 4096, "%s/" TRACE_DIRECTORY "XXXXXX", parents[index]);
            if (length < 4000 && mkdtemp(directory) != NULL)
                return;
        }
    fail("cannot create a directory for the records: %s", strerror(errno));
}

int waitForEnd(int process, double seconds)
{
    int fd = (int)syscall(SYS_pidfd_open, process, 0);
    if (fd < 0 && errno == ESRCH)
        return 1;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    struct timespec limit = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    int count = ppoll(&end, fd < 0 ? 0 : 1, seconds > 0 ? &limit : NULL, NULL);
    if (fd >= 0)
        close(fd);
    return count > 0;
}

/* --- signals -------------------------------------------------------------------------------------------------------------- */

static pid_t child;

int launchedProcess(void) { return child; }

static void passOn(int number) { kill(child, number); }

/* When a signal has ended the program, this command still has to write what the program did, so the command survives these signals. A
   terminal sends an interrupt to the program as well; a signal sent to the command alone is passed on. A signal that was ignored stays
   ignored, except SIGCHLD, which waitpid() needs. The program gets the original settings. */
static const struct {
    int number;
    void (*handler)(int);
} survived[] = {{SIGINT, SIG_IGN}, {SIGQUIT, SIG_IGN}, {SIGTERM, passOn}, {SIGHUP, passOn}, {SIGCHLD, SIG_DFL}};
enum { SURVIVED = sizeof survived / sizeof *survived };

struct Signals {
    sigset_t mask;
    struct sigaction actions[SURVIVED];
};

/* Sets the handlers, and blocks the signals to be passed on until `begin` has created the process that they are for. */
static void block(struct Signals *before)
{
    sigset_t passed;
    sigemptyset(&passed);
    sigaddset(&passed, SIGTERM);
    sigaddset(&passed, SIGHUP);
    sigprocmask(SIG_BLOCK, &passed, &before->mask);
    for (int index = 0; index < SURVIVED; index++) {
        struct sigaction action = {.sa_handler = survived[index].handler, .sa_flags = SA_RESTART};
        sigaction(survived[index].number, NULL, &before->actions[index]);
        if (before->actions[index].sa_handler != SIG_IGN || survived[index].number == SIGCHLD)
            sigaction(survived[index].number, &action, NULL);
    }
}

static void restore(const struct Signals *before)
{
    for (int index = 0; index < SURVIVED; index++)
        sigaction(survived[index].number, &before->actions[index], NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* Creates the child process. Returns 0, or the error number if the program cannot be executed. */
static int begin(char **program, const char *directory, unsigned long records)
{
    struct Signals before;
    int failure[2], error = 0;
    if (pipe2(failure, O_CLOEXEC) != 0)
        return errno;
    block(&before);
    child = fork();
    if (child == 0) {
        restore(&before);
        setEnvironment(directory, records);
        execvp(program[0], program);
        error = errno;
        _exit(write(failure[1], &error, sizeof error) == sizeof error ? 127 : 126);
    }
    if (child < 0)
        error = errno;
    close(failure[1]);
    if (child > 0 && read(failure[0], &error, sizeof error) == sizeof error)
        waitpid(child, NULL, 0);
    close(failure[0]);
    if (error != 0)
        restore(&before);
    else
        sigprocmask(SIG_SETMASK, &before.mask, NULL);
    return error;
}

int launchTraced(char **program, unsigned long records, char directory[4096], double seconds, void (*tick)(void *),
                 void *info)
{
    int status = 0;
    preloadCompanion();
    makeDirectory(directory, records);
    int error = begin(program, directory, records);
    if (error != 0) {
        removeDirectory(directory);
        warn("%s: %s", program[0], strerror(error));
        return -1;
    }
    while (tick != NULL && !waitForEnd(child, seconds))
        tick(info);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void emptyDirectory(const char *directory)
{
    DIR *list = opendir(directory);
    struct dirent *entry;
    while (list != NULL && (entry = readdir(list)) != NULL)
        unlinkat(dirfd(list), entry->d_name, 0);
    if (list != NULL)
        closedir(list);
}

void removeDirectory(const char *directory)
{
    /* A process that outlives the program may create its files meanwhile. */
    for (int attempt = 0; attempt < 100; attempt++) {
        emptyDirectory(directory);
        if (rmdir(directory) == 0 || errno != ENOTEMPTY)
            return;
    }
}
