/* RLFileWatch: a process changes files at random while a loop watches them. Applying the events to the initial tree
 * must give the final tree, except below paths that were to be scanned again, and every directory must be watched
 * under its right path. */
#include "files.h"
#include "random.h"
#include <sys/syscall.h>
#include <sys/wait.h>

enum { OPERATIONS = 1500, BURST = 50 };

/* Options that differ between the rounds. */
static bool exchanges; /* files and directories are exchanged, too */
static bool is_behind; /* the loop runs only now and then, and in between more happens than it reads in one pass */
static bool has_roots; /* two directories in the base, and a link to a third one, are roots as well */
static bool overflows; /* once, more events occur than the kernel queues */
static unsigned names; /* number of directory names: with fewer names, directories collide more often */
static char root_link[600];

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

/* Replaces the renamed part of a path, and keeps the rest. */
static void move_path(char *path, const char *from, const char *to)
{
    char tail[200];
    if (!is_below(path, from))
        return;
    strcpy(tail, path + strlen(from));
    require(snprintf(path, 200, "%s%s", to, tail) < 200);
}

static bool is_dirty(const char *path)
{
    for (int i = 0; i < dirty_count; i++)
        if (is_below(path, dirty[i]))
            return true;
    return false;
}

static void set_dirty(const char *path)
{
    if (is_dirty(path))
        return;
    require(dirty_count < 256);
    strcpy(dirty[dirty_count++], path);
}

/* Translates an event's path to one relative to the base. The path of the link stands for `b`. */
static void translate(char *path, const char *record)
{
    size_t length = strlen(root_link);
    if (has_roots && strncmp(record, root_link, length) == 0)
        sprintf(path, "b%s", record + length);
    else
        strcpy(path, relative(record));
}

static void apply(const RLFileWatchEvent *event)
{
    char path[1024];
    translate(path, event->path);
    bool is_directory = (event->flags & kRLFileWatchIsDirectory) != 0;
    bool is_linked = has_roots && (event->flags & kRLFileWatchNotWatched) != 0 && event->error == EEXIST;
    require((event->flags & kRLFileWatchNotWatched) == 0 || is_linked);
    bool is_deep = strcmp(path, "c/b") == 0;
    require((event->flags & kRLFileWatchRootChanged) == 0 || (has_roots && (is_deep || strlen(path) == 1)));
    if ((event->flags & kRLFileWatchRootChanged) != 0 && is_deep) {
        forget(path);
    } else if ((event->flags & (kRLFileWatchMustScan | kRLFileWatchRootChanged)) != 0) {
        set_dirty(path);
    } else if (event->oldPath != NULL) {
        char old[1024];
        translate(old, event->oldPath);
        forget(path);
        bool was_dirty = is_dirty(old);
        for (int i = 0; i < entry_count; i++)
            move_path(entries[i].path, old, path);
        for (int i = 0; i < dirty_count; i++)
            move_path(dirty[i], old, path);
        if (was_dirty)
            set_dirty(path);
        insert(path, is_directory);
    } else if ((event->flags & kRLFileWatchRemoved) != 0) {
        forget(path);
    } else if ((event->flags & kRLFileWatchCreated) != 0) {
        insert(path, is_directory);
    }
}

/* -- The actual tree -- */

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

static const struct entry *look_up(const struct entry *list, int count, const char *path)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].path, path) == 0)
            return &list[i];
    return NULL;
}

/* Reads the tree. Returns how many directories should be watched. */
static int look_around(void)
{
    found_count = 0;
    require(nftw(base, find_entry, 16, FTW_PHYS) == 0);
    int count = 1;
    for (int i = 0; i < found_count; i++)
        count += found[i].is_directory;
    return count;
}

/* Returns NULL, or a description of the first difference. */
static const char *difference(void)
{
    static char text[300];
    for (int i = 0; i < found_count; i++) {
        const struct entry *known = look_up(entries, entry_count, found[i].path);
        if (is_dirty(found[i].path))
            continue;
        snprintf(text, sizeof text, "%s was told of wrongly, or not at all", found[i].path);
        if (known == NULL || known->is_directory != found[i].is_directory)
            return text;
    }
    for (int i = 0; i < entry_count; i++) {
        snprintf(text, sizeof text, "%s is not there", entries[i].path);
        if (!is_dirty(entries[i].path) && look_up(found, found_count, entries[i].path) == NULL)
            return text;
    }
    return NULL;
}

/* -- The process that changes files -- */

static void random_path(char *path)
{
    path += sprintf(path, "%s", base);
    for (unsigned depth = 1 + random_below(is_behind ? 3 : 4); depth > 0; depth--)
        path += sprintf(path, "/%c", 'a' + (char)random_below(names));
}

/* Performs a random operation. Most of them fail, because a file that they need does not exist. */
static void operate(const char *outside)
{
    char path[1024], other[1024];
    random_path(path);
    random_path(other);
    int file;
    if (exchanges && random_below(10) == 0) {
        syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, random_below(20) == 0 ? outside : other, RENAME_EXCHANGE);
        return;
    }
    switch (random_below(is_behind ? 13 : 16)) { /* the last three would leave too few directories */
    case 0 ... 4:
        mkdir(path, 0700);
        break;
    case 5 ... 6:
        if (is_behind)
            strcat(path, "/file");
        if ((file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) >= 0) {
            (void)!write(file, "x", 1);
            close(file);
        }
        break;
    case 7:
        if (is_behind)
            strcat(path, "/file");
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
        if (random_below(4) == 0)
            remove_tree(path);
        else
            chmod(path, 0700);
    }
}

