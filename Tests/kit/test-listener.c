/* RLListener: all kinds of addresses, fairness, shortages, ends of the listener, fork, misuse. */
#include "kit.h"
#include "../own-directory.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

static RLListenerRef listener;
static int accepted[64], accepted_count;
static struct lifetime life;

static void keep_it(RLListenerRef l, int descriptor, UNUSED void *info)
{
    require(listener == NULL || l == listener);
    require(fcntl(descriptor, F_GETFL) & O_NONBLOCK && fcntl(descriptor, F_GETFD) & FD_CLOEXEC);
    accepted[accepted_count++] = descriptor;
}

static void forget_accepted(void)
{
    while (accepted_count > 0)
        close(accepted[--accepted_count]);
}

static void end_listener(void)
{
    RLListenerClose(listener);
    RLRelease(listener);
    listener = NULL;
}

/* -- Addresses ----------------------------------------------------------------------------------------------------- */

/* Asserts that data sent by the client arrives at the accepted descriptor. */
static void assert_accepts(int client)
{
    int before = accepted_count;
    char text[8] = "";
    require(write(client, "hello", 5) == 5);
    while (accepted_count == before)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert_int_eq(recv(accepted[before], text, 5, MSG_WAITALL), 5);
    ck_assert_str_eq(text, "hello");
    close(client);
}

START_TEST(listeners_accept_ipv4_and_ipv6)
{
    static const char *const hosts[] = {NULL, "127.0.0.1", "::1", "localhost"};
    for (int i = 0; i < 4; i++) {
        listener = RLListenerCreateWithHost(NULL, hosts[i], i % 2 ? NULL : "0", keep_it, NULL);
        if (listener == NULL && i == 2 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT))
            continue; /* this machine has no IPv6 */
        add(listener);
        int port = RLListenerGetPort(listener);
        ck_assert_int_gt(port, 0);
        if (hosts[i] != NULL || has_ipv6())
            assert_accepts(connect_client(listener));
        if (hosts[i] == NULL) { /* IPv4 too, even if the socket is an IPv6 socket */
            int fd = socket(AF_INET, SOCK_STREAM, 0);
            struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
            to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            require(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
            assert_accepts(fd);
        }
        char service[8];
        snprintf(service, sizeof service, "%d", port);
        ck_assert_ptr_null(RLListenerCreateWithHost(NULL, hosts[i], service, keep_it, NULL));
        ck_assert_int_eq(errno, EADDRINUSE);
        end_listener();
        forget_accepted(); /* accepted connections do not occupy the port: SO_REUSEADDR */
        listener = RLListenerCreateWithHost(NULL, hosts[i], service, keep_it, NULL);
        ck_assert_ptr_nonnull(listener);
        ck_assert_int_eq(RLListenerGetPort(listener), port);
        end_listener();
    }
    ck_assert_ptr_null(RLListenerCreateWithHost(NULL, "no such host", "0", keep_it, NULL));
    ck_assert_int_eq(errno, EADDRNOTAVAIL);
    ck_assert_ptr_null(RLListenerCreateWithHost(NULL, "192.0.2.1", "0", keep_it, NULL));
    ck_assert_int_eq(errno, EADDRNOTAVAIL);
}
END_TEST

/* Strings that are no valid port, although getaddrinfo() would turn each of them into one. */
START_TEST(impossible_port_numbers_are_refused)
{
    static const char *const services[] = {"65536", "70000", "4294967376", "18446744073709551696",
                                           "-1",    "+8085", " 8085",      ""};
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        ck_assert_ptr_null(RLListenerCreateWithHost(NULL, i % 2 ? NULL : "127.0.0.1", services[i], keep_it, NULL));
        ck_assert_int_eq(errno, EADDRNOTAVAIL);
    }
}
END_TEST

