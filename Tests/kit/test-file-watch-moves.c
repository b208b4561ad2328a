/* RLFileWatch while directories and roots swap places: the kernel's events lag behind the state of the file system. */
#include "files.h"
#include <sys/syscall.h>

static struct told told;

static void set_up(void)
{
    make_tree();
    told = (struct told){.ignored = kRLFileWatchAttributes | kRLFileWatchClosed | kRLFileWatchModified};
}

/* -- Directories that moved while the loop was busy -- */

/* Causes more events than one pass reads. */
static void fill_queue(int turns)
{
    char name[241];
    memset(name, 'z', 240);
    name[240] = 0;
    for (int i = 0; i < turns; i++) {
        int file = open(in_tree("%s", name), O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
        require(file >= 0 && close(file) == 0 && unlink(in_tree("%s", name)) == 0);
    }
}

/* Runs until all events were reported and every directory is watched, so that a file created in it is reported. */
static void assert_watched(int count)
{
    told.ignored = ~0UL;
    run_passes();
    for (int turn = 0; turn < 1000 && RLFileWatchGetWatchCount(told.object) != count; turn++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    ck_assert_int_eq(RLFileWatchGetWatchCount(told.object), count);
    told.ignored = kRLFileWatchAttributes | kRLFileWatchClosed | kRLFileWatchModified;
}

START_TEST(a_directory_that_goes_into_its_child_and_back_makes_no_cycle)
{
    make_directory(in_tree("q"));
    watch_base(&told, 0, 0);
    make_directory(in_tree("p"));
    fill_queue(700);
    require(rename(in_tree("p"), in_tree(_i == 0 ? "q/p" : "q/x")) == 0);
    if (_i < 2)
        require(rename(in_tree(_i == 0 ? "q/p" : "q/x"), in_tree("p")) == 0 &&
                rename(in_tree("q"), in_tree("p/q")) == 0);
    else
        require(rename(in_tree("q"), in_tree("p")) == 0);
    assert_watched(3);
    write_file(in_tree(_i < 2 ? "p/q/file" : "p/x/file"), "x");
    assert_told(&told, _i < 2 ? "+p/q/file" : "+p/x/file");
    end_watch(&told);
}
END_TEST

START_TEST(a_path_may_lead_to_the_directory_above_for_a_while)
{
    make_directory(in_tree("q"));
    watch_base(&told, 0, 0);
    make_directory(in_tree("q/p"));
    fill_queue(3000);
    require(rename(in_tree("q"), in_tree("t")) == 0);
    make_directory(in_tree("q"));
    require(rename(in_tree("t"), in_tree("q/p")) == 0);
    assert_watched(4);
    write_file(in_tree("q/p/p/file"), "x");
    assert_told(&told, "+q/p/p/file");
    end_watch(&told);
}
END_TEST

START_TEST(what_a_rename_replaces_may_be_the_directory_that_it_came_from)
{
    make_directory(in_tree("z"));
    make_directory(in_tree("z/x"));
    watch_base(&told, 0, 0);
    make_directory(in_tree("q"));
    fill_queue(700);
    require(rename(in_tree("z/x"), in_tree("q")) == 0 && rename(in_tree("z"), in_tree("q")) == 0);
    assert_watched(2);
    write_file(in_tree("q/file"), "x");
    assert_told(&told, "+q/file");
    end_watch(&told);
}
END_TEST

/* The 900 events fill eight reads, as many as one pass makes, so the pass does not check for more events. */
START_TEST(a_directory_is_watched_though_no_event_follows)
{
    watch_base(&told, 0, 0);
    told.ignored = ~0UL;
    make_directory(in_tree("p"));
    fill_queue(450);
    while (RLFileWatchGetWatchCount(told.object) < 2)
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
    end_watch(&told);
}
END_TEST

static void exchange(const char *one, const char *other)
{
    require(syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0);
}

START_TEST(what_was_exchanged_is_to_be_scanned_and_stays_watched)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("b"));
    make_directory(in_tree("b/sub"));
    write_file(in_tree("f"), "f");
    write_file(in_tree("g"), "g");
    watch_base(&told, 0, 0);
    exchange(in_tree("f"), in_tree("g"));
    assert_told(&told, "f>g ?g ?f");
    exchange(in_tree("a"), in_tree("b"));
    await_all(&told);
    ck_assert_ptr_nonnull(strstr(told.words, "a>b/ "));
    ck_assert_ptr_nonnull(strstr(told.words, "?a/"));
    ck_assert_ptr_nonnull(strstr(told.words, "?b/"));
    ck_assert_int_eq(RLFileWatchGetWatchCount(told.object), 4);
    told.words[0] = 0;
    write_file(in_tree("a/sub/new"), "x");
    write_file(in_tree("b/new"), "x");
    assert_told(&told, "+a/sub/new +b/new");
    exchange(in_tree("f"), in_tree("a"));
    assert_told(&told, "f>a ?a ?f/");
    write_file(in_tree("f/sub/new2"), "x");
    assert_told(&told, "+f/sub/new2");
    end_watch(&told);
}
END_TEST

