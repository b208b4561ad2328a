/* RLFileWatch: how roots end, alone and within other roots. */
#include "files.h"

static struct record record;

static void set_up(void)
{
    make_tree();
    record = (struct record){.ignored = kRLFileWatchAttributes | kRLFileWatchClosed | kRLFileWatchModified};
}

START_TEST(the_replacement_of_an_open_root_file_is_reported)
{
    write_file(in_tree("file"), "x");
    write_file(in_tree("new"), "y");
    const char *paths[] = {in_tree("file"), NULL};
    RLFileWatchContext context = {.info = &record};
    record.ignored = 0;
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    int file = open(in_tree("file"), O_RDONLY | O_CLOEXEC);
    require(file >= 0 && chmod(in_tree("file"), 0640) == 0);
    run_passes();
    ck_assert_str_eq(record.words, "@file");
    require(rename(in_tree("new"), in_tree("file")) == 0);
    run_passes();
    ck_assert_str_eq(record.words, "@file -~file");
    close(file);
    run_passes();
    ck_assert_str_eq(record.words, "@file -~file");
    end_watch(&record);
}
END_TEST

START_TEST(a_root_below_a_renamed_directory_ends_when_a_directory_is_created_in_it)
{
    make_directory(in_tree("up"));
    make_directory(in_tree("up/root"));
    const char *paths[] = {in_tree("up/root"), NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    require(rename(in_tree("up"), in_tree("other")) == 0);
    make_directory(in_tree("other/root/new"));
    while (strchr(record.words, '~') == NULL)
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
    ck_assert_str_eq(record.words, "+up/root/new/ >~up/root/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 0);
    end_watch(&record);
}
END_TEST

START_TEST(renaming_a_root_within_another_is_reported)
{
    make_directory(in_tree("a"));
    const char *paths[] = {in_tree("a"), base, NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    require(rename(in_tree("a"), in_tree("b")) == 0);
    await_all(&record);
    ck_assert_ptr_nonnull(strstr(record.words, ">~a/"));
    ck_assert_ptr_nonnull(strstr(record.words, "a>b/"));
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 2);
    record.words[0] = 0;
    write_file(in_tree("b/file"), "x");
    assert_reported(&record, "+b/file");
    end_watch(&record);
}
END_TEST

/* The kernel reports the end of the old root only when its last descriptor is closed. The new one must not be
 * reported as removed then. */
START_TEST(a_root_within_another_ends_before_it_is_created_again)
{
    make_directory(in_tree("a"));
    const char *paths[] = {_i ? in_tree("a") : base, _i ? base : in_tree("a"), NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    int open_one = open(in_tree("a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(open_one >= 0 && rmdir(in_tree("a")) == 0);
    make_directory(in_tree("a"));
    assert_reported(&record, "-a/ -~a/ +a/");
    close(open_one);
    write_file(in_tree("a/file"), "x");
    assert_reported(&record, "+a/file");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 2);
    end_watch(&record);
}
END_TEST

/* The root's own path no longer exists, so events in it are reported by the root above. */
START_TEST(a_root_within_another_ends_when_a_directory_between_them_is_renamed)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("a/in"));
    make_directory(in_tree("a/in/sub"));
    const char *paths[] = {_i ? in_tree("a/in") : base, _i ? base : in_tree("a/in"), NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    require(rename(in_tree("a"), in_tree("b")) == 0);
    assert_reported(&record, "a>b/ >~a/in/ ?b/in/");
    write_file(in_tree("b/in/sub/file"), "x");
    assert_reported(&record, "+b/in/sub/file");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 4);
    end_watch(&record);
}
END_TEST

/* Events of the root have the path of the link. Under its other path, the directory is reported as watched
 * elsewhere. */
START_TEST(events_of_a_root_that_links_into_another_have_its_own_path)
{
    char link[600], expected[1300];
    snprintf(link, sizeof link, "%s-link", base);
    make_directory(in_tree("a"));
    require(symlink(in_tree("a"), link) == 0);
    const char *paths[] = {_i ? link : base, _i ? base : link, NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    write_file(in_tree("a/file"), "x");
    snprintf(expected, sizeof expected, "#a/ +%s/file", link);
    assert_reported(&record, expected);
    ck_assert_int_eq(record.error, EEXIST);
    require(rename(in_tree("a"), in_tree("b")) == 0);
    snprintf(expected, sizeof expected, "a>b/ >~%s/ ?b/", link);
    assert_reported(&record, expected);
    write_file(in_tree("b/later"), "x");
    assert_reported(&record, "+b/later");
    end_watch(&record);
    unlink(link);
}
END_TEST

/* Watches two roots, the second of which is below the first. */
static void watch_both(const char *outer, const char *inner, RLOptionFlags flags)
{
    const char *paths[] = {outer, inner, NULL};
    RLFileWatchContext context = {.info = &record};
    record.object = add(RLFileWatchCreate(NULL, paths, 0, flags, write_down, &context));
}

/* What the root contains has left the other root, or is not watched there, so nothing but the rename shows that its path
 * is gone. Events with that path would restore it in the program's list. */
START_TEST(a_root_ends_when_the_directory_above_it_leaves_the_other_root)
{
    char outside[600], expected[700];
    snprintf(outside, sizeof outside, "%s-outside", base);
    make_directory(in_tree("a"));
    make_directory(in_tree("a/in"));
    watch_both(base, in_tree("a/in"), _i ? kRLFileWatchNotRecursive : 0);
    require(rename(in_tree("a"), _i ? in_tree("b") : outside) == 0);
    snprintf(expected, sizeof expected, "%s >~a/in/", _i ? "a>b/" : "->a/");
    assert_reported(&record, expected);
    require(rename(_i ? in_tree("b") : outside, in_tree("a")) == 0);
    record.words[0] = 0;
    write_file(in_tree("a/in/file"), "x");
    await_all(&record);
    ck_assert_ptr_null(strstr(record.words, "+a/in/file +a/in/file"));
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), _i ? 1 : 3);
    end_watch(&record);
}
END_TEST

START_TEST(a_root_ends_with_the_root_that_contains_it)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("a/b"));
    make_directory(in_tree("a/b/in"));
    watch_both(in_tree("a"), in_tree("a/b/in"), 0);
    require(rename(in_tree("a"), in_tree("c")) == 0);
    write_file(in_tree("c/b/in/file"), "x");
    run_passes();
    ck_assert_str_eq(record.words, ">~a/ >~a/b/in/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 0);
    end_watch(&record);
}
END_TEST

