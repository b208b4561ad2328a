/* RLStream: the idle limit. */
#include "stream.h"

#include <math.h>

static struct ear ear;
static int peer;

static void run_until_told(void)
{
    while (ear.said[0] == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
}

/* -- The idle limit ------------------------------------------------------------------------------------------------ */

START_TEST(an_idle_stream_fails)
{
    peer = listen_to_pair(&ear);
    double start = monotonic_seconds();
    RLStreamSetIdleLimit(ear.stream, 0.02);
    run_until_told();
    ck_assert_double_ge(monotonic_seconds() - start, 0.02);
    assert_said(&ear, "!ETIMEDOUT");
    ck_assert_int_eq(ear.result, kRLStreamFailed);
    ck_assert(!RLStreamWrite(ear.stream, "x", 1) && errno == ETIMEDOUT);
    say(peer, "too late");
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0);
    assert_said(&ear, ""); /* only once */
    end_ear(&ear);
    close(peer);
}
END_TEST

/* Queued data does not count as activity. Its flush callbacks are called with a failure. */
START_TEST(a_peer_that_reads_nothing)
{
    static char bytes[300000];
    peer = listen_to_pair(&ear);
    RLStreamSetIdleLimit(ear.stream, 0.02);
    ck_assert(RLStreamWrite(ear.stream, bytes, sizeof bytes) && RLStreamFlush(ear.stream, note_flush, "f"));
    run_until_told();
    assert_said(&ear, "!ETIMEDOUT");
    assert_flushed("f1");
    end_ear(&ear);
    close(peer);
}
END_TEST

/* The stream fails after the limit has passed since the last byte, and never earlier. */
START_TEST(bytes_put_it_off)
{
    const double limit = 0.05;
    peer = listen_to_pair(&ear);
    double start = monotonic_seconds(), latest = start;
    bool was_late = false; /* this thread was late, not the stream */
    RLStreamSetIdleLimit(ear.stream, limit);
    while (monotonic_seconds() - start < 4 * limit && ear.result == 0) {
        was_late |= monotonic_seconds() - latest >= limit;
        latest = monotonic_seconds();
        if (_i == 0)
            say(peer, "x");
        else
            RLStreamWrite(ear.stream, "x", 1);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, limit / 10, 1);
        drain(peer);
    }
    while (ear.result == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert(was_late || monotonic_seconds() - latest >= limit);
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(it_is_lifted_and_changed)
{
    peer = listen_to_pair(&ear);
    RLStreamSetIdleLimit(ear.stream, 0.01);
    RLStreamSetIdleLimit(ear.stream, 0);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0);
    assert_said(&ear, "");
    RLStreamSetIdleLimit(ear.stream, 1e9);
    RLStreamSetIdleLimit(ear.stream, HUGE_VAL);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    RLStreamSetIdleLimit(ear.stream, 0.01);
    run_until_told();
    assert_said(&ear, "!ETIMEDOUT");
    end_ear(&ear);
    close(peer);
}
END_TEST

/* The limit is set before the stream is in a loop; in a loop that does not run; and in a loop that it then leaves. */
START_TEST(it_goes_with_the_stream)
{
    struct lifetime life = {0};
    struct looper looper;
    looper_start(&looper);
    for (int round = 0; round < 3; round++) {
        int pair[2];
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        RLStreamContext context = {.info = &ear};
        ear.stream = RLStreamCreate(NULL, pair[0], 1, ear_hears, &context);
        RLStreamSetIdleLimit(ear.stream, 0.02);
        if (round > 0) {
            RLRunLoopAddSource(looper.loop, ear.stream, RLSTR("a mode that does not run"));
            if (round > 1)
                RLRunLoopRemoveSource(looper.loop, ear.stream, RLSTR("a mode that does not run"));
        }
        add(ear.stream);
        run_until_told();
        assert_said(&ear, "!ETIMEDOUT");
        end_ear(&ear);
        close(pair[1]);
    }
    looper_stop(&looper);
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

START_TEST(its_thread_ends)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    RLStreamContext context = {.info = &ear};
    ear.stream = RLStreamCreate(NULL, pair[0], 1, ear_hears, &context);
    RLStreamSetIdleLimit(ear.stream, 0.02);
    serve_elsewhere(&ear, 0);
    add(ear.stream);
    run_until_told();
    assert_said(&ear, "!ETIMEDOUT");
    end_ear(&ear);
    close(pair[1]);
}
END_TEST

