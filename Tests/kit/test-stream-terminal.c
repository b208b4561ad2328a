/* RLStream: whether a descriptor that the program keeps blocks. A terminal is opened once more for the stream; other descriptors that are
 * no sockets are non-blocking until the stream is closed. */
#include "stream.h"

#include <stdlib.h>
#include <termios.h>

static struct spy spy;
static int controller, terminal;

static void open_terminal(void)
{
    controller = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    require(controller >= 0 && grantpt(controller) == 0 && unlockpt(controller) == 0);
    terminal = open(ptsname(controller), O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios mode;
    require(terminal >= 0 && tcgetattr(terminal, &mode) == 0);
    mode.c_lflag &= ~(tcflag_t)ECHO;
    mode.c_oflag &= ~(tcflag_t)OPOST;
    require(tcsetattr(terminal, TCSANOW, &mode) == 0);
}

static bool blocks(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    require(flags >= 0);
    return (flags & O_NONBLOCK) == 0;
}

static void make_stream(int fd, RLBoolean closes)
{
    RLStreamContext context = {.info = &spy};
    spy.stream = add(RLStreamCreate(NULL, fd, closes, spy_callback, &context));
}

/* Has the loop open the descriptors that it keeps. */
static void use_loop(void)
{
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0);
    make_stream(ends[0], 1);
    send_text(ends[1], "x");
    run_passes();
    assert_seen(&spy, "(x)");
    end_spy(&spy);
    close(ends[1]);
}

static void a_terminal_works(void)
{
    ck_assert(blocks(terminal));
    ck_assert_int_eq(RLStreamGetNativeDescriptor(spy.stream), terminal);
    send_text(controller, "one\n");
    run_passes();
    assert_seen(&spy, "(one\n)");
    ck_assert(RLStreamWrite(spy.stream, "two", 3));
    char answer[8];
    ck_assert_int_eq(read(controller, answer, sizeof answer), 3);
    char name[64];
    snprintf(name, sizeof name, "RLStream %d", terminal);
    RLStringRef text = RLCopyDescription(spy.stream);
    ck_assert_ptr_nonnull(strstr(RLStringGetCStringPtr(text, kRLStringEncodingUTF8), name));
    RLRelease(text);
}

START_TEST(a_terminal_stays_as_it_is)
{
    open_terminal();
    use_loop();
    int count = open_descriptors();
    make_stream(terminal, 0);
    a_terminal_works();
    end_spy(&spy);
    ck_assert(blocks(terminal));
    ck_assert_int_eq(open_descriptors(), count);
    close(terminal);
    close(controller);
}
END_TEST

START_TEST(a_terminal_is_closed_if_the_stream_owns_it)
{
    open_terminal();
    use_loop();
    int count = open_descriptors(), same = dup(terminal);
    make_stream(terminal, 1);
    a_terminal_works();
    end_spy(&spy);
    ck_assert_int_eq(fcntl(terminal, F_GETFD), -1);
    ck_assert(blocks(same));
    ck_assert_int_eq(open_descriptors(), count);
    close(same);
    close(controller);
}
END_TEST

START_TEST(the_controlling_end_of_a_pseudoterminal_blocks_again)
{
    open_terminal();
    make_stream(controller, 0);
    ck_assert(!blocks(controller));
    send_text(terminal, "one");
    run_passes();
    assert_seen(&spy, "(one)");
    end_spy(&spy);
    ck_assert(blocks(controller));
    close(terminal);
    close(controller);
}
END_TEST

/* Its other end was closed. */
START_TEST(a_terminal_that_cannot_be_opened_blocks_again)
{
    open_terminal();
    close(controller);
    make_stream(terminal, 0);
    ck_assert(!blocks(terminal));
    run_passes();
    end_spy(&spy);
    ck_assert(blocks(terminal));
    close(terminal);
}
END_TEST

START_TEST(a_pipe_blocks_again)
{
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0);
    make_stream(ends[0], 0);
    ck_assert(!blocks(ends[0]));
    pid_t child = fork();
    if (child == 0) {
        RLStreamClose(spy.stream); /* this must not affect the parent's */
        _exit(0);
    }
    int status;
    require(waitpid(child, &status, 0) == child && status == 0);
    ck_assert(!blocks(ends[0]));
    end_spy(&spy);
    ck_assert(blocks(ends[0]));

    require(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    make_stream(ends[0], 0);
    end_spy(&spy);
    ck_assert(!blocks(ends[0])); /* the stream has not set that */
    close(ends[0]);
    close(ends[1]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream terminal");
    TCase *all = add_case(suite, "stream terminal", 20);
    tcase_add_test(all, a_terminal_stays_as_it_is);
    tcase_add_test(all, a_terminal_is_closed_if_the_stream_owns_it);
    tcase_add_test(all, the_controlling_end_of_a_pseudoterminal_blocks_again);
    tcase_add_test(all, a_terminal_that_cannot_be_opened_blocks_again);
    tcase_add_test(all, a_pipe_blocks_again);
    return suite;
}
