/* RLFileWatch: directories that cannot be watched; callbacks that end the watch; several loops, threads, fork;
 * misuse. */
#include "files.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

static struct record record;

static void set_up(void)
{
    make_tree();
    record = (struct record){.ignored = kRLFileWatchAttributes | kRLFileWatchClosed | kRLFileWatchModified};
}

/* -- Directories that cannot be watched -- */

static void look_without_rights(UNUSED void *info)
{
    require(chmod(base, 0755) == 0 && (geteuid() != 0 || seteuid(65534) == 0));
    watch_base(&record, 0, 0);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1), kRLRunLoopRunHandledSource);
    ck_assert_str_eq(record.words, "#closed/");
    ck_assert_int_eq(record.error, EACCES);
    const char *paths[] = {in_tree("closed"), NULL};
    ck_assert(RLFileWatchCreate(NULL, paths, 0, 0, write_down, NULL) == NULL && errno == EACCES);
    require(geteuid() != 65534 || seteuid(0) == 0);
    require(chmod(in_tree("closed"), 0755) == 0); /* has no effect until everything is read again */
    RLRelease(record.object);
}

static void look_without_searching(UNUSED void *info)
{
    require(chmod(base, 0777) == 0 && (geteuid() != 0 || seteuid(65534) == 0));
    make_directory(in_tree("dir"));
    require(chmod(in_tree("dir"), 0444) == 0);
    const char *paths[] = {*(const char *)info != 0 ? in_tree("dir") : base, NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    require(chmod(in_tree("dir"), 0755) == 0);
    make_directory(in_tree("dir/new"));
    while (strstr(record.words, "file") == NULL) {
        require(RLFileWatchGetWatchCount(record.object) > 0);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
        write_file(in_tree("dir/new/file"), "x");
    }
    ck_assert_str_eq(record.words, "+dir/new/ +dir/new/file");
    RLRelease(record.object);
}

/* The directory's parent (`..`) cannot be looked up until the directory's mode is changed. */
START_TEST(an_unsearchable_directory_is_watched)
{
    ck_assert_int_eq(run_in_child(look_without_searching, _i == 0 ? "" : "root"), 0);
}
END_TEST

START_TEST(an_unreadable_directory_is_reported_once)
{
    make_directory(in_tree("closed"));
    require(chmod(in_tree("closed"), 0) == 0);
    ck_assert_int_eq(run_in_child(look_without_rights, NULL), 0);
    require(chmod(in_tree("closed"), 0700) == 0);
}
END_TEST

/* Makes the process root in a new namespace, where it may mount, and limit its watches. Exits with 77 if not
 * permitted. */
static void become_root(void)
{
    char users[32], groups[32];
    snprintf(users, sizeof users, "0 %d 1", geteuid());
    snprintf(groups, sizeof groups, "0 %d 1", getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        _exit(77);
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", users);
    write_file("/proc/self/gid_map", groups);
}

static void unmount_watched(UNUSED void *info)
{
    become_root();
    if (mount("files", in_tree("mounted"), "tmpfs", 0, NULL) != 0)
        _exit(77);
    make_directory(in_tree("mounted/above"));
    watch_base(&record, 0, 0);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 3);
    require(umount2(in_tree("mounted"), 0) == 0);
    while (strstr(record.words, "below") == NULL)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert_str_eq(record.words, "^mounted/ +mounted/below/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 3);
    end_watch(&record);
}

START_TEST(an_unmounted_file_system_is_reported)
{
    make_directory(in_tree("mounted"));
    make_directory(in_tree("mounted/below"));
    int status = run_in_child(unmount_watched, NULL);
    ck_assert(status == 0 || status == 77); /* 77: mounting is not permitted here */
}
END_TEST

static void read_many(UNUSED void *info)
{
    become_root();
    if (mount("files", base, "tmpfs", 0, NULL) != 0)
        _exit(77);
    int count = queue_limit() + 500;
    char outside[600];
    strcpy(outside, in_tree("outside"));
    strcat(base, "/in");
    make_directory(base);
    make_directory(in_tree("many"));
    for (int i = 0; i < count; i++)
        make_directory(in_tree("many/%d", i));
    watch_base(&record, 0, 0);
    overflow_queue("a", "b", count);
    run_passes(); /* they end eventually */
    ck_assert_str_eq(record.words, "+a +b ?./");
    record.words[0] = 0;
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), count + 2);
    require(rename(in_tree("many"), outside) == 0);
    run_passes();
    ck_assert_str_eq(record.words, "->many/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 1);
    end_watch(&record);
}

/* Each watch that is removed adds an event to the kernel's queue. */
START_TEST(more_directories_than_fit_into_the_queue_are_rescanned_once)
{
    if (queue_limit() > 20000)
        return; /* an administrator has raised the limit */
    int status = run_in_child(read_many, NULL);
    ck_assert(status == 0 || status == 77); /* 77: mounting is not permitted here */
}
END_TEST

/* Two mounts of one directory have one watch. A mount inside itself would make the tree infinite. */
static void mount_twice(void *info)
{
    become_root();
    if (mount(in_tree("x"), in_tree("%s", info), NULL, MS_BIND, NULL) != 0)
        _exit(77);
    watch_base(&record, 0, 0);
    while (strchr(record.words, '#') == NULL)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert_int_eq(record.error, EEXIST);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 3);
    record.words[0] = 0;
    write_file(in_tree("x/file"), "x");
    await_all(&record);
    ck_assert_ptr_nonnull(strstr(record.words, "/file")); /* under one of its paths */
    end_watch(&record);
}

