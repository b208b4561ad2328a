/* Checks ports between threads: messages arrive in order, none is lost or delivered twice, senders wait for room, and a port may
 * be invalidated or the process forked at any moment. */
#include "harness.h"
#include <sys/resource.h>
#include <sys/wait.h>

enum { SENDERS = 4 };

struct receiver {
    RLPortRef port;
    RLRunLoopSourceRef source;
    uint32_t next[SENDERS]; /* the number of the next message of each sender */
    atomic_int received;
    int wanted;
};

/* A message id has 4 bits for the sender and 28 bits for the number. */
static uint32_t message_id(int sender, uint32_t number) { return (uint32_t)sender << 28 | number; }

static void receive(UNUSED RLPortRef port, RLPortMessageRef message, void *info)
{
    struct receiver *r = info;
    uint32_t id = RLPortMessageGetMessageID(message);
    require(r->next[id >> 28] == (id & 0xFFFFFFF));
    r->next[id >> 28]++;
    if (atomic_fetch_add(&r->received, 1) + 1 == r->wanted)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

static void make_receiver(struct receiver *r, RLPortCallBack callout, RLIndex capacity)
{
    RLPortContext context = {.info = r};
    r->port = RLPortCreate(NULL, callout, &context, NULL);
    RLPortSetCapacity(r->port, capacity);
    r->source = RLPortCreateRunLoopSource(NULL, r->port, 0);
}

static void drop_receiver(struct receiver *r)
{
    RLPortInvalidate(r->port);
    RLRelease(r->source);
    RLRelease(r->port);
}

static RLArrayRef parts; /* the components of each message, or NULL */

static bool send_number(RLPortRef port, int sender, uint32_t number)
{
    RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, parts);
    RLPortMessageSetMessageID(message, message_id(sender, number));
    bool sent = RLPortMessageSendBeforeDate(message, 1e12);
    RLRelease(message);
    return sent;
}

static struct receiver shared;
static int per_sender;

static void *send_all(void *info)
{
    for (int number = 0; number < per_sender; number++)
        require(send_number(shared.port, (int)(intptr_t)info, (uint32_t)number));
    return NULL;
}

static void flood(RLIndex capacity, int count)
{
    per_sender = SCALED(count);
    shared = (struct receiver){.wanted = SENDERS * per_sender};
    make_receiver(&shared, receive, capacity);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), shared.source, kRLRunLoopDefaultMode);
    pthread_t threads[SENDERS];
    for (intptr_t sender = 0; sender < SENDERS; sender++)
        threads[sender] = start_thread(send_all, (void *)sender);
    RLRunLoopRun();
    for (int sender = 0; sender < SENDERS; sender++)
        join_thread(threads[sender]);
    ck_assert_int_eq(shared.received, shared.wanted);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, true), kRLRunLoopRunTimedOut);
    drop_receiver(&shared);
}

START_TEST(every_message_arrives_in_order) { flood(1 << 20, 50000); }
END_TEST

START_TEST(senders_wait_for_room) { flood(3, 5000); }
END_TEST

START_TEST(senders_take_turns_at_a_queue_of_one_message) { flood(1, 3000); }
END_TEST

/* Two threads answer each other: both sleep, and are woken for every message. */
static struct receiver left, right;

static void answer(UNUSED RLPortRef port, RLPortMessageRef message, void *info)
{
    struct receiver *r = info;
    uint32_t number = RLPortMessageGetMessageID(message);
    atomic_fetch_add(&r->received, 1);
    if (number > 0) {
        RLPortMessageRef reply = RLPortMessageCreate(NULL, RLPortMessageGetSendPort(message), r->port, NULL);
        RLPortMessageSetMessageID(reply, number - 1);
        require(RLPortMessageSendBeforeDate(reply, 1e12));
        RLRelease(reply);
    }
    if (number <= 1)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

static void *serve_right(UNUSED void *info)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), right.source, kRLRunLoopDefaultMode);
    RLRunLoopRun();
    return NULL;
}

