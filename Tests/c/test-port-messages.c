/* Checks what a port message is, how it travels, and how a loop delivers it, all on one thread. */
#include "harness.h"

/* A port with its source in the default mode. Its callback notes the ids of the messages. */
struct end {
    RLPortRef port;
    RLRunLoopSourceRef source;
    void (*also)(struct end *end, RLPortMessageRef message); /* what else the callback does, or NULL */
    RLPortRef seen_send_port, seen_receive_port;
    RLArrayRef kept; /* the components of the last message, retained */
    int count;
};

static void handle(RLPortRef port, RLPortMessageRef message, void *info)
{
    struct end *end = info;
    char word[16];
    ck_assert_ptr_eq(port, end->port);
    snprintf(word, sizeof word, "%u", RLPortMessageGetMessageID(message));
    note(word);
    end->count++;
    end->seen_send_port = RLPortMessageGetSendPort(message);
    end->seen_receive_port = RLPortMessageGetReceivePort(message);
    if (end->also)
        end->also(end, message);
}

static void make_end(struct end *end, RLIndex order)
{
    RLPortContext context = {.info = end};
    end->port = RLPortCreate(NULL, handle, &context, NULL);
    ck_assert_ptr_nonnull(end->port);
    end->source = RLPortCreateRunLoopSource(NULL, end->port, order);
    ck_assert_ptr_nonnull(end->source);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), end->source, kRLRunLoopDefaultMode);
}

static void drop_end(struct end *end)
{
    RLPortInvalidate(end->port);
    RLRelease(end->source);
    RLRelease(end->port);
}

static bool send(RLPortRef to, RLPortRef reply, RLArrayRef components, uint32_t id, RLTimeInterval wait)
{
    RLPortMessageRef message = RLPortMessageCreate(NULL, to, reply, components);
    ck_assert_ptr_nonnull(message);
    RLPortMessageSetMessageID(message, id);
    bool sent = RLPortMessageSendBeforeDate(message, RLAbsoluteTimeGetCurrent() + wait);
    int error = errno;
    RLRelease(message);
    errno = error;
    return sent;
}

/* Long enough for a few messages on a slow machine. */
static const RLTimeInterval MOMENT = 0.2;

static RLRunLoopRunResult run(RLTimeInterval seconds, bool one)
{
    return RLRunLoopRunInMode(kRLRunLoopDefaultMode, seconds, one);
}

START_TEST(a_message_returns_its_attributes)
{
    struct end a = {0}, b = {0};
    make_end(&a, 0);
    make_end(&b, 0);
    const void *values[] = {a.port};
    RLArrayRef parts = RLArrayCreate(NULL, values, 1, &kRLTypeArrayCallBacks);
    RLPortMessageRef message = RLPortMessageCreate(NULL, a.port, b.port, parts);
    ck_assert_uint_eq(RLPortMessageGetMessageID(message), 0);
    RLPortMessageSetMessageID(message, 0xFFFFFFFFu);
    ck_assert_uint_eq(RLPortMessageGetMessageID(message), 0xFFFFFFFFu);
    ck_assert_ptr_eq(RLPortMessageGetSendPort(message), a.port);
    ck_assert_ptr_eq(RLPortMessageGetReceivePort(message), b.port);
    ck_assert_ptr_eq(RLPortMessageGetComponents(message), parts);
    ck_assert_uint_eq(RLGetTypeID(message), RLPortMessageGetTypeID());
    ck_assert_uint_eq(RLGetTypeID(a.port), RLPortGetTypeID());
    ck_assert_uint_ne(RLPortGetTypeID(), RLPortMessageGetTypeID());
    RLStringRef description = RLCopyDescription(a.port);
    ck_assert_ptr_nonnull(strstr(RLStringGetCStringPtr(description, kRLStringEncodingUTF8), "RLPort 0x"));
    RLRelease(description);
    description = RLCopyDescription(message);
    ck_assert_ptr_nonnull(strstr(RLStringGetCStringPtr(description, kRLStringEncodingUTF8), "components=1"));
    RLRelease(description);
    RLRelease(message);
    RLRelease(parts);
    drop_end(&a);
    drop_end(&b);
}
END_TEST

