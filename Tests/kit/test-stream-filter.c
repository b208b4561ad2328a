/* RLStreamFilter: the code between a stream and its descriptor. */
#include "stream-filter.h"

#include <sys/ioctl.h>

static struct spy spy;
static struct framer framer;

START_TEST(bytes_pass_through_a_filter)
{
    int peer = spy_on_pair(&spy);
    ck_assert(set_framer(spy.stream, &framer));
    ck_assert_ptr_eq(RLStreamGetFilterInfo(spy.stream, framer_receive), &framer);
    ck_assert_ptr_null(RLStreamGetFilterInfo(spy.stream, framer_write));
    ck_assert(!set_framer(spy.stream, &framer) && errno == EALREADY);
    ck_assert_str_eq(take(peer), "HI");
    ck_assert(RLStreamWrite(spy.stream, "early", 5)); /* waits for the peer's greeting */
    ck_assert_int_eq(RLStreamGetQueuedLength(spy.stream), 5);
    ck_assert(RLStreamFlush(spy.stream, note_flush, "a"));
    run_passes();
    assert_flushed("");
    ck_assert_str_eq(take(peer), "");
    send_text(peer, "H");
    run_passes();
    assert_seen(&spy, "");
    send_text(peer, "I\2\x9e\x9d"); /* ~a, ~b */
    run_passes();
    assert_seen(&spy, "O(ab)");
    assert_flushed("a0");
    ck_assert_str_eq(take(peer), "\5\x9a\x9e\x8d\x93\x86");
    RLStreamAppend(spy.stream, "a", 1);
    RLStreamWrite(spy.stream, "b", 1);
    ck_assert_str_eq(take(peer), "\1\x9e\1\x9d");
    RLStreamAppend(spy.stream, "a", 1);
    ck_assert_str_eq(take(peer), "");
    RLStreamShutdown(spy.stream);
    char bytes[9];
    ck_assert_int_eq(read(peer, bytes, 9), 3);
    ck_assert(memcmp(bytes, "\1\x9e\0", 3) == 0);
    ck_assert_int_eq(read(peer, bytes, 9), 0);
    require(write(peer, "\1\x9e\0", 3) == 3);
    run_passes();
    assert_seen(&spy, "(a)E");
    end_spy(&spy);
    ck_assert_int_eq(framer.releases, 1);
    close(peer);
}
END_TEST

START_TEST(a_failing_filter_reports_why)
{
    static const struct {
        const char *bytes, *seen;
        RLStreamResult result;
    } cases[] = {{"HA", "!EPROTO", kRLStreamRefused},
                 {"HI\2\x9e", "O(a)!EPROTO", kRLStreamTruncated},
                 {"HI", "O!EPROTO", kRLStreamTruncated},
                 {"", "!EPROTO", kRLStreamTruncated}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        framer = (struct framer){0};
        int peer = spy_on_pair(&spy);
        require(set_framer(spy.stream, &framer));
        ck_assert_str_eq(take(peer), "HI");
        RLStreamWrite(spy.stream, "x", 1);
        RLStreamFlush(spy.stream, note_flush, "a");
        send_text(peer, cases[i].bytes);
        shutdown(peer, SHUT_WR);
        run_passes();
        assert_seen(&spy, cases[i].seen);
        ck_assert_int_eq(spy.result, cases[i].result);
        if (cases[i].seen[0] == 'O') {
            assert_flushed("a0");
            ck_assert_str_eq(take(peer), "\1\x87");
        } else {
            ck_assert_int_eq(flushed[0], 'a');
            ck_assert_int_ne(flushed[1], '0');
            flushed[0] = 0;
        }
        ck_assert(!RLStreamWrite(spy.stream, "x", 1) && errno == EPROTO);
        end_spy(&spy);
        ck_assert_int_eq(framer.releases, 1);
        close(peer);
    }
}
END_TEST