START_TEST(two_threads_answer_each_other)
{
    int rounds = SCALED(20000);
    left = right = (struct receiver){0};
    make_receiver(&left, answer, 4);
    make_receiver(&right, answer, 4);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), left.source, kRLRunLoopDefaultMode);
    pthread_t thread = start_thread(serve_right, NULL);
    RLPortMessageRef first = RLPortMessageCreate(NULL, right.port, left.port, NULL);
    RLPortMessageSetMessageID(first, (uint32_t)rounds * 2 - 1);
    ck_assert(RLPortMessageSendBeforeDate(first, 0));
    RLRelease(first);
    RLRunLoopRun();
    join_thread(thread);
    ck_assert_int_eq(left.received, rounds);
    ck_assert_int_eq(right.received, rounds);
    drop_receiver(&left);
    drop_receiver(&right);
}
END_TEST

/* One port, whose source is in the loops of two threads: each message is delivered to one of them. */
static atomic_uint seen_sum;

static void add_up(UNUSED RLPortRef port, RLPortMessageRef message, void *info)
{
    struct receiver *r = info;
    atomic_fetch_add(&seen_sum, RLPortMessageGetMessageID(message));
    atomic_fetch_add(&r->received, 1);
}

START_TEST(two_loops_share_a_port)
{
    struct looper loopers[2];
    struct receiver r = {0};
    make_receiver(&r, add_up, 64);
    seen_sum = 0;
    for (int index = 0; index < 2; index++) {
        looper_start(&loopers[index]);
        RLRunLoopAddSource(loopers[index].loop, r.source, kRLRunLoopDefaultMode);
    }
    unsigned sum = 0;
    int count = SCALED(40000);
    for (int number = 0; number < count; number++) {
        sum += (unsigned)number;
        ck_assert(send_number(r.port, 0, (uint32_t)number));
    }
    await_count(&r.received, count);
    ck_assert_uint_eq(seen_sum, sum);
    for (int index = 0; index < 2; index++)
        looper_stop(&loopers[index]);
    ck_assert_int_eq(r.received, count);
    drop_receiver(&r);
}
END_TEST

/* Invalidation in the middle of a flood: each message is delivered once or dropped, and all memory is freed. */
static atomic_int sent_count;

static void *send_until_refused(void *info)
{
    uint32_t number = 0;
    while (send_number(shared.port, (int)(intptr_t)info, number++))
        atomic_fetch_add(&sent_count, 1);
    require(errno == EPIPE);
    return NULL;
}

static void count_message(UNUSED RLPortRef port, UNUSED RLPortMessageRef message, void *info)
{
    struct receiver *r = info;
    require(RLPortIsValid(r->port));
    atomic_fetch_add(&r->received, 1);
}

static void count_invalidation(UNUSED RLPortRef port, void *info)
{
    struct receiver *r = info;
    require(r == &shared);
    atomic_fetch_add((atomic_int *)&r->wanted, 1);
}

static void count_message_and_end(RLPortRef port, UNUSED RLPortMessageRef message, void *info)
{
    struct receiver *r = info;
    if (atomic_fetch_add(&r->received, 1) == 99)
        RLPortInvalidate(port);
}

START_TEST(a_port_may_be_invalidated_in_its_callback_while_others_send)
{
    for (int round = 0; round < SCALED(200); round++) {
        struct looper looper;
        shared = (struct receiver){0};
        sent_count = 0;
        make_receiver(&shared, count_message_and_end, 64);
        RLPortSetInvalidationCallBack(shared.port, count_invalidation);
        looper_start(&looper);
        RLRunLoopAddSource(looper.loop, shared.source, kRLRunLoopDefaultMode);
        pthread_t a = start_thread(send_until_refused, NULL), b = start_thread(send_until_refused, (void *)1);
        join_thread(a);
        join_thread(b);
        looper_stop(&looper);
        ck_assert_int_eq(shared.received, 100);
        ck_assert_int_ge(sent_count, 100);
        ck_assert_int_eq(shared.wanted, 1);
        drop_receiver(&shared);
    }
}
END_TEST

