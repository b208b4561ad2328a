/* RLStream: connecting by host name. The program defines its own getaddrinfo(), which can be made to wait, uses no
 * network, and returns hosts with several addresses, some of which do not answer. */
#include "stream.h"

#include <dlfcn.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>

static struct spy spy;
static struct lifetime life;
static RLWorkersRef workers;
static gate asked, hold;
static atomic_bool must_wait;

/* -- Hosts --------------------------------------------------------------------------------------------------------- */

/* Sockets on this machine: one that accepts; one that does not listen; and one whose backlog is full, so that it
 * does not answer. */
static int good, full, unused, fillers[8];
static struct sockaddr_in good_address, refusing, silent;

static int bind_at(struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    require(bind(fd, (struct sockaddr *)address, sizeof *address) == 0);
    require(getsockname(fd, (struct sockaddr *)address, &(socklen_t){sizeof *address}) == 0);
    return fd;
}

static int listen_at(struct sockaddr_in *address, int backlog)
{
    int fd = bind_at(address);
    require(listen(fd, backlog) == 0);
    return fd;
}

static void set_up(void)
{
    unused = bind_at(&refusing); /* bound, so that its port is used by no other socket */
    good = listen_at(&good_address, 10);
    full = listen_at(&silent, 0);
    for (int i = 0; i < 8; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(fillers[i], (struct sockaddr *)&silent, sizeof silent);
    }
    gate_init(&asked);
    gate_init(&hold);
    workers = RLWorkersCreate(NULL, 2);
    char port[8]; /* makes the loop open its descriptors */
    snprintf(port, sizeof port, "%d", ntohs(good_address.sin_port));
    RLStreamRef first = add(RLStreamCreateConnectedToHost(NULL, "127.0.0.1", port, NULL, 60, NULL, NULL));
    close(accept(good, NULL, NULL));
    run_passes();
    drop_source(first);
}

static void tear_down(void)
{
    RLRelease(workers);
    close(good);
    close(full);
    close(unused);
    for (int i = 0; i < 8; i++)
        close(fillers[i]);
}

/* Resolves a host whose name lists its addresses as letters: g(ood), r(efusing), s(ilent). "?" is unknown, "!" is a
 * system error. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **answer)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        dlsym(RTLD_NEXT, "getaddrinfo");
    if (hints->ai_flags & AI_NUMERICHOST)
        return real(host, service, hints, answer);
    if (must_wait) {
        gate_open(&asked);
        gate_pass(&hold);
    }
    if (*host == '!')
        errno = EMFILE;
    if (*host == '?' || *host == '!')
        return *host == '?' ? EAI_NONAME : EAI_SYSTEM;
    for (; *host != 0; host++, answer = &(*answer)->ai_next) {
        const struct sockaddr_in *address = *host == 'g' ? &good_address : *host == 'r' ? &refusing : &silent;
        *answer = calloc(1, sizeof **answer + sizeof *address); /* one allocation, as freeaddrinfo() expects */
        (*answer)->ai_family = AF_INET;
        (*answer)->ai_addrlen = sizeof *address;
        (*answer)->ai_addr = memcpy(*answer + 1, address, sizeof *address);
    }
    return 0;
}

static void connect_to(const char *host, double timeout)
{
    RLStreamContext context = {.info = &spy};
    spy.stream = add(RLStreamCreateConnectedToHost(NULL, host, "1", workers, timeout, spy_callback, &context));
    ck_assert_int_eq(RLStreamGetNativeDescriptor(spy.stream), -1);
}