/* Runs in the child process. Writes a byte to the pipe after each burst. */
static void do_things(uint64_t number, int pipe)
{
    char outside[600], kept[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    snprintf(kept, sizeof kept, "%s-kept", base);
    write_file(kept, "x");
    random_state = number;
    for (int i = 0; i < SCALED(OPERATIONS); i++) {
        operate(outside);
        if (random_below(40) == 0)
            sched_yield();
        if (is_behind)
            cause_long_events(kept, 4); /* the kernel queues 16 384 events; the loop reads 1 000 of these in one pass */
        if (overflows && i == SCALED(OPERATIONS) / 2)
            overflow_queue("zz1", "zz2", queue_limit());
        if (i % BURST == 0)
            require(write(pipe, "", 1) == 1);
    }
    unlink(in_tree("zz1"));
    unlink(in_tree("zz2"));
    remove_tree(outside);
    unlink(kept);
    _exit(0);
}

/* -- The test -- */

static char end[600];
static bool is_over, has_begun_anew;

static void on_events(UNUSED RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, UNUSED void *info)
{
    for (RLIndex i = 0; i < count; i++) {
        if ((events[i].flags & kRLFileWatchMustScan) != 0 && strcmp(events[i].path, base) == 0)
            has_begun_anew = true;
        if (strcmp(events[i].path, end) == 0)
            is_over = (events[i].flags & kRLFileWatchRemoved) != 0;
        else if (strncmp(relative(events[i].path), "zz", 2) != 0)
            apply(&events[i]);
    }
}

/* Runs until all events were reported. The last ones are those of a file that is created and removed here; this is
 * repeated if its events may have been lost because everything was read again. */
static void await_end(void)
{
    is_over = false;
    has_begun_anew = true;
    while (!is_over) {
        if (has_begun_anew) {
            has_begun_anew = false;
            int file = open(end, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
            require(file >= 0 && close(file) == 0 && unlink(end) == 0);
        }
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
    }
}

/* Waits until the watch agrees with the tree. A directory that was missing, or elsewhere, is checked again a little
 * later. */
static void await_agreement(RLFileWatchRef watch)
{
    int count = look_around();
    for (int turn = 0; turn < 1000 && (RLFileWatchGetWatchCount(watch) != count || difference() != NULL); turn++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    ck_assert_int_eq(RLFileWatchGetWatchCount(watch), count);
    const char *wrong = difference();
    ck_assert_msg(wrong == NULL, "%s", wrong);
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

static void run_while(pid_t process, int pipe)
{
    char bytes[8];
    while (is_behind && read(pipe, bytes, 1 + random_below(sizeof bytes)) > 0)
        for (unsigned passes = random_below(3); passes > 0; passes--)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
    int status = 0;
    while (waitpid(process, &status, WNOHANG) == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.002, 1);
    ck_assert_int_eq(status, 0);
}

START_TEST(random_file_events_reproduce_the_tree)
{
    make_tree();
    exchanges = (_i & 1) != 0;
    is_behind = (_i & 2) != 0;
    has_roots = (_i & 4) != 0;
    overflows = (_i & 8) != 0 && queue_limit() <= 20000;
    names = is_behind ? 3 : 6;
    snprintf(end, sizeof end, "%s/end", base);
    random_state = (uint64_t)_i + 1000;
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    for (int i = 0; i < 60; i++)
        operate(outside);
    const char *paths[] = {base, NULL, NULL, NULL, NULL};
    if (has_roots) {
        snprintf(root_link, sizeof root_link, "%s-link", base);
        remove_tree(in_tree("a"));
        remove_tree(in_tree("b"));
        make_directory(in_tree("a"));
        make_directory(in_tree("b"));
        make_directory(in_tree("b/c"));
        require(symlink(in_tree("b"), root_link) == 0);
        paths[1 + _i % 2] = in_tree("a");
        paths[2 - _i % 2] = root_link;
        remove_tree(in_tree("c"));
        make_directory(in_tree("c"));
        make_directory(in_tree("c/b"));
        paths[3] = in_tree("c/b");
    }
    look_around();
    RLFileWatchRef watch = add(RLFileWatchCreate(NULL, paths, _i % 3 == 2 ? 0.003 : 0, 0, on_events, NULL));
    for (int i = 0; i < found_count; i++)
        insert(found[i].path, found[i].is_directory);
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0);
    pid_t process = fork_child();
    if (process == 0)
        do_things((uint64_t)_i + 1, ends[1]);
    close(ends[1]);
    run_while(process, ends[0]);
    close(ends[0]);
    await_end();
    await_agreement(watch);
    probe_directories();
    RLRunLoopSourceInvalidate(watch);
    RLRelease(watch);
    unlink(root_link);
    drop_tree();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-watch-random");
    TCase *tcase = add_case(suite, "random", 60);
    const char *rounds = getenv("RL_SEEDS");
    tcase_add_loop_test(tcase, random_file_events_reproduce_the_tree, 0, rounds ? atoi(rounds) : 12);
    return suite;
}