/* What is delivered was sent, arrives in order, and arrives once (`receive` checks that). What is not delivered is released. */
START_TEST(a_port_may_be_invalidated_by_another_thread_while_others_send)
{
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"x", 1);
    const void *values[] = {data};
    parts = RLArrayCreate(NULL, values, 1, &kRLTypeArrayCallBacks);
    for (int round = 0; round < SCALED(400); round++) {
        struct looper looper;
        shared = (struct receiver){.wanted = -1};
        sent_count = 0;
        make_receiver(&shared, receive, round % 3 ? 64 : 2);
        looper_start(&looper);
        RLRunLoopAddSource(looper.loop, shared.source, kRLRunLoopDefaultMode);
        pthread_t a = start_thread(send_until_refused, NULL), b = start_thread(send_until_refused, (void *)1);
        await_count(&shared.received, round % 150);
        RLPortInvalidate(shared.port);
        int received = shared.received;
        join_thread(a);
        join_thread(b);
        looper_stop(&looper);
        ck_assert_int_le(shared.received, received + 1); /* one callback may have been running */
        ck_assert_int_le(shared.received, sent_count);
        ck_assert_uint_eq(shared.next[0] + shared.next[1], (unsigned)shared.received);
        ck_assert_int_eq(RLGetRetainCount(parts), 1);
        drop_receiver(&shared);
    }
    RLRelease(parts);
    RLRelease(data);
    parts = NULL;
}
END_TEST

/* The info outlives a callback that is running when another thread invalidates the port. */
static gate in_callback, may_return;
static struct lifetime life;

static void linger(UNUSED RLPortRef port, UNUSED RLPortMessageRef message, void *info)
{
    gate_open(&in_callback);
    gate_pass(&may_return);
    require(lifetime_held(info) == 1);
}

START_TEST(info_is_released_after_the_last_callback)
{
    struct looper looper;
    RLPortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLPortRef port = RLPortCreate(NULL, linger, &context, NULL);
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    gate_init(&in_callback);
    gate_init(&may_return);
    looper_start(&looper);
    RLRunLoopAddSource(looper.loop, source, kRLRunLoopDefaultMode);
    send_number(port, 0, 0);
    gate_pass(&in_callback);
    RLPortInvalidate(port);
    ck_assert_int_eq(lifetime_held(&life), 1);
    RLPortGetContext(port, &context);
    ck_assert_ptr_eq(context.info, &life);
    gate_open(&may_return);
    looper_stop(&looper);
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLPortGetContext(port, &context);
    ck_assert_ptr_null(context.info);
    RLRelease(source);
    RLRelease(port);
}
END_TEST

static atomic_int invalidations;
static void note_invalidation(UNUSED RLPortRef port, void *info)
{
    ck_assert(info == NULL || info == &life);
    atomic_fetch_add(&invalidations, 1);
}

static void release_and_look(RLPortRef port, UNUSED void *info)
{
    RLRelease(port);
    ck_assert(!RLPortIsValid(port));
    atomic_fetch_add(&invalidations, 1);
}

START_TEST(the_invalidation_callback_is_called_once_even_if_it_is_set_late)
{
    RLPortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLPortRef port = RLPortCreate(NULL, linger, &context, NULL);
    ck_assert_ptr_null(RLPortGetInvalidationCallBack(port));
    RLPortSetInvalidationCallBack(port, note_invalidation);
    ck_assert_ptr_eq((void *)RLPortGetInvalidationCallBack(port), (void *)note_invalidation);
    RLPortInvalidate(port);
    RLPortInvalidate(port);
    ck_assert_int_eq(invalidations, 1);
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLPortSetInvalidationCallBack(port, note_invalidation);
    ck_assert_int_eq(invalidations, 2);
    ck_assert_ptr_null(RLPortCreateRunLoopSource(NULL, port, 0));
    ck_assert(!send_number(port, 0, 0));
    ck_assert_int_eq(errno, EPIPE);
    RLRelease(port);
    /* Releasing the last reference to a valid port invalidates it, too. */
    port = RLPortCreate(NULL, linger, &context, NULL);
    RLPortSetInvalidationCallBack(port, note_invalidation);
    RLRelease(port);
    ck_assert_int_eq(invalidations, 3);
    ck_assert_int_eq(lifetime_held(&life), 0);
    /* The library keeps the port while it calls a callback that was set late. */
    port = RLPortCreate(NULL, linger, &context, NULL);
    RLPortInvalidate(port);
    RLPortSetInvalidationCallBack(port, release_and_look);
    ck_assert_int_eq(invalidations, 4);
    ck_assert_int_eq(take_diagnostics(), 0);
}
END_TEST