/* An exchange with a directory outside is reported as one half of each of the two renames. */
START_TEST(an_exchange_with_a_place_outside_is_to_be_scanned)
{
    char outside[600], path[700];
    snprintf(outside, sizeof outside, "%s-outside", base);
    snprintf(path, sizeof path, "%s/inner", outside);
    make_directory(in_tree("a"));
    make_directory(outside);
    make_directory(path);
    watch_base(&told, 0, 0);
    exchange(_i == 0 ? outside : in_tree("a"), _i == 0 ? in_tree("a") : outside);
    assert_told(&told, _i == 0 ? "+>a/ ?a/" : "->a/ +>a/ +a/inner/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(told.object), 3);
    end_watch(&told);
    remove_tree(outside);
}
END_TEST

/* The kernel reports two consecutive arrivals at one path only once, so it looks as if the first arrival had left. */
START_TEST(an_exchange_with_a_place_outside_right_after_a_rename_is_to_be_scanned)
{
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    make_directory(outside);
    make_directory(in_tree("c"));
    watch_base(&told, 0, 0);
    require(rename(in_tree("c"), in_tree("a")) == 0);
    exchange(outside, in_tree("a"));
    assert_told(&told, "c>a/ ?a/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(told.object), 2);
    require(rename(in_tree("a"), in_tree("b")) == 0 && rmdir(outside) == 0 && rename(in_tree("b"), outside) == 0);
    assert_told(&told, "a>b/ ->b/"); /* nothing is there */
    end_watch(&told);
    remove_tree(outside);
}
END_TEST

/* The first half of the exchange looks like the second half of an exchange that began with the previous event. */
START_TEST(an_exchange_right_after_an_arrival_loses_no_directory)
{
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    make_directory(outside);
    make_directory(in_tree("d"));
    make_directory(in_tree("d/a"));
    make_directory(in_tree("e"));
    watch_base(&told, 0, 0);
    if (_i == 0)
        require(rename(outside, in_tree("e/b")) == 0);
    else
        require(rename(in_tree("d/a"), in_tree("e/b")) == 0 && rename(outside, in_tree("d/a")) == 0);
    exchange(in_tree("e/b"), in_tree("d/a"));
    assert_watched(5);
    write_file(in_tree("d/a/file"), "x");
    write_file(in_tree("e/b/file"), "x");
    assert_told(&told, "+d/a/file +e/b/file");
    end_watch(&told);
}
END_TEST

START_TEST(there_and_back_is_to_be_scanned_whatever_was_renamed_elsewhere)
{
    make_directory(in_tree("d"));
    make_directory(in_tree("e"));
    write_file(in_tree("d/a"), "a");
    write_file(in_tree("e/1"), "1");
    watch_base(&told, 0, 0);
    require(rename(in_tree("d/a"), in_tree("d/b")) == 0);
    require(rename(in_tree("e/1"), in_tree("e/2")) == 0);
    require(rename(in_tree("d/b"), in_tree("d/a")) == 0);
    assert_told(&told, "d/a>d/b e/1>e/2 ?d/b ?d/a");
    end_watch(&told);
}
END_TEST

START_TEST(what_was_exchanged_is_removed_at_once)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("b"));
    make_directory(in_tree("b/sub"));
    watch_base(&told, 0, 0);
    exchange(in_tree("a"), in_tree("b"));
    require(rmdir(in_tree("b")) == 0);
    await_all(&told);
    told.words[0] = 0;
    write_file(in_tree("a/sub/file"), "");
    assert_told(&told, "+a/sub/file");
    ck_assert_int_eq(RLFileWatchGetWatchCount(told.object), 3);
    end_watch(&told);
}
END_TEST

