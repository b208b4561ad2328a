/* Checks when an RLFileDescriptor calls back, with which bits, and when it does not. */
#include "../own-directory.h"
#include "descriptor.h"

#include <pty.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;
static int ends[2];
static struct port port;

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    make_pipe(ends);
    port = (struct port){.name = ""};
}

static void tear_down(void)
{
    drop_source(keeper);
    close_pipe(ends);
}

/* -- One-shot, and level-triggered when it is enabled -- */

START_TEST(a_callback_fires_once_each_time_it_is_enabled)
{
    port_open(&port, ends[0], READ);
    ck_assert(!poll_once());
    put(ends[1]);
    ck_assert(poll_once());
    ck_assert(!poll_once());
    put(ends[1]);
    ck_assert(!poll_once());
    RLFileDescriptorEnableCallBacks(port.object, READ);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert(poll_once());
    ck_assert(!poll_once());
    assert_notes("r r");
    port_drop(&port);
}
END_TEST

START_TEST(a_callback_does_not_fire_before_it_is_enabled)
{
    put(ends[1]);
    port_open(&port, ends[0], 0);
    ck_assert_int_le(passes_while_idle(), 3);
    ck_assert_int_eq(port.calls, 0);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert(poll_once());
    port_drop(&port);
}
END_TEST

START_TEST(callbacks_may_be_enabled_before_the_source_is_in_a_mode)
{
    put(ends[1]);
    port_make(&port, ends[0], false);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert(!poll_once());
    port_add(&port, rl, kRLRunLoopDefaultMode, 0);
    ck_assert(poll_once());
    ck_assert(!poll_once());
    port_drop(&port);
}
END_TEST

START_TEST(a_reenabled_read_callback_repeats_while_bytes_are_left)
{
    port.reads = true;
    port.reenables = READ;
    for (int i = 0; i < 3; i++)
        put(ends[1]);
    port_open(&port, ends[0], READ);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0);
    assert_notes("r r r");
    ck_assert_int_le(passes_while_idle(), 3);
    port_drop(&port);
}
END_TEST

START_TEST(a_disabled_callback_does_not_fire)
{
    put(ends[1]);
    port_open(&port, ends[0], READ);
    RLFileDescriptorDisableCallBacks(port.object, WRITE);
    RLFileDescriptorDisableCallBacks(port.object, READ);
    ck_assert(!poll_once());
    ck_assert_int_le(passes_while_idle(), 3);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert(poll_once());
    port_drop(&port);
}
END_TEST

START_TEST(read_and_write_readiness_arrive_in_one_callback)
{
    int pair[2];
    make_pair(pair, SOCK_STREAM);
    put(pair[1]);
    port_open(&port, pair[0], READ | WRITE);
    ck_assert(poll_once());
    ck_assert(!poll_once());
    RLFileDescriptorEnableCallBacks(port.object, WRITE);
    ck_assert(poll_once());
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert(poll_once());
    RLFileDescriptorEnableCallBacks(port.object, READ | WRITE);
    take(pair[0]);
    ck_assert(poll_once());
    ck_assert(!poll_once());
    put(pair[1]);
    ck_assert(poll_once());
    assert_notes("rw w r w r");
    port_drop(&port);
    close_pipe(pair);
}
END_TEST

START_TEST(a_write_callback_waits_for_room)
{
    fill(ends[1]);
    port_open(&port, ends[1], WRITE);
    ck_assert(!poll_once());
    drain_fd(ends[0]);
    ck_assert(poll_once());
    assert_notes("w");
    port_drop(&port);
}
END_TEST

START_TEST(unknown_callback_bits_are_ignored)
{
    put(ends[1]);
    port_open(&port, ends[0], ~(RLOptionFlags)3);
    ck_assert(!poll_once());
    RLFileDescriptorEnableCallBacks(port.object, ~(RLOptionFlags)2);
    RLFileDescriptorDisableCallBacks(port.object, ~(RLOptionFlags)1);
    ck_assert(poll_once());
    ck_assert_uint_eq(port.last, READ);
    port_drop(&port);
}
END_TEST