static void run_until_notified(void)
{
    while (spy.seen[0] == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
}

/* -- Addresses ----------------------------------------------------------------------------------------------------- */

static void assert_connects(void)
{
    ck_assert(RLStreamWrite(spy.stream, "hello", 5) && RLStreamFlush(spy.stream, note_flush, "f"));
    run_until_notified();
    assert_seen(&spy, "O");
    ck_assert_int_ge(RLStreamGetNativeDescriptor(spy.stream), 0);
    int peer = accept(good, NULL, NULL);
    char text[6] = "";
    ck_assert_int_eq(recv(peer, text, 5, MSG_WAITALL), 5);
    ck_assert_str_eq(text, "hello");
    assert_flushed("f0");
    send_text(peer, "answer");
    run_until_notified();
    assert_seen(&spy, "(answer)");
    close(peer);
    end_spy(&spy);
}

START_TEST(connecting_tries_one_address_after_the_other)
{
    static const char *const hosts[] = {"g", "rg", "rrrg", "sg", "srg", "gs"};
    int before = open_descriptors();
    for (int i = 0; i < 6; i++) {
        double start = monotonic_seconds();
        connect_to(hosts[i], HUGE_VAL);
        assert_connects();
        if (hosts[i][0] == 's') /* the first address has a head start */
            ck_assert_double_ge(monotonic_seconds() - start, 0.25);
    }
    ck_assert_int_le(open_descriptors(), before);
}
END_TEST

START_TEST(numeric_hosts_need_no_workers)
{
    char port[8];
    snprintf(port, sizeof port, "%d", ntohs(good_address.sin_port));
    RLStreamContext context = {.info = &spy};
    spy.stream = add(RLStreamCreateConnectedToHost(NULL, "127.0.0.1", port, NULL, 60, spy_callback, &context));
    assert_connects();
    spy.stream = add(RLStreamCreateConnectedToHost(NULL, "g", port, NULL, 60, spy_callback, &context));
    run_until_notified();
    assert_seen(&spy, "!EAI");
    ck_assert_int_eq(spy.result, kRLStreamNotFound);
    end_spy(&spy);
}
END_TEST

/* -- Errors -------------------------------------------------------------------------------------------------------- */

static int error_told;
static void note_error(UNUSED RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    require(event->type == kRLStreamEventErrorOccurred);
    error_told = event->error;
    ++*(int *)info;
}

static void assert_fails(const char *host, double timeout, RLStreamResult result, int error, int write_error)
{
    int calls = 0;
    char info = 'f';
    RLStreamContext context = {.info = &calls};
    RLStreamRef stream = RLStreamCreateConnectedToHost(NULL, host, "1", workers, timeout, note_error, &context);
    ck_assert(RLStreamWrite(stream, "x", 1) && RLStreamFlush(stream, note_flush, &info));
    add(stream);
    while (calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    run_passes();
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(error_told, error);
    ck_assert_int_eq(flushed[1], '0' + result);
    flushed[0] = 0;
    ck_assert(!RLStreamWrite(stream, "x", 1) && errno == write_error);
    RLStreamClose(stream);
    RLRelease(stream);
}

START_TEST(a_failed_connection_reports_why)
{
    int before = open_descriptors();
    assert_fails("?", 60, kRLStreamNotFound, EAI_NONAME, EHOSTUNREACH);
    assert_fails("!", 60, kRLStreamFailed, EMFILE, EMFILE);
    assert_fails("r", 60, kRLStreamFailed, ECONNREFUSED, ECONNREFUSED);
    assert_fails("rr", 60, kRLStreamFailed, ECONNREFUSED, ECONNREFUSED);
    assert_fails("s", 0.05, kRLStreamFailed, ETIMEDOUT, ETIMEDOUT);
    assert_fails("g", -1, kRLStreamFailed, ETIMEDOUT, ETIMEDOUT);
    must_wait = true;
    assert_fails("g", 0.05, kRLStreamFailed, ETIMEDOUT, ETIMEDOUT);
    gate_open(&hold);
    must_wait = false;
    ck_assert_int_le(open_descriptors(), before);
}
END_TEST

/* Port numbers that getaddrinfo() would truncate to a valid one. */
START_TEST(a_port_number_above_65535_is_not_found)
{
    char port[16];
    snprintf(port, sizeof port, "%d", 65536 + ntohs(good_address.sin_port));
    RLStreamContext context = {.info = &spy};
    spy.stream = add(RLStreamCreateConnectedToHost(NULL, "127.0.0.1", port, NULL, 60, spy_callback, &context));
    run_until_notified();
    assert_seen(&spy, "!EAI");
    ck_assert_int_eq(spy.result, kRLStreamNotFound);
    end_spy(&spy);
}
END_TEST

/* The idle limit also counts while the stream connects. */
START_TEST(the_idle_limit_applies_while_connecting)
{
    connect_to("s", HUGE_VAL);
    RLStreamSetIdleLimit(spy.stream, 0.02);
    run_until_notified();
    assert_seen(&spy, "!ETIMEDOUT");
    end_spy(&spy);
}
END_TEST

/* -- Lifetime ------------------------------------------------------------------------------------------------------ */

static void give_up(int how)
{
    if (how == 0)
        RLStreamClose(spy.stream);
    else if (how == 1)
        RLRunLoopSourceInvalidate(spy.stream);
    else
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), spy.stream, kRLRunLoopDefaultMode);
    RLRelease(spy.stream);
    spy.stream = NULL;
}

START_TEST(a_connecting_stream_may_be_given_up)
{
    static const char *const hosts[] = {"s", "ss", "g", "rs"};
    int before = open_descriptors();
    RLStreamContext context = {0, &life, lifetime_retain, lifetime_release, NULL};
    for (int i = 0; i < 24; i++) {
        must_wait = i % 2; /* during the lookup, or while connecting */
        spy.stream = add(RLStreamCreateConnectedToHost(NULL, hosts[i % 4], "1", workers, 60, NULL, &context));
        if (must_wait)
            gate_pass(&asked);
        else
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, i % 5 ? 0.001 : 0, 1);
        give_up(i % 3);
        ck_assert_int_eq(lifetime_held(&life), 0);
        if (must_wait)
            gate_open(&hold);
    }
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0), kRLRunLoopRunFinished);
    ck_assert_int_le(open_descriptors(), before);
}
END_TEST