START_TEST(there_and_back_is_told_as_two_renames_if_the_loop_ran_between)
{
    make_directory(in_tree("a"));
    watch_base(&told, 0, 0);
    require(rename(in_tree("a"), in_tree("b")) == 0);
    run_passes();
    require(rename(in_tree("b"), in_tree("a")) == 0);
    run_passes();
    write_file(in_tree("a/file"), "x");
    assert_told(&told, "a>b/ b>a/ +a/file");
    end_watch(&told);
}
END_TEST

/* -- Roots whose path changes without an event -- */

START_TEST(a_file_that_is_open_and_replaced_is_told)
{
    write_file(in_tree("file"), "x");
    write_file(in_tree("new"), "y");
    const char *paths[] = {in_tree("file"), NULL};
    RLFileWatchContext context = {.info = &told};
    told.ignored = 0;
    told.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    int file = open(in_tree("file"), O_RDONLY | O_CLOEXEC);
    require(file >= 0 && chmod(in_tree("file"), 0640) == 0);
    run_passes();
    ck_assert_str_eq(told.words, "@file");
    require(rename(in_tree("new"), in_tree("file")) == 0);
    run_passes();
    ck_assert_str_eq(told.words, "@file -~file");
    close(file);
    run_passes();
    ck_assert_str_eq(told.words, "@file -~file");
    end_watch(&told);
}
END_TEST

START_TEST(a_root_whose_path_leads_elsewhere_ends_when_a_directory_is_made_in_it)
{
    make_directory(in_tree("up"));
    make_directory(in_tree("up/root"));
    const char *paths[] = {in_tree("up/root"), NULL};
    RLFileWatchContext context = {.info = &told};
    told.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    require(rename(in_tree("up"), in_tree("other")) == 0);
    make_directory(in_tree("other/root/new"));
    while (strchr(told.words, '~') == NULL)
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
    ck_assert_str_eq(told.words, "+up/root/new/ >~up/root/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(told.object), 0);
    end_watch(&told);
}
END_TEST

START_TEST(a_root_within_another_is_told_when_it_is_renamed)
{
    make_directory(in_tree("a"));
    const char *paths[] = {in_tree("a"), base, NULL};
    RLFileWatchContext context = {.info = &told};
    told.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    require(rename(in_tree("a"), in_tree("b")) == 0);
    await_all(&told);
    ck_assert_ptr_nonnull(strstr(told.words, ">~a/"));
    ck_assert_ptr_nonnull(strstr(told.words, "a>b/"));
    ck_assert_int_eq(RLFileWatchGetWatchCount(told.object), 2);
    told.words[0] = 0;
    write_file(in_tree("b/file"), "x");
    assert_told(&told, "+b/file");
    end_watch(&told);
}
END_TEST

/* The kernel reports the end of the old root only when its last descriptor is closed. The new one must not be
 * reported as removed then. */
START_TEST(a_root_within_another_ends_before_it_is_made_again)
{
    make_directory(in_tree("a"));
    const char *paths[] = {_i ? in_tree("a") : base, _i ? base : in_tree("a"), NULL};
    RLFileWatchContext context = {.info = &told};
    told.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    int open_one = open(in_tree("a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(open_one >= 0 && rmdir(in_tree("a")) == 0);
    make_directory(in_tree("a"));
    assert_told(&told, "-a/ -~a/ +a/");
    close(open_one);
    write_file(in_tree("a/file"), "x");
    assert_told(&told, "+a/file");
    ck_assert_int_eq(RLFileWatchGetWatchCount(told.object), 2);
    end_watch(&told);
}
END_TEST

/* Returns the processor time, in seconds, that the loop needs to follow renames of a directory with this many
 * entries. */
static double time_of_renames(int children)
{
    make_directory(in_tree("r0"));
    for (int i = 0; i < children; i++)
        make_directory(in_tree("r0/%d", i));
    watch_base(&told, 0, 0);
    told.ignored = ~0UL;
    for (int i = 0; i < 2000; i++)
        require(rename(in_tree("r%d", i), in_tree("r%d", i + 1)) == 0);
    struct timespec times[2];
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &times[0]);
    run_passes();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &times[1]);
    ck_assert_int_eq(RLFileWatchGetWatchCount(told.object), children + 2);
    end_watch(&told);
    remove_tree(in_tree("r2000"));
    return (double)(times[1].tv_sec - times[0].tv_sec) + (double)(times[1].tv_nsec - times[0].tv_nsec) / 1e9;
}

START_TEST(a_rename_costs_no_more_if_the_directory_has_many_in_it)
{
    double few = time_of_renames(1), many = time_of_renames(1000);
    ck_assert_msg(many < few * 10, "%.4f s instead of %.4f s", many, few);
}
END_TEST

/* The root's own path no longer exists, so events in it are reported by the root above. */
START_TEST(a_root_in_another_ends_when_a_directory_between_them_is_renamed)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("a/in"));
    make_directory(in_tree("a/in/sub"));
    const char *paths[] = {_i ? in_tree("a/in") : base, _i ? base : in_tree("a/in"), NULL};
    RLFileWatchContext context = {.info = &told};
    told.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    require(rename(in_tree("a"), in_tree("b")) == 0);
    assert_told(&told, "a>b/ >~a/in/ ?b/in/");
    write_file(in_tree("b/in/sub/file"), "x");
    assert_told(&told, "+b/in/sub/file");
    ck_assert_int_eq(RLFileWatchGetWatchCount(told.object), 4);
    end_watch(&told);
}
END_TEST