/* As with STARTTLS: whatever follows the line that starts the filter goes to the filter, and never to the program. */
static void begin_filter(struct spy *e, const RLStreamEvent *event)
{
    if (event->length == 6 && memcmp(event->bytes, "start\n", 6) == 0) {
        RLStreamSetReadCount(e->stream, 0);
        require(set_framer(e->stream, &framer));
    }
}
START_TEST(a_filter_may_begin_in_the_middle_of_a_stream)
{
    for (int whole = 0; whole < 2; whole++) {
        framer = (struct framer){0};
        int peer = spy_on_pair(&spy);
        RLStreamSetReadDelimiter(spy.stream, "\n", 1, 100);
        spy.action = begin_filter;
        if (!whole)
            send_text(peer, "hel");
        run_passes();
        send_text(peer, whole ? "hello\nstart\nHI\1\x9e" : "lo\nstart\nHI\1\x9e");
        run_passes();
        assert_seen(&spy, "(hello\n)(start\n)O(a)");
        end_spy(&spy);
        close(peer);
    }
}
END_TEST

START_TEST(a_paused_stream_keeps_its_bytes_for_the_filter)
{
    int peer = spy_on_pair(&spy);
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 100);
    send_text(peer, "HI\1\x9e");
    run_passes();
    assert_seen(&spy, "");
    RLStreamSetReadCount(spy.stream, 1);
    RLStreamPauseReading(spy.stream);
    require(set_framer(spy.stream, &framer));
    run_passes();
    assert_seen(&spy, "O");
    RLStreamResumeReading(spy.stream);
    run_passes();
    assert_seen(&spy, "(a)");
    RLStreamPauseReading(spy.stream);
    RLStreamSetIdleLimit(spy.stream, 0.01);
    while (spy.seen[0] == 0) /* no data precedes the error */
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    assert_seen(&spy, "!ETIMEDOUT");
    end_spy(&spy);
    close(peer);
}
END_TEST

static void pause_it(struct spy *spy, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventHasBytesAvailable)
        RLStreamPauseReading(spy->stream);
}

/* Unlike a failure of the filter, that of the stream does not wait until the program has received what arrived before. */
START_TEST(a_paused_stream_reports_that_it_is_idle_or_too_slow)
{
    for (int is_slow = 0; is_slow < 2; is_slow++) {
        framer = (struct framer){0};
        spy = (struct spy){.action = pause_it};
        int peer = spy_on_pair(&spy);
        ck_assert(set_framer(spy.stream, &framer));
        RLStreamSetReadCount(spy.stream, 1);
        send_text(peer, "HI\2\x9e\x9d");
        run_passes();
        assert_seen(&spy, "O(a)");
        if (is_slow) {
            RLStreamGroupRef group = RLStreamGroupCreate(NULL);
            RLStreamGroupAdd(group, spy.stream);
            RLStreamSetHighWaterMark(spy.stream, 1);
            RLStreamAppend(spy.stream, "x", 1);
            ck_assert_int_eq(RLStreamGroupWrite(group, "y", 1, NULL), 0);
            RLRelease(group);
        } else {
            RLStreamSetIdleLimit(spy.stream, 0.001);
        }
        while (spy.length == 0)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
        assert_seen(&spy, is_slow ? "!ENOBUFS" : "!ETIMEDOUT");
        RLStreamResumeReading(spy.stream);
        run_passes();
        assert_seen(&spy, "(b)");
        end_spy(&spy);
        close(peer);
    }
}
END_TEST

