/* Checks RLSocket: data, clients, connections, sending. What CFSocket does, too, is tested in Tests/conformance. */
#include "descriptor.h"

#include <signal.h>

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;
static int ends[2];
static struct sock sock;

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    make_pair(ends, SOCK_STREAM);
    sock = (struct sock){.name = ""};
}

static void tear_down(void)
{
    drop_source(keeper);
    close_pipe(ends);
}

static RLDataRef make_data(size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    RLDataRef data = RLDataCreate(NULL, bytes, (RLIndex)size);
    require(data != NULL);
    free(bytes);
    return data;
}

/* -- Streams -- */

START_TEST(a_stream_arrives_completely_and_ends_once)
{
    sock_open(&sock, ends[0], kRLSocketDataCallBack);
    static char bytes[100000];
    size_t sent = 0;
    while (sent < sizeof bytes) {
        ssize_t count = write(ends[1], bytes, sizeof bytes - sent);
        if (count > 0)
            sent += (size_t)count;
        run_once();
    }
    while (poll_once()) {}
    ck_assert_int_eq(sock.bytes, sizeof bytes);
    ck_assert(!sock.ended);
    close(ends[1]);
    ends[1] = -1;
    run_once();
    ck_assert(sock.ended);
    ck_assert(!RLSocketIsValid(sock.object));
    ck_assert(!is_open(ends[0]));
    ends[0] = -1;
    notes[0] = 0;
    ck_assert_int_le(passes_while_idle(), 3);
    RLRelease(sock.object);
}
END_TEST

START_TEST(a_half_closed_stream_can_still_be_written)
{
    RLDataRef data = make_data(10);
    sock_open(&sock, ends[0], kRLSocketReadCallBack);
    put(ends[1]);
    ck_assert_int_eq(shutdown(ends[1], SHUT_WR), 0);
    for (int i = 0; i < 3; i++) /* a byte is left, so the callback is repeated */
        ck_assert(poll_once());
    take(ends[0]);
    ck_assert(poll_once()); /* end-of-stream, once */
    ck_assert_int_eq(read(ends[0], notes, 1), 0);
    notes[0] = 0;
    ck_assert_int_le(passes_while_idle(), 3);
    ck_assert_int_eq(sock.calls, 4);
    RLSocketEnableCallBacks(sock.object, kRLSocketReadCallBack);
    ck_assert(poll_once());
    ck_assert_int_le(passes_while_idle(), 3);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, data, 1), kRLSocketSuccess);
    ck_assert_int_eq(drain_fd(ends[1]), 10);
    RLRelease(data);
    sock_drop(&sock);
    ends[0] = -1;
}
END_TEST

/* The client closes with a linger time of 0, so the connection is reset (RST). */
START_TEST(a_reset_is_reported_as_the_end)
{
    struct sock listening = {.name = NULL};
    sock_listen(&listening, kRLSocketAcceptCallBack);
    int client = client_of(listening.object);
    run_once();
    sock_open(&sock, listening.accepted, kRLSocketDataCallBack);
    ck_assert(!poll_once());
    struct linger linger = {1, 0};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(client);
    run_once();
    assert_notes("d");
    ck_assert(sock.ended);
    ck_assert(!RLSocketIsValid(sock.object));
    ck_assert_int_le(passes_while_idle(), 3);
    RLRelease(sock.object);
    sock_drop(&listening);
}
END_TEST

START_TEST(a_reset_that_a_read_callback_finds_does_not_spin)
{
    struct sock listening = {.name = NULL};
    sock_listen(&listening, kRLSocketAcceptCallBack);
    int client = client_of(listening.object);
    run_once();
    sock_open(&sock, listening.accepted, kRLSocketReadCallBack | kRLSocketWriteCallBack);
    ck_assert(poll_once());
    assert_notes("w");
    struct linger linger = {1, 0};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(client);
    run_once();
    char byte;
    ck_assert_int_eq(read(listening.accepted, &byte, 1), -1);
    ck_assert_int_eq(errno, ECONNRESET);
    run_once(); /* by now it is end-of-stream */
    notes[0] = 0;
    ck_assert_int_le(passes_while_idle(), 3);
    RLDataRef data = make_data(10);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, data, 0), kRLSocketError);
    ck_assert_int_eq(errno, EPIPE); /* and no SIGPIPE */
    RLRelease(data);
    sock_drop(&sock);
    sock_drop(&listening);
}
END_TEST

