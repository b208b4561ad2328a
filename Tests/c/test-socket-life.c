/* Checks the life of an RLSocket: who closes the descriptor and releases the info, and when; callbacks and sends of several
 * threads; and that misuse is reported. */
#include "descriptor.h"

#include <limits.h>
#include <poll.h>

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;
static int ends[2];
static struct sock sock;
static struct lifetime life;
static RLDataRef ten_bytes;

static void set_up(void)
{
    static const uint8_t bytes[10] = {255, 255}; /* no address family has this number */
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    make_pair(ends, SOCK_STREAM);
    ten_bytes = RLDataCreate(NULL, bytes, sizeof bytes);
    sock = (struct sock){.name = ""};
}

static void tear_down(void)
{
    RLRelease(ten_bytes);
    drop_source(keeper);
    close_pipe(ends);
}

/* -- Invalidated in its own callback, and by other threads -- */

static void end_sock(struct sock *ended, UNUSED RLSocketCallBackType type, UNUSED const void *data)
{
    sock_drop(ended);
    require(!is_open(ends[0]));
}

START_TEST(a_socket_may_be_invalidated_and_released_in_its_callback)
{
    sock.action = end_sock;
    sock_open(&sock, ends[0], kRLSocketReadCallBack | kRLSocketWriteCallBack);
    put(ends[1]);
    ck_assert(poll_once());
    assert_notes("r"); /* the write callback was due, too */
    ck_assert(!poll_once());
    ends[0] = -1;
}
END_TEST

static gate begun[2], go[2];
static void *run_one_call(void *info)
{
    sock_add(&sock, RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, 0);
    RLSocketEnableCallBacks(sock.object, kRLSocketWriteCallBack);
    run_once();
    if (info) { /* the first thread, which is in no callback by now, although the second callback ended later */
        gate_open(&go[1]);
        gate_pass(&begun[0]);
        RLSocketInvalidate(sock.object);
        gate_open(&go[0]);
    }
    return NULL;
}

static void call_in_turn(struct sock *called, UNUSED RLSocketCallBackType type, UNUSED const void *data)
{
    static atomic_int turn;
    int mine = turn++;
    (void)called;
    if (mine < 2) {
        gate_open(&begun[mine]);
        gate_pass(&go[mine]);
    }
}

/* Sends more than fits, so this waits until the other end reads. */
static void *send_much(UNUSED void *info)
{
    enum { size = 4 << 20 };
    uint8_t *bytes = calloc(size, 1);
    RLDataRef data = RLDataCreate(NULL, bytes, size);
    require(RLSocketSendData(sock.object, NULL, data, 100) == kRLSocketSuccess);
    RLRelease(data);
    free(bytes);
    return NULL;
}

START_TEST(an_invalidated_socket_stays_open_until_another_thread_has_sent)
{
    for (int i = 0; i < 2; i++) {
        gate_init(&begun[i]);
        gate_init(&go[i]);
    }
    sock.name = NULL;
    sock.action = call_in_turn;
    sock_make(&sock, ends[0], kRLSocketWriteCallBack);
    /* The callbacks of two loops overlap, and return in the order in which they began. */
    pthread_t first = start_thread(run_one_call, "first");
    gate_pass(&begun[0]);
    pthread_t second = start_thread(run_one_call, NULL);
    gate_pass(&begun[1]);
    gate_open(&go[0]);
    join_thread(second);
    pthread_t sender = start_thread(send_much, NULL);
    struct pollfd some = {.fd = ends[1], .events = POLLIN};
    ck_assert_int_eq(poll(&some, 1, -1), 1); /* sending has begun */
    gate_open(&begun[0]);
    gate_pass(&go[0]);
    ck_assert(!RLSocketIsValid(sock.object));
    for (long got = 0; got < 4 << 20; got += drain_fd(ends[1]))
        poll(&some, 1, -1);
    join_thread(sender);
    join_thread(first);
    ck_assert(!is_open(ends[0]));
    ends[0] = -1;
    RLRelease(sock.object);
}
END_TEST

/* -- Context -- */

