/* A program that watches a tree of three directories while system calls fail: strace injects the failures
 * (test_kit.py). It prints what happened. With an argument it creates no fourth directory, and waits until it has
 * printed the argument. */
#include <RunLoopKit/RunLoopKit.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *awaited = "";
static int is_awaited;
static void send_text(const char *name, const char *what)
{
    char words[300];
    snprintf(words, sizeof words, "%s%s%s", name, *what ? " " : "", what);
    printf("%s, ", words);
    is_awaited |= strcmp(words, awaited) == 0;
}

static void changed(RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, void *info)
{
    (void)watch, (void)info;
    for (RLIndex i = 0; i < count; i++) {
        const char *name = strrchr(events[i].path, '/') + 1;
        if (strcmp(name, "end") == 0)
            RLRunLoopStop(RLRunLoopGetCurrent());
        else if ((events[i].flags & kRLFileWatchNotWatched) != 0)
            send_text(name, strerrorname_np(events[i].error));
        else if ((events[i].flags & kRLFileWatchMustScan) != 0)
            send_text(name, "scan");
        else if ((events[i].flags & kRLFileWatchCreated) != 0)
            send_text(name, "");
    }
}

int main(int count, char **arguments)
{
    alarm(60);
    if (count > 1)
        awaited = arguments[1];
    if (mkdir("tree", 0700) != 0 || mkdir("tree/a", 0700) != 0 || mkdir("tree/a/b", 0700) != 0)
        return 1;
    const char *paths[] = {"tree", NULL};
    RLFileWatchRef watch = RLFileWatchCreate(NULL, paths, 0, 0, changed, NULL);
    if (watch == NULL) {
        puts(strerrorname_np(errno));
        return 0;
    }
    RLRunLoopAddSource(RLRunLoopGetCurrent(), watch, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    if (count == 1)
        mkdir("tree/c", 0700);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    close(creat("tree/end", 0600));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 0);
    while (count > 1 && !is_awaited)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 30, 1);
    printf("%d watched\n", (int)RLFileWatchGetWatchCount(watch));
    RLRelease(watch);
    return 0;
}