START_TEST(listeners_claim_and_free_unix_socket_paths)
{
    char directory[OWN_DIRECTORY_SIZE], path[OWN_DIRECTORY_SIZE + 8], other[OWN_DIRECTORY_SIZE + 8];
    make_own_directory(directory);
    snprintf(path, sizeof path, "%s/s", directory);
    snprintf(other, sizeof other, "%s/other", directory);
    listener = add(RLListenerCreateWithPath(NULL, path, keep_it, NULL));
    assert_accepts(connect_client(listener));
    ck_assert_int_eq(RLListenerGetPort(listener), 0);
    ck_assert_ptr_null(RLListenerCreateWithPath(NULL, path, keep_it, NULL));
    ck_assert_int_eq(errno, EADDRINUSE);
    require(rename(path, other) == 0);
    end_listener();
    ck_assert_int_eq(access(other, F_OK), 0); /* the socket is at another path: not removed */
    listener = RLListenerCreateWithPath(NULL, other, keep_it, NULL);
    ck_assert_ptr_nonnull(listener); /* nothing listens there: replaced */
    end_listener();
    ck_assert_int_eq(access(other, F_OK), -1);
    int file = open(path, O_CREAT | O_CLOEXEC, 0600);
    ck_assert_ptr_null(RLListenerCreateWithPath(NULL, path, keep_it, NULL));
    ck_assert_int_eq(errno, EADDRINUSE);
    ck_assert_int_eq(access(path, F_OK), 0); /* not a socket: left alone */
    close(file);
    require(unlink(path) == 0 && rmdir(directory) == 0);
    ck_assert_ptr_null(RLListenerCreateWithPath(NULL, path, keep_it, NULL));
    ck_assert_int_eq(errno, ENOENT);
    char name[120] = "@";
    memset(name + 1, 'x', sizeof name - 2);
    ck_assert_ptr_null(RLListenerCreateWithPath(NULL, name, keep_it, NULL));
    ck_assert_int_eq(errno, ENAMETOOLONG);
    snprintf(name, sizeof name, "@runloop-test-%d", getpid());
    listener = add(RLListenerCreateWithPath(NULL, name, keep_it, NULL));
    assert_accepts(connect_client(listener));
    end_listener();
    forget_accepted();
}
END_TEST

START_TEST(a_listener_can_use_the_programs_socket)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(listen(fd, 1) == 0);
    listener = add(RLListenerCreate(NULL, fd, 0, keep_it, NULL));
    ck_assert_int_eq(RLListenerGetNativeDescriptor(listener), fd);
    assert_accepts(connect_client(listener));
    end_listener();
    ck_assert_int_ne(fcntl(fd, F_GETFD), -1); /* not closed */
    close(fd);
    forget_accepted();
}
END_TEST

/* -- Fairness ------------------------------------------------------------------------------------------------------ */

static int clients[64];
static void connect_clients(int count)
{
    for (int i = 0; i < count; i++)
        clients[i] = connect_client(listener);
}
static void close_clients(int count)
{
    while (count > 0)
        close(clients[--count]);
}

/* The largest number of connections accepted between two callbacks of another source. */
static int most_at_once;
static RLRunLoopSourceRef other;
static void take_turn(UNUSED void *info)
{
    static int before;
    if (accepted_count - before > most_at_once)
        most_at_once = accepted_count - before;
    before = accepted_count;
    if (accepted_count < 50)
        RLRunLoopSourceSignal(other);
}

START_TEST(a_busy_listener_does_not_starve_other_sources)
{
    listener = add(RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, keep_it, NULL));
    connect_clients(50);
    other = add(make_source(0, take_turn, NULL));
    RLRunLoopSourceSignal(other);
    while (accepted_count < 50)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    run_passes();
    drop_source(other);
    ck_assert_int_eq(most_at_once, 16);
    close_clients(50);
    forget_accepted();
    end_listener();
}
END_TEST

START_TEST(a_listener_can_be_disabled_and_enabled)
{
    listener = add(RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, keep_it, NULL));
    ck_assert(RLListenerIsEnabled(listener));
    RLListenerSetEnabled(listener, 0);
    ck_assert(!RLListenerIsEnabled(listener));
    connect_clients(2);
    run_passes();
    ck_assert_int_eq(accepted_count, 0);
    RLListenerSetEnabled(listener, 1);
    run_passes();
    ck_assert_int_eq(accepted_count, 2);
    close_clients(2);
    forget_accepted();
    end_listener();
}
END_TEST

