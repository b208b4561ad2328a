/* file-watch.c - watching a tree of directories: changes in it become callbacks on the loop, with many events each.
 *
 * Compile with -lrunloop-kit -lrunloop. */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */
#include <RunLoopKit/RunLoopKit.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Tree {
    char path[64];
    int events;
} Tree;

static const char *deed(RLOptionFlags flags)
{
    return flags & kRLFileWatchMustScan     ? "must be read again: more has happened than could be told"
           : flags & kRLFileWatchNotWatched ? "cannot be watched"
           : flags & kRLFileWatchCreated    ? "was created"
           : flags & kRLFileWatchRemoved    ? "was removed"
           : flags & kRLFileWatchClosed     ? "was written"
                                            : NULL;
}

static void changed(RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, void *info)
{
    Tree *tree = info;
    size_t root = strlen(tree->path) + 1;
    (void)watch;
    for (RLIndex i = 0; i < count; i++) {
        const RLFileWatchEvent *event = &events[i];
        tree->events++;
        if (event->oldPath != NULL)
            printf("  %s was renamed to %s\n", event->oldPath + root, event->path + root);
        else if (deed(event->flags) != NULL)
            printf("  %s%s %s\n", event->path + root, event->flags & kRLFileWatchIsDirectory ? "/" : "",
                   deed(event->flags));
    }
}

static const char *in(const Tree *tree, const char *name)
{
    static char path[2][256];
    static int turn;
    snprintf(path[++turn % 2], sizeof path[0], "%s/%s", tree->path, name);
    return path[turn % 2];
}

static void writeFile(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs("hello\n", file) == EOF || fclose(file) != 0)
        perror(path);
}

/* Runs until the callback has been called once, with everything that has happened so far. */
static void runOnce(void) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 1); }

static int removeEntry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

int main(void)
{
    Tree tree = {.path = "/tmp/runloop-file-watch-XXXXXX"};
    if (mkdtemp(tree.path) == NULL || mkdir(in(&tree, "src"), 0700) != 0) {
        perror("file-watch");
        return 1;
    }
    const char *paths[] = {tree.path, NULL};
    RLFileWatchContext context = {.info = &tree};
    RLFileWatchRef watch = RLFileWatchCreate(NULL, paths, 0, 0, changed, &context);
    if (watch == NULL) {
        perror("file-watch");
        return 1;
    }
    RLRunLoopAddSource(RLRunLoopGetCurrent(), watch, kRLRunLoopDefaultMode);
    printf("%d directories are watched\n", (int)RLFileWatchGetWatchCount(watch));

    puts("a file is written and renamed, to another directory");
    writeFile(in(&tree, "draft"));
    if (rename(in(&tree, "draft"), in(&tree, "src/final")) != 0)
        perror("rename");
    runOnce();

    puts("a directory is created, and is watched from then on");
    mkdir(in(&tree, "doc"), 0700);
    runOnce();
    writeFile(in(&tree, "doc/page"));
    runOnce();
    int ok = RLFileWatchGetWatchCount(watch) == 3 && tree.events > 0;

    RLRunLoopSourceInvalidate(watch);
    RLRelease(watch);
    nftw(tree.path, removeEntry, 8, FTW_DEPTH | FTW_PHYS);
    puts("nothing is being watched");
    return ok ? 0 : 1;
}