/* A directory takes the place of an empty one, which a process has open, so that the kernel does not report its end. */
START_TEST(the_replacement_of_an_open_root_within_another_is_reported)
{
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    make_directory(in_tree("a"));
    make_directory(_i ? outside : in_tree("b"));
    watch_both(base, in_tree("a"), 0);
    int open_one = open(in_tree("a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(open_one >= 0 && rename(_i ? outside : in_tree("b"), in_tree("a")) == 0);
    assert_reported(&record, _i ? "-~a/ +>a/" : "-~a/ b>a/");
    close(open_one);
    write_file(in_tree("a/file"), "x");
    assert_reported(&record, "+a/file");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 2);
    end_watch(&record);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-watch-roots");
    TCase *tcase = add_case(suite, "file-watch-roots", 60);
    tcase_add_checked_fixture(tcase, set_up, drop_tree);
    tcase_add_test(tcase, the_replacement_of_an_open_root_file_is_reported);
    tcase_add_test(tcase, a_root_below_a_renamed_directory_ends_when_a_directory_is_created_in_it);
    tcase_add_test(tcase, renaming_a_root_within_another_is_reported);
    tcase_add_loop_test(tcase, a_root_within_another_ends_before_it_is_created_again, 0, 2);
    tcase_add_loop_test(tcase, a_root_within_another_ends_when_a_directory_between_them_is_renamed, 0, 2);
    tcase_add_loop_test(tcase, events_of_a_root_that_links_into_another_have_its_own_path, 0, 2);
    tcase_add_loop_test(tcase, a_root_ends_when_the_directory_above_it_leaves_the_other_root, 0, 2);
    tcase_add_test(tcase, a_root_ends_with_the_root_that_contains_it);
    tcase_add_loop_test(tcase, the_replacement_of_an_open_root_within_another_is_reported, 0, 2);
    return suite;
}
