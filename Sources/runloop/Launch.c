/* Starting a program with librunloop-trace.so preloaded. */
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMPANION "librunloop-trace.so"

/* Beside the libraries that this command was installed with; otherwise its name alone, which the loader looks for where it looks for
   libraries. */
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

/* What is preloaded already stays. */
void preloadCompanion(void)
{
    char companion[4096], preload[8192];
    const char *others = getenv("LD_PRELOAD");
    findCompanion(companion);
    snprintf(preload, sizeof preload, "%s%s%s", companion, others && *others ? ":" : "", others ? others : "");
    setenv("LD_PRELOAD", preload, 1);
}

static void setEnvironment(const char *directory, unsigned long records)
{
    char number[32];
    preloadCompanion();
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

/* In memory, if the system has such a place for this user. */
static void makeDirectory(char directory[4096])
{
    const char *parents[TRACE_PARENTS];
    traceParents(parents);
    for (size_t index = 0; index < TRACE_PARENTS; index++) {
        if (parents[index] == NULL)
            continue;
        int length = snprintf(directory, 4096, "%s/" TRACE_DIRECTORY "XXXXXX", parents[index]);
        if (length < 4000 && mkdtemp(directory) != NULL)
            return;
    }
    fail("no directory for records: %s", strerror(errno));
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

int launchTraced(char **program, unsigned long records, char directory[4096], double seconds, void (*tick)(void *),
                 void *info)
{
    makeDirectory(directory);
    int status, failure[2], error = 0;
    if (pipe2(failure, O_CLOEXEC) != 0)
        fail("pipe: %s", strerror(errno));
    /* An interrupt from the terminal ends the program; what it did until then is still to be written. */
    struct sigaction ignored = {.sa_handler = SIG_IGN}, interrupt, quit;
    sigaction(SIGINT, &ignored, &interrupt);
    sigaction(SIGQUIT, &ignored, &quit);
    pid_t child = fork();
    if (child == 0) {
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
        setEnvironment(directory, records);
        execvp(program[0], program);
        error = errno;
        _exit(write(failure[1], &error, sizeof error) == sizeof error ? 127 : 126);
    }
    close(failure[1]);
    if (child < 0 || read(failure[0], &error, sizeof error) == sizeof error) {
        if (child < 0)
            error = errno;
        else
            waitpid(child, &status, 0);
        removeDirectory(directory);
        fail("%s: %s", program[0], strerror(error));
    }
    close(failure[0]);
    while (tick != NULL && !waitForEnd(child, seconds))
        tick(info);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void removeDirectory(const char *directory)
{
    DIR *list = opendir(directory);
    struct dirent *entry;
    while (list != NULL && (entry = readdir(list)) != NULL)
        unlinkat(dirfd(list), entry->d_name, 0);
    if (list != NULL)
        closedir(list);
    rmdir(directory);
}
