/* RLFileWatch while directories swap places: the kernel's events lag behind the state of the file system. */
#include "files.h"
#include <sys/syscall.h>

static struct record record;

static void set_up(void)
{
    make_tree();
    record = (struct record){.ignored = kRLFileWatchAttributes | kRLFileWatchClosed | kRLFileWatchModified};
}

/* -- Directories that moved while the loop was busy -- */

/* Causes more events than one pass reads. */
static void fill_queue(int turns)
{
    char kept[600];
    snprintf(kept, sizeof kept, "%s-kept", base);
    write_file(kept, "x");
    cause_long_events(kept, turns);
    unlink(kept);
}

/* Runs until all events were reported and every directory is watched, so that a file created in it is reported. */
static void assert_watched(int count)
{
    record.ignored = ~0UL;
    run_passes();
    for (int turn = 0; turn < 1000 && RLFileWatchGetWatchCount(record.object) != count; turn++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), count);
    record.ignored = kRLFileWatchAttributes | kRLFileWatchClosed | kRLFileWatchModified;
}

START_TEST(directories_moved_into_each_other_make_no_cycle)
{
    make_directory(in_tree("q"));
    watch_base(&record, 0, 0);
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
    assert_reported(&record, _i < 2 ? "+p/q/file" : "+p/x/file");
    end_watch(&record);
}
END_TEST

START_TEST(a_stale_path_may_lead_to_the_directory_above)
{
    make_directory(in_tree("q"));
    watch_base(&record, 0, 0);
    make_directory(in_tree("q/p"));
    fill_queue(3000);
    require(rename(in_tree("q"), in_tree("t")) == 0);
    make_directory(in_tree("q"));
    require(rename(in_tree("t"), in_tree("q/p")) == 0);
    assert_watched(4);
    write_file(in_tree("q/p/p/file"), "x");
    assert_reported(&record, "+q/p/p/file");
    end_watch(&record);
}
END_TEST

START_TEST(a_directory_may_be_replaced_by_its_former_parent)
{
    make_directory(in_tree("z"));
    make_directory(in_tree("z/x"));
    watch_base(&record, 0, 0);
    make_directory(in_tree("q"));
    fill_queue(700);
    require(rename(in_tree("z/x"), in_tree("q")) == 0 && rename(in_tree("z"), in_tree("q")) == 0);
    assert_watched(2);
    write_file(in_tree("q/file"), "x");
    assert_reported(&record, "+q/file");
    end_watch(&record);
}
END_TEST

/* The 900 events fill eight reads, as many as one pass makes, so the pass does not check for more events. */
START_TEST(a_new_directory_is_watched_even_if_no_event_follows)
{
    watch_base(&record, 0, 0);
    record.ignored = ~0UL;
    make_directory(in_tree("p"));
    fill_queue(450);
    while (RLFileWatchGetWatchCount(record.object) < 2)
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
    end_watch(&record);
}
END_TEST

static void exchange(const char *one, const char *other)
{
    require(syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0);
}

START_TEST(exchanged_files_must_be_scanned_and_stay_watched)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("b"));
    make_directory(in_tree("b/sub"));
    write_file(in_tree("f"), "f");
    write_file(in_tree("g"), "g");
    watch_base(&record, 0, 0);
    exchange(in_tree("f"), in_tree("g"));
    assert_reported(&record, "f>g ?g ?f");
    exchange(in_tree("a"), in_tree("b"));
    await_all(&record);
    ck_assert_ptr_nonnull(strstr(record.words, "a>b/ "));
    ck_assert_ptr_nonnull(strstr(record.words, "?a/"));
    ck_assert_ptr_nonnull(strstr(record.words, "?b/"));
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 4);
    record.words[0] = 0;
    write_file(in_tree("a/sub/new"), "x");
    write_file(in_tree("b/new"), "x");
    assert_reported(&record, "+a/sub/new +b/new");
    exchange(in_tree("f"), in_tree("a"));
    assert_reported(&record, "f>a ?a ?f/");
    write_file(in_tree("f/sub/new2"), "x");
    assert_reported(&record, "+f/sub/new2");
    end_watch(&record);
}
END_TEST