START_TEST(a_directory_mounted_twice_is_reported_at_one_place)
{
    make_directory(in_tree("x"));
    make_directory(in_tree("x/loop"));
    make_directory(in_tree("y"));
    int status = run_in_child(mount_twice, _i == 0 ? "x/loop" : "y");
    ck_assert(status == 0 || status == 77); /* 77: mounting is not permitted here */
}
END_TEST

static void limit_watches(const char *count)
{
    int file = open("/proc/sys/user/max_inotify_watches", O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, count, strlen(count)) < 0)
        _exit(77);
    close(file);
}

static void watch_with_few(UNUSED void *info)
{
    become_root();
    limit_watches("3");
    watch_base(&record, 0, 0);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 3);
    make_directory(in_tree("d"));
    assert_reported(&record, "#c/ +d/ #d/");
    ck_assert_int_eq(record.error, ENOSPC);
    const char *paths[] = {base, NULL};
    ck_assert(RLFileWatchCreate(NULL, paths, 0, 0, write_down, NULL) == NULL && errno == ENOSPC);
    limit_watches("100");
    require(rename(in_tree("c"), in_tree("e")) == 0 && rename(in_tree("d"), in_tree("f")) == 0);
    assert_reported(&record, "c>e/ d>f/ ?e/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 5);
    limit_watches("1"); /* the exchanged directories cannot be watched */
    require(syscall(SYS_renameat2, AT_FDCWD, in_tree("e"), AT_FDCWD, in_tree("f"), RENAME_EXCHANGE) == 0);
    await_all(&record);
    ck_assert_ptr_nonnull(strstr(record.words, "?e/ #e/"));
    ck_assert_ptr_nonnull(strstr(record.words, "?f/ #f/"));
    end_watch(&record);
}

START_TEST(running_out_of_watches_is_reported_and_watching_resumes_with_more)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("a/b"));
    make_directory(in_tree("c"));
    int status = run_in_child(watch_with_few, NULL);
    ck_assert(status == 0 || status == 77); /* 77: namespaces are not permitted here */
}
END_TEST

/* -- Lifetime -- */

static void invalidate_and_release(RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, void *info)
{
    RLRunLoopSourceInvalidate(watch);
    RLRelease(watch);
    note(count > 0 && strstr(events[0].path, "/a") != NULL ? info : "?");
}