START_TEST(a_write_callback_is_called_after_the_peer_has_closed)
{
    sock_open(&sock, ends[0], kRLSocketWriteCallBack);
    ck_assert(poll_once());
    close(ends[1]); /* a hang-up, which looks like that of a socket that was never connected */
    ends[1] = -1;
    RLSocketEnableCallBacks(sock.object, kRLSocketWriteCallBack);
    run_once();
    assert_notes("w w");
    ck_assert_int_le(passes_while_idle(), 3);
    sock_drop(&sock);
    ends[0] = -1;
}
END_TEST

/* -- Messages -- */

START_TEST(each_datagram_is_one_callback_and_an_empty_one_is_no_end)
{
    int pair[2];
    make_pair(pair, SOCK_DGRAM);
    sock_open(&sock, pair[0], kRLSocketDataCallBack);
    ck_assert_int_eq(send(pair[1], "abc", 3, 0), 3);
    ck_assert_int_eq(send(pair[1], "", 0, 0), 0);
    ck_assert_int_eq(send(pair[1], "de", 2, 0), 2);
    for (int i = 0; i < 3; i++)
        ck_assert(poll_once());
    ck_assert(!poll_once());
    assert_notes("d d d");
    ck_assert_int_eq(sock.bytes, 5);
    ck_assert(RLSocketIsValid(sock.object));
    sock_drop(&sock);
    close(pair[1]);
}
END_TEST

/* -- Sending -- */

START_TEST(sending_more_than_fits_waits_for_room_until_the_time_limit)
{
    RLDataRef data = make_data(4 << 20);
    sock_open(&sock, ends[0], kRLSocketNoCallBack);
    double begun = monotonic_seconds();
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, data, 0.05), kRLSocketError);
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert_double_ge(monotonic_seconds() - begun, 0.05);
    /* The buffer is full and there is no time to wait, so nothing at all is sent. */
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, data, 0), kRLSocketError);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, data, -5), kRLSocketError);
    ck_assert_int_eq(errno, EAGAIN);
    RLRelease(data);
    sock_drop(&sock);
    ends[0] = -1;
}
END_TEST

static void *read_all(void *expected)
{
    const uint8_t *bytes = RLDataGetBytePtr(expected);
    RLIndex size = RLDataGetLength(expected), got = 0;
    uint8_t buffer[3000];
    fcntl(ends[1], F_SETFL, 0);
    while (got < size) {
        ssize_t count = read(ends[1], buffer, sizeof buffer);
        require(count > 0 && memcmp(bytes + got, buffer, (size_t)count) == 0);
        got += count;
    }
    return NULL;
}

START_TEST(data_sent_in_parts_arrives_completely)
{
    /* With a time limit, and then without one, on a blocking descriptor. */
    for (int way = 0; way < 2; way++) {
        RLDataRef data = make_data(3 << 20);
        if (way == 1)
            fcntl(ends[0], F_SETFL, 0);
        sock_open(&sock, ends[0], kRLSocketNoCallBack);
        RLSocketSetSocketFlags(sock.object, 0);
        pthread_t reader = start_thread(read_all, (void *)(uintptr_t)data);
        ck_assert_int_eq(RLSocketSendData(sock.object, NULL, data, way == 0 ? 100 : 0), kRLSocketSuccess);
        join_thread(reader);
        RLRelease(data);
        sock_drop(&sock);
    }
}
END_TEST