START_TEST(an_end_of_file_is_readable_and_a_broken_pipe_writable)
{
    struct port writer = {.name = "writer "};
    int other[2];
    make_pipe(other);
    close(ends[1]);
    close(other[0]);
    port_open(&port, ends[0], READ);
    port_open(&writer, other[1], WRITE);
    while (poll_once()) {}
    ck_assert_int_eq(port.calls, 1);
    ck_assert_uint_eq(port.last, READ);
    ck_assert_int_eq(writer.calls, 1);
    ck_assert_uint_eq(writer.last, WRITE);
    notes[0] = 0;
    ck_assert_int_le(passes_while_idle(), 3);
    port_drop(&port);
    port_drop(&writer);
    ends[1] = other[0] = -1;
    close(other[1]);
}
END_TEST

/* epoll reports a hang-up whether it was requested or not. */
START_TEST(an_unrequested_hang_up_does_not_spin_the_loop)
{
    port_open(&port, ends[0], READ);
    put(ends[1]);
    ck_assert(poll_once());
    take(ends[0]);
    close(ends[1]);
    ck_assert_int_le(passes_while_idle(), 3);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert(poll_once());
    ck_assert_int_le(passes_while_idle(), 3);
    assert_notes("r r");
    port_drop(&port);
    ends[1] = -1;
}
END_TEST

/* -- From other threads -- */

static void *enable_when_asleep(UNUSED void *info)
{
    await_waiting(rl);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    return NULL;
}

START_TEST(enabling_from_another_thread_wakes_the_loop)
{
    put(ends[1]);
    port_open(&port, ends[0], 0);
    pthread_t thread = start_thread(enable_when_asleep, NULL);
    run_once();
    join_thread(thread);
    assert_notes("r");
    port_drop(&port);
}
END_TEST

static int null_fd;
START_TEST(enabling_dev_null_from_another_thread_wakes_the_loop)
{
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    port_open(&port, null_fd, 0);
    pthread_t thread = start_thread(enable_when_asleep, NULL);
    run_once();
    join_thread(thread);
    assert_notes("r");
    port_drop(&port);
    close(null_fd);
}
END_TEST

/* -- Always ready -- */

START_TEST(dev_null_and_regular_files_are_always_ready)
{
    int fds[] = {open("/dev/null", O_RDWR | O_CLOEXEC), memfd_create("regular", MFD_CLOEXEC)};
    for (int i = 0; i < 2; i++) {
        port_open(&port, fds[i], READ | WRITE);
        ck_assert(poll_once());
        ck_assert(!poll_once());
        ck_assert_int_le(passes_while_idle(), 3);
        RLFileDescriptorEnableCallBacks(port.object, WRITE);
        RLFileDescriptorEnableCallBacks(port.object, READ);
        ck_assert(poll_once());
        RLFileDescriptorEnableCallBacks(port.object, READ);
        ck_assert(poll_once());
        assert_notes("rw rw r");
        port_drop(&port);
        close(fds[i]);
    }
}
END_TEST

START_TEST(an_always_ready_file_does_not_starve_a_pipe_or_a_timer)
{
    atomic_int fired = 0;
    struct port file = {.reenables = READ}, piped = {.reenables = READ, .reads = true};
    port_open(&file, open("/dev/null", O_RDONLY | O_CLOEXEC), READ);
    port_open(&piped, ends[0], READ);
    for (int i = 0; i < 3; i++)
        put(ends[1]);
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.001, 0.001, count_timer, &fired);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    while (fired < 3 || piped.calls < 3 || file.calls < 3)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    drop_timer(timer);
    port_drop(&piped);
    port_drop(&file);
    close(file.fd);
}
END_TEST

/* -- Every kind of descriptor: not ready, made ready, called once -- */

static void expect_one_call(int fd, void (*make_ready)(void *), void *info)
{
    ck_assert_int_ge(fd, 0);
    port_open(&port, fd, READ);
    ck_assert(!poll_once());
    make_ready(info);
    run_once();
    ck_assert(!poll_once());
    assert_notes("r");
    port_drop(&port);
    close(fd);
}

static void put_into(void *fd) { put(*(int *)fd); }

START_TEST(a_terminal_calls_back_for_a_line_and_for_a_hang_up)
{
    int master, terminal;
    ck_assert_int_eq(openpty(&master, &terminal, NULL, NULL, NULL), 0);
    port_open(&port, terminal, READ);
    ck_assert(!poll_once());
    ck_assert_int_eq(write(master, "a line\n", 7), 7);
    run_once();
    assert_notes("r");
    close(master); /* a hang-up */
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert(poll_once());
    notes[0] = 0;
    ck_assert_int_le(passes_while_idle(), 3);
    port_drop(&port);
    close(terminal);
}
END_TEST

