/* Checks fork() while other threads use sockets and descriptor objects: the child, which does not have those threads, can
 * invalidate the objects. That closes the descriptor and releases the info there. */
#include "descriptor.h"

#include <poll.h>

static int ends[2];
static gate inside, may_continue;

static void set_up(void)
{
    RLRunLoopGetCurrent();
    make_pair(ends, SOCK_STREAM);
    gate_init(&inside);
    gate_init(&may_continue);
}

static void tear_down(void) { close_pipe(ends); }

static struct lifetime life;
static RLSocketRef shared_socket;
static RLFileDescriptorRef shared_descriptor;

static void wait_in_callback(UNUSED void *info)
{
    gate_open(&inside);
    gate_pass(&may_continue);
}

static void socket_called(UNUSED RLSocketRef s, UNUSED RLSocketCallBackType type, UNUSED RLDataRef address,
                          UNUSED const void *data, void *info)
{
    wait_in_callback(info);
}

static void descriptor_called(UNUSED RLFileDescriptorRef f, UNUSED RLOptionFlags types, void *info)
{
    wait_in_callback(info);
}

static void make_socket(RLSocketCallBack callout)
{
    RLSocketContext context = {.info = &life, .release = lifetime_release};
    shared_socket = RLSocketCreateWithNative(NULL, ends[0], kRLSocketReadCallBack, callout, &context);
    require(shared_socket != NULL);
}

static void end_socket_in_child(UNUSED void *info)
{
    RLSocketInvalidate(shared_socket);
    child_assert(!is_open(ends[0]));
    child_assert(life.releases == 1);
    RLRelease(shared_socket);
    child_assert(life.releases == 1);
}

/* -- Sending -- */

static void *send_all(UNUSED void *info)
{
    static uint8_t bytes[4 << 20];
    RLDataRef data = RLDataCreate(NULL, bytes, sizeof bytes);
    require(RLSocketSendData(shared_socket, NULL, data, 1e6) == kRLSocketSuccess);
    RLRelease(data);
    return NULL;
}

START_TEST(a_socket_sending_during_a_fork_can_be_invalidated_in_the_child)
{
    make_socket(NULL);
    pthread_t sender = start_thread(send_all, NULL);
    struct pollfd full = {.fd = ends[0], .events = POLLOUT};
    while (poll(&full, 1, 0) > 0)
        sched_yield();
    ck_assert_int_eq(run_in_child(end_socket_in_child, NULL), 0);
    ck_assert_int_eq(life.releases, 0);
    for (long sum = 0; sum < 4 << 20;)
        sum += drain_fd(ends[1]);
    join_thread(sender);
    RLSocketInvalidate(shared_socket);
    ck_assert_int_eq(life.releases, 1);
    ck_assert(!is_open(ends[0]));
    RLRelease(shared_socket);
    ends[0] = -1;
}
END_TEST

/* -- Callbacks -- */

