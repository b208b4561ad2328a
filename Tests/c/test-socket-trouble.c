/* Checks RLSocket when something goes wrong: no descriptors left, the wrong kind of file, a descriptor that is closed too early,
 * signals, forks, and very many sockets. */
#include "descriptor.h"

#include <signal.h>
#include <sys/resource.h>

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;
static int ends[2];
static int descriptors_before;

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    make_pair(ends, SOCK_STREAM);
    struct sock first = {.name = NULL}; /* the loop opens its own descriptors here */
    sock_open(&first, dup(ends[0]), kRLSocketReadCallBack);
    poll_once();
    sock_drop(&first);
    descriptors_before = open_descriptors();
}

static void tear_down(void)
{
    drop_source(keeper);
    close_pipe(ends);
}

/* Limits the process to `spare` more descriptors. Returns the old limit. */
static rlim_t leave_descriptors(int spare)
{
    int fds[16];
    for (int i = 0; i <= spare; i++)
        fds[i] = dup(ends[0]);
    for (int i = 0; i <= spare; i++)
        close(fds[i]);
    return limit_descriptors((rlim_t)fds[spare]);
}

/* -- Clients -- */

START_TEST(clients_wait_while_no_descriptors_are_free)
{
    struct sock listening = {.name = NULL};
    int callers[8];
    sock_listen(&listening, kRLSocketAcceptCallBack);
    for (int i = 0; i < 8; i++)
        callers[i] = client_of(listening.object);
    rlim_t old = leave_descriptors(3);
    for (int i = 0; i < 3; i++)
        ck_assert(poll_once());
    int kept = listening.calls;
    ck_assert_int_eq(kept, 3);
    /* There are two or three more attempts in 0.12 s. */
    ck_assert_int_le(passes_while_idle(), 10);
    ck_assert_int_eq(listening.calls, kept);
    limit_descriptors(old);
    while (listening.calls < 8)
        run_once();
    ck_assert(!poll_once());
    for (int i = 0; i < 8; i++)
        close(callers[i]);
    sock_drop(&listening);
}
END_TEST

START_TEST(a_listener_out_of_descriptors_does_not_stop_other_sockets)
{
    struct sock listening = {.name = NULL}, other = {.name = "o"};
    sock_listen(&listening, kRLSocketAcceptCallBack);
    int caller = client_of(listening.object);
    sock_open(&other, ends[0], kRLSocketDataCallBack);
    rlim_t old = leave_descriptors(0);
    for (int i = 0; i < 20; i++) {
        put(ends[1]);
        run_once();
    }
    ck_assert_int_eq(other.bytes, 20);
    ck_assert_int_eq(listening.calls, 0);
    limit_descriptors(old);
    run_once();
    ck_assert_int_eq(listening.calls, 1);
    close(caller);
    close(listening.accepted);
    sock_drop(&listening);
    sock_drop(&other);
    ends[0] = -1;
}
END_TEST

START_TEST(accepting_on_a_file_that_does_not_listen_does_not_spin)
{
    for (int kind = 0; kind < 3; kind++) {
        struct sock sock = {.name = "s"};
        int pair[2];
        if (kind == 2)
            make_pipe(pair);
        else
            make_pair(pair, kind == 0 ? SOCK_STREAM : SOCK_DGRAM);
        put(pair[1]);
        sock_open(&sock, pair[0], kRLSocketAcceptCallBack);
        ck_assert_int_le(passes_while_idle(), 4);
        ck_assert_int_eq(sock.calls, 0);
        RLSocketEnableCallBacks(sock.object, kRLSocketAcceptCallBack);
        ck_assert_int_le(passes_while_idle(), 4);
        sock_drop(&sock);
        close(pair[1]);
    }
}
END_TEST

/* -- Limits -- */

/* Every function that creates a socket, with fewer and fewer descriptors: each fails with an error, leaves nothing open, and
 * works again afterwards. */
