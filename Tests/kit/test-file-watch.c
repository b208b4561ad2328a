/* RLFileWatch: which events are reported, and in which order; roots; latency; a full queue. */
#include "files.h"
#include <malloc.h>

static struct record record;

static void set_up(void)
{
    make_tree();
    record = (struct record){.ignored = kRLFileWatchAttributes | kRLFileWatchClosed | kRLFileWatchModified};
}

START_TEST(file_events_are_reported_in_order)
{
    record.ignored = kRLFileWatchAttributes;
    write_file(in_tree("before"), "x");
    watch_base(&record, 0, 0);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 1);
    write_file(in_tree("a"), "x");
    require(rename(in_tree("a"), in_tree("b")) == 0);
    require(unlink(in_tree("b")) == 0);
    write_file(in_tree("before"), "y");
    assert_reported(&record, "+a *a !a a>b -b *before !before");
    require(chmod(in_tree("before"), 0600) == 0);
    record.ignored = 0;
    await_all(&record);
    ck_assert_str_eq(record.words, "@before");
    end_watch(&record);
}
END_TEST

START_TEST(repeated_changes_of_a_file_are_reported_once)
{
    record.ignored = 0;
    write_file(in_tree("a"), "");
    write_file(in_tree("b"), "");
    watch_base(&record, 0, 0);
    int a = open(in_tree("a"), O_WRONLY | O_CLOEXEC), b = open(in_tree("b"), O_WRONLY | O_CLOEXEC);
    for (int i = 0; i < 100; i++)
        require(write(a, "x", 1) == 1 && write(b, "y", 1) == 1);
    close(a);
    close(b);
    assert_reported(&record, "*a *b !a !b");
    end_watch(&record);
}
END_TEST

/* The whole tree was created in one go, most of it before its parents were watched. */
START_TEST(new_directories_are_watched_with_their_contents)
{
    make_directory(in_tree("old"));
    watch_base(&record, 0, 0);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 2);
    make_directory(in_tree("new"));
    make_directory(in_tree("new/inner"));
    write_file(in_tree("new/inner/file"), "x");
    assert_reported(&record, "+new/ +new/inner/ +new/inner/file");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 4);
    write_file(in_tree("new/inner/later"), "x");
    write_file(in_tree("old/later"), "x");
    assert_reported(&record, "+new/inner/later +old/later");
    remove_tree(in_tree("new"));
    await_all(&record);
    ck_assert_ptr_nonnull(strstr(record.words, "-new/inner/file"));
    ck_assert_ptr_nonnull(strstr(record.words, "-new/inner/ -new/"));
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 2);
    end_watch(&record);
}
END_TEST

START_TEST(a_renamed_directory_stays_watched_under_its_new_path)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("a/b"));
    make_directory(in_tree("to"));
    watch_base(&record, 0, 0);
    require(rename(in_tree("a"), in_tree("to/a-longer-name")) == 0);
    write_file(in_tree("to/a-longer-name/b/file"), "x");
    assert_reported(&record, "a>to/a-longer-name/ +to/a-longer-name/b/file");
    make_directory(in_tree("a"));
    write_file(in_tree("to/a-longer-name/b/file2"), "x");
    assert_reported(&record, "+a/ +to/a-longer-name/b/file2");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 5);
    /* Replaces an empty directory. */
    require(rename(in_tree("to/a-longer-name"), in_tree("a")) == 0);
    write_file(in_tree("a/b/file3"), "x");
    assert_reported(&record, "to/a-longer-name>a/ +a/b/file3");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 4);
    end_watch(&record);
}
END_TEST

START_TEST(moves_out_of_the_tree_are_removals_and_moves_into_it_creations)
{
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    make_directory(in_tree("a"));
    make_directory(in_tree("a/b"));
    write_file(in_tree("a/b/file"), "x");
    watch_base(&record, 0, 0);
    require(rename(in_tree("a"), outside) == 0);
    assert_reported(&record, "->a/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 1);
    char path[700];
    snprintf(path, sizeof path, "%s/unseen", outside);
    write_file(path, "x");
    require(rename(outside, in_tree("c")) == 0);
    await_all(&record);
    ck_assert_ptr_nonnull(strstr(record.words, "+>c/ "));
    ck_assert_ptr_nonnull(strstr(record.words, "+c/unseen"));
    ck_assert_ptr_nonnull(strstr(record.words, "+c/b/ "));
    ck_assert_ptr_nonnull(strstr(record.words, "+c/b/file"));
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 3);
    end_watch(&record);
}
END_TEST

