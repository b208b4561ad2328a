/* Checks version-1 sources whose callbacks run the loop, and a loop whose own descriptors the program has closed. */
#include "harness.h"

#include <dirent.h>

static int ends[2];
static int depth, calls, empty_reads;
static void set_up(void) { make_pipe(ends); }
static int port(UNUSED void *info) { return ends[0]; }

static void run_nested(void)
{
    depth++;
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    depth--;
}

static RLRunLoopSourceRef add_port(void (*perform)(void *info))
{
    RLRunLoopSourceRef source = make_port_source(0, port, perform, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    return source;
}

/* -- Nested runs -- */

static void leave_ready_and_run(UNUSED void *info)
{
    char byte;
    if (++calls > 1000)
        while (read(ends[0], &byte, 1) == 1) {} /* otherwise this would never end */
    if (depth == 0)
        run_nested();
}

START_TEST(a_source_that_runs_the_loop_is_called_once_a_pass_while_its_descriptor_is_ready)
{
    RLRunLoopSourceRef source = add_port(leave_ready_and_run);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_le(calls, 4);
    drop_source(source);
    close_pipe(ends);
}
END_TEST

static void read_one(UNUSED void *info)
{
    char byte;
    calls++;
    if (depth == 0) {
        run_nested(); /* the nested run reads the byte */
        return;
    }
    if (read(ends[0], &byte, 1) != 1)
        empty_reads++;
}

static void read_behind_nested_run(void *info)
{
    char byte;
    if (depth == 0 && calls > 0 && read(ends[0], &byte, 1) != 1)
        empty_reads++; /* the outer run calls it for what the nested run has read */
    else
        read_one(info);
}

START_TEST(a_source_is_not_called_again_for_bytes_that_a_nested_run_has_read)
{
    RLRunLoopSourceRef source = add_port(read_behind_nested_run);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(calls, 2);
    ck_assert_int_eq(empty_reads, 0);
    drop_source(source);
    close_pipe(ends);
}
END_TEST

/* -- A program that closes every descriptor that it does not know, as daemons do -- */

static int close_descriptors_of_loops(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int found[64], count = 0;
    require(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char kind[64] = "";
        if (readlinkat(dirfd(directory), entry->d_name, kind, sizeof kind - 1) > 0 && count < 64 &&
            strncmp(kind, "anon_inode:[event", 17) == 0)
            found[count++] = atoi(entry->d_name);
    }
    closedir(directory);
    for (int i = 0; i < count; i++)
        close(found[i]);
    return count;
}

static void read_and_stop(void *info)
{
    char byte;
    require(read(ends[0], &byte, 1) == 1);
    stop_current(info);
}

static void *write_and_wake(void *loop)
{
    await_waiting(loop);
    require(write(ends[1], "x", 1) == 1);
    return NULL;
}

START_TEST(a_loop_replaces_an_epoll_that_was_closed)
{
    RLRunLoopSourceRef source = add_port(read_and_stop);
    for (int round = 0; round < 3; round++) {
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
        ck_assert_int_ge(close_descriptors_of_loops(), 1);
        pthread_t writer = start_thread(write_and_wake, RLRunLoopGetCurrent());
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunStopped);
        join_thread(writer);
    }
    drop_source(source);
    close_pipe(ends);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source-descriptor-nested");
    TCase *tcase = add_case(suite, "nested", 30);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, a_source_that_runs_the_loop_is_called_once_a_pass_while_its_descriptor_is_ready);
    tcase_add_test(tcase, a_source_is_not_called_again_for_bytes_that_a_nested_run_has_read);
    tcase_add_test(tcase, a_loop_replaces_an_epoll_that_was_closed);
    return suite;
}
