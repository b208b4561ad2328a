/* file-watch.c - what RLFileWatch costs for many directories: starting, memory, one change, ending, and too few
 * watches. `make files` runs it, and again in part under strace, which counts the system calls of one change.
 *
 *     file-watch [DIRECTORIES]           prints one line for each (100 101 directories below $TMPDIR: 1 000 in each of 100)
 *     file-watch DIRECTORIES CHANGES     only makes CHANGES changes between two marks, write(-1, "begin") and write(-1, "end") */
#include "../own-directory.h"
#include "support.h"

#include <RunLoopKit/RunLoopKit.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>

enum { IN_EACH = 1000, CHANGES = 2000 };

static char root[OWN_DIRECTORY_SIZE];
static long directories, not_watched, created;
static int last_error;
static struct timespec told_at;

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Creates the tree, one level of directories with a thousand in each, or removes it. */
static void change_tree(int (*change)(const char *path), int is_upwards)
{
    char path[500];
    long made = 1; /* the root */
    for (long outer = 0; made < directories; outer++) {
        snprintf(path, sizeof path, "%s/%ld", root, outer);
        size_t length = strlen(path);
        long before = made++;
        if (!is_upwards)
            CHECK(change(path) == 0);
        for (long inner = 0; inner < IN_EACH && made < directories; inner++, made++) {
            snprintf(path + length, sizeof path - length, "/%ld", inner);
            CHECK(change(path) == 0);
        }
        path[length] = 0;
        if (is_upwards)
            CHECK(change(path) == 0 && made > before);
    }
}
static int make_one(const char *path) { return mkdir(path, 0700); }

static void changed(RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, void *info)
{
    (void)watch, (void)info;
    clock_gettime(CLOCK_MONOTONIC, &told_at);
    for (RLIndex i = 0; i < count; i++) {
        created += (events[i].flags & kRLFileWatchCreated) != 0;
        if ((events[i].flags & kRLFileWatchNotWatched) != 0) {
            not_watched++;
            last_error = events[i].error;
        }
    }
}

static RLFileWatchRef begin(void)
{
    const char *paths[] = {root, NULL};
    RLFileWatchRef watch = RLFileWatchCreate(NULL, paths, 0, 0, changed, NULL);
    CHECK(watch != NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), watch, kRLRunLoopDefaultMode);
    return watch;
}

/* Returns where a file is created or removed: directories all over the tree, in turn. */
static const char *file_path(long number)
{
    static char path[500];
    long directory = number * 7919 % (directories - 1), outer = directory / (IN_EACH + 1),
         inner = directory % (IN_EACH + 1);
    if (inner == 0)
        snprintf(path, sizeof path, "%s/%ld/file", root, outer);
    else
        snprintf(path, sizeof path, "%s/%ld/%ld/file", root, outer, inner - 1);
    return path;
}

/* Creates a name, which causes one event. Returns the time from the system call until the event is reported. */
static double one_change(long number)
{
    const char *path = file_path(number);
    long before = created;
    double start = seconds(CLOCK_MONOTONIC);
    CHECK(symlink("x", path) == 0);
    while (created == before)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1);
    double taken = (double)told_at.tv_sec + (double)told_at.tv_nsec * 1e-9 - start;
    CHECK(unlink(path) == 0);
    while (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1) == kRLRunLoopRunHandledSource) {}
    return taken;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void measure_changes(void)
{
    static double times[CHANGES];
    for (long i = 0; i < CHANGES; i++)
        times[i] = one_change(i);
    qsort(times, CHANGES, sizeof times[0], compare);
    printf("one change, from its system call to the call: %.1f us at best, %.1f at the median\n", times[0] * 1e6,
           times[CHANGES / 2] * 1e6);
}

/* Times are processor times, which other programs affect less; the best of three rounds counts. */
static void measure(void)
{
    double began = HUGE_VAL, ended = HUGE_VAL;
    for (int round = 0; round < 3; round++) {
        size_t memory = mallinfo2().uordblks + mallinfo2().hblkhd;
        double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
        RLFileWatchRef watch = begin();
        began = fmin(began, seconds(CLOCK_PROCESS_CPUTIME_ID) - start);
        CHECK(RLFileWatchGetWatchCount(watch) == directories);
        memory = mallinfo2().uordblks + mallinfo2().hblkhd - memory;
        if (round == 0) {
            printf("memory: %.1f MB, %.0f bytes a directory\n", (double)memory * 1e-6,
                   (double)memory / (double)directories);
            measure_changes();
        }
        start = seconds(CLOCK_PROCESS_CPUTIME_ID);
        RLRunLoopSourceInvalidate(watch);
        RLRelease(watch);
        ended = fmin(ended, seconds(CLOCK_PROCESS_CPUTIME_ID) - start);
    }
    printf("to begin: %.2f s of processor time, %.1f us a directory\n", began, began / (double)directories * 1e6);
    printf("to end: %.2f s of processor time, %.1f us a directory\n", ended, ended / (double)directories * 1e6);
}

static int write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    int is_done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return is_done;
}

/* Runs in a user namespace, in which it may set the limit: half of the directories can be watched. */
static void measure_exhausted(void)
{
    char users[32], limit[32];
    snprintf(users, sizeof users, "0 %d 1", (int)geteuid());
    snprintf(limit, sizeof limit, "%ld", directories / 2);
    if (unshare(CLONE_NEWUSER) != 0 || !write_text("/proc/self/uid_map", users) ||
        !write_text("/proc/sys/user/max_inotify_watches", limit)) {
        puts("watches for half of them: not measured, as it may not be root in a namespace");
        return;
    }
    double processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    RLFileWatchRef watch = begin();
    while (not_watched == 0 || RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1) == kRLRunLoopRunHandledSource)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1);
    processor = seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
    CHECK(RLFileWatchGetWatchCount(watch) == directories / 2 && not_watched > 0);
    printf("watches for half of them: %.2f s of processor time to begin; %ld are told not to be watched (%s)\n",
           processor, not_watched, strerrorname_np(last_error));
    RLRelease(watch);
}

int main(int count, char **arguments)
{
    directories = count > 1 ? atol(arguments[1]) : 100101;
    CHECK(directories > 1);
    make_own_directory(root);
    change_tree(make_one, 0);
    fflush(stdout);
    if (count > 2) {
        RLFileWatchRef watch = begin();
        one_change(0);
        ssize_t ignored = write(-1, "begin", 5);
        for (long i = 1; i <= atol(arguments[2]); i++)
            one_change(i);
        ignored = write(-1, "end", 3);
        (void)ignored;
        RLRelease(watch);
    } else {
        measure();
        fflush(stdout);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            measure_exhausted();
            fflush(stdout);
            _exit(0);
        }
        CHECK(waitpid(child, NULL, 0) == child);
    }
    change_tree(rmdir, 1);
    return rmdir(root) != 0;
}
