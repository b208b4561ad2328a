/* RLStream: the idle limit. */
#include "stream.h"

#include <math.h>

static struct spy spy;
static int peer;

static void run_until_notified(void)
{
    while (spy.seen[0] == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
}

/* -- The idle limit ------------------------------------------------------------------------------------------------ */

START_TEST(an_idle_stream_fails)
{
    peer = spy_on_pair(&spy);
    double start = monotonic_seconds();
    RLStreamSetIdleLimit(spy.stream, 0.02);
    run_until_notified();
    ck_assert_double_ge(monotonic_seconds() - start, 0.02);
    assert_seen(&spy, "!ETIMEDOUT");
    ck_assert_int_eq(spy.result, kRLStreamFailed);
    ck_assert(!RLStreamWrite(spy.stream, "x", 1) && errno == ETIMEDOUT);
    send_text(peer, "too late");
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0);
    assert_seen(&spy, ""); /* only once */
    end_spy(&spy);
    close(peer);
}
END_TEST

/* Queued data does not count as activity. Its flush callbacks are called with a failure. */
START_TEST(a_stream_whose_peer_reads_nothing_is_idle)
{
    static char bytes[300000];
    peer = spy_on_pair(&spy);
    RLStreamSetIdleLimit(spy.stream, 0.02);
    ck_assert(RLStreamWrite(spy.stream, bytes, sizeof bytes) && RLStreamFlush(spy.stream, note_flush, "f"));
    run_until_notified();
    assert_seen(&spy, "!ETIMEDOUT");
    assert_flushed("f1");
    end_spy(&spy);
    close(peer);
}
END_TEST

/* The stream fails after the limit has passed since the last byte, and never earlier. */
START_TEST(bytes_postpone_the_idle_limit)
{
    const double limit = 0.05;
    peer = spy_on_pair(&spy);
    double start = monotonic_seconds(), latest = start;
    bool was_late = false; /* this thread was late, not the stream */
    RLStreamSetIdleLimit(spy.stream, limit);
    while (monotonic_seconds() - start < 4 * limit && spy.result == 0) {
        was_late |= monotonic_seconds() - latest >= limit;
        latest = monotonic_seconds();
        if (_i == 0)
            send_text(peer, "x");
        else
            RLStreamWrite(spy.stream, "x", 1);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, limit / 10, 1);
        drain(peer);
    }
    while (spy.result == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert(was_late || monotonic_seconds() - latest >= limit);
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(the_idle_limit_can_be_lifted_and_changed)
{
    peer = spy_on_pair(&spy);
    RLStreamSetIdleLimit(spy.stream, 0.01);
    RLStreamSetIdleLimit(spy.stream, 0);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0);
    assert_seen(&spy, "");
    RLStreamSetIdleLimit(spy.stream, 1e9);
    RLStreamSetIdleLimit(spy.stream, HUGE_VAL);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    RLStreamSetIdleLimit(spy.stream, 0.01);
    run_until_notified();
    assert_seen(&spy, "!ETIMEDOUT");
    end_spy(&spy);
    close(peer);
}
END_TEST

/* The limit is set before the stream is in a loop; in a loop that does not run; and in a loop that it then leaves. */
START_TEST(the_idle_limit_follows_the_stream_between_loops)
{
    struct lifetime life = {0};
    struct looper looper;
    looper_start(&looper);
    for (int round = 0; round < 3; round++) {
        int pair[2];
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        RLStreamContext context = {.info = &spy};
        spy.stream = RLStreamCreate(NULL, pair[0], 1, spy_callback, &context);
        RLStreamSetIdleLimit(spy.stream, 0.02);
        if (round > 0) {
            RLRunLoopAddSource(looper.loop, spy.stream, RLSTR("a mode that does not run"));
            if (round > 1)
                RLRunLoopRemoveSource(looper.loop, spy.stream, RLSTR("a mode that does not run"));
        }
        add(spy.stream);
        run_until_notified();
        assert_seen(&spy, "!ETIMEDOUT");
        end_spy(&spy);
        close(pair[1]);
    }
    looper_stop(&looper);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

START_TEST(the_idle_limit_outlives_the_thread_of_the_loop)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    RLStreamContext context = {.info = &spy};
    spy.stream = RLStreamCreate(NULL, pair[0], 1, spy_callback, &context);
    RLStreamSetIdleLimit(spy.stream, 0.02);
    serve_elsewhere(&spy, 0);
    add(spy.stream);
    run_until_notified();
    assert_seen(&spy, "!ETIMEDOUT");
    end_spy(&spy);
    close(pair[1]);
}
END_TEST