static void disable(RLListenerRef l, int descriptor, void *info)
{
    keep_it(l, descriptor, info);
    RLListenerSetEnabled(l, 0);
}
START_TEST(a_listener_can_be_disabled_in_its_callback)
{
    listener = add(RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, disable, NULL));
    connect_clients(3);
    for (int i = 1; i <= 3; i++) {
        run_passes();
        ck_assert_int_eq(accepted_count, i);
        RLListenerSetEnabled(listener, 1);
    }
    close_clients(3);
    forget_accepted();
    end_listener();
}
END_TEST

/* -- Shortages ----------------------------------------------------------------------------------------------------- */

START_TEST(a_listener_out_of_descriptors_does_not_spin_and_recovers)
{
    listener = add(RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, keep_it, NULL));
    connect_clients(2);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0); /* the loop opens all that it needs */
    run_passes();
    forget_accepted();
    close_clients(2);
    connect_clients(2);
    atomic_int passes = 0;
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_activity, &passes);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, kRLRunLoopDefaultMode);
    struct rlimit limit, none;
    require(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    none = limit;
    none.rlim_cur = (rlim_t)clients[1] + 1;
    for (int fd = 3; fd < clients[1]; fd++) /* leave no free number below */
        if (fcntl(fd, F_GETFD) == -1)
            require(dup2(clients[0], fd) == fd);
    require(setrlimit(RLIMIT_NOFILE, &none) == 0);
    while (RLListenerGetError(listener) == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert_int_eq(RLListenerGetError(listener), EMFILE);
    passes = 0;
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.25, 0);
    ck_assert_int_eq(accepted_count, 0);
    ck_assert(RLListenerIsEnabled(listener));
    ck_assert_int_le(passes, 20); /* it does not spin */
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (accepted_count < 2)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert_int_eq(RLListenerGetError(listener), 0);
    drop_observer(observer);
    end_listener();
}
END_TEST

/* -- Lifetime ------------------------------------------------------------------------------------------------------ */

static int end_number;
static void end_in_call(RLListenerRef l, int descriptor, UNUSED void *info)
{
    close(descriptor);
    accepted_count++;
    if (end_number == 1)
        RLRunLoopSourceInvalidate(l);
    else if (end_number == 2 || end_number == 4)
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), l, kRLRunLoopDefaultMode);
    else
        RLListenerClose(l);
    if (end_number == 0)
        RLListenerClose(l);
    if (end_number > 2) {
        RLRelease(l);
        listener = NULL;
    }
}

START_TEST(a_listener_may_be_closed_or_released_in_its_callback)
{
    RLListenerContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    for (end_number = 0; end_number < 5; end_number++) {
        accepted_count = 0;
        listener = add(RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, end_in_call, &context));
        int descriptor = RLListenerGetNativeDescriptor(listener);
        connect_clients(3);
        run_passes();
        ck_assert_int_eq(accepted_count, 1);
        close_clients(3);
        if (listener != NULL) {
            ck_assert_int_eq(RLListenerGetNativeDescriptor(listener), end_number == 2 ? descriptor : -1);
            ck_assert_int_eq(RLListenerGetPort(listener) > 0, end_number == 2);
            RLRelease(listener);
        }
        ck_assert_int_eq(fcntl(descriptor, F_GETFD), -1);
        ck_assert_int_eq(lifetime_held(&life), 0);
    }
}
END_TEST

START_TEST(closing_a_listener_that_only_the_loop_retains_frees_it)
{
    RLListenerContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    listener = add(RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, keep_it, &context));
    int descriptor = RLListenerGetNativeDescriptor(listener);
    RLRelease(listener);
    RLListenerClose(listener); /* removes it from the loop, and so frees it */
    ck_assert_int_eq(fcntl(descriptor, F_GETFD), -1);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

static atomic_int taken;
static void take_one(UNUSED RLListenerRef l, int descriptor, UNUSED void *info)
{
    close(descriptor);
    taken++;
}
static void *serve_clients(void *shared)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), shared, kRLRunLoopDefaultMode);
    while (taken < 200)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    return NULL;
}

START_TEST(two_loops_share_a_listener)
{
    listener = RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, take_one, NULL);
    pthread_t threads[2] = {start_thread(serve_clients, listener), start_thread(serve_clients, listener)};
    for (int i = 0; i < 200; i++)
        close(connect_client(listener));
    join_thread(threads[0]);
    join_thread(threads[1]);
    ck_assert_int_eq(taken, 200);
    end_listener();
}
END_TEST

