/* Checks the harness itself: a child of a test reports its failures on stderr and by its exit status, never in Check's record.
 * Both processes have the record open, and a child that is killed while writing there would corrupt it. */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* Returns the end of Check's record, where the next entry will be written: a file that is already deleted. */
static off_t end_of_record(void)
{
    for (int fd = 0; fd < 64; fd++) {
        char path[32], target[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) > 0 && strstr(target, "check_") && strstr(target, "deleted"))
            return lseek(fd, 0, SEEK_CUR);
    }
    return -1;
}

static void be_silent(void) { require(dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO) >= 0); }

static void find_all_well(UNUSED void *info)
{
    ck_assert(true);
    ck_assert_int_eq(1, 1);
    require(true);
    mark_point();
}

static void find_a_fault(UNUSED void *info)
{
    be_silent();
    ck_assert_int_eq(1, 2);
}

static void miss_something(UNUSED void *info)
{
    be_silent();
    require(false);
}

static void have_a_child_that_finds_a_fault(UNUSED void *info)
{
    be_silent();
    _exit(run_in_child(find_a_fault, NULL) == 1 ? 42 : 43);
}

static const struct {
    void (*body)(void *);
    int status;
} children[] = {{find_all_well, 0}, {find_a_fault, 1}, {miss_something, 1}, {have_a_child_that_finds_a_fault, 42}};

START_TEST(what_a_child_finds_is_not_in_the_record)
{
    off_t before = end_of_record();
    require(before > 0);
    int status = run_in_child(children[_i].body, NULL);
    off_t after = end_of_record();
    ck_assert_int_eq(status, children[_i].status);
    ck_assert_int_eq(after - before, 0);
}
END_TEST

START_TEST(what_the_test_finds_is_in_the_record)
{
    off_t before = end_of_record();
    ck_assert(true);
    ck_assert_int_gt(end_of_record(), before);
}
END_TEST

START_TEST(what_the_test_misses_fails_it) { require(false); }
END_TEST

static void find_nothing(UNUSED void *info) {}

/* If fork_child() returned -1, kill() would end every process. */
START_TEST(a_child_has_a_number)
{
    pid_t child = fork_child();
    if (child == 0)
        _exit(0);
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(run_in_child(find_nothing, NULL), 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("harness");
    TCase *tcase = add_case(suite, "harness", 20);
    tcase_add_loop_test(tcase, what_a_child_finds_is_not_in_the_record, 0, (int)(sizeof children / sizeof *children));
    tcase_add_test(tcase, what_the_test_finds_is_in_the_record);
    tcase_add_exit_test(tcase, what_the_test_misses_fails_it, 1);
    tcase_add_test(tcase, a_child_has_a_number);
    return suite;
}