static void keep_components(struct end *end, RLPortMessageRef message)
{
    end->kept = RLRetain(RLPortMessageGetComponents(message));
}

START_TEST(a_received_message_has_swapped_ports_and_shared_components)
{
    struct end a = {.also = keep_components}, b = {0};
    make_end(&a, 0);
    make_end(&b, 0);
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"abc", 3);
    const void *values[] = {data, b.port};
    RLArrayRef parts = RLArrayCreate(NULL, values, 2, &kRLTypeArrayCallBacks);
    ck_assert(send(a.port, b.port, parts, 7, 0));
    RLRelease(parts);
    RLRelease(data);
    ck_assert_int_eq(run(0, true), kRLRunLoopRunHandledSource);
    assert_notes("7");
    ck_assert_ptr_eq(a.seen_send_port, b.port);
    ck_assert_ptr_eq(a.seen_receive_port, a.port);
    ck_assert_ptr_eq(a.kept, parts);
    ck_assert_ptr_eq(RLArrayGetValueAtIndex(a.kept, 0), data);
    ck_assert_ptr_eq(RLArrayGetValueAtIndex(a.kept, 1), b.port);
    RLRelease(a.kept);
    drop_end(&a);
    drop_end(&b);
}
END_TEST

START_TEST(a_mutable_component_array_is_copied)
{
    struct end a = {.also = keep_components};
    make_end(&a, 0);
    RLMutableArrayRef parts = RLArrayCreateMutable(NULL, 0, &kRLTypeArrayCallBacks);
    RLArrayAppendValue(parts, a.port);
    RLPortMessageRef message = RLPortMessageCreate(NULL, a.port, NULL, parts);
    RLArrayAppendValue(parts, RLSTR("not for messages"));
    ck_assert(RLPortMessageSendBeforeDate(message, 0));
    RLArrayRemoveAllValues(parts);
    ck_assert_int_eq(run(0, true), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(RLArrayGetCount(a.kept), 1);
    ck_assert_ptr_eq(RLArrayGetValueAtIndex(a.kept, 0), a.port);
    ck_assert_int_eq(RLGetRetainCount(parts), 1);
    RLRelease(parts);
    RLRelease(message);
    ck_assert_int_eq(RLGetRetainCount(a.kept), 1);
    RLRelease(a.kept);
    drop_end(&a);
}
END_TEST

START_TEST(a_message_can_be_sent_again)
{
    struct end a = {0}, b = {0};
    make_end(&a, 0);
    make_end(&b, 0);
    RLPortMessageRef message = RLPortMessageCreate(NULL, a.port, b.port, NULL);
    for (uint32_t id = 1; id <= 3; id++) {
        RLPortMessageSetMessageID(message, id);
        ck_assert(RLPortMessageSendBeforeDate(message, 0));
        ck_assert_ptr_eq(RLPortMessageGetSendPort(message), a.port);
    }
    RLRelease(message);
    run(MOMENT, false);
    assert_notes("1 2 3");
    drop_end(&a);
    drop_end(&b);
}
END_TEST

START_TEST(a_returning_run_delivers_one_message)
{
    struct end a = {0};
    make_end(&a, 0);
    for (uint32_t id = 1; id <= 3; id++)
        ck_assert(send(a.port, NULL, NULL, id, 0));
    for (int count = 1; count <= 3; count++) {
        ck_assert_int_eq(run(1, true), kRLRunLoopRunHandledSource);
        ck_assert_int_eq(a.count, count);
    }
    ck_assert_int_eq(run(0, true), kRLRunLoopRunTimedOut);
    assert_notes("1 2 3");
    drop_end(&a);
}
END_TEST

START_TEST(observers_see_a_pass_for_each_message)
{
    struct end a = {0};
    make_end(&a, 0);
    RLRunLoopObserverRef observer = note_activities(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode);
    send(a.port, NULL, NULL, 1, 0);
    send(a.port, NULL, NULL, 2, 0);
    ck_assert_int_eq(run(MOMENT, false), kRLRunLoopRunTimedOut);
    assert_notes("En BT BS 1 BT BS 2 BT BS BW AW Ex");
    drop_observer(observer);
    drop_end(&a);
}
END_TEST

static void stop_loop(UNUSED struct end *end, UNUSED RLPortMessageRef message) { RLRunLoopStop(RLRunLoopGetCurrent()); }

START_TEST(a_stop_ends_a_batch_of_messages)
{
    struct end a = {.also = stop_loop};
    make_end(&a, 0);
    for (uint32_t id = 1; id <= 3; id++)
        send(a.port, NULL, NULL, id, 0);
    ck_assert_int_eq(run(1e9, false), kRLRunLoopRunStopped);
    assert_notes("1");
    ck_assert_int_eq(run(1e9, false), kRLRunLoopRunStopped);
    assert_notes("2");
    drop_end(&a);
}
END_TEST

static void note_source(UNUSED void *info) { note("S"); }

static void signal_other(struct end *end, UNUSED RLPortMessageRef message) { RLRunLoopSourceSignal((void *)end->kept); }

static void signal_and_run_other_mode(struct end *end, UNUSED RLPortMessageRef message)
{
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), keeper, RLSTR("other"));
    RLRunLoopSourceSignal((void *)end->kept);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 0, false), kRLRunLoopRunTimedOut);
    drop_source(keeper);
}