static void time_passes_in_child(UNUSED void *info)
{
    run_until_told();
    require(strcmp(ear.said, "!ETIMEDOUT") == 0);
}
START_TEST(the_child_of_a_fork_has_it_too)
{
    peer = listen_to_pair(&ear);
    RLStreamSetIdleLimit(ear.stream, 0.02);
    ck_assert_int_eq(run_in_child(time_passes_in_child, NULL), 0);
    run_until_told();
    assert_said(&ear, "!ETIMEDOUT");
    end_ear(&ear);
    close(peer);
}
END_TEST

static void close_at_error(struct ear *e, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventErrorOccurred)
        end_ear(e);
}
START_TEST(it_is_closed_in_the_call)
{
    peer = listen_to_pair(&ear);
    ear.action = close_at_error;
    RLStreamSetIdleLimit(ear.stream, 0.01);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished); /* no timer is left */
    assert_said(&ear, "!ETIMEDOUT");
    close(peer);
}
END_TEST

/* What the peer does during a callback that lasts longer than the limit, so that the activity is noticed only
 * afterwards. */
enum deed { SENDS, SENDS_IN_A_NESTED_RUN, ENDS, READS, deeds };
static const double short_limit = 0.02;
static enum deed deed;
static void last_too_long(struct ear *e, UNUSED const RLStreamEvent *event)
{
    e->action = NULL;
    if (deed == SENDS || deed == SENDS_IN_A_NESTED_RUN)
        say(peer, "y");
    if (deed == ENDS)
        require(shutdown(peer, SHUT_WR) == 0);
    if (deed == READS)
        drain(peer);
    double start = monotonic_seconds();
    while (monotonic_seconds() - start < 3 * short_limit)
        if (deed == SENDS_IN_A_NESTED_RUN)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, short_limit / 2, 0);
}
START_TEST(a_call_that_lasts_long_makes_no_peer_idle)
{
    static char bytes[1 << 20];
    static const char *const said[deeds] = {"(x)(y)", "(x)(y)", "(x)E", "(x)"};
    peer = listen_to_pair(&ear);
    ear.action = last_too_long;
    deed = (enum deed)_i;
    if (deed == READS)
        require(RLStreamWrite(ear.stream, bytes, sizeof bytes));
    say(peer, "x");
    RLStreamSetIdleLimit(ear.stream, short_limit);
    while (ear.length < strlen(said[deed]))
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    size_t written = 0;
    while (deed == READS && ear.result == 0 && (written = drain(peer)) == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, short_limit, 1);
    ck_assert_str_eq(strtok(ear.said, "!"), said[deed]); /* later the stream may have been idle */
    ck_assert_int_eq(written > 0, deed == READS);
    end_ear(&ear);
    close(peer);
}
END_TEST

static void limit_negative(void) { RLStreamSetIdleLimit(ear.stream, -1); }
static void limit_nan(void) { RLStreamSetIdleLimit(ear.stream, NAN); }
START_TEST(mistakes_are_reported)
{
    peer = listen_to_pair(&ear);
    assert_reports(limit_negative, "runloop: RLStreamSetIdleLimit: seconds: negative, or not a number");
    assert_reports(limit_nan, "runloop: RLStreamSetIdleLimit: seconds: negative, or not a number");
    end_ear(&ear);
    close(peer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream time");
    TCase *all = add_case(suite, "idle limit", 20);
    tcase_add_test(all, an_idle_stream_fails);
    tcase_add_test(all, a_peer_that_reads_nothing);
    tcase_add_loop_test(all, bytes_put_it_off, 0, 2);
    tcase_add_test(all, it_is_lifted_and_changed);
    tcase_add_test(all, it_goes_with_the_stream);
    tcase_add_test(all, its_thread_ends);
    tcase_add_test(all, the_child_of_a_fork_has_it_too);
    tcase_add_test(all, it_is_closed_in_the_call);
    tcase_add_loop_test(all, a_call_that_lasts_long_makes_no_peer_idle, 0, deeds);
    tcase_add_test(all, mistakes_are_reported);
    return suite;
}