START_TEST(a_socket_of_any_type_calls_back_once)
{
    int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    for (int i = 0; i < 3; i++) {
        int pair[2];
        make_pair(pair, types[i]);
        expect_one_call(pair[0], put_into, &pair[1]);
        close(pair[1]);
    }
}
END_TEST

static void put_eight(void *fd) { require(eventfd_write(*(int *)fd, 1) == 0); }
START_TEST(an_eventfd_calls_back_once)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    expect_one_call(fd, put_eight, &fd);
}
END_TEST

static void set_timer(void *fd)
{
    struct itimerspec soon = {.it_value.tv_nsec = 1};
    require(timerfd_settime(*(int *)fd, 0, &soon, NULL) == 0);
}
START_TEST(a_timerfd_calls_back_once)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    expect_one_call(fd, set_timer, &fd);
}
END_TEST

static void raise_signal(UNUSED void *info) { require(raise(SIGUSR2) == 0); }
START_TEST(a_signalfd_calls_back_once)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    expect_one_call(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), raise_signal, NULL);
}
END_TEST

static void kill_child(void *pid) { require(kill(*(pid_t *)pid, SIGKILL) == 0); }
START_TEST(a_pidfd_calls_back_once)
{
    pid_t child = fork_child();
    if (child == 0) {
        pause();
        _exit(0);
    }
    int fd = (int)syscall(SYS_pidfd_open, child, 0);
    /* Before Linux 5.3 there are none. */
    if (fd >= 0 || errno != ENOSYS)
        expect_one_call(fd, kill_child, &child);
    else
        kill_child(&child);
    waitpid(child, NULL, 0);
}
END_TEST

static void make_file(void *directory)
{
    char path[256];
    snprintf(path, sizeof path, "%s/new", (char *)directory);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    require(fd >= 0);
    close(fd);
    unlink(path);
}
START_TEST(an_inotify_descriptor_calls_back_once)
{
    char name[OWN_DIRECTORY_SIZE];
    make_own_directory(name);
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    ck_assert_int_ge(inotify_add_watch(fd, name, IN_CREATE), 0);
    expect_one_call(fd, make_file, name);
}
END_TEST

START_TEST(an_epoll_descriptor_calls_back_once)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    ck_assert_int_eq(epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event), 0);
    expect_one_call(fd, put_into, &ends[1]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-descriptor");
    TCase *tcase = add_case(suite, "calls", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_callback_fires_once_each_time_it_is_enabled);
    tcase_add_test(tcase, a_callback_does_not_fire_before_it_is_enabled);
    tcase_add_test(tcase, callbacks_may_be_enabled_before_the_source_is_in_a_mode);
    tcase_add_test(tcase, a_reenabled_read_callback_repeats_while_bytes_are_left);
    tcase_add_test(tcase, a_disabled_callback_does_not_fire);
    tcase_add_test(tcase, read_and_write_readiness_arrive_in_one_callback);
    tcase_add_test(tcase, a_write_callback_waits_for_room);
    tcase_add_test(tcase, unknown_callback_bits_are_ignored);
    tcase_add_test(tcase, an_end_of_file_is_readable_and_a_broken_pipe_writable);
    tcase_add_test(tcase, an_unrequested_hang_up_does_not_spin_the_loop);
    tcase_add_test(tcase, enabling_from_another_thread_wakes_the_loop);
    tcase_add_test(tcase, enabling_dev_null_from_another_thread_wakes_the_loop);
    tcase_add_test(tcase, dev_null_and_regular_files_are_always_ready);
    tcase_add_test(tcase, an_always_ready_file_does_not_starve_a_pipe_or_a_timer);
    tcase = add_case(suite, "kinds", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_terminal_calls_back_for_a_line_and_for_a_hang_up);
    tcase_add_test(tcase, a_socket_of_any_type_calls_back_once);
    tcase_add_test(tcase, an_eventfd_calls_back_once);
    tcase_add_test(tcase, a_timerfd_calls_back_once);
    tcase_add_test(tcase, a_signalfd_calls_back_once);
    tcase_add_test(tcase, a_pidfd_calls_back_once);
    tcase_add_test(tcase, an_inotify_descriptor_calls_back_once);
    tcase_add_test(tcase, an_epoll_descriptor_calls_back_once);
    return suite;
}
