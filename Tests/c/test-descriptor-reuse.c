/* Checks descriptors that are closed before their object is invalidated, and whose numbers are then reused for other files: the
 * misuse is reported once, and the object of the new file is not disturbed. */
#include "descriptor.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;
static int ends[2], later[2]; /* of the old connection and of the new one */

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    make_pair(ends, SOCK_STREAM);
    make_pair(later, SOCK_STREAM);
}

static void tear_down(void)
{
    drop_source(keeper);
    close_pipe(ends);
    close_pipe(later);
}

/* Reuses the number of ends[0] for the new file. */
static void reuse_number(void)
{
    close(ends[0]);
    require(dup3(later[0], ends[0], O_CLOEXEC) == ends[0]);
}

/* -- Sockets -- */

static struct lifetime life;

static RLSocketRef make_old(RLOptionFlags types)
{
    RLSocketContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    life = (struct lifetime){0};
    RLSocketRef s = RLSocketCreateWithNative(NULL, ends[0], types, NULL, &context);
    require(s != NULL);
    return s;
}

/* What happened to the old socket before its descriptor was closed. */
enum past { UNUSED_YET, ADDED, LOOKED_AT, DISABLED, REMOVED, RELEASED, PASTS };

START_TEST(a_reused_descriptor_number_gets_a_new_socket)
{
    enum past past = (enum past)_i;
    struct sock new = {.name = "n"};
    RLSocketRef old = make_old(kRLSocketReadCallBack | kRLSocketWriteCallBack);
    RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(NULL, old, 0);
    if (past >= ADDED)
        RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    if (past >= LOOKED_AT)
        while (poll_once()) {}
    if (past == DISABLED)
        RLSocketDisableCallBacks(old, kRLSocketReadCallBack | kRLSocketWriteCallBack);
    if (past >= REMOVED)
        RLRunLoopRemoveSource(rl, source, kRLRunLoopDefaultMode);
    if (past == RELEASED) { /* but not invalidated: the descriptor keeps the object alive */
        RLRelease(source);
        RLRelease(old);
    }
    reuse_number();
    sock_open(&new, ends[0], kRLSocketDataCallBack);
    assert_misuse(
        "RLSocketCreateWithNative", "socket",
        "descriptor was closed while another socket used it; invalidate a socket before closing its descriptor");
    ck_assert_int_eq(lifetime_held(&life), 0);
    if (past != RELEASED) {
        ck_assert_ptr_ne(new.object, old);
        ck_assert(!RLSocketIsValid(old));
        RLSocketInvalidate(old);
        RLRelease(source);
        RLRelease(old);
    }
    ck_assert(is_open(ends[0]));
    ck_assert(!poll_once());
    put(later[1]);
    run_once();
    assert_notes("nd");
    ck_assert_int_eq(new.bytes, 1);
    sock_drop(&new);
    ck_assert(!is_open(ends[0]));
    ends[0] = -1;
}
END_TEST

START_TEST(the_same_file_under_the_same_number_keeps_its_socket)
{
    RLSocketRef old = make_old(kRLSocketReadCallBack);
    int copy = dup(ends[0]);
    for (int i = 0; i < 2; i++) {
        RLSocketRef same = RLSocketCreateWithNative(NULL, ends[0], kRLSocketWriteCallBack, NULL, NULL);
        ck_assert_ptr_eq(same, old);
        RLRelease(same);
        require(dup3(copy, ends[0], O_CLOEXEC) == ends[0]); /* closed and opened, but the same file */
    }
    RLSocketRef other = RLSocketCreateWithNative(NULL, copy, kRLSocketWriteCallBack, NULL, NULL);
    ck_assert_ptr_ne(other, old);
    RLSocketInvalidate(other);
    RLRelease(other);
    RLSocketInvalidate(old);
    RLRelease(old);
    ends[0] = -1;
}
END_TEST

/* The number of a socket is reused for a pipe, and then the number of that pipe for a socket. */
START_TEST(a_descriptor_number_may_be_reused_for_a_file_of_another_kind)
{
    int pipe_ends[2];
    make_pipe(pipe_ends);
    RLSocketRef old = make_old(kRLSocketDataCallBack);
    close(ends[0]);
    require(dup3(pipe_ends[0], ends[0], O_CLOEXEC) == ends[0]);
    struct sock second = {.name = "p"};
    sock_open(&second, ends[0], kRLSocketDataCallBack);
    ck_assert_int_eq(take_diagnostics(), 1);
    put(pipe_ends[1]);
    run_once();
    assert_notes("pd");
    reuse_number();
    struct sock third = {.name = "s"};
    sock_open(&third, ends[0], kRLSocketDataCallBack);
    ck_assert_int_eq(take_diagnostics(), 1);
    put(later[1]);
    run_once();
    assert_notes("sd");
    sock_drop(&third);
    sock_drop(&second);
    RLRelease(old);
    close_pipe(pipe_ends);
    ends[0] = -1;
}
END_TEST