START_TEST(a_file_watch_may_be_released_in_its_callback)
{
    const char *paths[] = {base, NULL};
    struct lifetime life = {0};
    static char called[] = "called";
    RLFileWatchContext context = {.info = called};
    add(RLFileWatchCreate(NULL, paths, 0, 0, invalidate_and_release, &context));
    RLFileWatchContext counted = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    int before = open_descriptors();
    RLFileWatchRef other = RLFileWatchCreate(NULL, paths, 0, 0, write_down, &counted);
    ck_assert_int_eq(open_descriptors(), before + 3);
    ck_assert_int_eq(lifetime_held(&life), 1);
    RLRelease(other);
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_eq(open_descriptors(), before);
    write_file(in_tree("a"), "x");
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
    assert_notes("called");
}
END_TEST

static void run_again(RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, void *info)
{
    struct record *outer = info;
    write_down(watch, count, events, info);
    if (outer->calls == 1) {
        write_file(in_tree("b"), "x");
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1), kRLRunLoopRunHandledSource);
        ck_assert_ptr_nonnull(strstr(outer->words, "+b"));
        ck_assert_ptr_nonnull(strstr(events[0].path, "/a")); /* the events are still valid */
    }
}

START_TEST(a_file_watch_callback_may_run_the_loop)
{
    const char *paths[] = {base, NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, run_again, &context));
    write_file(in_tree("a"), "x");
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(record.calls, 2);
    end_watch(&record);
}
END_TEST

static void end_thread(UNUSED RLFileWatchRef watch, UNUSED RLIndex count, UNUSED const RLFileWatchEvent *events,
                       UNUSED void *info)
{
    pthread_exit(NULL);
}
static void *run_until_ended(void *info)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), info, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0);
    return info;
}

START_TEST(a_file_watch_callback_may_end_its_thread)
{
    const char *paths[] = {base, NULL};
    RLFileWatchRef watch = RLFileWatchCreate(NULL, paths, 0, 0, end_thread, NULL);
    write_file(in_tree("a"), "x");
    join_thread(start_thread(run_until_ended, watch));
    ck_assert(RLRunLoopSourceIsValid(watch));
    ck_assert_int_eq(RLFileWatchGetWatchCount(watch), 1);
    RLRelease(watch);
}
END_TEST

static void count_created(UNUSED RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, void *info)
{
    for (RLIndex i = 0; i < count; i++)
        if ((events[i].flags & kRLFileWatchCreated) != 0)
            atomic_fetch_add((atomic_int *)info, 1);
}

START_TEST(each_file_event_is_reported_in_one_of_several_loops)
{
    enum { FILES = 300 };
    atomic_int created = 0;
    struct looper loopers[2];
    const char *paths[] = {base, NULL};
    RLFileWatchContext context = {.info = &created};
    RLFileWatchRef watch = RLFileWatchCreate(NULL, paths, _i * 0.001, 0, count_created, &context);
    for (int i = 0; i < 2; i++) {
        looper_start(&loopers[i]);
        RLRunLoopAddSource(loopers[i].loop, watch, kRLRunLoopDefaultMode);
    }
    for (int i = 0; i < FILES; i++) {
        if (i % 3 == 0)
            make_directory(in_tree("%d", i));
        else
            write_file(in_tree("%d/%d", i - i % 3, i), "x");
        if (i % 10 == 0)
            ck_assert_int_ge(RLFileWatchGetWatchCount(watch), 1);
    }
    await_count(&created, FILES);
    while (RLFileWatchGetWatchCount(watch) <= FILES / 3)
        sched_yield();
    for (int i = 0; i < 2; i++)
        looper_stop(&loopers[i]);
    ck_assert_int_eq(RLFileWatchGetWatchCount(watch), 1 + FILES / 3);
    RLRelease(watch);
}
END_TEST

static void look_in_child(UNUSED void *info)
{
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 0);
    write_file(in_tree("a"), "x");
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
    ck_assert(!RLRunLoopSourceIsValid(record.object));
    ck_assert_int_eq(record.calls, 0);
    RLRelease(record.object);
}