START_TEST(a_datagram_is_sent_whole_or_not_at_all)
{
    int pair[2];
    RLDataRef large = make_data(8 << 20), small = make_data(100), nothing = make_data(0);
    make_pair(pair, SOCK_DGRAM);
    sock_open(&sock, pair[0], kRLSocketNoCallBack);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, large, 1), kRLSocketError);
    ck_assert_int_eq(errno, EMSGSIZE);
    int sent = 0;
    while (RLSocketSendData(sock.object, NULL, small, 0) == kRLSocketSuccess)
        sent++;
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, small, 0.01), kRLSocketError);
    ck_assert_int_eq(errno, EAGAIN); /* nothing was sent, however long it waited */
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, nothing, 0.01), kRLSocketError);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(drain_fd(pair[1]), sent * 100L);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, nothing, 0.01), kRLSocketSuccess);
    char byte;
    ck_assert_int_eq(recv(pair[1], &byte, 1, 0), 0);
    RLRelease(large);
    RLRelease(small);
    RLRelease(nothing);
    sock_drop(&sock);
    close(pair[1]);
}
END_TEST

/* Reads all messages. Returns how many of them were empty. */
static int take_empty_messages(int fd)
{
    char buffer[256];
    ssize_t count;
    int empty = 0;
    while ((count = recv(fd, buffer, sizeof buffer, 0)) >= 0)
        empty += count == 0;
    return empty;
}

static int empty_messages;
static void *make_room(void *fd)
{
    empty_messages = take_empty_messages(*(int *)fd);
    return NULL;
}

START_TEST(an_empty_datagram_that_has_to_wait_is_not_lost)
{
    int pair[2];
    RLDataRef small = make_data(100), nothing = make_data(0);
    make_pair(pair, SOCK_DGRAM);
    sock_open(&sock, pair[0], kRLSocketNoCallBack);
    for (int i = 0; i < SCALED(200); i++) {
        while (RLSocketSendData(sock.object, NULL, small, 0) == kRLSocketSuccess) {}
        pthread_t reader = start_thread(make_room, &pair[1]);
        ck_assert_int_eq(RLSocketSendData(sock.object, NULL, nothing, 100), kRLSocketSuccess);
        join_thread(reader); /* the reader stops when there is nothing, so there may be more by now */
        ck_assert_int_eq(empty_messages + take_empty_messages(pair[1]), 1);
    }
    RLRelease(small);
    RLRelease(nothing);
    sock_drop(&sock);
    close(pair[1]);
}
END_TEST

START_TEST(sending_to_a_closed_peer_is_an_error_and_raises_no_signal)
{
    RLDataRef data = make_data(10);
    sock_open(&sock, ends[0], kRLSocketNoCallBack);
    close(ends[1]);
    ends[1] = -1;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(RLSocketSendData(sock.object, NULL, data, i - 1), kRLSocketError);
        ck_assert_int_eq(errno, EPIPE);
    }
    RLSocketInvalidate(sock.object);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, data, 0), kRLSocketError);
    ck_assert_int_eq(errno, EBADF);
    RLRelease(data);
    RLRelease(sock.object);
    ends[0] = -1;
}
END_TEST

/* -- Connecting -- */

static RLDataRef listening_address(struct sock *listening)
{
    sock_listen(listening, kRLSocketAcceptCallBack);
    return RLSocketCopyAddress(listening->object);
}

static void open_unconnected(RLOptionFlags types)
{
    RLSocketContext context = {.info = &sock};
    sock.object = RLSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, types, sock_called, &context);
    require(sock.object != NULL);
    sock_add(&sock, rl, kRLRunLoopDefaultMode, 0);
}

START_TEST(connecting_in_the_background_calls_back_once)
{
    struct sock listening = {.name = "l"};
    RLDataRef address = listening_address(&listening);
    open_unconnected(kRLSocketReadCallBack | kRLSocketConnectCallBack | kRLSocketWriteCallBack);
    ck_assert_int_le(passes_while_idle(), 4); /* an unconnected socket reports a hang-up all the time */
    ck_assert_int_eq(sock.calls, 0);
    ck_assert_int_eq(RLSocketConnectToAddress(sock.object, address, -1), kRLSocketSuccess);
    while (sock.calls + listening.calls < 3)
        run_once();
    ck_assert_int_eq(listening.calls, 1);
    ck_assert_ptr_nonnull(strstr(notes, "c w"));
    ck_assert_int_eq(sock.last_error, 0);
    ck_assert_int_le(passes_while_idle(), 3);
    RLDataRef peer = RLSocketCopyPeerAddress(sock.object);
    ck_assert(RLEqual(peer, address));
    RLRelease(peer);
    RLRelease(address);
    close(listening.accepted);
    sock_drop(&listening);
    sock_drop(&sock);
}
END_TEST