static void (*const signals[])(struct end *, RLPortMessageRef) = {signal_other, signal_and_run_other_mode};

/* A source that is signalled between two messages performs between them, whatever its order, even if a nested run has noticed the
 * signal in a mode that does not contain the source. */
START_TEST(a_signalled_source_performs_between_two_messages)
{
    struct end a = {.also = signals[_i]};
    make_end(&a, 0);
    RLRunLoopSourceRef other = make_source(-1, note_source, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), other, kRLRunLoopDefaultMode);
    a.kept = (RLArrayRef)(void *)other;
    for (uint32_t id = 1; id <= 3; id++)
        send(a.port, NULL, NULL, id, 0);
    run(MOMENT, false);
    assert_notes("1 S 2 S 3 S");
    drop_source(other);
    drop_end(&a);
}
END_TEST

static void note_performed(void *info) { note(info); }

static void perform_something(UNUSED struct end *end, UNUSED RLPortMessageRef message)
{
    RLRunLoopPerformFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, note_performed, "P");
}

START_TEST(a_queued_function_runs_between_two_messages)
{
    struct end a = {.also = perform_something};
    make_end(&a, 0);
    send(a.port, NULL, NULL, 1, 0);
    send(a.port, NULL, NULL, 2, 0);
    run(MOMENT, false);
    assert_notes("1 P 2 P");
    drop_end(&a);
}
END_TEST

START_TEST(two_ports_take_turns_by_order)
{
    struct end a = {0}, b = {0};
    make_end(&a, 2);
    make_end(&b, 1);
    send(a.port, NULL, NULL, 1, 0);
    send(a.port, NULL, NULL, 2, 0);
    send(b.port, NULL, NULL, 11, 0);
    send(b.port, NULL, NULL, 12, 0);
    run(MOMENT, false);
    assert_notes("11 1 12 2");
    drop_end(&a);
    drop_end(&b);
}
END_TEST

static void run_nested(struct end *end, RLPortMessageRef message)
{
    uint32_t id = RLPortMessageGetMessageID(message);
    note("(");
    if (end->count < 3)
        run(0, true);
    note(")");
    ck_assert_uint_eq(RLPortMessageGetMessageID(message), id);
}

