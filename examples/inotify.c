/* inotify.c - watching a directory: changes in it become callbacks on the loop.
 *
 * The callbacks of descriptor objects are one-shot, so the program can easily pause its watch: the kernel queues the
 * events in the meantime, and enabling the callback detects those that are already queued. */
#define _GNU_SOURCE /* mkdtemp */
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Directory {
    char path[64];
    int events;     /* that were printed */
    int wasDeleted; /* the directory itself was deleted: the last event */
} Directory;

static const char *deed(uint32_t mask)
{
    return mask & IN_CREATE        ? "was created"
           : mask & IN_CLOSE_WRITE ? "was written and closed"
           : mask & IN_MOVED_FROM  ? "is the old name of what was renamed"
           : mask & IN_MOVED_TO    ? "is its new name"
           : mask & IN_DELETE      ? "was deleted"
                                   : "?";
}

static void tell(Directory *directory, const struct inotify_event *event)
{
    if (event->mask & IN_IGNORED) /* the kernel removed the watch, after IN_DELETE_SELF */
        return;
    directory->events++;
    if (event->mask & IN_DELETE_SELF) {
        directory->wasDeleted = 1;
        puts("  the directory itself was deleted");
    } else {
        printf("  %s%s %s\n", event->mask & IN_ISDIR ? "directory " : "", event->name, deed(event->mask));
    }
}

static void somethingHappened(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    (void)types;
    Directory *directory = info;
    alignas(struct inotify_event) char bytes[4096]; /* one read returns as many events as fit */
    ssize_t count;
    while ((count = read(RLFileDescriptorGetNativeDescriptor(f), bytes, sizeof bytes)) > 0) {
        for (ssize_t at = 0; at < count;) {
            const struct inotify_event *event = (const void *)(bytes + at);
            tell(directory, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    if (count < 0 && errno != EAGAIN)
        perror("inotify: read");
    if (directory->wasDeleted)
        RLFileDescriptorInvalidate(f); /* no more events will follow */
    else
        RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
}

static const char *inside(const Directory *directory, const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", directory->path, name);
    return path;
}

static void writeFile(const Directory *directory, const char *name)
{
    FILE *file = fopen(inside(directory, name), "w");
    if (file == NULL || fputs("some words\n", file) < 0 || fclose(file) != 0)
        perror("inotify: cannot write a file");
}

static void renameFile(const Directory *directory, const char *from, const char *to)
{
    char old[128];
    strcpy(old, inside(directory, from));
    if (rename(old, inside(directory, to)) != 0)
        perror("inotify: rename");
}

static void pass(void) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0); }

int main(void)
{
    Directory directory = {.path = "/tmp/runloop-inotify-XXXXXX"};
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0 || mkdtemp(directory.path) == NULL ||
        inotify_add_watch(fd, directory.path,
                          IN_CREATE | IN_CLOSE_WRITE | IN_MOVE | IN_DELETE | IN_DELETE_SELF | IN_ONLYDIR) < 0) {
        perror("inotify");
        return 1;
    }
    RLFileDescriptorContext context = {.info = &directory};
    RLFileDescriptorRef watched = RLFileDescriptorCreate(kRLAllocatorDefault, fd, 1, somethingHappened, &context);
    RLRunLoopSourceRef source =
        watched != NULL ? RLFileDescriptorCreateRunLoopSource(kRLAllocatorDefault, watched, 0) : NULL;
    if (source == NULL) {
        perror("inotify: cannot watch");
        return 1;
    }
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    RLFileDescriptorEnableCallBacks(watched, kRLFileDescriptorReadCallBack);

    puts("a file is written, and the loop runs:");
    writeFile(&directory, "letter");
    pass();

    puts("callbacks are disabled; the file is renamed, a directory is created; the loop runs:");
    RLFileDescriptorDisableCallBacks(watched, kRLFileDescriptorReadCallBack);
    renameFile(&directory, "letter", "old letter");
    mkdir(inside(&directory, "attic"), 0700);
    int before = directory.events;
    pass();
    printf("  %d events were reported\n", directory.events - before);

    puts("callbacks are enabled again: the kernel has queued the events");
    RLFileDescriptorEnableCallBacks(watched, kRLFileDescriptorReadCallBack);
    pass();

    puts("everything is deleted, and the loop runs until nothing is left to watch:");
    rmdir(inside(&directory, "attic"));
    unlink(inside(&directory, "old letter"));
    rmdir(directory.path);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0);

    printf("the descriptor object is %s\n", RLFileDescriptorIsValid(watched) ? "valid" : "not valid any more");
    int ok = result == kRLRunLoopRunFinished && !RLFileDescriptorIsValid(watched) && directory.events == 8;
    RLRelease(watched);
    return ok ? 0 : 1;
}