/* -- Sockets on other files, which fstat(2) cannot distinguish from the next one of their kind -- */

enum kind { EVENT, TIMER, EPOLL, PIPE, NAMED_PIPE, TERMINAL, KINDS };

/* Makes a new file that is not readable. */
static int make_file(enum kind kind)
{
    char name[256];
    int fd = -1, other[2];
    switch (kind) {
    case EVENT:
        fd = eventfd(0, EFD_CLOEXEC);
        break;
    case TIMER:
        fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        break;
    case EPOLL:
        fd = epoll_create1(EPOLL_CLOEXEC);
        break;
    case PIPE:
        make_pipe(other);
        fd = other[0]; /* the other end stays open */
        break;
    case NAMED_PIPE:
        snprintf(name, sizeof name, "%s/pipe", getenv("TMPDIR"));
        require(mkfifo(name, 0600) == 0 || errno == EEXIST);
        fd = open(name, O_RDWR | O_CLOEXEC);
        break;
    case TERMINAL:
        fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        break;
    case KINDS:
        break;
    }
    require(fd >= 0);
    return fd;
}

static bool is_of_file(RLSocketRef s, RLSocketRef other)
{
    RLSocketRef found = RLSocketCreateWithNative(NULL, RLSocketGetNative(s), kRLSocketReadCallBack, NULL, NULL);
    bool is = found == other;
    RLRelease(found);
    return is;
}

static void reuse_file(enum kind kind, int fd)
{
    close(fd);
    int new = make_file(kind);
    if (new != fd) {
        require(dup3(new, fd, O_CLOEXEC) == fd);
        close(new);
    }
}

START_TEST(a_number_reused_for_another_file_of_the_same_kind_gets_a_new_socket)
{
    enum kind kind = (enum kind)(_i / PASTS);
    enum past past = (enum past)(_i % PASTS);
    struct sock old = {.name = "o"}, new = {.name = "n"};
    int fd = make_file(kind);
    sock_make(&old, fd, kRLSocketReadCallBack);
    if (past >= ADDED)
        sock_add(&old, rl, kRLRunLoopDefaultMode, 0);
    if (past >= LOOKED_AT)
        while (poll_once()) {}
    if (past == DISABLED)
        RLSocketDisableCallBacks(old.object, kRLSocketReadCallBack);
    if (past >= REMOVED)
        RLRunLoopRemoveSource(rl, old.source, kRLRunLoopDefaultMode);
    assert_notes("");
    ck_assert(is_of_file(old.object, old.object));
    reuse_file(kind, fd);
    sock_open(&new, fd, kRLSocketWriteCallBack);
    assert_misuse(
        "RLSocketCreateWithNative", "socket",
        "descriptor was closed while another socket used it; invalidate a socket before closing its descriptor");
    ck_assert_ptr_ne(new.object, old.object);
    ck_assert(!RLSocketIsValid(old.object));
    ck_assert(is_of_file(new.object, new.object));
    sock_drop(&old);
    ck_assert(is_open(fd));
    ck_assert(is_of_file(new.object, new.object));
    sock_drop(&new);
    ck_assert(!is_open(fd));
}
END_TEST

/* Every function that creates a socket on a new descriptor, when the number still belongs to a socket that was not invalidated. */
START_TEST(the_function_that_finds_a_closed_descriptor_is_named)
{
    static const char *const functions[] = {"RLSocketCreate", "RLSocketCreateWithSocketSignature",
                                            "RLSocketCreateConnectedToSocketSignature"};
    struct sock listening = {.name = NULL};
    sock_listen(&listening, kRLSocketAcceptCallBack);
    RLDataRef free_port = inet_address(0), taken_port = inet_address(port_of(listening.object));
    RLSocketSignature to_bind = {PF_INET, SOCK_STREAM, 0, free_port},
                      to_connect = {PF_INET, SOCK_STREAM, 0, taken_port};
    RLSocketRef old = make_old(kRLSocketReadCallBack);
    close(ends[0]);
    RLSocketRef new = _i == 0   ? RLSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, 0, NULL, NULL)
                      : _i == 1 ? RLSocketCreateWithSocketSignature(NULL, &to_bind, 0, NULL, NULL)
                                : RLSocketCreateConnectedToSocketSignature(NULL, &to_connect, 0, NULL, NULL, -1);
    ck_assert_int_eq(RLSocketGetNative(new), ends[0]);
    assert_misuse(
        functions[_i], "socket",
        "descriptor was closed while another socket used it; invalidate a socket before closing its descriptor");
    RLSocketInvalidate(new);
    RLRelease(new);
    RLRelease(old);
    RLRelease(free_port);
    RLRelease(taken_port);
    sock_drop(&listening);
    ends[0] = -1;
}
END_TEST

