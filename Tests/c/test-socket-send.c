/* Checks sending on sockets without waiting, and addresses that are reused. Sending that waits is in test-socket.c. */
#include "descriptor.h"

static int ends[2];
static struct sock sock;
static RLRunLoopSourceRef keeper;

enum { SIZE = 3 << 20 };
static uint8_t bytes[SIZE];

static void set_up(void)
{
    keeper = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), keeper, kRLRunLoopDefaultMode);
    make_pair(ends, SOCK_STREAM);
    sock = (struct sock){.name = ""};
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
}

static void tear_down(void)
{
    drop_source(keeper);
    close_pipe(ends);
}

/* Reads everything that is there, which must be `bytes` from offset `from` on. Returns how much it was. */
static RLIndex take_bytes(RLIndex from)
{
    static uint8_t buffer[1 << 16];
    RLIndex got = 0;
    ssize_t count;
    while ((count = read(ends[1], buffer, sizeof buffer)) > 0) {
        require(from + got + count <= SIZE && memcmp(bytes + from + got, buffer, (size_t)count) == 0);
        got += count;
    }
    require(count == 0 || errno == EAGAIN);
    return got;
}

/* -- Data that does not fit -- */

START_TEST(errno_shows_whether_a_part_was_sent)
{
    static const double timeouts[] = {0, -1, 0.01};
    RLDataRef data = RLDataCreate(NULL, bytes, SIZE);
    sock_open(&sock, ends[0], kRLSocketNoCallBack);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(RLSocketSendData(sock.object, NULL, data, timeouts[i]), kRLSocketError);
        ck_assert_int_eq(errno, ETIMEDOUT); /* a part was sent */
        ck_assert_int_eq(RLSocketSendData(sock.object, NULL, data, timeouts[i]), kRLSocketError);
        ck_assert_int_eq(errno, EAGAIN); /* nothing was sent */
        RLIndex sent = take_bytes(0);
        ck_assert_int_gt(sent, 0);
        ck_assert_int_lt(sent, SIZE);
    }
    RLRelease(data);
    sock_drop(&sock);
    ends[0] = -1;
}
END_TEST

START_TEST(send_bytes_sends_as_much_as_fits)
{
    for (int blocks = 0; blocks < 2; blocks++) {
        fcntl(ends[0], F_SETFL, blocks ? 0 : O_NONBLOCK);
        sock_open(&sock, ends[0], kRLSocketNoCallBack);
        RLSocketSetSocketFlags(sock.object, 0);
        ck_assert_int_eq(RLSocketSendBytes(sock.object, NULL, bytes, 0), 0);
        ck_assert_int_eq(RLSocketSendBytes(sock.object, NULL, NULL, 0), 0);
        ck_assert_int_eq(RLSocketSendBytes(sock.object, NULL, bytes, 100), 100);
        RLIndex sent = RLSocketSendBytes(sock.object, NULL, bytes + 100, SIZE - 100);
        ck_assert_int_gt(sent, 0);
        ck_assert_int_lt(sent, SIZE - 100);
        sent += 100;
        RLIndex more;
        while ((more = RLSocketSendBytes(sock.object, NULL, bytes + sent, SIZE - sent)) > 0)
            sent += more;
        ck_assert_int_eq(more, -1);
        ck_assert_int_eq(errno, EAGAIN);
        ck_assert_int_eq(take_bytes(0), sent);
        sock_drop(&sock);
    }
}
END_TEST

static struct sending {
    RLIndex sent;
    int calls;
} sending;

static void send_on(struct sock *called, RLSocketCallBackType type, UNUSED const void *data)
{
    if (type != kRLSocketWriteCallBack)
        return;
    RLIndex count = RLSocketSendBytes(called->object, NULL, bytes + sending.sent, SIZE - sending.sent);
    require(count > 0 || errno == EAGAIN);
    sending.sent += count > 0 ? count : 0;
    sending.calls++;
    if (sending.sent < SIZE)
        RLSocketEnableCallBacks(called->object, kRLSocketWriteCallBack);
}