START_TEST(the_info_of_a_socket_is_retained_until_invalidation)
{
    RLSocketContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release}, got = {0};
    RLSocketRef s = RLSocketCreateWithNative(NULL, ends[0], kRLSocketReadCallBack, NULL, &context);
    RLSocketGetContext(s, &got);
    ck_assert_ptr_eq(got.info, &life);
    RLSocketRef same = RLSocketCreateWithNative(NULL, ends[0], 0, NULL, &context);
    ck_assert_ptr_eq(same, s);
    ck_assert_int_eq(lifetime_held(&life), 1);
    RLRelease(same);
    RLRelease(RLCopyDescription(s));
    RLRelease(s);
    RLSocketRef again = RLSocketCreateWithNative(NULL, ends[0], 0, NULL, NULL);
    ck_assert_ptr_eq(again, s); /* a socket lives until it is invalidated */
    RLSocketInvalidate(again);
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLSocketGetContext(again, &got);
    ck_assert_ptr_null(got.info);
    RLRelease(again);
    ends[0] = -1;
}
END_TEST

#define FAILS_WITH(error, condition)      \
    do {                                  \
        errno = 0;                        \
        ck_assert(condition);             \
        ck_assert_int_eq(errno, (error)); \
    } while (0)

START_TEST(errno_explains_a_missing_address)
{
    int pipe_ends[2];
    make_pipe(pipe_ends);
    RLSocketRef pipe = RLSocketCreateWithNative(NULL, pipe_ends[0], kRLSocketReadCallBack, NULL, NULL);
    RLSocketRef idle = RLSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, kRLSocketReadCallBack, NULL, NULL);
    FAILS_WITH(ENOTSOCK, RLSocketCopyAddress(pipe) == NULL);
    FAILS_WITH(ENOTSOCK, RLSocketCopyPeerAddress(pipe) == NULL);
    FAILS_WITH(ENOTCONN, RLSocketCopyPeerAddress(idle) == NULL);
    errno = 0;
    RLDataRef address = RLSocketCopyAddress(idle);
    RLSocketInvalidate(idle);
    RLDataRef last = RLSocketCopyAddress(idle); /* the address that it had last */
    ck_assert_int_eq(errno, 0);
    ck_assert(address != NULL && last == address);
    RLSocketInvalidate(pipe);
    RLRelease(address);
    RLRelease(last);
    RLRelease(idle);
    RLRelease(pipe);
    close(pipe_ends[1]);
}
END_TEST

static RLIndex sender_length;
static void note_sender(UNUSED RLSocketRef s, UNUSED RLSocketCallBackType type, RLDataRef address,
                        UNUSED const void *data, UNUSED void *info)
{
    sender_length = RLDataGetLength(address);
}

START_TEST(data_from_a_pipe_has_an_empty_address)
{
    int pipe_ends[2];
    make_pipe(pipe_ends);
    RLSocketRef pipe = RLSocketCreateWithNative(NULL, pipe_ends[0], kRLSocketDataCallBack, note_sender, NULL);
    RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(NULL, pipe, 0);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    sender_length = -1;
    put(pipe_ends[1]);
    run_once();
    ck_assert_int_eq(sender_length, 0);
    RLSocketInvalidate(pipe);
    RLRelease(source);
    RLRelease(pipe);
    close(pipe_ends[1]);
}
END_TEST