static void *release_workers(UNUSED void *info)
{
    RLRelease(workers);
    return NULL;
}

/* Both workers are busy with lookups, and two more lookups wait for them: that of a stream in a loop, and that of a
 * stream which is added to it later. */
START_TEST(releasing_the_workers_cancels_queued_lookups)
{
    struct spy spies[4] = {0};
    must_wait = true;
    for (int i = 0; i < 4; i++) {
        RLStreamContext context = {.info = &spies[i]};
        spies[i].stream = RLStreamCreateConnectedToHost(NULL, "g", "1", workers, HUGE_VAL, spy_callback, &context);
        if (i < 2)
            gate_pass(&asked);
        if (i < 3)
            add(spies[i].stream);
    }
    pthread_t thread = start_thread(release_workers, NULL);
    while (spies[2].calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    gate_open(&hold);
    gate_open(&hold);
    join_thread(thread);
    add(spies[3].stream);
    while (spies[0].calls == 0 || spies[1].calls == 0 || spies[3].calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    for (int i = 0; i < 4; i++) {
        assert_seen(&spies[i], i < 2 ? "O" : "!ECANCELED");
        end_spy(&spies[i]);
    }
    workers = RLWorkersCreate(NULL, 1);
}
END_TEST

/* The stream starts in a mode that does not run, moves to another loop, whose thread exits, and then to this loop. */
START_TEST(a_connecting_stream_may_move_between_loops)
{
    struct looper looper;
    looper_start(&looper);
    RLStreamContext context = {.info = &spy};
    spy.stream = RLStreamCreateConnectedToHost(NULL, "ssg", "1", workers, 60, spy_callback, &context);
    RLRunLoopAddSource(looper.loop, spy.stream, RLSTR("a mode that does not run"));
    serve_elsewhere(&spy, 0.01);
    add(spy.stream);
    assert_connects();
    looper_stop(&looper);
}
END_TEST

static void in_child(UNUSED void *info)
{
    run_until_notified();
    require(strcmp(spy.seen, must_wait ? "!ECANCELED" : "O") == 0);
}
START_TEST(a_connecting_stream_works_in_the_child_of_a_fork)
{
    must_wait = true;
    connect_to("g", HUGE_VAL);
    gate_pass(&asked);
    ck_assert_int_eq(run_in_child(in_child, NULL), 0); /* there is no worker in the child, and no limit ends the wait */
    must_wait = false;
    gate_open(&hold);
    run_until_notified();
    spy.seen[0] = 0, spy.length = 0;
    end_spy(&spy);
    connect_to("sg", 60);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 0); /* waits for the first address */
    ck_assert_int_eq(run_in_child(in_child, NULL), 0);
    end_spy(&spy);
}
END_TEST

/* -- Misuse -------------------------------------------------------------------------------------------------------- */

static void connect_nowhere(void)
{
    ck_assert_ptr_null(RLStreamCreateConnectedToHost(NULL, NULL, NULL, workers, 1, NULL, NULL));
}
static void connect_nan(void)
{
    ck_assert_ptr_null(RLStreamCreateConnectedToHost(NULL, "g", "1", workers, NAN, NULL, NULL));
}
static RLRunLoopSourceRef plain;
static void connect_by_source(void)
{
    ck_assert_ptr_null(RLStreamCreateConnectedToHost(NULL, "g", "1", plain, 1, NULL, NULL));
}
START_TEST(misuse_of_connecting_to_a_host_is_reported)
{
    plain = make_source(0, do_nothing, NULL);
    assert_reports(connect_nowhere, "runloop: RLStreamCreateConnectedToHost: host: NULL, as is service");
    assert_reports(connect_nan, "runloop: RLStreamCreateConnectedToHost: timeout: not a number");
    assert_reports(connect_by_source,
                   "runloop: RLStreamCreateConnectedToHost: workers: expected RLWorkers, got another source");
    drop_source(plain);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream connect");
    TCase *all = add_case(suite, "stream connect", 30);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, connecting_tries_one_address_after_the_other);
    tcase_add_test(all, numeric_hosts_need_no_workers);
    tcase_add_test(all, a_failed_connection_reports_why);
    tcase_add_test(all, a_port_number_above_65535_is_not_found);
    tcase_add_test(all, the_idle_limit_applies_while_connecting);
    tcase_add_test(all, a_connecting_stream_may_be_given_up);
    tcase_add_test(all, releasing_the_workers_cancels_queued_lookups);
    tcase_add_test(all, a_connecting_stream_may_move_between_loops);
    tcase_add_test(all, a_connecting_stream_works_in_the_child_of_a_fork);
    tcase_add_test(all, misuse_of_connecting_to_a_host_is_reported);
    return suite;
}
