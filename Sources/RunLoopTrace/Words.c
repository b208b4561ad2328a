/* Implements Words.h. */
#include "Words.h"
#include "Files.h"
#include <RunLoop/RunLoop.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void writeLine(const char *text)
{
    struct iovec parts[] = {{(void *)(uintptr_t)text, strlen(text)}, {"\n", 1}};
    writeQuietly(STDERR_FILENO, parts, 2);
}

void writeFormat(const char *format, ...)
{
    va_list arguments;
    char *line = NULL;
    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) >= 0)
        writeLine(line);
    va_end(arguments);
    free(line);
}

/* Replaces control characters, including those of two bytes: some terminals obey them. */
void sayName(FILE *text, const char *name)
{
    for (const unsigned char *byte = (const unsigned char *)name; *byte != 0; byte++) {
        int isLong = byte[0] == 0xC2 && byte[1] >= 0x80 && byte[1] < 0xA0;
        fputc(isLong || *byte < ' ' || *byte == 0x7F ? '?' : *byte, text);
        byte += isLong;
    }
}

void sayTime(FILE *text, uint64_t nanoseconds)
{
    double seconds = (double)nanoseconds * 1e-9;
    if (seconds >= 100)
        fprintf(text, "%.0f s", seconds);
    else if (seconds >= 1)
        fprintf(text, "%.1f s", seconds);
    else if (seconds >= 0.001)
        fprintf(text, "%.0f ms", seconds * 1e3);
    else
        fprintf(text, "%.0f us", seconds * 1e6);
}

void sayFunction(FILE *text, struct Module *modules, uint64_t function)
{
    int isOurs;
    const char *name = functionName(modules, function, &isOurs);
    if (name != NULL)
        sayName(text, name);
    else
        fprintf(text, "0x%llx", (unsigned long long)function);
}

void sayCallback(FILE *text, struct Module *modules, uint64_t kind, uint64_t function, uint64_t descriptor)
{
    static const char *const words[] = {"function",          "source callback",      "timer callback",
                                        "observer callback", "posted function",      "descriptor callback",
                                        "socket callback",   "port callback",        "message port callback",
                                        "reply callback",    "invalidation callback"};
    const char *word = words[kind < sizeof words / sizeof *words ? kind : 0];
    int isOurs;
    functionName(modules, function, &isOurs);
    if (isOurs && kind == kRLRunLoopProbeTimer)
        fputs("an internal timer callback: a delayed function, a reply's time limit, or a timer without a callback",
              text);
    else if (isOurs)
        fprintf(text, "an internal %s", word);
    else {
        fprintf(text, "the %s ", word);
        sayFunction(text, modules, function);
    }
    if (descriptor <= INT32_MAX) {
        fputs(" on descriptor ", text);
        sayDescriptor(text, (int)descriptor);
    }
}

/* Reads the first line of a small file, without the newline. Returns 0 if there is none. */
static int readLine(const char *path, char *line, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, line, size - 1);
    if (fd >= 0)
        close(fd);
    line[length > 0 ? length : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    return length > 0;
}

static void sayNumber(FILE *text, const char *what, int number, const char *commFile)
{
    char path[64], name[64];
    fprintf(text, "%s %d", what, number);
    snprintf(path, sizeof path, commFile, number);
    if (readLine(path, name, sizeof name)) {
        fputs(" (", text);
        sayName(text, name);
        fputc(')', text);
    }
}

void sayThread(FILE *text, int thread) { sayNumber(text, "thread", thread, "/proc/self/task/%d/comm"); }

void sayProcess(FILE *text, int process) { sayNumber(text, "process", process, "/proc/%d/comm"); }

char stateOfThread(int thread)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    const char *end = readLine(path, line, sizeof line) ? strrchr(line, ')') : NULL;
    return end != NULL && end[1] == ' ' ? end[2] : 0;
}