START_TEST(a_negative_descriptor_gives_an_invalid_socket)
{
    RLSocketContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLSocketRef s = RLSocketCreateWithNative(NULL, -1, kRLSocketReadCallBack, NULL, &context);
    ck_assert_ptr_nonnull(s);
    ck_assert(!RLSocketIsValid(s));
    ck_assert_int_eq(RLSocketGetNative(s), -1);
    FAILS_WITH(EBADF, RLSocketCreateRunLoopSource(NULL, s, 0) == NULL);
    FAILS_WITH(EBADF, RLSocketCopyAddress(s) == NULL);
    FAILS_WITH(EBADF, RLSocketCopyPeerAddress(s) == NULL);
    FAILS_WITH(EBADF, RLSocketSendData(s, NULL, ten_bytes, 0) == kRLSocketError);
    RLSocketInvalidate(s);
    RLRelease(s);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

/* -- Misuse -- */

/* A table of sockets indexed by descriptor has room for every number up to the largest. */
START_TEST(an_impossible_descriptor_number_costs_no_memory)
{
    errno = 0;
    ck_assert_ptr_null(RLSocketCreateWithNative(NULL, INT_MAX, kRLSocketReadCallBack, NULL, NULL));
    ck_assert_int_eq(errno, EINVAL);
    assert_misuse("RLSocketCreateWithNative", "sock", NULL);
    RLSocketRef small = RLSocketCreateWithNative(NULL, 1000000, kRLSocketReadCallBack, NULL, NULL);
    ck_assert(RLSocketIsValid(small)); /* as in CF: noticed when its source is added */
    RLSocketInvalidate(small);
    RLRelease(small);
}
END_TEST

START_TEST(socket_functions_report_wrong_handles)
{
    RLTypeRef wrong[] = {NULL, RLSTR("no socket"), keeper};
    for (int i = 0; i < 3; i++) {
        RLSocketRef s = (RLSocketRef)(uintptr_t)wrong[i];
        RLSocketContext context = {0};
        ck_assert_int_eq(RLSocketSetAddress(s, ten_bytes), kRLSocketError);
        assert_misuse("RLSocketSetAddress", "s", NULL);
        ck_assert_int_eq(RLSocketConnectToAddress(s, ten_bytes, 0), kRLSocketError);
        assert_misuse("RLSocketConnectToAddress", "s", NULL);
        ck_assert_int_eq(RLSocketSendData(s, NULL, ten_bytes, 0), kRLSocketError);
        assert_misuse("RLSocketSendData", "s", NULL);
        ck_assert(!RLSocketIsValid(s));
        assert_misuse("RLSocketIsValid", "s", NULL);
        ck_assert_ptr_null(RLSocketCopyAddress(s));
        assert_misuse("RLSocketCopyAddress", "s", NULL);
        ck_assert_ptr_null(RLSocketCopyPeerAddress(s));
        assert_misuse("RLSocketCopyPeerAddress", "s", NULL);
        RLSocketGetContext(s, &context);
        assert_misuse("RLSocketGetContext", "s", NULL);
        ck_assert_int_eq(RLSocketGetNative(s), -1);
        ck_assert_int_eq(take_diagnostics(), i > 0);
        ck_assert_ptr_null(RLSocketCreateRunLoopSource(NULL, s, 0));
        assert_misuse("RLSocketCreateRunLoopSource", "s", NULL);
        ck_assert_uint_eq(RLSocketGetSocketFlags(s), 0);
        assert_misuse("RLSocketGetSocketFlags", "s", NULL);
        RLSocketSetSocketFlags(s, 0);
        assert_misuse("RLSocketSetSocketFlags", "s", NULL);
        RLSocketEnableCallBacks(s, 0);
        assert_misuse("RLSocketEnableCallBacks", "s", NULL);
        RLSocketDisableCallBacks(s, 0);
        assert_misuse("RLSocketDisableCallBacks", "s", NULL);
        RLSocketInvalidate(s);
        assert_misuse("RLSocketInvalidate", "s", NULL);
    }
}
END_TEST

START_TEST(socket_functions_report_wrong_arguments)
{
    RLSocketContext context = {.version = 2};
    RLDataRef no_data = (RLDataRef)(uintptr_t)RLSTR("no data");
    RLSocketSignature signature = {PF_INET, SOCK_STREAM, 0, NULL};
    ck_assert_ptr_null(RLSocketCreate(NULL, 0, 0, 0, 0, NULL, &context));
    assert_misuse("RLSocketCreate", "context", NULL);
    ck_assert_ptr_null(RLSocketCreateWithNative(NULL, ends[0], 0, NULL, &context));
    assert_misuse("RLSocketCreateWithNative", "context", NULL);
    ck_assert_ptr_null(RLSocketCreateWithSocketSignature(NULL, NULL, 0, NULL, NULL));
    assert_misuse("RLSocketCreateWithSocketSignature", "signature", NULL);
    ck_assert_ptr_null(RLSocketCreateWithSocketSignature(NULL, &signature, 0, NULL, NULL));
    assert_misuse("RLSocketCreateWithSocketSignature", "signature->address", NULL);
    ck_assert_ptr_null(RLSocketCreateConnectedToSocketSignature(NULL, NULL, 0, NULL, NULL, 0));
    assert_misuse("RLSocketCreateConnectedToSocketSignature", "signature", NULL);
    signature.address = ten_bytes;
    ck_assert_ptr_null(RLSocketCreateConnectedToSocketSignature(NULL, &signature, 0, NULL, NULL, NAN));
    assert_misuse("RLSocketCreateConnectedToSocketSignature", "timeout", NULL);
    errno = 0;
    ck_assert_ptr_null(RLSocketCreate(NULL, 12345, 67, 89, 0, NULL, NULL));
    ck_assert_int_ne(errno, 0);
    int before = open_descriptors();
    ck_assert_ptr_null(RLSocketCreateWithSocketSignature(NULL, &signature, 0, NULL, NULL)); /* not an address */
    ck_assert_ptr_null(RLSocketCreateConnectedToSocketSignature(NULL, &signature, 0, NULL, NULL, 1));
    ck_assert_int_eq(open_descriptors(), before);
    sock_make(&sock, ends[0], 0);
    ck_assert_int_eq(RLSocketSetAddress(sock.object, no_data), kRLSocketError);
    assert_misuse("RLSocketSetAddress", "address", NULL);
    ck_assert_int_eq(RLSocketConnectToAddress(sock.object, NULL, 0), kRLSocketError);
    assert_misuse("RLSocketConnectToAddress", "address", NULL);
    ck_assert_int_eq(RLSocketConnectToAddress(sock.object, ten_bytes, NAN), kRLSocketError);
    assert_misuse("RLSocketConnectToAddress", "timeout", NULL);
    ck_assert_int_eq(RLSocketSendData(sock.object, no_data, ten_bytes, 0), kRLSocketError);
    assert_misuse("RLSocketSendData", "address", NULL);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, NULL, 0), kRLSocketError);
    assert_misuse("RLSocketSendData", "data", NULL);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, ten_bytes, NAN), kRLSocketError);
    assert_misuse("RLSocketSendData", "timeout", NULL);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, ten_bytes, HUGE_VAL), kRLSocketSuccess);
    ck_assert_int_eq(RLSocketSendData(sock.object, NULL, ten_bytes, -HUGE_VAL), kRLSocketSuccess);
    RLSocketGetContext(sock.object, NULL);
    assert_misuse("RLSocketGetContext", "context", NULL);
    RLSocketGetContext(sock.object, &context);
    assert_misuse("RLSocketGetContext", "context", NULL);
    ck_assert_uint_eq(RLGetTypeID(sock.object), RLSocketGetTypeID());
    sock_drop(&sock);
    ends[0] = -1;
}
END_TEST