/* Events of the root have the path of the link. Under its other path, the directory is reported as watched
 * elsewhere. */
START_TEST(a_root_that_is_a_link_into_another_is_told_under_its_own_path)
{
    char link[600], expected[1300];
    snprintf(link, sizeof link, "%s-link", base);
    make_directory(in_tree("a"));
    require(symlink(in_tree("a"), link) == 0);
    const char *paths[] = {_i ? link : base, _i ? base : link, NULL};
    RLFileWatchContext context = {.info = &told};
    told.object = add(RLFileWatchCreate(NULL, paths, 0, 0, write_down, &context));
    write_file(in_tree("a/file"), "x");
    snprintf(expected, sizeof expected, "#a/ +%s/file", link);
    assert_told(&told, expected);
    ck_assert_int_eq(told.error, EEXIST);
    require(rename(in_tree("a"), in_tree("b")) == 0);
    snprintf(expected, sizeof expected, "a>b/ >~%s/ ?b/", link);
    assert_told(&told, expected);
    write_file(in_tree("b/later"), "x");
    assert_told(&told, "+b/later");
    end_watch(&told);
    unlink(link);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-watch-moves");
    TCase *tcase = add_case(suite, "file-watch-moves", 60);
    tcase_add_checked_fixture(tcase, set_up, drop_tree);
    tcase_add_loop_test(tcase, a_directory_that_goes_into_its_child_and_back_makes_no_cycle, 0, 3);
    tcase_add_test(tcase, a_path_may_lead_to_the_directory_above_for_a_while);
    tcase_add_test(tcase, what_a_rename_replaces_may_be_the_directory_that_it_came_from);
    tcase_add_test(tcase, a_directory_is_watched_though_no_event_follows);
    tcase_add_test(tcase, what_was_exchanged_is_to_be_scanned_and_stays_watched);
    tcase_add_loop_test(tcase, an_exchange_with_a_place_outside_is_to_be_scanned, 0, 2);
    tcase_add_test(tcase, an_exchange_with_a_place_outside_right_after_a_rename_is_to_be_scanned);
    tcase_add_loop_test(tcase, an_exchange_right_after_an_arrival_loses_no_directory, 0, 2);
    tcase_add_test(tcase, there_and_back_is_to_be_scanned_whatever_was_renamed_elsewhere);
    tcase_add_test(tcase, what_was_exchanged_is_removed_at_once);
    tcase_add_test(tcase, there_and_back_is_told_as_two_renames_if_the_loop_ran_between);
    tcase_add_test(tcase, a_file_that_is_open_and_replaced_is_told);
    tcase_add_test(tcase, a_root_whose_path_leads_elsewhere_ends_when_a_directory_is_made_in_it);
    tcase_add_test(tcase, a_root_within_another_is_told_when_it_is_renamed);
    tcase_add_loop_test(tcase, a_root_within_another_ends_before_it_is_made_again, 0, 2);
    tcase_add_test(tcase, a_rename_costs_no_more_if_the_directory_has_many_in_it);
    tcase_add_loop_test(tcase, a_root_in_another_ends_when_a_directory_between_them_is_renamed, 0, 2);
    tcase_add_loop_test(tcase, a_root_that_is_a_link_into_another_is_told_under_its_own_path, 0, 2);
    return suite;
}