START_TEST(every_create_function_fails_cleanly_without_descriptors)
{
    struct sock listening = {.name = NULL};
    sock_listen(&listening, kRLSocketNoCallBack);
    RLDataRef target = RLSocketCopyAddress(listening.object), any = inet_address(0);
    RLSocketSignature to_listen = {PF_INET, SOCK_STREAM, 0, any}, to_connect = {PF_INET, SOCK_STREAM, 0, target};
    int open_before = open_descriptors();
    for (int spare = 4; spare >= 0; spare--) {
        rlim_t old = leave_descriptors(spare);
        for (int way = 0; way < 4; way++) {
            RLSocketRef made[6] = {NULL};
            int count = 0;
            errno = 0;
            for (int i = 0; i < 6; i++) {
                made[i] = way == 0   ? RLSocketCreate(NULL, 0, 0, 0, kRLSocketReadCallBack, sock_called, NULL)
                          : way == 1 ? RLSocketCreateWithSocketSignature(NULL, &to_listen, 0, sock_called, NULL)
                          : way == 2
                              ? RLSocketCreateConnectedToSocketSignature(NULL, &to_connect, 0, sock_called, NULL, 1)
                              : RLSocketCreateWithNative(NULL, ends[i % 2], 0, sock_called, NULL);
                count += made[i] != NULL;
            }
            ck_assert_msg(count == (way == 3 ? 6 : spare), "way %d: %d made with %d to spare", way, count, spare);
            ck_assert_int_eq(errno, way == 3 ? 0 : EMFILE);
            for (int i = 0; i < 6; i++) {
                if (made[i] == NULL)
                    continue;
                if (way == 3)
                    RLSocketSetSocketFlags(made[i], 0);
                RLSocketInvalidate(made[i]);
                RLRelease(made[i]);
            }
        }
        RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, ends[0], 0, NULL, NULL);
        ck_assert_ptr_nonnull(f);
        RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, f, 0);
        RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
        RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorWriteCallBack);
        ck_assert(poll_once());
        RLFileDescriptorInvalidate(f);
        RLRelease(f);
        RLRelease(source);
        limit_descriptors(old);
        ck_assert_int_eq(open_descriptors(), open_before);
    }
    RLRelease(any);
    RLRelease(target);
    sock_drop(&listening);
}
END_TEST

/* A loop that does not have its own two descriptors yet. */
static void *use_without_descriptors(UNUSED void *info)
{
    struct port port = {.name = NULL};
    rlim_t old = leave_descriptors(1);
    int open_before;
    port_make(&port, ends[0], false);
    port_add(&port, RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, 0);
    RLFileDescriptorEnableCallBacks(port.object, kRLFileDescriptorWriteCallBack);
    errno = 0;
    require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1) == kRLRunLoopRunFinished);
    require(errno == EMFILE);
    limit_descriptors(old);
    open_before = open_descriptors();
    require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1) == kRLRunLoopRunHandledSource);
    require(open_descriptors() == open_before + 2);
    port_drop(&port);
    return NULL;
}

START_TEST(a_loop_without_its_own_descriptors_reports_it_and_works_later)
{
    join_thread(start_thread(use_without_descriptors, NULL));
    ck_assert_int_eq(open_descriptors(), descriptors_before);
}
END_TEST

START_TEST(ten_thousand_sockets_are_added_and_removed_without_leaks)
{
    enum { rounds = 10000 };
    long before = 0;
    for (int i = 0; i < rounds; i++) {
        if (i == rounds / 10)
            before = resident_kilobytes();
        struct sock sock = {.name = NULL};
        struct port port = {.name = NULL};
        int fd = dup(ends[0]);
        put(ends[1]);
        if (i % 2) {
            sock_open(&sock, fd, kRLSocketDataCallBack | kRLSocketWriteCallBack);
        } else {
            port_open(&port, fd, READ | WRITE);
            port.reads = true;
        }
        require(poll_once());
        if (i % 2) {
            sock_drop(&sock);
        } else {
            port_drop(&port);
            close(fd);
        }
    }
    ck_assert_int_eq(open_descriptors(), descriptors_before);
    if (!SANITIZED)
        ck_assert_int_lt(resident_kilobytes() - before, 200);
}
END_TEST