/* An exchange with a directory outside is reported as one half of each of the two renames. */
START_TEST(a_directory_exchanged_with_one_outside_must_be_scanned)
{
    char outside[600], path[700];
    snprintf(outside, sizeof outside, "%s-outside", base);
    snprintf(path, sizeof path, "%s/inner", outside);
    make_directory(in_tree("a"));
    make_directory(outside);
    make_directory(path);
    watch_base(&record, 0, 0);
    exchange(_i == 0 ? outside : in_tree("a"), _i == 0 ? in_tree("a") : outside);
    assert_reported(&record, _i == 0 ? "+>a/ ?a/" : "->a/ +>a/ +a/inner/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 3);
    end_watch(&record);
    remove_tree(outside);
}
END_TEST

/* The kernel reports two consecutive arrivals at one path only once, so it looks as if the first arrival had left. */
START_TEST(a_renamed_directory_exchanged_with_one_outside_must_be_scanned)
{
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    make_directory(outside);
    make_directory(in_tree("c"));
    watch_base(&record, 0, 0);
    require(rename(in_tree("c"), in_tree("a")) == 0);
    exchange(outside, in_tree("a"));
    assert_reported(&record, "c>a/ ?a/");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 2);
    require(rename(in_tree("a"), in_tree("b")) == 0 && rmdir(outside) == 0 && rename(in_tree("b"), outside) == 0);
    assert_reported(&record, "a>b/ ->b/"); /* nothing is there */
    end_watch(&record);
    remove_tree(outside);
}
END_TEST

/* The first half of the exchange looks like the second half of an exchange that began with the previous event. */
START_TEST(an_exchange_right_after_a_move_into_the_tree_loses_no_directory)
{
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    make_directory(outside);
    make_directory(in_tree("d"));
    make_directory(in_tree("d/a"));
    make_directory(in_tree("e"));
    watch_base(&record, 0, 0);
    if (_i == 0)
        require(rename(outside, in_tree("e/b")) == 0);
    else
        require(rename(in_tree("d/a"), in_tree("e/b")) == 0 && rename(outside, in_tree("d/a")) == 0);
    exchange(in_tree("e/b"), in_tree("d/a"));
    assert_watched(5);
    write_file(in_tree("d/a/file"), "x");
    write_file(in_tree("e/b/file"), "x");
    assert_reported(&record, "+d/a/file +e/b/file");
    end_watch(&record);
}
END_TEST

START_TEST(a_file_renamed_there_and_back_must_be_scanned_despite_other_renames)
{
    make_directory(in_tree("d"));
    make_directory(in_tree("e"));
    write_file(in_tree("d/a"), "a");
    write_file(in_tree("e/1"), "1");
    watch_base(&record, 0, 0);
    require(rename(in_tree("d/a"), in_tree("d/b")) == 0);
    require(rename(in_tree("e/1"), in_tree("e/2")) == 0);
    require(rename(in_tree("d/b"), in_tree("d/a")) == 0);
    assert_reported(&record, "d/a>d/b e/1>e/2 ?d/b ?d/a");
    end_watch(&record);
}
END_TEST

START_TEST(a_directory_may_be_removed_right_after_an_exchange)
{
    make_directory(in_tree("a"));
    make_directory(in_tree("b"));
    make_directory(in_tree("b/sub"));
    watch_base(&record, 0, 0);
    exchange(in_tree("a"), in_tree("b"));
    require(rmdir(in_tree("b")) == 0);
    await_all(&record);
    record.words[0] = 0;
    write_file(in_tree("a/sub/file"), "");
    assert_reported(&record, "+a/sub/file");
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), 3);
    end_watch(&record);
}
END_TEST

START_TEST(renames_there_and_back_are_both_reported_if_the_loop_ran_in_between)
{
    make_directory(in_tree("a"));
    watch_base(&record, 0, 0);
    require(rename(in_tree("a"), in_tree("b")) == 0);
    run_passes();
    require(rename(in_tree("b"), in_tree("a")) == 0);
    run_passes();
    write_file(in_tree("a/file"), "x");
    assert_reported(&record, "a>b/ b>a/ +a/file");
    end_watch(&record);
}
END_TEST

/* A directory leaves the tree, and "b" takes its place. If there is something at "b" when the loop runs, that looks like
 * an exchange, so "b" must be scanned. What has arrived there must not hide that, nor be reported as gone. */
