/* Stress test: many threads use descriptor objects and sockets while loops serve them. No event may be lost, no callback may run
 * with a released info, and no descriptor may be left open. */
#include "descriptor.h"

#include <sched.h>

enum { THREADS = 4 };
static struct looper looper, second_looper;
static int ends[2];
static int descriptors_before;

static void set_up(void)
{
    looper_start(&looper);
    looper_start(&second_looper);
    make_pair(ends, SOCK_STREAM);
    descriptors_before = open_descriptors();
}

static void tear_down(void)
{
    looper_stop(&second_looper);
    looper_stop(&looper);
    close_pipe(ends);
    ck_assert_int_le(open_descriptors(), descriptors_before - 2);
}

static unsigned next_random(unsigned *state) { return (*state = *state * 1103515245 + 12345) >> 16; }

/* -- Enabling wakes the loop each time -- */

/* Another thread enables the callback that has just fired, again and again: a single lost wake-up would hang the test. */
START_TEST(callbacks_enabled_by_another_thread_fire_once_each)
{
    struct port port = {.name = NULL};
    port_make(&port, ends[0], false);
    port_add(&port, looper.loop, kRLRunLoopDefaultMode, 0);
    put(ends[1]);
    for (int i = 0; i < SCALED(8000); i++) {
        /* Alternate between read and write, so that the loop has to watch for something new each time. */
        RLFileDescriptorEnableCallBacks(port.object, i % 2 ? READ : WRITE);
        await_count(&port.calls, i + 1);
        require(port.last == (RLOptionFlags)(i % 2 ? READ : WRITE));
    }
    port_drop(&port);
}
END_TEST

static struct port shared;
static atomic_bool over;
static void *toggle_first_loop(UNUSED void *info)
{
    while (!over) {
        RLRunLoopAddSource(looper.loop, shared.source, kRLRunLoopDefaultMode);
        RLRunLoopRemoveSource(looper.loop, shared.source, kRLRunLoopDefaultMode);
    }
    return NULL;
}

/* The source also joins and leaves another loop all the time; the loop that keeps it must still see every event. */
START_TEST(enabling_is_noticed_while_another_loop_adds_and_removes_the_source)
{
    port_make(&shared, ends[0], false);
    port_add(&shared, second_looper.loop, kRLRunLoopDefaultMode, 0);
    put(ends[1]);
    pthread_t thread = start_thread(toggle_first_loop, NULL);
    for (int i = 0; i < SCALED(8000); i++) {
        RLFileDescriptorEnableCallBacks(shared.object, i % 2 ? READ : WRITE);
        await_count(&shared.calls, i + 1);
    }
    over = true;
    join_thread(thread);
    port_drop(&shared);
}
END_TEST

/* -- All threads use a few objects in every possible way -- */

enum { OBJECTS = 4 };
static struct port ports[OBJECTS];
static int pairs[OBJECTS][2];
static atomic_int calls;
static void count_call(UNUSED struct port *port, UNUSED RLOptionFlags types) { calls++; }

static void *change_ports(void *info)
{
    unsigned random = (unsigned)(uintptr_t)info + 1;
    for (int i = 0; i < SCALED(8000); i++) {
        struct port *port = &ports[next_random(&random) % OBJECTS];
        RLRunLoopRef loop = next_random(&random) % 2 ? looper.loop : second_looper.loop;
        RLOptionFlags types = next_random(&random) % 4;
        switch (next_random(&random) % 8) {
        case 0:
            RLRunLoopAddSource(loop, port->source, kRLRunLoopDefaultMode);
            break;
        case 1:
            RLRunLoopRemoveSource(loop, port->source, kRLRunLoopDefaultMode);
            break;
        case 2:
            RLFileDescriptorDisableCallBacks(port->object, types);
            break;
        case 3:
            RLRelease(RLFileDescriptorCreateRunLoopSource(NULL, port->object, 0));
            break;
        case 4:
            (void)!write(pairs[port - ports][1], "x", 1);
            break;
        case 5: {
            char byte;
            (void)!read(pairs[port - ports][0], &byte, 1);
            break;
        }
        default:
            RLFileDescriptorEnableCallBacks(port->object, types);
            break;
        }
    }
    return NULL;
}

START_TEST(four_threads_change_descriptor_objects_of_two_loops)
{
    for (int i = 0; i < OBJECTS; i++) {
        make_pair(pairs[i], SOCK_STREAM);
        ports[i] = (struct port){.action = count_call};
        port_make(&ports[i], pairs[i][0], true);
        port_add(&ports[i], looper.loop, kRLRunLoopDefaultMode, i % 3 - 1);
    }
    on_threads(THREADS, change_ports);
    /* Whatever state the threads have left: an object that is enabled and in a loop is called. */
    for (int i = 0; i < OBJECTS; i++) {
        RLRunLoopAddSource(looper.loop, ports[i].source, kRLRunLoopDefaultMode);
        int before = ports[i].calls;
        RLFileDescriptorEnableCallBacks(ports[i].object, WRITE);
        await_count(&ports[i].calls, before + 1);
        port_drop(&ports[i]);
        close(pairs[i][1]);
    }
    ck_assert_int_gt(calls, 0);
}
END_TEST

/* -- Invalidation against calls -- */

static struct lifetime life;
static void use_life(RLFileDescriptorRef f, UNUSED RLOptionFlags types, void *info)
{
    int fd = RLFileDescriptorGetNativeDescriptor(f);
    struct lifetime *mine = info;
    require(mine == &life && lifetime_held(mine) > 0);
    (void)fd;
    RLFileDescriptorEnableCallBacks(f, WRITE);
    calls++;
}