START_TEST(a_loop_serves_twenty_thousand_sockets)
{
    enum { wanted = SCALED(10000), others = 100 };
    static struct sock socks[wanted][2];
    struct rlimit limit, enough = {2 * wanted + others, 2 * wanted + others};
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max >= enough.rlim_max || setrlimit(RLIMIT_NOFILE, &enough) == 0)
        limit.rlim_max = enough.rlim_max;
    limit_descriptors(limit.rlim_max);
    /* If the hard limit may not be raised, as many as it allows. */
    int pairs = (int)(limit.rlim_max - others) / 2;
    ck_assert_int_ge(pairs, 2000);
    for (int i = 0; i < pairs; i++) {
        int pair[2];
        make_pair(pair, SOCK_STREAM);
        for (int side = 0; side < 2; side++)
            sock_open(&socks[i][side], pair[side], kRLSocketDataCallBack);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < pairs; i++)
            put(RLSocketGetNative(socks[i][round % 2].object));
        int called = 0;
        while (called < pairs * (round + 1)) {
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
            called = 0;
            for (int i = 0; i < pairs; i++)
                called += socks[i][0].calls + socks[i][1].calls;
        }
    }
    for (int i = 0; i < pairs; i++) {
        ck_assert_int_eq(socks[i][0].bytes + socks[i][1].bytes, 3);
        sock_drop(&socks[i][0]);
        sock_drop(&socks[i][1]);
    }
    ck_assert_int_eq(open_descriptors(), descriptors_before);
}
END_TEST

/* -- A descriptor that is closed while its socket is valid -- */

START_TEST(a_socket_whose_descriptor_was_closed_is_reported_once)
{
    struct sock sock = {.name = "s"};
    int fd = dup(ends[0]);
    sock_make(&sock, fd, kRLSocketReadCallBack);
    close(fd);
    sock_add(&sock, rl, kRLRunLoopDefaultMode, 0);
    ck_assert_int_le(passes_while_idle(), 4);
    ck_assert_int_eq(take_diagnostics(), 1);
    RLSocketEnableCallBacks(sock.object, kRLSocketReadCallBack);
    ck_assert_int_le(passes_while_idle(), 4);
    ck_assert_int_eq(take_diagnostics(), 0);
    sock_drop(&sock);
}
END_TEST

/* The kernel has just handed out the number as a free one, so a socket that still claims it is wrong. */
START_TEST(a_new_socket_is_not_mistaken_for_one_whose_descriptor_was_closed)
{
    struct sock old = {.name = "old"}, new = {.name = "new"};
    int fd = dup(ends[0]);
    sock_open(&old, fd, kRLSocketReadCallBack);
    poll_once();
    close(fd);
    RLSocketContext context = {.info = &new};
    new.object = RLSocketCreate(NULL, PF_UNIX, SOCK_DGRAM, 0, kRLSocketDataCallBack, sock_called, &context);
    ck_assert_int_eq(RLSocketGetNative(new.object), fd);
    ck_assert_ptr_ne(new.object, old.object);
    ck_assert_int_eq(take_diagnostics(), 1);
    ck_assert(!RLSocketIsValid(old.object));
    sock_drop(&old);
    ck_assert(is_open(fd)); /* it is the new socket's */
    RLSocketRef again = RLSocketCreateWithNative(NULL, fd, 0, NULL, NULL);
    ck_assert_ptr_eq(again, new.object);
    RLRelease(again);
    sock_drop(&new);
    ck_assert(!is_open(fd));
}
END_TEST

/* -- Signals, forks, threads -- */

static atomic_int signals;
static void on_signal(UNUSED int number) { signals++; }
static pthread_t target;
static atomic_bool storm_over;
static void *storm(UNUSED void *info)
{
    while (!storm_over) {
        pthread_kill(target, SIGUSR1);
        sched_yield();
    }
    return NULL;
}

static void echo(struct sock *sock, UNUSED RLSocketCallBackType type, const void *data)
{
    RLDataRef bytes = data;
    if (RLDataGetLength(bytes) > 0)
        require(RLSocketSendData(sock->object, NULL, bytes, 10) == kRLSocketSuccess);
}