START_TEST(a_filter_can_hold_writes_back)
{
    char bytes[9];
    int unread, peer = spy_on_pair(&spy);
    require(set_framer(spy.stream, &framer));
    RLStreamFilterHoldWrites(spy.stream, 1); /* no effect: the stream is not open */
    send_text(peer, "HI");
    run_passes();
    assert_seen(&spy, "O");
    ck_assert_str_eq(take(peer), "HI");
    RLStreamFilterHoldWrites(spy.stream, 1);
    RLStreamWrite(spy.stream, "a", 1);
    RLStreamAppend(spy.stream, "b", 1);
    RLStreamFlush(spy.stream, note_flush, "a");
    RLStreamShutdown(spy.stream);
    RLStreamPauseReading(spy.stream);
    send_text(peer, "\1\x9e");
    run_passes();
    ck_assert_int_eq(ioctl(RLStreamGetNativeDescriptor(spy.stream), FIONREAD, &unread), 0);
    ck_assert_int_eq(unread, 0); /* the filter has read it */
    assert_seen(&spy, "");
    assert_flushed("");
    ck_assert_int_eq(RLStreamGetQueuedLength(spy.stream), 2);
    ck_assert(read(peer, bytes, 9) == -1 && errno == EAGAIN);
    RLStreamFilterHoldWrites(spy.stream, 0);
    RLStreamFilterHoldWrites(spy.stream, 1); /* no effect: everything has been handed over for writing */
    run_passes();
    ck_assert_int_eq(read(peer, bytes, 9), 4);
    ck_assert(memcmp(bytes, "\2\x9e\x9d\0", 4) == 0);
    ck_assert_int_eq(read(peer, bytes, 9), 0);
    assert_flushed("a0");
    RLStreamResumeReading(spy.stream);
    run_passes();
    assert_seen(&spy, "(a)");
    end_spy(&spy);
    close(peer);
}
END_TEST

/* The beginning of the peer's greeting was searched for a delimiter before the filter was set. Delivered data is
 * searched anew. */
START_TEST(the_search_for_lines_starts_over_with_a_filter)
{
    int peer = spy_on_pair(&spy);
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 100);
    send_text(peer, "H");
    run_passes();
    require(set_framer(spy.stream, &framer));
    send_text(peer, "I\3\xf5\x9d\xf5");
    run_passes();
    assert_seen(&spy, "O(\n)(b\n)");
    end_spy(&spy);
    close(peer);
}
END_TEST

/* -- Answers: data that a filter sends in response to received data
 * ------------------------------------------------------ */

static const char zeros[262144];
static size_t received;

static void open_at_once(RLStreamRef stream, UNUSED void *info) { RLStreamFilterOpen(stream); }
static void answer(RLStreamRef stream, UNUSED const uint8_t *bytes, RLIndex length, void *info)
{
    size_t size = info ? *(size_t *)info : (size_t)length;
    require(size <= sizeof zeros && RLStreamFilterSend(stream, (const uint8_t *)zeros, (RLIndex)size));
    received += (size_t)length;
}
static void pass_on(RLStreamRef stream, const uint8_t *bytes, RLIndex length, UNUSED void *info)
{
    RLStreamFilterSend(stream, bytes, length);
}
static void say_nothing(UNUSED RLStreamRef stream, UNUSED void *info) {}
static int listen_and_answer(size_t *size)
{
    int peer = spy_on_pair(&spy);
    RLStreamFilter filter = {0, size, NULL, open_at_once, answer, pass_on, say_nothing};
    require(RLStreamSetFilter(spy.stream, &filter));
    return peer;
}

/* A peer that reads less than it requests makes the queue no longer than 64 KiB plus the answers to one read. */
START_TEST(a_peer_that_reads_slowly_is_read_slowly)
{
    int peer = listen_and_answer(NULL);
    small_buffers(RLStreamGetNativeDescriptor(spy.stream));
    size_t sent = 0;
    for (int round = 0; round < 200; round++) {
        ssize_t count = write(peer, zeros, 16384);
        sent += count > 0 ? (size_t)count : 0;
        run_passes();
        char bytes[2048];
        require(read(peer, bytes, sizeof bytes) > 0);
        ck_assert_int_le(RLStreamGetQueuedLength(spy.stream), 2 * 65536);
    }
    ck_assert_uint_gt(sent, 2 * 65536);
    ck_assert_uint_lt(received, sent);
    do
        run_passes();
    while (drain(peer) > 0);
    ck_assert_uint_eq(received, sent);
    end_spy(&spy);
    close(peer);
}
END_TEST