START_TEST(a_refused_connection_is_reported_with_its_error)
{
    struct sock listening = {.name = NULL};
    RLDataRef address = listening_address(&listening);
    sock_drop(&listening);
    open_unconnected(kRLSocketConnectCallBack);
    if (RLSocketConnectToAddress(sock.object, address, -1) == kRLSocketSuccess) {
        run_once();
        ck_assert_int_eq(sock.last_error, ECONNREFUSED);
    }
    ck_assert(RLSocketIsValid(sock.object));
    notes[0] = 0;
    ck_assert_int_le(passes_while_idle(), 3);
    sock_drop(&sock);
    open_unconnected(kRLSocketNoCallBack);
    ck_assert_int_eq(RLSocketConnectToAddress(sock.object, address, 5), kRLSocketError);
    ck_assert_int_eq(errno, ECONNREFUSED);
    RLRelease(address);
    sock_drop(&sock);
}
END_TEST

/* The loop has fetched the socket's event as an unconnected socket when another callback connects it. */
static RLDataRef address_to_connect;
static void stop_when_called(UNUSED struct sock *called, UNUSED RLSocketCallBackType type, UNUSED const void *data)
{
    RLRunLoopStop(rl);
}
static void connect_sock(UNUSED struct port *port, UNUSED RLOptionFlags types)
{
    require(RLSocketConnectToAddress(sock.object, address_to_connect, -1) == kRLSocketSuccess);
}

START_TEST(a_stale_hang_up_does_not_hide_a_connection)
{
    struct sock listening = {.name = NULL};
    struct port port = {.action = connect_sock};
    int pipe_ends[2];
    make_pipe(pipe_ends);
    address_to_connect = listening_address(&listening);
    port_make(&port, pipe_ends[0], true);
    port_add(&port, rl, kRLRunLoopDefaultMode, -1);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    put(pipe_ends[1]);
    open_unconnected(kRLSocketConnectCallBack);
    sock.action = stop_when_called;
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunStopped);
    assert_notes("c");
    RLRelease(address_to_connect);
    close(listening.accepted);
    sock_drop(&listening);
    sock_drop(&sock);
    port_drop(&port);
    close(pipe_ends[1]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("socket");
    TCase *tcase = add_case(suite, "socket", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_stream_arrives_completely_and_ends_once);
    tcase_add_test(tcase, a_half_closed_stream_can_still_be_written);
    tcase_add_test(tcase, a_reset_is_reported_as_the_end);
    tcase_add_test(tcase, a_reset_that_a_read_callback_finds_does_not_spin);
    tcase_add_test(tcase, a_write_callback_is_called_after_the_peer_has_closed);
    tcase_add_test(tcase, each_datagram_is_one_callback_and_an_empty_one_is_no_end);
    tcase_add_test(tcase, sending_more_than_fits_waits_for_room_until_the_time_limit);
    tcase_add_test(tcase, data_sent_in_parts_arrives_completely);
    tcase_add_test(tcase, a_datagram_is_sent_whole_or_not_at_all);
    tcase_add_test(tcase, an_empty_datagram_that_has_to_wait_is_not_lost);
    tcase_add_test(tcase, sending_to_a_closed_peer_is_an_error_and_raises_no_signal);
    tcase_add_test(tcase, connecting_in_the_background_calls_back_once);
    tcase_add_test(tcase, a_refused_connection_is_reported_with_its_error);
    tcase_add_test(tcase, a_stale_hang_up_does_not_hide_a_connection);
    return suite;
}