START_TEST(a_nested_run_receives_the_next_message)
{
    struct end a = {.also = run_nested};
    make_end(&a, 0);
    for (uint32_t id = 1; id <= 4; id++)
        send(a.port, NULL, NULL, id, 0);
    run(MOMENT, false);
    assert_notes("1 ( 2 ( 3 ( ) ) ) 4 ( )");
    drop_end(&a);
}
END_TEST

static void send_and_run(struct end *end, UNUSED RLPortMessageRef message)
{
    if (end->count == 1) {
        send(end->port, NULL, NULL, 9, 0);
        ck_assert_int_eq(run(1, true), kRLRunLoopRunHandledSource);
        note("back");
    }
}

/* A message that is sent while the callback of the last one runs must reach a nested run. */
START_TEST(a_nested_run_notices_a_new_message)
{
    struct end a = {.also = send_and_run};
    make_end(&a, 0);
    send(a.port, NULL, NULL, 1, 0);
    run(MOMENT, false);
    assert_notes("1 9 back");
    drop_end(&a);
}
END_TEST

START_TEST(a_port_returns_the_same_source_each_time)
{
    struct end a = {0};
    make_end(&a, 5);
    RLRunLoopSourceRef again = RLPortCreateRunLoopSource(NULL, a.port, 6);
    ck_assert_ptr_eq(again, a.source);
    ck_assert_int_eq(RLRunLoopSourceGetOrder(again), 5);
    RLRelease(again);
    drop_end(&a);
}
END_TEST

START_TEST(messages_wait_until_the_port_has_a_new_source)
{
    struct end a = {0};
    make_end(&a, 0);
    RLRunLoopSourceInvalidate(a.source);
    ck_assert(RLPortIsValid(a.port));
    send(a.port, NULL, NULL, 1, 0);
    ck_assert_int_eq(run(0, true), kRLRunLoopRunFinished);
    RLRunLoopSourceRef old = a.source;
    a.source = RLPortCreateRunLoopSource(NULL, a.port, 0);
    ck_assert_ptr_ne(a.source, old);
    RLRelease(old);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), a.source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(run(0, true), kRLRunLoopRunHandledSource);
    assert_notes("1");
    drop_end(&a);
}
END_TEST