/* The reader is in the same loop: a sender that waited for it would wait forever. */
START_TEST(send_bytes_sends_everything_without_blocking_the_loop)
{
    for (int blocks = 0; blocks < 2; blocks++) {
        int pair[2];
        struct sock reader = {.name = NULL};
        make_pair(pair, SOCK_STREAM);
        if (blocks)
            fcntl(pair[0], F_SETFL, 0);
        sending = (struct sending){0};
        sock = (struct sock){.action = send_on};
        sock_open(&sock, pair[0], kRLSocketWriteCallBack);
        sock_open(&reader, pair[1], kRLSocketDataCallBack);
        while (reader.bytes < SIZE)
            run_once();
        ck_assert_int_eq(sending.sent, SIZE);
        ck_assert_int_gt(sending.calls, 1);
        ck_assert_int_le(passes_while_idle(), 3);
        sock_drop(&sock);
        sock_drop(&reader);
    }
}
END_TEST

START_TEST(send_bytes_sends_a_datagram_whole_or_not_at_all)
{
    int pair[2];
    char buffer[200];
    make_pair(pair, SOCK_DGRAM);
    sock_open(&sock, pair[0], kRLSocketNoCallBack);
    ck_assert_int_eq(RLSocketSendBytes(sock.object, NULL, bytes, SIZE), -1);
    ck_assert_int_eq(errno, EMSGSIZE);
    ck_assert_int_eq(RLSocketSendBytes(sock.object, NULL, bytes, 100), 100);
    ck_assert_int_eq(RLSocketSendBytes(sock.object, NULL, NULL, 0), 0);
    ck_assert_int_eq(recv(pair[1], buffer, sizeof buffer, 0), 100);
    ck_assert_int_eq(recv(pair[1], buffer, sizeof buffer, 0), 0);
    while (RLSocketSendBytes(sock.object, NULL, bytes, 100) == 100) {}
    ck_assert_int_eq(errno, EAGAIN);
    sock_drop(&sock);
    close(pair[1]);
}
END_TEST

START_TEST(send_bytes_sends_to_an_address)
{
    int receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    require(bind(receiver, (struct sockaddr *)&own, size) == 0);
    require(getsockname(receiver, (struct sockaddr *)&own, &size) == 0);
    RLDataRef address = RLDataCreate(NULL, (const uint8_t *)&own, sizeof own), empty = RLDataCreate(NULL, NULL, 0);
    RLSocketRef s = RLSocketCreate(NULL, PF_INET, SOCK_DGRAM, 0, 0, NULL, NULL);
    ck_assert_int_eq(RLSocketSendBytes(s, empty, bytes, 5), -1); /* without a destination */
    ck_assert_int_eq(errno, EDESTADDRREQ);
    ck_assert_int_eq(RLSocketSendBytes(s, address, bytes, 5), 5);
    char buffer[10];
    ck_assert_int_eq(recv(receiver, buffer, sizeof buffer, 0), 5);
    RLSocketInvalidate(s);
    RLRelease(s);
    RLRelease(address);
    RLRelease(empty);
    close(receiver);
}
END_TEST

START_TEST(send_bytes_reports_misuse_and_errors)
{
    RLStringRef wrong = RLStringCreateWithCString(NULL, "x", kRLStringEncodingUTF8);
    sock_open(&sock, ends[0], kRLSocketNoCallBack);
    ck_assert_int_eq(RLSocketSendBytes(sock.object, NULL, NULL, 1), -1);
    assert_misuse("RLSocketSendBytes", "bytes", "NULL");
    ck_assert_int_eq(RLSocketSendBytes(sock.object, NULL, bytes, -1), -1);
    assert_misuse("RLSocketSendBytes", "length", "negative");
    ck_assert_int_eq(RLSocketSendBytes(sock.object, (RLDataRef)wrong, bytes, 1), -1);
    assert_misuse("RLSocketSendBytes", "address", NULL);
    ck_assert_int_eq(RLSocketSendBytes(NULL, NULL, bytes, 1), -1);
    assert_misuse("RLSocketSendBytes", "s", NULL);
    close(ends[1]);
    ends[1] = -1;
    ck_assert_int_eq(RLSocketSendBytes(sock.object, NULL, bytes, 1), -1);
    ck_assert_int_eq(errno, EPIPE); /* and no SIGPIPE */
    RLSocketInvalidate(sock.object);
    ck_assert_int_eq(RLSocketSendBytes(sock.object, NULL, bytes, 1), -1);
    ck_assert_int_eq(errno, EBADF);
    RLRelease(sock.object);
    RLRelease(wrong);
    ends[0] = -1;
}
END_TEST