START_TEST(symbolic_links_are_not_followed)
{
    make_directory(in_tree("a"));
    require(symlink("a", in_tree("link")) == 0);
    watch_base(&record, 0, 0);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 2);
    require(symlink("..", in_tree("a/up")) == 0);
    write_file(in_tree("link/file"), "x");
    assert_reported(&record, "+a/up +a/file");
    end_watch(&record);
}
END_TEST

START_TEST(without_recursion_only_the_root_is_watched)
{
    make_directory(in_tree("a"));
    watch_base(&record, 0, kRLFileWatchNotRecursive);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 1);
    write_file(in_tree("a/file"), "x");
    make_directory(in_tree("b"));
    write_file(in_tree("b/file"), "x");
    require(rename(in_tree("b"), in_tree("c")) == 0);
    assert_reported(&record, "+b/ b>c/");
    end_watch(&record);
}
END_TEST

/* -- Roots -- */

START_TEST(renaming_or_removing_a_root_is_reported)
{
    char moved[600];
    snprintf(moved, sizeof moved, "%s-outside", base);
    make_directory(in_tree("one"));
    make_directory(in_tree("two"));
    make_directory(in_tree("two/inner"));
    write_file(in_tree("three"), "x");
    const char *paths[] = {in_tree("one"), in_tree("two"), in_tree("three"), NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 4);
    require(rename(in_tree("one"), moved) == 0);
    remove_tree(in_tree("two"));
    write_file(in_tree("three"), "y");
    require(unlink(in_tree("three")) == 0);
    while (strstr(record.words, "three") == NULL || strstr(record.words, "two/ ") == NULL)
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1), kRLRunLoopRunHandledSource);
    ck_assert_str_eq(record.words, ">~one/ -two/inner/ -~two/ -~three");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 0);
    end_watch(&record);
    remove_tree(moved);
}
END_TEST

START_TEST(events_of_a_root_within_another_are_reported_once)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("a/b"));
    for (int turn = 0; turn < 2; turn++) {
        const char *paths[] = {turn ? in_tree("a") : base, turn ? base : in_tree("a"), NULL};
        RLFileWatchContext context = {.info = &record};
        record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
        write_file(in_tree("a/b/file"), "x");
        assert_reported(&record, "+a/b/file");
        require(unlink(in_tree("a/b/file")) == 0);
        end_watch(&record);
        record.words[0] = 0;
    }
    const char *same[] = {base, base, NULL};
    ck_assert(RLFileWatchCreate(NULL, same, 0, 0, write_down, NULL) == NULL && errno == EEXIST);
}
END_TEST

START_TEST(a_relative_root_path_is_made_absolute)
{
    char here[PATH_MAX];
    require(getcwd(here, sizeof here) != NULL && chdir(base) == 0);
    make_directory("a");
    const char *paths[] = {"a//", NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    require(chdir(here) == 0);
    make_directory(in_tree("a/new"));
    write_file(in_tree("a/new/file"), "x");
    while (strstr(record.words, "file") == NULL)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert_str_eq(record.words, "+a/new/ +a/new/file");
    end_watch(&record);
}
END_TEST

/* -- Latency and the queue -- */

START_TEST(a_latency_collects_events)
{
    watch_base(&record, 0.05, 0);
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent();
    write_file(in_tree("a"), "x");
    while (record.calls == 0) {
        write_file(in_tree("a"), "x");
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 1);
    }
    ck_assert_double_ge(RLAbsoluteTimeGetCurrent() - start, 0.049);
    ck_assert_int_eq(record.calls, 1);
    end_watch(&record);
}
END_TEST