START_TEST(removing_the_last_source_frees_a_released_port)
{
    struct lifetime life = {0};
    RLPortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLPortRef port = RLPortCreate(NULL, handle, &context, NULL);
    for (int round = 0; round < 3; round++) {
        RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
        RLRelease(source);
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    }
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    RLRelease(port); /* the source in the loop keeps it */
    ck_assert_int_eq(lifetime_held(&life), 1);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

START_TEST(a_full_queue_makes_senders_wait)
{
    struct end a = {0};
    make_end(&a, 0);
    ck_assert_int_eq(RLPortGetCapacity(a.port), 1024);
    RLPortSetCapacity(a.port, 2);
    ck_assert(send(a.port, NULL, NULL, 1, 0));
    ck_assert(send(a.port, NULL, NULL, 2, -1));
    double before = monotonic_seconds();
    ck_assert(!send(a.port, NULL, NULL, 3, 0.05));
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert(monotonic_seconds() - before >= 0.049);
    ck_assert(!send(a.port, NULL, NULL, 3, -1e9));
    ck_assert_int_eq(errno, ETIMEDOUT);
    run(0, true);
    ck_assert(send(a.port, NULL, NULL, 4, 0));
    RLPortSetCapacity(a.port, 3);
    ck_assert(send(a.port, NULL, NULL, 5, 0));
    ck_assert(!send(a.port, NULL, NULL, 6, 0));
    run(MOMENT, false);
    assert_notes("1 2 4 5");
    drop_end(&a);
}
END_TEST

static void keep_message(struct end *end, RLPortMessageRef message) { end->kept = RLRetain(message); }

START_TEST(a_kept_message_keeps_its_port_alive)
{
    struct end a = {.also = keep_message}, b = {0};
    make_end(&a, 0);
    make_end(&b, 0);
    send(a.port, b.port, NULL, 1, 0);
    run(0, true);
    RLPortRef port = a.port;
    drop_end(&a);
    drop_end(&b);
    RLPortMessageRef message = (RLPortMessageRef)(void *)a.kept;
    ck_assert_ptr_eq(RLPortMessageGetReceivePort(message), port);
    ck_assert(!RLPortIsValid(RLPortMessageGetSendPort(message)));
    ck_assert_int_eq(RLGetRetainCount(port), 1);
    RLRelease(message);
}
END_TEST

/* Messages of one batch are independent: a client that keeps one keeps only that one, and the components of the others are
 * released. */
static RLPortMessageRef kept_messages[5];

static void keep_odd_ones(struct end *end, RLPortMessageRef message)
{
    if (RLPortMessageGetMessageID(message) % 2 == 1)
        kept_messages[end->count - 1] = (RLPortMessageRef)RLRetain(message);
    for (int index = 0; index < end->count - 1; index += 2)
        ck_assert_ptr_ne(kept_messages[index], message);
}

START_TEST(kept_messages_do_not_change)
{
    struct end a = {.also = keep_odd_ones}, b = {0};
    make_end(&a, 0);
    make_end(&b, 0);
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"x", 1);
    const void *values[] = {data};
    RLArrayRef parts = RLArrayCreate(NULL, values, 1, &kRLTypeArrayCallBacks);
    for (uint32_t id = 1; id <= 5; id++)
        send(a.port, id == 3 ? NULL : b.port, id == 5 ? NULL : parts, id, 0);
    ck_assert_int_eq(RLGetRetainCount(parts), 5);
    run(MOMENT, false);
    assert_notes("1 2 3 4 5");
    ck_assert_int_eq(RLGetRetainCount(parts), 3);
    for (uint32_t id = 1; id <= 5; id += 2) {
        RLPortMessageRef message = kept_messages[id - 1];
        ck_assert_uint_eq(RLPortMessageGetMessageID(message), id);
        ck_assert_ptr_eq(RLPortMessageGetSendPort(message), id == 3 ? NULL : b.port);
        ck_assert_ptr_eq(RLPortMessageGetReceivePort(message), a.port);
        ck_assert_ptr_eq(RLPortMessageGetComponents(message), id == 5 ? NULL : parts);
        RLRelease(message);
    }
    ck_assert_int_eq(RLGetRetainCount(parts), 1);
    RLRelease(parts);
    RLRelease(data);
    drop_end(&a);
    drop_end(&b);
}
END_TEST

/* One release too many in the callback frees that message, but no other. */
static void release_once_too_often(struct end *end, RLPortMessageRef message)
{
    if (end->count > 1)
        return;
    RLRelease(message);
    ck_assert_uint_eq(RLPortMessageGetMessageID(message), 0);
    assert_misuse("RLPortMessageGetMessageID", "message", NULL);
}

START_TEST(a_message_overreleased_in_its_callback_affects_no_other)
{
    struct end a = {.also = release_once_too_often}, b = {0};
    make_end(&a, 0);
    make_end(&b, 0);
    for (uint32_t id = 1; id <= 3; id++)
        send(a.port, b.port, NULL, id, 0);
    run(MOMENT, false);
    assert_notes("1 2 3");
    drop_end(&a);
    ck_assert_int_eq(RLGetRetainCount(b.port), 2); /* the other reference is its source's */
    drop_end(&b);
}
END_TEST

