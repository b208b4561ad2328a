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

static void pass_assertions(UNUSED void *info)
{
    ck_assert(true);
    ck_assert_int_eq(1, 1);
    require(true);
    mark_point();
}

static void fail_an_assertion(UNUSED void *info)
{
    be_silent();
    ck_assert_int_eq(1, 2);
}

static void fail_a_requirement(UNUSED void *info)
{
    be_silent();
    require(false);
}

static void have_a_failing_child(UNUSED void *info)
{
    be_silent();
    _exit(run_in_child(fail_an_assertion, NULL) == 1 ? 42 : 43);
}

static const struct {
    void (*body)(void *);
    int status;
} children[] = {{pass_assertions, 0}, {fail_an_assertion, 1}, {fail_a_requirement, 1}, {have_a_failing_child, 42}};

START_TEST(assertions_of_a_child_are_not_recorded)
{
    off_t before = end_of_record();
    require(before > 0);
    int status = run_in_child(children[_i].body, NULL);
    off_t after = end_of_record();
    ck_assert_int_eq(status, children[_i].status);
    ck_assert_int_eq(after - before, 0);
}
END_TEST

START_TEST(assertions_of_the_test_are_recorded)
{
    off_t before = end_of_record();
    ck_assert(true);
    ck_assert_int_gt(end_of_record(), before);
}
END_TEST

START_TEST(a_failed_requirement_fails_the_test) { require(false); }
END_TEST

static void check_nothing(UNUSED void *info) {}

/* If fork_child() returned -1, kill() would end every process. */
START_TEST(fork_child_returns_a_positive_process_id)
{
    pid_t child = fork_child();
    if (child == 0)
        _exit(0);
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(run_in_child(check_nothing, NULL), 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("harness");
    TCase *tcase = add_case(suite, "harness", 20);
    tcase_add_loop_test(tcase, assertions_of_a_child_are_not_recorded, 0, (int)(sizeof children / sizeof *children));
    tcase_add_test(tcase, assertions_of_the_test_are_recorded);
    tcase_add_exit_test(tcase, a_failed_requirement_fails_the_test, 1);
    tcase_add_test(tcase, fork_child_returns_a_positive_process_id);
    return suite;
}
