/* RLStreamForward: which stream continues, and which is freed, when a paused stream has nothing left to wait for. */
#include "stream-forward.h"

/* Data held back by the target's filter is never written once the filter has failed: the source stream continues. */
START_TEST(forwarding_resumes_when_a_filter_that_holds_writes_back_fails)
{
    static struct framer framer;
    make_two();
    ck_assert(set_framer(b.stream, &framer));
    send_text(peer_of_b, "HI");
    run_passes();
    RLStreamFilterHoldWrites(b.stream, 1);
    pause_source();
    a.calls = 0;
    ck_assert_int_ge(RLStreamGetQueuedLength(b.stream), 65536);
    RLStreamFlush(b.stream, note_flush, "f");
    RLStreamFilterFail(b.stream, kRLStreamRefused, EPROTO);
    run_passes();
    ck_assert_int_gt(a.calls, 0);
    assert_seen(&b, "O!EPROTO");
    assert_flushed("f5");
    ck_assert_int_eq(RLStreamGetQueuedLength(b.stream), 0);
    ck_assert_int_eq(RLGetRetainCount(b.stream), 1 + 2);
    end_two();
}
END_TEST

/* An echo holds no reference to itself while it is paused, since nothing would end that. */
START_TEST(a_paused_echo_is_freed)
{
    make_two();
    small_buffers(RLStreamGetNativeDescriptor(a.stream));
    ck_assert(RLStreamForward(a.stream, a.stream));
    for (size_t sent = 0, before = 1; sent != before; run_passes()) {
        before = sent;
        sent = send_pattern(peer_of_a, sent, 10000000);
    }
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), a.stream, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLGetRetainCount(a.stream), 1);
    RLRelease(a.stream);
    drain(peer_of_a);
    ck_assert(has_ended(peer_of_a) || errno == ECONNRESET);
    a.stream = NULL;
    close(peer_of_a);
    end_spy(&b);
    close(peer_of_b);
}
END_TEST

/* Data that a's filter delivers while b's queue is full is written before the failure is reported. */
START_TEST(forwarded_bytes_precede_the_failure_of_a_filter)
{
    static struct framer framer;
    make_two();
    pause_source();
    framer.greeted = 2, framer.left = -1;
    ck_assert(set_framer(a.stream, &framer));
    RLStreamFilterDeliver(a.stream, (const uint8_t *)"the last", 8);
    RLStreamFilterFail(a.stream, kRLStreamTruncated, EPROTO);
    run_passes();
    assert_seen(&a, "");
    char bytes[8 + 4096] = ""; /* preceded by the last eight bytes of the previous read */
    for (int empty = 0; empty < 2; run_passes()) {
        ssize_t count = read(peer_of_b, bytes + 8, 4096);
        empty = count > 0 ? 0 : empty + 1;
        if (count > 0)
            memmove(bytes, bytes + count, 8);
    }
    ck_assert_int_eq(memcmp(bytes, "the last", 8), 0);
    assert_seen(&a, "!EPROTO");
    end_two();
}
END_TEST

static int freed;
static void count_freed(UNUSED const void *info) { freed++; }

/* Creates a chain in which each stream holds the only reference to the next. All share one descriptor, to stay below
 * the limit. */
static void make_chain(RLStreamRef *first, int length)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    RLStreamContext context = {.release = count_freed};
    *first = NULL;
    for (int i = 0; i < length; i++) {
        RLStreamRef stream = RLStreamCreate(NULL, ends[0], 0, spy_callback, &context);
        require(stream != NULL && (*first == NULL || RLStreamForward(stream, *first)));
        if (*first != NULL)
            RLRelease(*first);
        *first = stream;
    }
    freed = 0;
    close_pipe(ends);
}

/* Freeing a chain of any length needs no more than the stack of a thread. */
START_TEST(a_long_chain_of_forwarding_streams_is_freed)
{
    enum { length = SCALED(100000) };
    RLStreamRef first;
    make_chain(&first, length);
    if (_i == 1)
        RLStreamClose(first);
    ck_assert_int_eq(freed, _i == 1 ? length - 1 : 0);
    RLRelease(first);
    ck_assert_int_eq(freed, length);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("paused forwarding");
    TCase *all = add_case(suite, "paused forwarding", 30);
    tcase_add_test(all, forwarding_resumes_when_a_filter_that_holds_writes_back_fails);
    tcase_add_test(all, a_paused_echo_is_freed);
    tcase_add_test(all, forwarded_bytes_precede_the_failure_of_a_filter);
    tcase_add_loop_test(all, a_long_chain_of_forwarding_streams_is_freed, 0, 2);
    return suite;
}