void sayDescriptor(FILE *text, int descriptor)
{
    char path[64], target[256];
    fprintf(text, "%d", descriptor);
    snprintf(path, sizeof path, "/proc/thread-self/fd/%d", descriptor);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return;
    target[length] = 0;
    fputs(" (", text);
    sayName(text, target);
    fputc(')', text);
}

/* --- system calls --------------------------------------------------------------------------------------------------------- */

/* The system calls in which a thread may spend a long time. */
#define CALL(name, hasDescriptor)        \
    {                                    \
        SYS_##name, #name, hasDescriptor \
    }
static const struct {
    long number;
    const char *name;
    int hasDescriptor; /* as the first argument */
} systemCalls[] = {
    CALL(read, 1),
    CALL(write, 1),
    CALL(readv, 1),
    CALL(writev, 1),
    CALL(pread64, 1),
    CALL(pwrite64, 1),
    CALL(recvfrom, 1),
    CALL(recvmsg, 1),
    CALL(sendto, 1),
    CALL(sendmsg, 1),
    CALL(connect, 1),
    CALL(accept, 1),
    CALL(accept4, 1),
    CALL(ioctl, 1),
    CALL(fcntl, 1),
    CALL(flock, 1),
    CALL(fsync, 1),
    CALL(fdatasync, 1),
    CALL(ftruncate, 1),
    CALL(fallocate, 1),
    CALL(sendfile, 0),
    CALL(splice, 0),
    CALL(copy_file_range, 0),
    CALL(getdents64, 1),
    CALL(openat, 0),
    CALL(close, 1),
    CALL(newfstatat, 0),
    CALL(statx, 0),
    CALL(unlinkat, 0),
    CALL(renameat, 0),
    CALL(renameat2, 0),
    CALL(mkdirat, 0),
    CALL(mmap, 0),
    CALL(munmap, 0),
    CALL(mprotect, 0),
    CALL(madvise, 0),
    CALL(futex, 0),
    CALL(nanosleep, 0),
    CALL(clock_nanosleep, 0),
    CALL(sched_yield, 0),
    CALL(ppoll, 0),
    CALL(pselect6, 0),
    CALL(epoll_pwait, 1),
#ifdef SYS_epoll_pwait2
    CALL(epoll_pwait2, 1),
#endif
#ifdef __x86_64__
    CALL(open, 0),
    CALL(stat, 0),
    CALL(lstat, 0),
    CALL(unlink, 0),
    CALL(rename, 0),
    CALL(mkdir, 0),
    CALL(poll, 0),
    CALL(select, 0),
    CALL(pause, 0),
    CALL(epoll_wait, 1),
    CALL(fork, 0),
    CALL(vfork, 0),
#endif
    CALL(clone, 0),
    CALL(execve, 0),
    CALL(wait4, 0),
    CALL(waitid, 0),
    CALL(rt_sigsuspend, 0),
    CALL(rt_sigtimedwait, 0),
    CALL(semop, 0),
    CALL(semtimedop, 0),
    CALL(msgrcv, 0),
    CALL(msgsnd, 0),
    CALL(mq_timedreceive, 1),
    CALL(mq_timedsend, 1),
    CALL(io_getevents, 0),
    CALL(restart_syscall, 0),
};

void saySystemCall(FILE *text, int thread)
{
    char path[64], line[256], *end;
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    if (!readLine(path, line, sizeof line))
        return;
    long number = strtol(line, &end, 10);
    if (end == line || number < 0) /* "running", or -1 in a page fault */
        return;
    fputs(", in the system call ", text);
    for (size_t index = 0; index < sizeof systemCalls / sizeof *systemCalls; index++)
        if (systemCalls[index].number == number) {
            fputs(systemCalls[index].name, text);
            if (systemCalls[index].hasDescriptor) {
                fputs(" on descriptor ", text);
                sayDescriptor(text, (int)strtoul(end, NULL, 16));
            }
            return;
        }
    fprintf(text, "number %ld", number);
}