/* A loop ends while messages wait: another loop receives them. */
static void *take_one(UNUSED void *info)
{
    RLRunLoopAddSource(RLRunLoopGetCurrent(), shared.source, kRLRunLoopDefaultMode);
    require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, true) == kRLRunLoopRunHandledSource);
    return NULL;
}

START_TEST(undelivered_messages_outlive_a_loop)
{
    shared = (struct receiver){0};
    make_receiver(&shared, count_message, 64);
    for (uint32_t number = 0; number < 3; number++)
        ck_assert(send_number(shared.port, 0, number));
    for (int index = 1; index <= 3; index++) {
        join_thread(start_thread(take_one, NULL));
        ck_assert_int_eq(shared.received, index);
    }
    drop_receiver(&shared);
}
END_TEST

static void use_in_child(UNUSED void *info)
{
    child_assert(send_number(shared.port, 0, 7));
    child_assert(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, true) == kRLRunLoopRunHandledSource);
    child_assert(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, true) == kRLRunLoopRunHandledSource);
    child_assert(shared.received == 2);
    RLPortInvalidate(shared.port);
}

static atomic_bool enough;

static void *disturb(UNUSED void *info)
{
    while (!enough) {
        RLPortRef port = RLPortCreate(NULL, count_message, NULL, NULL);
        RLPortSetCapacity(port, 2);
        send_number(port, 0, 0);
        RLRelease(port);
        RLPortGetCapacity(shared.port);
    }
    return NULL;
}

START_TEST(a_port_works_in_the_child_of_a_fork)
{
    shared = (struct receiver){0};
    make_receiver(&shared, count_message, 64);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), shared.source, kRLRunLoopDefaultMode);
    ck_assert(send_number(shared.port, 0, 0));
    pthread_t thread = start_thread(disturb, NULL);
    for (int round = 0; round < 50; round++)
        ck_assert_int_eq(run_in_child(use_in_child, NULL), 0);
    enough = true;
    join_thread(thread);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, true), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(shared.received, 1);
    drop_receiver(&shared);
}
END_TEST

/* A sender that waits for room sleeps instead of spinning. */
START_TEST(a_sender_at_a_full_queue_sleeps)
{
    struct rusage before, after;
    make_receiver(&shared, receive, 1);
    ck_assert(send_number(shared.port, 0, 0));
    RLPortMessageRef message = RLPortMessageCreate(NULL, shared.port, NULL, NULL);
    getrusage(RUSAGE_THREAD, &before);
    ck_assert(!RLPortMessageSendBeforeDate(message, RLAbsoluteTimeGetCurrent() + 0.1));
    ck_assert_int_eq(errno, ETIMEDOUT);
    getrusage(RUSAGE_THREAD, &after);
    ck_assert_int_ge(after.ru_nvcsw - before.ru_nvcsw, 1);
    RLRelease(message);
    drop_receiver(&shared);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("port-threads");
    TCase *tcase = add_case(suite, "threads", 60);
    tcase_add_test(tcase, every_message_arrives_in_order);
    tcase_add_test(tcase, senders_wait_for_room);
    tcase_add_test(tcase, senders_take_turns_at_a_queue_of_one_message);
    tcase_add_test(tcase, a_sender_at_a_full_queue_sleeps);
    tcase_add_test(tcase, two_threads_answer_each_other);
    tcase_add_test(tcase, two_loops_share_a_port);
    tcase_add_test(tcase, a_port_may_be_invalidated_in_its_callback_while_others_send);
    tcase_add_test(tcase, a_port_may_be_invalidated_by_another_thread_while_others_send);
    tcase_add_test(tcase, info_is_released_after_the_last_callback);
    tcase_add_test(tcase, the_invalidation_callback_is_called_once_even_if_it_is_set_late);
    tcase_add_test(tcase, undelivered_messages_outlive_a_loop);
    tcase_add_test(tcase, a_port_works_in_the_child_of_a_fork);
    return suite;
}
