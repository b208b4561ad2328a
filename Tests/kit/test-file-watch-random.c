/* A process does random things with files while a loop is told of them. What the events make of the tree that was there at first is what is
 * there in the end, but below paths that were to be scanned again; and every directory is watched under the right path. */
#include "files.h"
#include <sys/wait.h>

enum { OPERATIONS = 1500, NAMES = 6, DEPTH = 4 };

/* -- What is thought to be there: paths relative to the base -- */

struct entry {
    char path[200];
    bool is_directory;
};
static struct entry entries[8192];
static int entry_count;
static char dirty[256][200];
static int dirty_count;

static bool is_below(const char *path, const char *top)
{
    size_t length = strlen(top);
    return strcmp(top, ".") == 0 || (strncmp(path, top, length) == 0 && (path[length] == 0 || path[length] == '/'));
}

static void forget(const char *path)
{
    for (int i = 0; i < entry_count;)
        if (is_below(entries[i].path, path))
            entries[i] = entries[--entry_count];
        else
            i++;
}

static void insert(const char *path, bool is_directory)
{
    for (int i = 0; i < entry_count; i++)
        if (strcmp(entries[i].path, path) == 0) {
            if (entries[i].is_directory != is_directory)
                forget(path);
            else
                return;
        }
    require(entry_count < 8192 && strlen(path) < 200);
    strcpy(entries[entry_count].path, path);
    entries[entry_count++].is_directory = is_directory;
}

/* The part of a path below what was renamed stays. */
static void move_path(char *path, const char *from, const char *to)
{
    char tail[200];
    if (!is_below(path, from))
        return;
    strcpy(tail, path + strlen(from));
    require(snprintf(path, 200, "%s%s", to, tail) < 200);
}

static void apply(const RLFileWatchEvent *event)
{
    char path[1024];
    strcpy(path, relative(event->path));
    bool is_directory = (event->flags & kRLFileWatchIsDirectory) != 0;
    if ((event->flags & kRLFileWatchMustScan) != 0) {
        require(dirty_count < 256);
        strcpy(dirty[dirty_count++], path);
    } else if (event->oldPath != NULL) {
        char old[1024];
        strcpy(old, relative(event->oldPath));
        forget(path);
        for (int i = 0; i < entry_count; i++)
            move_path(entries[i].path, old, path);
        for (int i = 0; i < dirty_count; i++)
            move_path(dirty[i], old, path);
        insert(path, is_directory);
    } else if ((event->flags & kRLFileWatchRemoved) != 0) {
        forget(path);
    } else if ((event->flags & kRLFileWatchCreated) != 0) {
        insert(path, is_directory);
    }
    require((event->flags & (kRLFileWatchNotWatched | kRLFileWatchRootChanged)) == 0);
}

/* -- What is there -- */

static struct entry found[8192];
static int found_count;

static int find_entry(const char *path, const struct stat *status, UNUSED int kind, struct FTW *place)
{
    if (place->level > 0) {
        require(found_count < 8192);
        strcpy(found[found_count].path, relative(path));
        found[found_count++].is_directory = S_ISDIR(status->st_mode);
    }
    return 0;
}

static bool is_dirty(const char *path)
{
    for (int i = 0; i < dirty_count; i++)
        if (is_below(path, dirty[i]))
            return true;
    return false;
}

static const struct entry *look_up(const struct entry *list, int count, const char *path)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].path, path) == 0)
            return &list[i];
    return NULL;
}

static void compare(void)
{
    found_count = 0;
    require(nftw(base, find_entry, 16, FTW_PHYS) == 0);
    for (int i = 0; i < found_count; i++) {
        const struct entry *known = look_up(entries, entry_count, found[i].path);
        if (is_dirty(found[i].path))
            continue;
        ck_assert_msg(known != NULL, "%s was not told of", found[i].path);
        ck_assert_int_eq(known->is_directory, found[i].is_directory);
    }
    for (int i = 0; i < entry_count; i++)
        ck_assert_msg(is_dirty(entries[i].path) || look_up(found, found_count, entries[i].path), "%s is not there",
                      entries[i].path);
}

/* -- The process that does things -- */

static uint64_t seed;
static unsigned below(unsigned limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % limit;
}