START_TEST(what_arrives_at_a_directory_that_must_be_scanned_is_reported_after_that)
{
    static const char *const expected[] = {"->a/x/ ?b/ +>b/ ?a/x/", "->a/x/ ?b/ +>b ?a/x/", "->a/x/ ?b/ +b ?a/x/",
                                           "->a/x/ -a/x/ +>a/x/ ?b/ a/x>b/"};
    static const int watches[] = {5, 4, 4, 3};
    char outside[600];
    snprintf(outside, sizeof outside, "%s-outside", base);
    make_directory(in_tree("a"));
    make_directory(in_tree("a/x"));
    make_directory(in_tree("b"));
    make_directory(in_tree("b/old"));
    watch_base(&record, 0, 0);
    require(rename(in_tree("a/x"), outside) == 0 && rename(in_tree("b"), in_tree("a/x")) == 0);
    if (_i == 1) {
        require(rmdir(outside) == 0);
        write_file(outside, "x");
    }
    if (_i < 2)
        require(rename(outside, in_tree("b")) == 0);
    else if (_i == 2)
        write_file(in_tree("b"), "x");
    else
        require(rmdir(in_tree("a/x/old")) == 0 && rmdir(in_tree("a/x")) == 0 && rename(outside, in_tree("a/x")) == 0 &&
                rename(in_tree("a/x"), in_tree("b")) == 0);
    for (int turn = 0; turn < 10; turn++) /* what the tree does not explain is looked at four times */
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 0);
    assert_reported(&record, expected[_i]);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), watches[_i]);
    remove_tree(outside);
    end_watch(&record);
}
END_TEST

/* Returns the processor time, in seconds, that the loop needs to follow renames of a directory with this many
 * entries. */
static double time_of_renames(int children)
{
    make_directory(in_tree("r0"));
    for (int i = 0; i < children; i++)
        make_directory(in_tree("r0/%d", i));
    watch_base(&record, 0, 0);
    record.ignored = ~0UL;
    for (int i = 0; i < 2000; i++)
        require(rename(in_tree("r%d", i), in_tree("r%d", i + 1)) == 0);
    struct timespec times[2];
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &times[0]);
    run_passes();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &times[1]);
    ck_assert_int_eq(RLFileWatchGetWatchCount(record.object), children + 2);
    end_watch(&record);
    remove_tree(in_tree("r2000"));
    return (double)(times[1].tv_sec - times[0].tv_sec) + (double)(times[1].tv_nsec - times[0].tv_nsec) / 1e9;
}

START_TEST(the_cost_of_a_rename_does_not_depend_on_the_size_of_the_directory)
{
    double few = time_of_renames(1), many = time_of_renames(1000);
    ck_assert_msg(many < few * 10, "%.4f s instead of %.4f s", many, few);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-watch-moves");
    TCase *tcase = add_case(suite, "file-watch-moves", 60);
    tcase_add_checked_fixture(tcase, set_up, drop_tree);
    tcase_add_loop_test(tcase, directories_moved_into_each_other_make_no_cycle, 0, 3);
    tcase_add_test(tcase, a_stale_path_may_lead_to_the_directory_above);
    tcase_add_test(tcase, a_directory_may_be_replaced_by_its_former_parent);
    tcase_add_test(tcase, a_new_directory_is_watched_even_if_no_event_follows);
    tcase_add_test(tcase, exchanged_files_must_be_scanned_and_stay_watched);
    tcase_add_loop_test(tcase, a_directory_exchanged_with_one_outside_must_be_scanned, 0, 2);
    tcase_add_test(tcase, a_renamed_directory_exchanged_with_one_outside_must_be_scanned);
    tcase_add_loop_test(tcase, an_exchange_right_after_a_move_into_the_tree_loses_no_directory, 0, 2);
    tcase_add_test(tcase, a_file_renamed_there_and_back_must_be_scanned_despite_other_renames);
    tcase_add_test(tcase, a_directory_may_be_removed_right_after_an_exchange);
    tcase_add_test(tcase, renames_there_and_back_are_both_reported_if_the_loop_ran_in_between);
    tcase_add_loop_test(tcase, what_arrives_at_a_directory_that_must_be_scanned_is_reported_after_that, 0, 4);
    tcase_add_test(tcase, the_cost_of_a_rename_does_not_depend_on_the_size_of_the_directory);
    return suite;
}
