/* Checks descriptors that are closed, reused, shared, always ready, or never were valid: the loop must not spin, confuse them, or
 * crash. */
#include "harness.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
}
static void tear_down(void) { drop_source(keeper); }

static int poll_once(void) { return RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1); }

/* Asserts that a run with nothing to do sleeps most of the time, measured in processor time instead of by the clock. */
static void assert_sleeps(void)
{
    struct timespec before, after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.3, 1), kRLRunLoopRunTimedOut);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    ck_assert_double_lt((double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) * 1e-9, 0.15);
}

/* Opens a pipe whose read end has this number. */
static void make_pipe_at(int number, int ends[2])
{
    make_pipe(ends);
    if (ends[0] != number) {
        ck_assert_int_eq(dup3(ends[0], number, O_CLOEXEC), number);
        close(ends[0]);
        ends[0] = number;
    }
}

START_TEST(a_reused_descriptor_number_belongs_to_the_new_source)
{
    int old_ends[2], new_ends[2];
    struct watch old_watch = {0}, new_watch = {.reads = true};
    make_pipe(old_ends);
    watch_fd(&old_watch, old_ends[0], 0);
    poll_once();
    drop_source(old_watch.source);
    close(old_ends[0]);
    make_pipe_at(old_ends[0], new_ends);
    watch_fd(&new_watch, new_ends[0], 0);
    ck_assert_int_eq(poll_once(), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(write(new_ends[1], "x", 1), 1);
    ck_assert_int_eq(poll_once(), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(old_watch.performed, 0);
    ck_assert_int_eq(new_watch.performed, 1);
    drop_source(new_watch.source);
    close(old_ends[1]);
    close(new_ends[0]);
    close(new_ends[1]);
}
END_TEST

/* The program closes the descriptor first and invalidates the source late: by then the number belongs to another registration. */
START_TEST(invalidating_after_close_leaves_the_new_owner_of_the_number_watched)
{
    int old_ends[2], new_ends[2];
    struct watch old_watch = {.reads = true}, new_watch = {.reads = true};
    make_pipe(old_ends);
    watch_fd(&old_watch, old_ends[0], 0);
    poll_once();
    close(old_ends[0]);
    make_pipe_at(old_ends[0], new_ends);
    watch_fd(&new_watch, new_ends[0], 0);
    poll_once();
    poll_once();
    ck_assert_int_eq(take_diagnostics(), 1);
    drop_source(old_watch.source);
    ck_assert_int_eq(write(new_ends[1], "x", 1), 1);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(new_watch.performed, 1);
    ck_assert_int_eq(old_watch.performed, 0);
    assert_sleeps();
    drop_source(new_watch.source);
    close(old_ends[1]);
    close(new_ends[0]);
    close(new_ends[1]);
}
END_TEST

START_TEST(closing_before_invalidation_does_no_harm)
{
    int ends[2];
    struct watch watch = {0};
    make_pipe(ends);
    watch_fd(&watch, ends[0], 0);
    poll_once();
    close(ends[0]);
    assert_sleeps();
    drop_source(watch.source);
    assert_sleeps();
    ck_assert_int_eq(watch.performed, 0);
    close(ends[1]);
}
END_TEST

/* epoll watches open files, not numbers: a duplicate keeps a closed number reporting without limit, and EPOLL_CTL_DEL of it
 * fails. */
START_TEST(closing_before_invalidation_with_an_open_duplicate_does_not_spin)
{
    int ends[2], idle_ends[2];
    struct watch watch = {0}, idle = {0}; /* with `idle` watched, the loop continues to sleep in epoll */
    make_pipe(ends);
    make_pipe(idle_ends);
    watch_fd(&watch, ends[0], 0);
    watch_fd(&idle, idle_ends[0], 0);
    poll_once();
    int duplicate = dup(ends[0]);
    close(ends[0]);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    drop_source(watch.source);
    int before = watch.performed;
    assert_sleeps();
    ck_assert_int_eq(watch.performed, before);
    ck_assert_int_eq(idle.performed, 0);
    drop_source(idle.source);
    close(idle_ends[0]);
    close(idle_ends[1]);
    close(duplicate);
    close(ends[1]);
}
END_TEST

static struct watch swapped, swapped_in;
static int swapped_in_ends[2];

/* Ends the other watch, and reuses its number for a pipe with nothing in it. */
static void swap_the_other(void *info)
{
    watch_perform(info);
    if (swapped.source == NULL)
        return;
    drop_source(swapped.source);
    swapped.source = NULL;
    close(swapped.fd);
    make_pipe_at(swapped.fd, swapped_in_ends);
    watch_fd(&swapped_in, swapped_in_ends[0], 0);
}

START_TEST(a_number_reused_in_the_same_batch_does_not_perform_for_the_old_event)
{
    int ends[2][2];
    struct watch swapper = {.reads = true};
    for (int i = 0; i < 2; i++) {
        make_pipe(ends[i]);
        ck_assert_int_eq(write(ends[i][1], "x", 1), 1);
    }
    swapper.fd = ends[0][0];
    swapper.source = make_port_source(0, watch_port, swap_the_other, &swapper);
    RLRunLoopAddSource(rl, swapper.source, kRLRunLoopDefaultMode);
    swapped.reads = true;
    watch_fd(&swapped, ends[1][0], 0);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0);
    ck_assert_int_eq(swapper.performed, 1);
    ck_assert_int_eq(swapped_in.performed, 0);
    ck_assert_int_eq(write(swapped_in_ends[1], "y", 1), 1);
    swapped_in.reads = true;
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(swapped_in.performed, 1);
    drop_source(swapper.source);
    drop_source(swapped_in.source);
    close(ends[0][0]);
    close(ends[0][1]);
    close(ends[1][1]);
    close(swapped_in_ends[0]);
    close(swapped_in_ends[1]);
}
END_TEST

START_TEST(dev_null_and_regular_files_are_always_ready)
{
    int fds[] = {open("/dev/null", O_RDONLY | O_CLOEXEC), memfd_create("regular", MFD_CLOEXEC),
                 open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    for (int i = 0; i < 3; i++) {
        struct watch watch = {0};
        watch_fd(&watch, fds[i], 0);
        ck_assert_int_eq(poll_once(), kRLRunLoopRunHandledSource);
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
        ck_assert_int_eq(watch.performed, 2);
        drop_source(watch.source);
        ck_assert_int_eq(poll_once(), kRLRunLoopRunTimedOut);
        close(fds[i]);
    }
}
END_TEST

/* A file that is always ready must not keep others from having their turn. */
START_TEST(an_always_ready_file_does_not_starve_a_pipe_or_a_timer)
{
    int ends[2];
    atomic_int fired = 0;
    struct watch file = {0}, pipe_watch = {.reads = true};
    make_pipe(ends);
    ck_assert_int_eq(write(ends[1], "abc", 3), 3);
    watch_fd(&file, open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
    watch_fd(&pipe_watch, ends[0], 0);
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.001, 0.001, count_timer, &fired);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    while (fired < 3 || pipe_watch.performed < 3)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    ck_assert_int_gt(file.performed, 0);
    drop_timer(timer);
    drop_source(file.source);
    drop_source(pipe_watch.source);
    close(file.fd);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* Watches a number that is no descriptor: the source never performs, and the loop neither spins nor crashes. */
static void watch_bad_number(int number, bool is_reported)
{
    struct watch watch = {0};
    watch_fd(&watch, number, 0);
    if (is_reported)
        assert_misuse("RLRunLoopAddSource", "source", NULL);
    ck_assert(RLRunLoopContainsSource(rl, watch.source, kRLRunLoopDefaultMode)); /* as in CF */
    assert_sleeps();
    assert_sleeps();
    ck_assert_int_eq(watch.performed, 0);
    drop_source(watch.source);
    ck_assert_int_eq(take_diagnostics(), 0); /* nothing more is reported, in any pass */
}

/* As RLRunLoopSource.h says, a negative number is no descriptor, and no misuse. */
START_TEST(a_negative_descriptor_number_is_never_ready)
{
    struct watch second = {0};
    watch_fd(&second, -1, 0);
    watch_bad_number(-1, false);
    watch_bad_number(INT32_MIN, false);
    drop_source(second.source);
}
END_TEST

START_TEST(a_closed_descriptor_number_is_never_ready)
{
    int ends[2];
    make_pipe(ends);
    close(ends[0]);
    close(ends[1]);
    watch_bad_number(ends[0], true);
}
END_TEST

START_TEST(a_descriptor_number_above_the_limit_is_never_ready) { watch_bad_number(INT32_MAX, true); }
END_TEST

START_TEST(a_source_with_a_bad_descriptor_does_not_disturb_others)
{
    int ends[2];
    struct watch bad = {0}, good = {.reads = true};
    make_pipe(ends);
    watch_fd(&bad, -1, 0);
    watch_fd(&good, ends[0], 0);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(good.performed, 1);
    drop_source(bad.source);
    drop_source(good.source);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source-descriptor-trouble");
    TCase *tcase = add_case(suite, "trouble", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_reused_descriptor_number_belongs_to_the_new_source);
    tcase_add_test(tcase, invalidating_after_close_leaves_the_new_owner_of_the_number_watched);
    tcase_add_test(tcase, closing_before_invalidation_does_no_harm);
    tcase_add_test(tcase, closing_before_invalidation_with_an_open_duplicate_does_not_spin);
    tcase_add_test(tcase, a_number_reused_in_the_same_batch_does_not_perform_for_the_old_event);
    tcase_add_test(tcase, dev_null_and_regular_files_are_always_ready);
    tcase_add_test(tcase, an_always_ready_file_does_not_starve_a_pipe_or_a_timer);
    tcase_add_test(tcase, a_negative_descriptor_number_is_never_ready);
    tcase_add_test(tcase, a_closed_descriptor_number_is_never_ready);
    tcase_add_test(tcase, a_descriptor_number_above_the_limit_is_never_ready);
    tcase_add_test(tcase, a_source_with_a_bad_descriptor_does_not_disturb_others);
    return suite;
}