static void *invalidate_objects(void *info)
{
    unsigned random = (unsigned)(uintptr_t)info + 1;
    RLFileDescriptorContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    for (int i = 0; i < SCALED(400); i++) {
        RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, dup(ends[0]), true, use_life, &context);
        RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, f, 0);
        RLFileDescriptorEnableCallBacks(f, WRITE);
        RLRunLoopAddSource(looper.loop, source, kRLRunLoopDefaultMode);
        if (next_random(&random) % 2)
            RLRunLoopAddSource(second_looper.loop, source, kRLRunLoopDefaultMode);
        for (unsigned n = next_random(&random) % 8; n > 0; n--)
            sched_yield();
        RLFileDescriptorInvalidate(f);
        RLRelease(f);
        RLRelease(source);
    }
    return NULL;
}

static void wait_for(struct looper *which)
{
    require(RLRunLoopPerformFunctionAndWait(which->loop, kRLRunLoopDefaultMode, do_nothing, NULL, HUGE_VAL));
}

START_TEST(descriptor_objects_are_invalidated_while_two_loops_call_them)
{
    on_threads(THREADS, invalidate_objects);
    wait_for(&looper);
    wait_for(&second_looper);
    ck_assert_int_gt(calls, 0);
    ck_assert_int_eq(life.retains, THREADS * SCALED(400));
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

/* -- Sockets -- */

static atomic_long received;
static void count_data(UNUSED RLSocketRef s, RLSocketCallBackType type, UNUSED RLDataRef address, const void *data,
                       UNUSED void *info)
{
    if (type == kRLSocketDataCallBack)
        received += RLDataGetLength(data);
}

/* A pair of sockets, one of them in a loop. Four threads send on the other, and one of them also disables and enables the
 * callbacks. */
static RLSocketRef sender, receiver;
static void *send_many(void *info)
{
    static const uint8_t bytes[100];
    RLDataRef data = RLDataCreate(NULL, bytes, sizeof bytes);
    for (int i = 0; i < SCALED(5000); i++) {
        require(RLSocketSendData(sender, NULL, data, 100) == kRLSocketSuccess);
        if ((uintptr_t)info == 0 && i % 3 == 0)
            RLSocketDisableCallBacks(receiver, kRLSocketDataCallBack);
        if ((uintptr_t)info == 0)
            RLSocketEnableCallBacks(receiver, kRLSocketDataCallBack);
        RLDataRef peer = RLSocketCopyPeerAddress(sender);
        if (peer)
            RLRelease(peer);
    }
    RLRelease(data);
    return NULL;
}

START_TEST(four_threads_send_while_the_loop_receives)
{
    int pair[2];
    make_pair(pair, SOCK_STREAM);
    sender = RLSocketCreateWithNative(NULL, pair[0], kRLSocketNoCallBack, NULL, NULL);
    receiver = RLSocketCreateWithNative(NULL, pair[1], kRLSocketDataCallBack, count_data, NULL);
    RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(NULL, receiver, 0);
    RLRunLoopAddSource(looper.loop, source, kRLRunLoopDefaultMode);
    on_threads(THREADS, send_many);
    while (received < THREADS * SCALED(5000) * 100L)
        sched_yield();
    RLSocketInvalidate(sender);
    RLSocketInvalidate(receiver);
    RLRelease(sender);
    RLRelease(receiver);
    RLRelease(source);
    wait_for(&looper);
}
END_TEST

/* Threads make sockets, send on them and invalidate them, while the loop reads from them and invalidates them itself at
 * end-of-stream. */
static void *socket_lives(void *info)
{
    unsigned random = (unsigned)(uintptr_t)info + 1;
    static const uint8_t bytes[10];
    RLSocketContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLDataRef data = RLDataCreate(NULL, bytes, sizeof bytes);
    for (int i = 0; i < SCALED(2000); i++) {
        int pair[2];
        make_pair(pair, SOCK_STREAM);
        RLSocketRef near = RLSocketCreateWithNative(NULL, pair[0], kRLSocketDataCallBack | kRLSocketWriteCallBack,
                                                    count_data, &context);
        RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(NULL, near, 0);
        RLRunLoopAddSource(next_random(&random) % 2 ? looper.loop : second_looper.loop, source, kRLRunLoopDefaultMode);
        if (next_random(&random) % 2)
            put(pair[1]);
        if (next_random(&random) % 2)
            close(pair[1]); /* so the loop invalidates `near` */
        else
            pair[1] = -pair[1];
        RLSocketSendData(near, NULL, data, 0.001);
        if (next_random(&random) % 2)
            RLRunLoopSourceInvalidate(source);
        RLSocketInvalidate(near);
        RLRelease(near);
        RLRelease(source);
        if (pair[1] < 0)
            close(-pair[1]);
    }
    RLRelease(data);
    return NULL;
}

START_TEST(sockets_are_invalidated_while_two_loops_serve_them)
{
    on_threads(THREADS, socket_lives);
    wait_for(&looper);
    wait_for(&second_looper);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("descriptor-stress");
    TCase *tcase = add_case(suite, "stress", 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, callbacks_enabled_by_another_thread_fire_once_each);
    tcase_add_test(tcase, enabling_is_noticed_while_another_loop_adds_and_removes_the_source);
    tcase_add_test(tcase, four_threads_change_descriptor_objects_of_two_loops);
    tcase_add_test(tcase, descriptor_objects_are_invalidated_while_two_loops_call_them);
    tcase_add_test(tcase, four_threads_send_while_the_loop_receives);
    tcase_add_test(tcase, sockets_are_invalidated_while_two_loops_serve_them);
    return suite;
}