START_TEST(identifying_files_leaks_no_descriptor)
{
    int fds[KINDS], before = dup(0);
    close(before);
    struct sock socks[KINDS] = {{0}};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KINDS; i++)
            if (i != PIPE) {
                fds[i] = make_file((enum kind)i);
                sock_make(&socks[i], fds[i], kRLSocketReadCallBack);
            }
        for (int i = 0; i < KINDS; i++)
            if (i != PIPE)
                sock_drop(&socks[i]);
        int after = dup(0);
        close(after);
        ck_assert_int_eq(after, before);
    }
}
END_TEST

/* A child's sockets are not the parent's, although they refer to the same files. */
START_TEST(files_are_distinguished_in_the_child_of_a_fork)
{
    struct sock kept = {0}, lost = {0}, reused = {0};
    int lost_fd = make_file(EVENT), kept_fd = make_file(EVENT), reused_fd = make_file(EVENT);
    sock_make(&lost, lost_fd, kRLSocketReadCallBack);
    sock_make(&kept, kept_fd, kRLSocketReadCallBack);
    sock_make(&reused, reused_fd, kRLSocketReadCallBack);
    reuse_file(EVENT, lost_fd);
    pid_t child = fork();
    require(child >= 0);
    if (child == 0) {
        reuse_file(EVENT, reused_fd);
        bool is_right = is_of_file(kept.object, kept.object) && !is_of_file(lost.object, lost.object) &&
                        !is_of_file(reused.object, reused.object);
        RLSocketInvalidate(kept.object);
        _exit(is_right ? 0 : 1);
    }
    int status;
    require(waitpid(child, &status, 0) == child);
    ck_assert_int_eq(status, 0);
    ck_assert(is_of_file(kept.object, kept.object));
    ck_assert(is_of_file(reused.object, reused.object));
    ck_assert(!is_of_file(lost.object, lost.object));
    ck_assert_int_eq(take_diagnostics(), 1);
}
END_TEST

/* -- Descriptor objects and sources of version 1 -- */

START_TEST(a_descriptor_object_gets_no_event_of_the_file_that_reuses_its_number)
{
    struct port old = {.name = "old "}, new = {.name = "new "};
    port_open(&old, ends[0], READ);
    ck_assert(!poll_once()); /* the loop can only miss a file that it has waited for */
    reuse_number();
    port_open(&new, ends[0], READ);
    ck_assert(!poll_once());
    poll_once();
    ck_assert_int_eq(take_diagnostics(), 1);
    put(later[1]);
    run_once();
    assert_notes("new r");
    RLFileDescriptorEnableCallBacks(old.object, READ | WRITE);
    ck_assert_int_le(passes_while_idle(), 4);
    RLFileDescriptorEnableCallBacks(new.object, WRITE);
    run_once();
    assert_notes("new w");
    port_drop(&old);
    RLFileDescriptorEnableCallBacks(new.object, READ);
    run_once();
    assert_notes("new r");
    port_drop(&new);
}
END_TEST

START_TEST(a_version_1_source_gets_no_event_of_the_file_that_reuses_its_number)
{
    struct watch old = {.name = "old", .reads = true}, new = {.name = "new", .reads = true}, newer = {.name = "newer"};
    watch_fd(&old, ends[0], 0);
    ck_assert(!poll_once());
    reuse_number();
    watch_fd(&new, ends[0], 0);
    ck_assert(!poll_once());
    poll_once();
    ck_assert_int_eq(take_diagnostics(), 1);
    watch_fd(&newer, ends[0], 0);
    put(later[1]);
    run_once();
    assert_notes("new");
    drop_source(old.source);
    put(later[1]);
    run_once();
    assert_notes("new");
    drop_source(new.source);
    put(later[1]);
    run_once();
    assert_notes("newer");
    drop_source(newer.source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("descriptor-reuse");
    TCase *tcase = add_case(suite, "reuse", 10);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, a_reused_descriptor_number_gets_a_new_socket, 0, PASTS);
    tcase_add_test(tcase, the_same_file_under_the_same_number_keeps_its_socket);
    tcase_add_test(tcase, a_descriptor_number_may_be_reused_for_a_file_of_another_kind);
    tcase_add_loop_test(tcase, a_number_reused_for_another_file_of_the_same_kind_gets_a_new_socket, 0, KINDS * PASTS);
    tcase_add_loop_test(tcase, the_function_that_finds_a_closed_descriptor_is_named, 0, 3);
    tcase_add_test(tcase, identifying_files_leaks_no_descriptor);
    tcase_add_test(tcase, files_are_distinguished_in_the_child_of_a_fork);
    tcase_add_test(tcase, a_descriptor_object_gets_no_event_of_the_file_that_reuses_its_number);
    tcase_add_test(tcase, a_version_1_source_gets_no_event_of_the_file_that_reuses_its_number);
    return suite;
}