/* The peer reads everything, and there are many more answers than may be queued at the same time. */
START_TEST(a_queue_that_is_never_empty_does_not_stop_reading)
{
    size_t size = 1000;
    int peer = listen_and_answer(&size);
    for (int round = 0; round < 300; round++) {
        while (RLStreamGetQueuedLength(spy.stream) < (RLIndex)sizeof zeros)
            require(RLStreamWrite(spy.stream, zeros, sizeof zeros));
        send_text(peer, "?");
        run_passes();
        drain(peer);
    }
    run_passes();
    ck_assert_uint_eq(received, 300);
    end_spy(&spy);
    close(peer);
}
END_TEST

/* Each peer only continues to read if the data written by the other one does not count as answers. */
START_TEST(the_programs_writes_do_not_count_as_a_filters_answers)
{
    static struct spy other;
    static struct framer others;
    int peer = spy_on_pair(&spy);
    spy_on(&other, peer);
    require(set_framer(spy.stream, &framer) && set_framer(other.stream, &others));
    for (int i = 0; i < 2; i++)
        require(RLStreamWrite(spy.stream, zeros, sizeof zeros) && RLStreamWrite(other.stream, zeros, sizeof zeros));
    run_passes();
    ck_assert_uint_eq(spy.bytes, 2 * sizeof zeros);
    ck_assert_uint_eq(other.bytes, 2 * sizeof zeros);
    end_spy(&spy);
    end_spy(&other);
}
END_TEST

static void set_null(void) { ck_assert(!RLStreamSetFilter(spy.stream, NULL)); }
static void set_empty(void) { ck_assert(!RLStreamSetFilter(spy.stream, &(RLStreamFilter){.info = NULL})); }
static void set_version(void) { ck_assert(!RLStreamSetFilter(spy.stream, &(RLStreamFilter){.version = 1})); }
static void fail_without_reason(void) { RLStreamFilterFail(spy.stream, kRLStreamSuccess, 0); }

START_TEST(misuse_of_filters_is_reported)
{
    int peer = spy_on_pair(&spy);
    assert_reports(set_null, "runloop: RLStreamSetFilter: filter: expected a filter, got NULL");
    assert_reports(set_empty, "runloop: RLStreamSetFilter: filter: a function is NULL");
    assert_reports(set_version, "runloop: RLStreamSetFilter: filter: version must be 0");
    assert_reports(fail_without_reason, "runloop: RLStreamFilterFail: result: is kRLStreamSuccess");
    RLStreamClose(spy.stream);
    ck_assert(!set_framer(spy.stream, &framer) && errno == EBADF);
    ck_assert_int_eq(framer.releases, 0);
    end_spy(&spy);
    close(peer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream filter");
    TCase *all = add_case(suite, "stream filter", 20);
    tcase_add_test(all, bytes_pass_through_a_filter);
    tcase_add_test(all, a_failing_filter_reports_why);
    tcase_add_test(all, a_filter_may_begin_in_the_middle_of_a_stream);
    tcase_add_test(all, a_paused_stream_keeps_its_bytes_for_the_filter);
    tcase_add_test(all, a_paused_stream_reports_that_it_is_idle_or_too_slow);
    tcase_add_test(all, a_filter_can_hold_writes_back);
    tcase_add_test(all, the_search_for_lines_starts_over_with_a_filter);
    tcase_add_test(all, a_peer_that_reads_slowly_is_read_slowly);
    tcase_add_test(all, a_queue_that_is_never_empty_does_not_stop_reading);
    tcase_add_test(all, the_programs_writes_do_not_count_as_a_filters_answers);
    tcase_add_test(all, misuse_of_filters_is_reported);
    return suite;
}