/* -- Addresses -- */

static bool reuses(RLSocketRef s)
{
    int value = 0;
    socklen_t size = sizeof value;
    require(getsockopt(RLSocketGetNative(s), SOL_SOCKET, SO_REUSEADDR, &value, &size) == 0);
    return value != 0;
}

static RLSocketRef listen_on(RLDataRef address, RLOptionFlags types)
{
    RLSocketSignature signature = {PF_INET, SOCK_STREAM, 0, address};
    return RLSocketCreateWithSocketSignature(NULL, &signature, types, NULL, NULL);
}

/* The server closes first, so what is left of the connection occupies its port for a minute. */
static void leave_a_closed_connection(RLDataRef address)
{
    RLSocketRef server = listen_on(address, 0);
    require(server != NULL);
    int client = client_of(server), peer = accept(RLSocketGetNative(server), NULL, NULL);
    char byte;
    require(peer >= 0 && close(peer) == 0);
    require(read(client, &byte, 1) == 0 && close(client) == 0);
    RLSocketInvalidate(server);
    RLRelease(server);
}

START_TEST(addresses_are_reused_unless_the_flag_forbids_it)
{
    RLDataRef any = inet_address(0);
    RLSocketRef first = listen_on(any, 0);
    ck_assert(reuses(first));
    RLDataRef address = RLSocketCopyAddress(first);
    RLSocketInvalidate(first);
    RLRelease(first);
    leave_a_closed_connection(address);
    ck_assert_ptr_null(listen_on(address, kRLSocketDoNotReuseAddress));
    ck_assert_int_eq(errno, EADDRINUSE);
    RLSocketRef again = listen_on(address, 0);
    ck_assert_ptr_nonnull(again);
    /* A socket that listens is not displaced. */
    ck_assert_ptr_null(listen_on(address, 0));
    ck_assert_int_eq(errno, EADDRINUSE);
    RLSocketInvalidate(again);
    RLRelease(again);
    RLRelease(address);
    RLRelease(any);
}
END_TEST

START_TEST(address_reuse_can_be_disabled_and_never_applies_to_datagrams)
{
    RLDataRef any = inet_address(0);
    for (int round = 0; round < 3; round++) {
        RLSocketRef s = RLSocketCreate(NULL, PF_INET, round == 2 ? SOCK_DGRAM : SOCK_STREAM, 0, 0, NULL, NULL);
        ck_assert_uint_eq(RLSocketGetSocketFlags(s), kRLSocketCloseOnInvalidate);
        if (round == 1)
            RLSocketSetSocketFlags(s, kRLSocketCloseOnInvalidate | kRLSocketDoNotReuseAddress);
        ck_assert(!reuses(s));
        ck_assert_int_eq(RLSocketSetAddress(s, any), kRLSocketSuccess);
        ck_assert_int_eq(reuses(s), round == 0);
        RLSocketInvalidate(s);
        RLRelease(s);
    }
    RLRelease(any);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("socket-send");
    TCase *tcase = add_case(suite, "send", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, errno_shows_whether_a_part_was_sent);
    tcase_add_test(tcase, send_bytes_sends_as_much_as_fits);
    tcase_add_test(tcase, send_bytes_sends_everything_without_blocking_the_loop);
    tcase_add_test(tcase, send_bytes_sends_a_datagram_whole_or_not_at_all);
    tcase_add_test(tcase, send_bytes_sends_to_an_address);
    tcase_add_test(tcase, send_bytes_reports_misuse_and_errors);
    tcase_add_test(tcase, addresses_are_reused_unless_the_flag_forbids_it);
    tcase_add_test(tcase, address_reuse_can_be_disabled_and_never_applies_to_datagrams);
    return suite;
}