static void random_path(char *path)
{
    path += sprintf(path, "%s", base);
    for (unsigned depth = 1 + below(DEPTH); depth > 0; depth--)
        path += sprintf(path, "/%c", 'a' + (char)below(NAMES));
}

/* Most of what is tried fails, as what it needs is not there. */
static void operate(const char *outside)
{
    char path[1024], other[1024];
    random_path(path);
    random_path(other);
    int file;
    switch (below(16)) {
    case 0 ... 4:
        mkdir(path, 0700);
        break;
    case 5 ... 6:
        if ((file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) >= 0) {
            (void)!write(file, "x", 1);
            close(file);
        }
        break;
    case 7:
        unlink(path);
        break;
    case 8:
        rmdir(path);
        break;
    case 9 ... 12:
        rename(path, other);
        break;
    case 13:
        rename(path, outside);
        break;
    case 14:
        if (rename(outside, path) != 0)
            (void)!symlink("a", path);
        break;
    default:
        if (below(4) == 0)
            remove_tree(path);
        else
            chmod(path, 0700);
    }
}

static void do_things(uint64_t number)
{
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    seed = number;
    for (int i = 0; i < SCALED(OPERATIONS); i++) {
        operate(outside);
        if (below(40) == 0)
            sched_yield();
    }
    remove_tree(outside);
    _exit(0);
}

/* -- The test -- */

static char end[600];
static bool is_over;

static void on_events(UNUSED RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, UNUSED void *info)
{
    for (RLIndex i = 0; i < count; i++) {
        if (strcmp(events[i].path, end) == 0)
            is_over = (events[i].flags & kRLFileWatchRemoved) != 0;
        else
            apply(&events[i]);
    }
}

/* Until everything is told: what happens last is a file that comes and goes. */
static void await_end(void)
{
    is_over = false;
    int file = open(end, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
    require(file >= 0 && close(file) == 0 && unlink(end) == 0);
    while (!is_over)
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
    /* A directory that was found elsewhere is looked at again a moment later. */
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.02, 0);
}

static void probe_directories(void)
{
    char probe[1024];
    for (int i = 0; i < found_count; i++) {
        if (!found[i].is_directory)
            continue;
        snprintf(probe, sizeof probe, "%s/%s/probe", base, found[i].path);
        write_file(probe, "x");
    }
    await_end();
    dirty_count = 0;
    for (int i = 0; i < found_count; i++) {
        if (!found[i].is_directory)
            continue;
        snprintf(probe, sizeof probe, "%s/probe", found[i].path);
        ck_assert_msg(look_up(entries, entry_count, probe) != NULL, "%s was not told of", probe);
    }
}

START_TEST(the_events_make_what_is_there)
{
    make_tree();
    snprintf(end, sizeof end, "%s/end", base);
    seed = (uint64_t)_i + 1000;
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    for (int i = 0; i < 60; i++)
        operate(outside);
    found_count = 0;
    require(nftw(base, find_entry, 16, FTW_PHYS) == 0);
    const char *paths[] = {base, NULL};
    RLFileWatchRef watch = add(RLFileWatchCreate(NULL, paths, _i % 3 == 2 ? 0.003 : 0, 0, on_events, NULL));
    for (int i = 0; i < found_count; i++)
        insert(found[i].path, found[i].is_directory);
    pid_t process = fork_child();
    if (process == 0)
        do_things((uint64_t)_i + 1);
    int status = 0;
    while (waitpid(process, &status, WNOHANG) == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.002, 1);
    ck_assert_int_eq(status, 0);
    await_end();
    compare();
    int count = 1;
    for (int i = 0; i < found_count; i++)
        count += found[i].is_directory;
    ck_assert_int_eq(RLFileWatchGetWatchCount(watch), count);
    probe_directories();
    RLRunLoopSourceInvalidate(watch);
    RLRelease(watch);
    drop_tree();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-watch-random");
    TCase *tcase = add_case(suite, "random", 60);
    const char *rounds = getenv("RL_SEEDS");
    tcase_add_loop_test(tcase, the_events_make_what_is_there, 0, rounds ? atoi(rounds) : 12);
    return suite;
}
