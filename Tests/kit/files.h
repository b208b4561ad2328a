/* A tree of files for the tests of RLFileWatch, and a watcher that records the events it receives. */
#ifndef RUNLOOP_TESTS_KIT_FILES_H
#define RUNLOOP_TESTS_KIT_FILES_H
#include "kit.h"
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>

static char base[512]; /* the watched tree; `base`-outside, next to it, is not watched */

static UNUSED const char *in_tree(const char *format, ...)
{
    static char paths[8][1024];
    static int turn;
    char *path = paths[turn++ % 8];
    int length = snprintf(path, sizeof paths[0], "%s/", base);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path + length, sizeof paths[0] - (size_t)length, format, arguments);
    va_end(arguments);
    return path;
}

static UNUSED int remove_entry(const char *path, UNUSED const struct stat *status, UNUSED int kind,
                               UNUSED struct FTW *place)
{
    return remove(path);
}
static UNUSED void remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

static UNUSED void make_tree(void)
{
    const char *directory = getenv("TMPDIR");
    require(directory != NULL);
    snprintf(base, sizeof base, "%s/files-%d", directory, getpid());
    require(mkdir(base, 0700) == 0);
}
static UNUSED void drop_tree(void) { remove_tree(base); }

static UNUSED void make_directory(const char *path) { require(mkdir(path, 0700) == 0); }
static UNUSED void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    require(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Returns how many events the kernel queues for one descriptor. */
static UNUSED int queue_limit(void)
{
    char number[32] = "0";
    FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    require(file != NULL && fgets(number, sizeof number, file) != NULL && fclose(file) == 0);
    return atoi(number);
}

/* Causes more events than the kernel queues, alternating between two files. */
static UNUSED void overflow_queue(const char *one, const char *other, int limit)
{
    int a = open(in_tree("%s", one), O_CREAT | O_RDWR | O_CLOEXEC, 0600),
        b = open(in_tree("%s", other), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    require(a >= 0 && b >= 0);
    for (int i = 0; i < limit / 2 + 10; i++)
        require(pwrite(a, "x", 1, 0) == 1 && pwrite(b, "x", 1, 0) == 1);
    close(a);
    close(b);
}

/* Causes pairs of events with a name of 240 bytes, `zzz…`: as many bytes as possible with few events. They are made with a
 * second name of the file `kept`, which is not in the tree: on ext4, creating a file takes ten times as long while the kernel
 * passes over the numbers of thousands of files that were just removed. */
static UNUSED void cause_long_events(const char *kept, int pairs)
{
    char name[241], path[1024];
    memset(name, 'z', 240);
    name[240] = 0;
    require(snprintf(path, sizeof path, "%s/%s", base, name) < (int)sizeof path);
    for (int i = 0; i < pairs; i++)
        require(link(kept, path) == 0 && unlink(path) == 0);
}

/* The recorded events, as `-dir/name`: + created, - removed, > renamed (old>new), * modified, @ attributes, !
 * closed, ? must scan, # not watched, ~ root changed, ^ unmounted. The path of a directory ends with a slash. */
struct record {
    RLFileWatchRef object;
    char words[16384];
    int calls, error;
    atomic_int events;
    const char *until; /* an event with this path stops the loop */
    RLOptionFlags ignored;
};

static UNUSED const char *relative(const char *path)
{
    size_t length = strlen(base);
    if (strncmp(path, base, length) != 0 || (path[length] != 0 && path[length] != '/'))
        return path;
    return path[length] == '/' ? path + length + 1 : ".";
}

static UNUSED void write_down(UNUSED RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, void *info)
{
    static const char signs[] = "+->*@!??????????";
    struct record *record = info;
    record->calls++;
    for (RLIndex i = 0; i < count; i++) {
        const RLFileWatchEvent *event = &events[i];
        atomic_fetch_add(&record->events, 1);
        if (record->until != NULL && strcmp(event->path, record->until) == 0)
            RLRunLoopStop(RLRunLoopGetCurrent());
        if ((event->flags & record->ignored) != 0 && (event->flags & ~(record->ignored | kRLFileWatchIsDirectory)) == 0)
            continue;
        size_t length = strlen(record->words);
        char *end = record->words + length;
        if (length > 0)
            *end++ = ' ';
        for (int bit = 0; bit < 6; bit++)
            if ((event->flags & 1UL << bit) != 0 && event->oldPath == NULL)
                *end++ = signs[bit];
        if ((event->flags & kRLFileWatchMustScan) != 0)
            *end++ = '?';
        if ((event->flags & kRLFileWatchNotWatched) != 0) {
            *end++ = '#';
            record->error = event->error;
        }
        if ((event->flags & kRLFileWatchRootChanged) != 0)
            *end++ = '~';
        if ((event->flags & kRLFileWatchUnmounted) != 0)
            *end++ = '^';
        if (event->oldPath != NULL)
            end += sprintf(end, "%s>", relative(event->oldPath));
        sprintf(end, "%s%s", relative(event->path), (event->flags & kRLFileWatchIsDirectory) != 0 ? "/" : "");
        require(strlen(record->words) + 1200 < sizeof record->words);
    }
}

/* Watches `base` in the default mode of this thread's loop. */
static UNUSED void watch_base(struct record *record, RLTimeInterval latency, RLOptionFlags flags)
{
    const char *paths[] = {base, NULL};
    RLFileWatchContext context = {.info = record};
    record->object = add(RLFileWatchCreate(NULL, paths, latency, flags, write_down, &context));
}

static UNUSED void forget_word(char *words, const char *word)
{
    char *place = strstr(words, word);
    require(place != NULL);
    char *rest = place + strlen(word);
    if (*rest == ' ')
        rest++;
    else if (place > words)
        place--;
    memmove(place, rest, strlen(rest) + 1);
}

/* Runs until all events so far were reported: the last ones are those of a file that is created and removed here. */
static UNUSED void await_all(struct record *record)
{
    char end[600];
    snprintf(end, sizeof end, "%s/end", base);
    int file = open(end, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
    require(file >= 0 && close(file) == 0 && unlink(end) == 0);
    record->until = end;
    while (strstr(record->words, "-end") == NULL)
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0) == kRLRunLoopRunStopped);
    record->until = NULL;
    forget_word(record->words, "+end");
    forget_word(record->words, "-end");
}

#define assert_reported(record, expected)            \
    do {                                             \
        await_all(record);                           \
        ck_assert_str_eq((record)->words, expected); \
        (record)->words[0] = 0;                      \
    } while (0)

static UNUSED void end_watch(struct record *record)
{
    RLRunLoopSourceInvalidate(record->object);
    RLRelease(record->object);
}
#endif