/* The first event is reported immediately even if the machine's uptime is shorter than the latency. */
START_TEST(without_deferral_the_first_event_is_reported_at_once)
{
    watch_base(&record, 1e9, kRLFileWatchNoDefer);
    write_file(in_tree("a"), "x");
    while (record.calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    write_file(in_tree("b"), "x");
    for (int i = 0; i < 5; i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(record.calls, 1);
    end_watch(&record);
}
END_TEST

START_TEST(many_events_do_not_wait_for_the_latency)
{
    enum { FILES = 4500 };
    watch_base(&record, 3600, 0);
    record.ignored = ~0UL;
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < FILES; i++) {
        int file = open(in_tree("%d", i), O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
        require(file >= 0 && close(file) == 0);
    }
    while (record.calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert_int_ge(record.events, 4096);
    ck_assert_int_lt(mallinfo2().uordblks, before + 32768); /* the memory of the large batch has been freed */
    end_watch(&record);
}
END_TEST

/* The kernel drops events while its queue is full and the loop does not run. */
START_TEST(an_overflow_requests_a_scan_and_later_events_are_not_lost)
{
    int limit = queue_limit();
    if (limit > 20000)
        return; /* an administrator has raised the limit */
    watch_base(&record, 0, 0);
    record.ignored = 0xFF;
    overflow_queue("a", "b", limit);
    make_directory(in_tree("unheard"));
    make_directory(in_tree("unheard/inner"));
    while (strstr(record.words, "?./") == NULL)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 3);
    record.words[0] = 0;
    record.ignored = kRLFileWatchAttributes | kRLFileWatchClosed | kRLFileWatchModified;
    write_file(in_tree("unheard/inner/file"), "x");
    assert_reported(&record, "+unheard/inner/file");
    end_watch(&record);
}
END_TEST

/* Changes to root files that happen while the kernel's queue is full cause no event. */
START_TEST(roots_that_are_files_are_checked_after_an_overflow)
{
    int limit = queue_limit();
    if (limit > 20000)
        return; /* an administrator has raised the limit */
    char files[4][600];
    for (int i = 0; i < 4; i++) {
        snprintf(files[i], sizeof files[i], "%s-%d", base, i);
        write_file(files[i], "x");
    }
    const char *paths[] = {base, files[0], files[1], files[2], NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    overflow_queue("a", "b", limit);
    require(rename(files[3], files[0]) == 0 && unlink(files[1]) == 0);
    run_passes();
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 2);
    char expected[2000];
    for (int i = 0; i < 3; i++) {
        snprintf(expected, sizeof expected, "%s%s", i < 2 ? "-~" : "?", files[i]);
        ck_assert_ptr_nonnull(strstr(record.words, expected));
    }
    record.words[0] = 0;
    record.ignored = 0;
    write_file(files[2], "y");
    run_passes();
    snprintf(expected, sizeof expected, "*%s !%s", files[2], files[2]);
    ck_assert_str_eq(record.words, expected);
    end_watch(&record);
    unlink(files[0]);
    unlink(files[2]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-watch");
    TCase *tcase = add_case(suite, "file-watch", 60);
    tcase_add_checked_fixture(tcase, set_up, drop_tree);
    tcase_add_test(tcase, file_events_are_reported_in_order);
    tcase_add_test(tcase, repeated_changes_of_a_file_are_reported_once);
    tcase_add_test(tcase, new_directories_are_watched_with_their_contents);
    tcase_add_test(tcase, a_renamed_directory_stays_watched_under_its_new_path);
    tcase_add_test(tcase, moves_out_of_the_tree_are_removals_and_moves_into_it_creations);
    tcase_add_test(tcase, symbolic_links_are_not_followed);
    tcase_add_test(tcase, without_recursion_only_the_root_is_watched);
    tcase_add_test(tcase, renaming_or_removing_a_root_is_reported);
    tcase_add_test(tcase, events_of_a_root_within_another_are_reported_once);
    tcase_add_test(tcase, a_relative_root_path_is_made_absolute);
    tcase_add_test(tcase, a_latency_collects_events);
    tcase_add_test(tcase, without_deferral_the_first_event_is_reported_at_once);
    tcase_add_test(tcase, many_events_do_not_wait_for_the_latency);
    tcase_add_test(tcase, an_overflow_requests_a_scan_and_later_events_are_not_lost);
    tcase_add_test(tcase, roots_that_are_files_are_checked_after_an_overflow);
    return suite;
}