/* The connection is never accepted: the listener's queue is full, so the kernel drops new clients. */
START_TEST(connecting_beyond_the_time_limit_is_a_timeout)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    int deaf = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), callers[2];
    ck_assert(bind(deaf, (struct sockaddr *)&own, size) == 0 && listen(deaf, 0) == 0);
    ck_assert_int_eq(getsockname(deaf, (struct sockaddr *)&own, &size), 0);
    for (int i = 0; i < 2; i++) {
        callers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(callers[i], (struct sockaddr *)&own, size);
    }
    RLDataRef address = RLDataCreate(NULL, (const uint8_t *)&own, sizeof own);
    RLSocketRef s = RLSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, 0, NULL, NULL);
    errno = 0;
    ck_assert_int_eq(RLSocketConnectToAddress(s, address, 0.02), kRLSocketTimeout);
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert(RLSocketIsValid(s));
    ck_assert_int_eq(fcntl(RLSocketGetNative(s), F_GETFL) & O_NONBLOCK, 0); /* blocking again */
    RLSocketSignature signature = {PF_INET, SOCK_STREAM, 0, address};
    errno = 0;
    ck_assert_ptr_null(RLSocketCreateConnectedToSocketSignature(NULL, &signature, 0, NULL, NULL, 0.02));
    ck_assert_int_eq(errno, ETIMEDOUT);
    RLSocketInvalidate(s);
    RLRelease(s);
    RLRelease(address);
    for (int i = 0; i < 2; i++)
        close(callers[i]);
    close(deaf);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("socket-life");
    TCase *tcase = add_case(suite, "life", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_socket_may_be_invalidated_and_released_in_its_callback);
    tcase_add_test(tcase, an_invalidated_socket_stays_open_until_another_thread_has_sent);
    tcase_add_test(tcase, the_info_of_a_socket_is_retained_until_invalidation);
    tcase_add_test(tcase, connecting_beyond_the_time_limit_is_a_timeout);
    tcase_add_test(tcase, errno_explains_a_missing_address);
    tcase_add_test(tcase, data_from_a_pipe_has_an_empty_address);
    tcase_add_test(tcase, a_negative_descriptor_gives_an_invalid_socket);
    tcase_add_test(tcase, an_impossible_descriptor_number_costs_no_memory);
    tcase_add_test(tcase, socket_functions_report_wrong_handles);
    tcase_add_test(tcase, socket_functions_report_wrong_arguments);
    return suite;
}