static void *serve_socket(UNUSED void *info)
{
    RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(NULL, shared_socket, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    run_once();
    return NULL;
}

START_TEST(a_socket_in_a_callback_during_a_fork_can_be_invalidated_in_the_child)
{
    make_socket(socket_called);
    put(ends[1]);
    pthread_t server = start_thread(serve_socket, NULL);
    gate_pass(&inside);
    ck_assert_int_eq(run_in_child(end_socket_in_child, NULL), 0);
    RLSocketInvalidate(shared_socket);
    ck_assert(is_open(ends[0])); /* until the callback returns */
    gate_open(&may_continue);
    join_thread(server);
    ck_assert(!is_open(ends[0]));
    ck_assert_int_eq(life.releases, 1);
    RLRelease(shared_socket);
    ends[0] = -1;
}
END_TEST

/* With a retain callback, the info is retained for the callback as well. */
static void end_both_in_child(UNUSED void *info)
{
    child_assert(life.retains == 2);
    RLSocketInvalidate(shared_socket);
    child_assert(!is_open(ends[0]));
    child_assert(life.releases == 2);
    RLRelease(shared_socket);
    child_assert(life.releases == 2);
}

START_TEST(a_socket_in_a_callback_during_a_fork_releases_its_info_in_the_child)
{
    RLSocketContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLOptionFlags types = _i ? kRLSocketDataCallBack : kRLSocketReadCallBack;
    life = (struct lifetime){0};
    shared_socket = RLSocketCreateWithNative(NULL, ends[0], types, socket_called, &context);
    put(ends[1]);
    pthread_t server = start_thread(serve_socket, NULL);
    gate_pass(&inside);
    ck_assert_int_eq(run_in_child(end_both_in_child, NULL), 0);
    ck_assert_int_eq(life.releases, 0);
    gate_open(&may_continue);
    join_thread(server);
    ck_assert_int_eq(life.releases, 1);
    RLSocketInvalidate(shared_socket);
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLRelease(shared_socket);
    ends[0] = -1;
}
END_TEST

static void *serve_descriptor(UNUSED void *info)
{
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, shared_descriptor, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    RLFileDescriptorEnableCallBacks(shared_descriptor, READ);
    run_once();
    return NULL;
}

static void end_descriptor_in_child(UNUSED void *info)
{
    RLFileDescriptorInvalidate(shared_descriptor);
    child_assert(!is_open(ends[0]));
    child_assert(life.releases == 1);
    RLRelease(shared_descriptor);
    child_assert(life.releases == 1);
}

START_TEST(a_descriptor_object_in_a_callback_during_a_fork_can_be_invalidated_in_the_child)
{
    RLFileDescriptorContext context = {.info = &life, .release = lifetime_release};
    shared_descriptor = RLFileDescriptorCreate(NULL, ends[0], true, descriptor_called, &context);
    put(ends[1]);
    pthread_t server = start_thread(serve_descriptor, NULL);
    gate_pass(&inside);
    ck_assert_int_eq(run_in_child(end_descriptor_in_child, NULL), 0);
    gate_open(&may_continue);
    join_thread(server);
    ck_assert_int_eq(life.releases, 0);
    RLFileDescriptorInvalidate(shared_descriptor);
    ck_assert_int_eq(life.releases, 1);
    RLRelease(shared_descriptor);
    ends[0] = -1;
}
END_TEST

/* The forking thread is in the callback itself, and the child invalidates the socket there. */
static int own_status;
static void fork_in_callback(UNUSED RLSocketRef s, UNUSED RLSocketCallBackType type, UNUSED RLDataRef address,
                             UNUSED const void *data, UNUSED void *info)
{
    char byte;
    require(read(ends[0], &byte, 1) == 1);
    own_status = run_in_child(end_socket_in_child, NULL);
}

START_TEST(a_socket_can_be_invalidated_after_a_fork_in_its_own_callback)
{
    make_socket(fork_in_callback);
    put(ends[1]);
    serve_socket(NULL);
    ck_assert_int_eq(own_status, 0);
    RLSocketInvalidate(shared_socket);
    ck_assert_int_eq(life.releases, 1);
    RLRelease(shared_socket);
    ends[0] = -1;
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("fork-descriptors");
    TCase *tcase = add_case(suite, "fork", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_socket_sending_during_a_fork_can_be_invalidated_in_the_child);
    tcase_add_test(tcase, a_socket_in_a_callback_during_a_fork_can_be_invalidated_in_the_child);
    tcase_add_loop_test(tcase, a_socket_in_a_callback_during_a_fork_releases_its_info_in_the_child, 0, 2);
    tcase_add_test(tcase, a_descriptor_object_in_a_callback_during_a_fork_can_be_invalidated_in_the_child);
    tcase_add_test(tcase, a_socket_can_be_invalidated_after_a_fork_in_its_own_callback);
    return suite;
}
