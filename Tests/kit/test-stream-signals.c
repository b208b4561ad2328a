/* RLStream: writing never raises SIGPIPE, and leaves the program's own signals as they are. */
#include "stream.h"
#include <sched.h>
#include <sys/ioctl.h>

static struct spy spy;
static char block[100000];

static atomic_int pipe_signals;
static void count_signal(UNUSED int number) { pipe_signals++; }

/* Writing to a closed pipe or connection is an error, not a signal. */
START_TEST(writing_without_a_reader_is_an_error_and_raises_no_signal)
{
    signal(SIGPIPE, count_signal);
    int ends[2];
    if (_i == 0)
        require(pipe2(ends, O_CLOEXEC) == 0);
    else
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    spy_on(&spy, ends[1]);
    close(ends[0]);
    ck_assert(!RLStreamWrite(spy.stream, "x", 1) && errno == EPIPE);
    ck_assert(!RLStreamWrite(spy.stream, "x", 1) && errno == EPIPE);
    ck_assert(!RLStreamFlush(spy.stream, note_flush, "a") && errno == EPIPE);
    run_passes();
    assert_seen(&spy, _i == 0 ? "!EPIPE" : "!EPIPEE");
    ck_assert_int_eq(pipe_signals, 0);
    end_spy(&spy);
}
END_TEST

/* Writes to a pipe without a reader. Returns whether SIGPIPE is pending afterwards. */
static int pends_after_writing(void)
{
    int ends[2];
    sigset_t pending;
    require(pipe2(ends, O_CLOEXEC) == 0);
    spy_on(&spy, ends[1]);
    close(ends[0]);
    ck_assert(!RLStreamWrite(spy.stream, "x", 1) && errno == EPIPE);
    require(sigpending(&pending) == 0);
    end_spy(&spy);
    return sigismember(&pending, SIGPIPE);
}

START_TEST(writing_leaves_the_programs_own_signals_as_they_are)
{
    sigset_t set, mask;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    signal(SIGPIPE, count_signal);
    ck_assert(!pends_after_writing());
    require(pthread_sigmask(SIG_BLOCK, &set, &mask) == 0 && !sigismember(&mask, SIGPIPE));
    ck_assert(!pends_after_writing());
    raise(SIGPIPE);
    ck_assert(pends_after_writing());
    ck_assert_int_eq(pipe_signals, 0);
    require(pthread_sigmask(SIG_UNBLOCK, &set, &mask) == 0 && sigismember(&mask, SIGPIPE));
    ck_assert_int_eq(pipe_signals, 1);
}
END_TEST

/* Waits until the main thread has written a part, and sleeps. */
static void *close_reader(void *ends)
{
    int reader = *(int *)ends, size = 0;
    while (ioctl(reader, FIONREAD, &size) != 0 || size == 0 || !is_asleep(getpid()))
        sched_yield();
    close(reader);
    return NULL;
}

/* The pipe is blocking, as after another process has changed its flags: the write waits for room when the reader leaves. */
START_TEST(a_reader_that_leaves_during_a_write_raises_no_signal)
{
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0);
    spy_on(&spy, ends[1]);
    require(fcntl(ends[1], F_SETFL, 0) == 0);
    signal(SIGPIPE, count_signal);
    pthread_t thread = start_thread(close_reader, ends);
    ck_assert(RLStreamWrite(spy.stream, block, sizeof block));
    join_thread(thread);
    ck_assert_int_eq(pipe_signals, 0);
    end_spy(&spy);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream signals");
    TCase *all = add_case(suite, "all", 20);
    tcase_add_loop_test(all, writing_without_a_reader_is_an_error_and_raises_no_signal, 0, 2);
    tcase_add_test(all, writing_leaves_the_programs_own_signals_as_they_are);
    tcase_add_test(all, a_reader_that_leaves_during_a_write_raises_no_signal);
    return suite;
}