static void time_passes_in_child(UNUSED void *info)
{
    run_until_notified();
    require(strcmp(spy.seen, "!ETIMEDOUT") == 0);
}
START_TEST(the_idle_limit_applies_in_the_child_of_a_fork)
{
    peer = spy_on_pair(&spy);
    RLStreamSetIdleLimit(spy.stream, 0.02);
    ck_assert_int_eq(run_in_child(time_passes_in_child, NULL), 0);
    run_until_notified();
    assert_seen(&spy, "!ETIMEDOUT");
    end_spy(&spy);
    close(peer);
}
END_TEST

static void close_at_error(struct spy *e, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventErrorOccurred)
        end_spy(e);
}
START_TEST(an_idle_stream_may_be_closed_in_its_callback)
{
    peer = spy_on_pair(&spy);
    spy.action = close_at_error;
    RLStreamSetIdleLimit(spy.stream, 0.01);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished); /* no timer is left */
    assert_seen(&spy, "!ETIMEDOUT");
    close(peer);
}
END_TEST

/* What the peer does during a callback that lasts longer than the limit, so that the activity is noticed only
 * afterwards. */
enum long_call { SENDS, SENDS_IN_A_NESTED_RUN, ENDS, READS, long_calls };
static const double short_limit = 0.02;
static enum long_call long_call;
static void last_too_long(struct spy *e, UNUSED const RLStreamEvent *event)
{
    e->action = NULL;
    if (long_call == SENDS || long_call == SENDS_IN_A_NESTED_RUN)
        send_text(peer, "y");
    if (long_call == ENDS)
        require(shutdown(peer, SHUT_WR) == 0);
    if (long_call == READS)
        drain(peer);
    double start = monotonic_seconds();
    while (monotonic_seconds() - start < 3 * short_limit)
        if (long_call == SENDS_IN_A_NESTED_RUN)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, short_limit / 2, 0);
}
START_TEST(a_long_callback_makes_no_peer_idle)
{
    static char bytes[1 << 20];
    static const char *const said[long_calls] = {"(x)(y)", "(x)(y)", "(x)E", "(x)"};
    peer = spy_on_pair(&spy);
    spy.action = last_too_long;
    long_call = (enum long_call)_i;
    if (long_call == READS)
        require(RLStreamWrite(spy.stream, bytes, sizeof bytes));
    send_text(peer, "x");
    RLStreamSetIdleLimit(spy.stream, short_limit);
    while (spy.length < strlen(said[long_call]))
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    size_t written = 0;
    while (long_call == READS && spy.result == 0 && (written = drain(peer)) == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, short_limit, 1);
    ck_assert_str_eq(strtok(spy.seen, "!"), said[long_call]); /* later the stream may have been idle */
    ck_assert_int_eq(written > 0, long_call == READS);
    end_spy(&spy);
    close(peer);
}
END_TEST

static void limit_negative(void) { RLStreamSetIdleLimit(spy.stream, -1); }
static void limit_nan(void) { RLStreamSetIdleLimit(spy.stream, NAN); }
START_TEST(misuse_of_the_idle_limit_is_reported)
{
    peer = spy_on_pair(&spy);
    assert_reports(limit_negative, "runloop: RLStreamSetIdleLimit: seconds: negative, or not a number");
    assert_reports(limit_nan, "runloop: RLStreamSetIdleLimit: seconds: negative, or not a number");
    end_spy(&spy);
    close(peer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream time");
    TCase *all = add_case(suite, "idle limit", 20);
    tcase_add_test(all, an_idle_stream_fails);
    tcase_add_test(all, a_stream_whose_peer_reads_nothing_is_idle);
    tcase_add_loop_test(all, bytes_postpone_the_idle_limit, 0, 2);
    tcase_add_test(all, the_idle_limit_can_be_lifted_and_changed);
    tcase_add_test(all, the_idle_limit_follows_the_stream_between_loops);
    tcase_add_test(all, the_idle_limit_outlives_the_thread_of_the_loop);
    tcase_add_test(all, the_idle_limit_applies_in_the_child_of_a_fork);
    tcase_add_test(all, an_idle_stream_may_be_closed_in_its_callback);
    tcase_add_loop_test(all, a_long_callback_makes_no_peer_idle, 0, long_calls);
    tcase_add_test(all, misuse_of_the_idle_limit_is_reported);
    return suite;
}