static void accept_in_child(UNUSED void *info)
{
    RLListenerSetEnabled(listener, 1);
    run_passes();
    require(accepted_count == 2);
    end_listener();
}

START_TEST(a_listener_works_in_the_child_of_a_fork)
{
    char directory[OWN_DIRECTORY_SIZE], path[OWN_DIRECTORY_SIZE + 8];
    make_own_directory(directory);
    snprintf(path, sizeof path, "%s/s", directory);
    listener = add(RLListenerCreateWithPath(NULL, path, keep_it, NULL));
    run_passes();
    RLListenerSetEnabled(listener, 0);
    connect_clients(2);
    ck_assert_int_eq(run_in_child(accept_in_child, NULL), 0);
    run_passes();
    ck_assert_int_eq(accepted_count, 0);
    RLListenerSetEnabled(listener, 1);
    assert_accepts(
        connect_client(listener)); /* the child closed its copy; here the listener is open, and still has its path */
    close_clients(2);
    end_listener();
    forget_accepted();
    require(rmdir(directory) == 0);
}
END_TEST

/* -- Misuse -------------------------------------------------------------------------------------------------------- */

static void create_closed(void) { ck_assert_ptr_null(RLListenerCreate(NULL, 999, 1, keep_it, NULL)); }
static void create_not_listening(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_ptr_null(RLListenerCreate(NULL, fd, 1, keep_it, NULL));
    close(fd);
    errno = EINVAL;
}
static void create_for_nothing(void) { ck_assert_ptr_null(RLListenerCreateWithHost(NULL, NULL, NULL, NULL, NULL)); }
static void create_nowhere(void) { ck_assert_ptr_null(RLListenerCreateWithPath(NULL, NULL, keep_it, NULL)); }
static void create_version(void)
{
    RLListenerContext context = {.version = 1};
    ck_assert_ptr_null(RLListenerCreateWithHost(NULL, NULL, NULL, keep_it, &context));
}
static RLRunLoopSourceRef plain;
static void ask_source(void) { ck_assert_int_eq(RLListenerGetPort(plain), 0); }
static void ask_null(void) { ck_assert_ptr_null(RLListenerCopyAddress(NULL)); }

START_TEST(misuse_of_listeners_is_reported)
{
    plain = make_source(0, do_nothing, NULL);
    assert_reports(create_closed, "runloop: RLListenerCreate: descriptor: not a stream socket that listens");
    assert_reports(create_not_listening, "runloop: RLListenerCreate: descriptor: not a stream socket that listens");
    assert_reports(create_for_nothing, "runloop: RLListenerCreateWithHost: callout: expected a function, got NULL");
    assert_reports(create_nowhere, "runloop: RLListenerCreateWithPath: path: expected a path, got NULL");
    assert_reports(create_version, "runloop: RLListenerCreateWithHost: context: version must be 0");
    assert_reports(ask_source, "runloop: RLListenerGetPort: listener: expected RLListener, got another source");
    assert_reports(ask_null, "runloop: RLListenerCopyAddress: listener: expected RLListener, got NULL");
    drop_source(plain);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("listener");
    TCase *all = add_case(suite, "listener", 30);
    tcase_add_test(all, listeners_accept_ipv4_and_ipv6);
    tcase_add_test(all, impossible_port_numbers_are_refused);
    tcase_add_test(all, listeners_claim_and_free_unix_socket_paths);
    tcase_add_test(all, a_listener_can_use_the_programs_socket);
    tcase_add_test(all, a_busy_listener_does_not_starve_other_sources);
    tcase_add_test(all, a_listener_can_be_disabled_and_enabled);
    tcase_add_test(all, a_listener_can_be_disabled_in_its_callback);
    tcase_add_test(all, a_listener_out_of_descriptors_does_not_spin_and_recovers);
    tcase_add_test(all, a_listener_may_be_closed_or_released_in_its_callback);
    tcase_add_test(all, closing_a_listener_that_only_the_loop_retains_frees_it);
    tcase_add_test(all, two_loops_share_a_listener);
    tcase_add_test(all, a_listener_works_in_the_child_of_a_fork);
    tcase_add_test(all, misuse_of_listeners_is_reported);
    return suite;
}