START_TEST(file_events_after_a_fork_are_reported_to_the_parent)
{
    watch_base(&record, 0, 0);
    ck_assert_int_eq(run_in_child(look_in_child, NULL), 0);
    assert_reported(&record, "+a");
    end_watch(&record);
}
END_TEST

static const char *no_paths[] = {NULL}, *empty_path[] = {"", NULL}, *root_path[] = {"/", NULL};
static void without_paths(void)
{
    ck_assert(!RLFileWatchCreate(NULL, NULL, 0, 0, write_down, NULL) && errno == EINVAL);
}
static void with_no_path(void) { ck_assert(!RLFileWatchCreate(NULL, no_paths, 0, 0, write_down, NULL)); }
static void with_empty_path(void) { ck_assert(!RLFileWatchCreate(NULL, empty_path, 0, 0, write_down, NULL)); }
static void with_negative_latency(void) { ck_assert(!RLFileWatchCreate(NULL, root_path, -1, 0, write_down, NULL)); }
static void with_unknown_flag(void) { ck_assert(!RLFileWatchCreate(NULL, root_path, 0, 4, write_down, NULL)); }
static void without_function(void) { ck_assert(!RLFileWatchCreate(NULL, root_path, 0, 0, NULL, NULL)); }

START_TEST(misuse_of_file_watches_is_reported)
{
    assert_reports(without_paths, "runloop: RLFileWatchCreate: paths: NULL, empty, or contains an empty path");
    assert_reports(with_no_path, "runloop: RLFileWatchCreate: paths: NULL, empty, or contains an empty path");
    assert_reports(with_empty_path, "runloop: RLFileWatchCreate: paths: NULL, empty, or contains an empty path");
    assert_reports(with_negative_latency, "runloop: RLFileWatchCreate: latency: negative or not a number");
    assert_reports(with_unknown_flag, "runloop: RLFileWatchCreate: flags: unknown flag");
    assert_reports(without_function, "runloop: RLFileWatchCreate: callout: expected a function, got NULL");
    const char *paths[] = {in_tree("missing"), NULL};
    int before = open_descriptors();
    ck_assert(!RLFileWatchCreate(NULL, paths, 0, 0, write_down, NULL) && errno == ENOENT);
    ck_assert_int_eq(open_descriptors(), before);
    RLFileWatchRef root = RLFileWatchCreate(NULL, root_path, 0, kRLFileWatchNotRecursive, write_down, NULL);
    ck_assert_int_eq(RLFileWatchGetWatchCount(root), 1);
    RLRelease(root);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-watch-life");
    TCase *tcase = add_case(suite, "file-watch", 60);
    tcase_add_checked_fixture(tcase, set_up, drop_tree);
    tcase_add_test(tcase, an_unreadable_directory_is_reported_once);
    tcase_add_test(tcase, an_unmounted_file_system_is_reported);
    tcase_add_test(tcase, more_directories_than_fit_into_the_queue_are_rescanned_once);
    tcase_add_loop_test(tcase, a_directory_mounted_twice_is_reported_at_one_place, 0, 2);
    tcase_add_test(tcase, running_out_of_watches_is_reported_and_watching_resumes_with_more);
    tcase_add_loop_test(tcase, an_unsearchable_directory_is_watched, 0, 2);
    tcase_add_test(tcase, a_file_watch_may_be_released_in_its_callback);
    tcase_add_test(tcase, a_file_watch_callback_may_run_the_loop);
    tcase_add_test(tcase, a_file_watch_callback_may_end_its_thread);
    tcase_add_loop_test(tcase, each_file_event_is_reported_in_one_of_several_loops, 0, 2);
    tcase_add_test(tcase, file_events_after_a_fork_are_reported_to_the_parent);
    tcase_add_test(tcase, misuse_of_file_watches_is_reported);
    return suite;
}