START_TEST(misuse_of_ports_and_port_messages_is_reported)
{
    struct end a = {0};
    make_end(&a, 0);
    RLBoolean should_free_info = 0;
    ck_assert_ptr_null(RLPortCreate(NULL, NULL, NULL, &should_free_info));
    ck_assert(should_free_info); /* as for CF's message ports: info was not taken */
    assert_misuse("RLPortCreate", "callout", "expected a function, got NULL");
    RLPortContext wrong = {.version = 1};
    ck_assert_ptr_null(RLPortCreate(NULL, handle, &wrong, NULL));
    assert_misuse("RLPortCreate", "context", "version must be 0");
    ck_assert_ptr_null(RLPortMessageCreate(NULL, NULL, a.port, NULL));
    assert_misuse("RLPortMessageCreate", "sendPort", NULL);
    ck_assert_ptr_null(RLPortMessageCreate(NULL, a.port, (RLPortRef)(void *)a.source, NULL));
    assert_misuse("RLPortMessageCreate", "receivePort", "expected RLPort, got RLRunLoopSource");
    const void *values[] = {a.source};
    RLArrayRef parts = RLArrayCreate(NULL, values, 1, &kRLTypeArrayCallBacks);
    ck_assert_ptr_null(RLPortMessageCreate(NULL, a.port, NULL, parts));
    assert_misuse("RLPortMessageCreate", "components", "expected RLData or RLPort, got RLRunLoopSource");
    RLRelease(parts);
    RLPortSetCapacity(a.port, 0);
    assert_misuse("RLPortSetCapacity", "capacity", "not positive");
    RLPortMessageRef message = RLPortMessageCreate(NULL, a.port, NULL, NULL);
    ck_assert(!RLPortMessageSendBeforeDate(message, NAN));
    assert_misuse("RLPortMessageSendBeforeDate", "limit", "not a number");
    ck_assert(!RLPortMessageSendBeforeDate(NULL, 0));
    assert_misuse("RLPortMessageSendBeforeDate", "message", "expected RLPortMessage, got NULL");
    ck_assert(!RLPortIsValid((RLPortRef)message));
    assert_misuse("RLPortIsValid", "port", "expected RLPort, got RLPortMessage");
    RLPortGetContext(a.port, NULL);
    assert_misuse("RLPortGetContext", "context", NULL);
    RLPortGetContext(a.port, &wrong);
    assert_misuse("RLPortGetContext", "context", "version must be 0");
    RLRelease(message);
    RLRelease(message);
    assert_misuse("RLRelease", "object", NULL);
    drop_end(&a);
    RLBoolean must_free = 9;
    RLPortRef port = RLPortCreate(NULL, handle, NULL, &must_free);
    ck_assert_uint_eq(must_free, 0);
    RLRelease(port);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("port-messages");
    TCase *tcase = add_case(suite, "messages", 10);
    tcase_add_test(tcase, a_message_returns_its_attributes);
    tcase_add_test(tcase, a_received_message_has_swapped_ports_and_shared_components);
    tcase_add_test(tcase, a_mutable_component_array_is_copied);
    tcase_add_test(tcase, a_message_can_be_sent_again);
    tcase_add_test(tcase, a_returning_run_delivers_one_message);
    tcase_add_test(tcase, observers_see_a_pass_for_each_message);
    tcase_add_test(tcase, a_stop_ends_a_batch_of_messages);
    tcase_add_loop_test(tcase, a_signalled_source_performs_between_two_messages, 0, 2);
    tcase_add_test(tcase, a_queued_function_runs_between_two_messages);
    tcase_add_test(tcase, two_ports_take_turns_by_order);
    tcase_add_test(tcase, a_nested_run_receives_the_next_message);
    tcase_add_test(tcase, a_nested_run_notices_a_new_message);
    tcase_add_test(tcase, a_port_returns_the_same_source_each_time);
    tcase_add_test(tcase, messages_wait_until_the_port_has_a_new_source);
    tcase_add_test(tcase, removing_the_last_source_frees_a_released_port);
    tcase_add_test(tcase, a_full_queue_makes_senders_wait);
    tcase_add_test(tcase, a_kept_message_keeps_its_port_alive);
    tcase_add_test(tcase, kept_messages_do_not_change);
    tcase_add_test(tcase, a_message_overreleased_in_its_callback_affects_no_other);
    tcase_add_test(tcase, misuse_of_ports_and_port_messages_is_reported);
    return suite;
}