static void *talk(UNUSED void *info)
{
    char out[200] = "x", in[200];
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    fcntl(ends[1], F_SETFL, 0);
    for (int i = 0; i < SCALED(3000); i++) {
        require(write(ends[1], out, sizeof out) == sizeof out);
        for (size_t got = 0; got < sizeof in;) {
            ssize_t count = read(ends[1], in, sizeof in - got);
            require(count > 0);
            got += (size_t)count;
        }
    }
    RLRunLoopStop(rl);
    return NULL;
}

START_TEST(a_storm_of_signals_loses_no_socket_data)
{
    struct sock sock = {.action = echo};
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL); /* no SA_RESTART */
    target = pthread_self();
    sock_open(&sock, ends[0], kRLSocketDataCallBack);
    pthread_t stormer = start_thread(storm, NULL), talker = start_thread(talk, NULL);
    while (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0) != kRLRunLoopRunStopped) {}
    join_thread(talker);
    storm_over = true;
    join_thread(stormer);
    ck_assert_int_gt(signals, 0);
    ck_assert_int_eq(sock.bytes, SCALED(3000) * 200);
    sock_drop(&sock);
    ends[0] = -1;
}
END_TEST

static struct sock family;
static void use_in_child(UNUSED void *info)
{
    /* The child has its own epoll, so the parent's is not affected. */
    put(ends[1]);
    child_assert(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1) == kRLRunLoopRunHandledSource);
    child_assert(family.bytes == 1);
    RLSocketInvalidate(family.object);
    child_assert(!is_open(ends[0]));
    int pair[2];
    struct sock own = {.name = NULL};
    make_pair(pair, SOCK_STREAM);
    sock_open(&own, pair[0], kRLSocketDataCallBack);
    put(pair[1]);
    child_assert(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1) == kRLRunLoopRunHandledSource);
    child_assert(own.bytes == 1);
}

START_TEST(a_socket_works_in_parent_and_child_after_a_fork)
{
    sock_open(&family, ends[0], kRLSocketDataCallBack);
    poll_once();
    ck_assert_int_eq(run_in_child(use_in_child, NULL), 0);
    ck_assert_int_eq(family.bytes, 0);
    put(ends[1]);
    run_once();
    ck_assert_int_eq(family.bytes, 1);
    sock_drop(&family);
    ends[0] = -1;
}
END_TEST

static void *add_and_end(void *sock)
{
    sock_add(sock, RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, 0);
    put(ends[1]);
    require(poll_once());
    return NULL;
}

START_TEST(a_socket_outlives_the_thread_of_its_loop)
{
    struct sock sock = {.name = NULL};
    sock_make(&sock, ends[0], kRLSocketDataCallBack);
    join_thread(start_thread(add_and_end, &sock));
    ck_assert(RLSocketIsValid(sock.object));
    sock_add(&sock, rl, kRLRunLoopDefaultMode, 0);
    put(ends[1]);
    run_once();
    ck_assert_int_eq(sock.bytes, 2);
    sock_drop(&sock);
    ends[0] = -1;
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("socket-trouble");
    TCase *tcase = add_case(suite, "trouble", 30);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, clients_wait_while_no_descriptors_are_free);
    tcase_add_test(tcase, a_listener_out_of_descriptors_does_not_stop_other_sockets);
    tcase_add_test(tcase, accepting_on_a_file_that_does_not_listen_does_not_spin);
    tcase_add_test(tcase, every_create_function_fails_cleanly_without_descriptors);
    tcase_add_test(tcase, a_loop_without_its_own_descriptors_reports_it_and_works_later);
    tcase_add_test(tcase, ten_thousand_sockets_are_added_and_removed_without_leaks);
    tcase_add_test(tcase, a_loop_serves_twenty_thousand_sockets);
    tcase_add_test(tcase, a_socket_whose_descriptor_was_closed_is_reported_once);
    tcase_add_test(tcase, a_new_socket_is_not_mistaken_for_one_whose_descriptor_was_closed);
    tcase_add_test(tcase, a_storm_of_signals_loses_no_socket_data);
    tcase_add_test(tcase, a_socket_works_in_parent_and_child_after_a_fork);
    tcase_add_test(tcase, a_socket_outlives_the_thread_of_its_loop);
    return suite;
}
