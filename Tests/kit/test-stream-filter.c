/* RLStreamFilter: the code between a stream and its descriptor. */
#include "stream-filter.h"

#include <sys/ioctl.h>

static struct ear ear;
static struct framer framer;

START_TEST(bytes_pass_through_it)
{
    int peer = listen_to_pair(&ear);
    ck_assert(set_framer(ear.stream, &framer));
    ck_assert_ptr_eq(RLStreamGetFilterInfo(ear.stream, framer_receive), &framer);
    ck_assert_ptr_null(RLStreamGetFilterInfo(ear.stream, framer_write));
    ck_assert(!set_framer(ear.stream, &framer) && errno == EALREADY);
    ck_assert_str_eq(take(peer), "HI");
    ck_assert(RLStreamWrite(ear.stream, "early", 5)); /* waits for the peer's greeting */
    ck_assert_int_eq(RLStreamGetQueuedLength(ear.stream), 5);
    ck_assert(RLStreamFlush(ear.stream, note_flush, "a"));
    run_passes();
    assert_flushed("");
    ck_assert_str_eq(take(peer), "");
    say(peer, "H");
    run_passes();
    assert_said(&ear, "");
    say(peer, "I\2\x9e\x9d"); /* ~a, ~b */
    run_passes();
    assert_said(&ear, "O(ab)");
    assert_flushed("a0");
    ck_assert_str_eq(take(peer), "\5\x9a\x9e\x8d\x93\x86");
    RLStreamAppend(ear.stream, "a", 1);
    RLStreamWrite(ear.stream, "b", 1);
    ck_assert_str_eq(take(peer), "\1\x9e\1\x9d");
    RLStreamAppend(ear.stream, "a", 1);
    ck_assert_str_eq(take(peer), "");
    RLStreamShutdown(ear.stream);
    char bytes[9];
    ck_assert_int_eq(read(peer, bytes, 9), 3);
    ck_assert(memcmp(bytes, "\1\x9e\0", 3) == 0);
    ck_assert_int_eq(read(peer, bytes, 9), 0);
    require(write(peer, "\1\x9e\0", 3) == 3);
    run_passes();
    assert_said(&ear, "(a)E");
    end_ear(&ear);
    ck_assert_int_eq(framer.releases, 1);
    close(peer);
}
END_TEST

START_TEST(it_fails)
{
    static const struct {
        const char *bytes, *said;
        RLStreamResult result;
    } cases[] = {{"HA", "!EPROTO", kRLStreamRefused},
                 {"HI\2\x9e", "O(a)!EPROTO", kRLStreamTruncated},
                 {"HI", "O!EPROTO", kRLStreamTruncated},
                 {"", "!EPROTO", kRLStreamTruncated}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        framer = (struct framer){0};
        int peer = listen_to_pair(&ear);
        require(set_framer(ear.stream, &framer));
        ck_assert_str_eq(take(peer), "HI");
        RLStreamWrite(ear.stream, "x", 1);
        RLStreamFlush(ear.stream, note_flush, "a");
        say(peer, cases[i].bytes);
        shutdown(peer, SHUT_WR);
        run_passes();
        assert_said(&ear, cases[i].said);
        ck_assert_int_eq(ear.result, cases[i].result);
        if (cases[i].said[0] == 'O') {
            assert_flushed("a0");
            ck_assert_str_eq(take(peer), "\1\x87");
        } else {
            ck_assert_int_eq(flushed[0], 'a');
            ck_assert_int_ne(flushed[1], '0');
            flushed[0] = 0;
        }
        ck_assert(!RLStreamWrite(ear.stream, "x", 1) && errno == EPROTO);
        end_ear(&ear);
        ck_assert_int_eq(framer.releases, 1);
        close(peer);
    }
}
END_TEST

/* As with STARTTLS: whatever follows the line that starts the filter goes to the filter, and never to the program. */
static void begin_filter(struct ear *e, const RLStreamEvent *event)
{
    if (event->length == 6 && memcmp(event->bytes, "start\n", 6) == 0) {
        RLStreamSetReadCount(e->stream, 0);
        require(set_framer(e->stream, &framer));
    }
}
START_TEST(it_begins_in_the_middle)
{
    for (int whole = 0; whole < 2; whole++) {
        framer = (struct framer){0};
        int peer = listen_to_pair(&ear);
        RLStreamSetReadDelimiter(ear.stream, "\n", 1, 100);
        ear.action = begin_filter;
        if (!whole)
            say(peer, "hel");
        run_passes();
        say(peer, whole ? "hello\nstart\nHI\1\x9e" : "lo\nstart\nHI\1\x9e");
        run_passes();
        assert_said(&ear, "(hello\n)(start\n)O(a)");
        end_ear(&ear);
        close(peer);
    }
}
END_TEST

START_TEST(a_paused_stream_keeps_its_bytes_for_the_filter)
{
    int peer = listen_to_pair(&ear);
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 100);
    say(peer, "HI\1\x9e");
    run_passes();
    assert_said(&ear, "");
    RLStreamSetReadCount(ear.stream, 1);
    RLStreamPauseReading(ear.stream);
    require(set_framer(ear.stream, &framer));
    run_passes();
    assert_said(&ear, "O");
    RLStreamResumeReading(ear.stream);
    run_passes();
    assert_said(&ear, "(a)");
    RLStreamPauseReading(ear.stream);
    RLStreamSetIdleLimit(ear.stream, 0.01);
    while (ear.said[0] == 0) /* no data precedes the error */
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    assert_said(&ear, "!ETIMEDOUT");
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(it_holds_writes_back)
{
    char bytes[9];
    int unread, peer = listen_to_pair(&ear);
    require(set_framer(ear.stream, &framer));
    RLStreamFilterHoldWrites(ear.stream, 1); /* no effect: the stream is not open */
    say(peer, "HI");
    run_passes();
    assert_said(&ear, "O");
    ck_assert_str_eq(take(peer), "HI");
    RLStreamFilterHoldWrites(ear.stream, 1);
    RLStreamWrite(ear.stream, "a", 1);
    RLStreamAppend(ear.stream, "b", 1);
    RLStreamFlush(ear.stream, note_flush, "a");
    RLStreamShutdown(ear.stream);
    RLStreamPauseReading(ear.stream);
    say(peer, "\1\x9e");
    run_passes();
    ck_assert_int_eq(ioctl(RLStreamGetNativeDescriptor(ear.stream), FIONREAD, &unread), 0);
    ck_assert_int_eq(unread, 0); /* the filter has read it */
    assert_said(&ear, "");
    assert_flushed("");
    ck_assert_int_eq(RLStreamGetQueuedLength(ear.stream), 2);
    ck_assert(read(peer, bytes, 9) == -1 && errno == EAGAIN);
    RLStreamFilterHoldWrites(ear.stream, 0);
    RLStreamFilterHoldWrites(ear.stream, 1); /* no effect: everything has been handed over for writing */
    run_passes();
    ck_assert_int_eq(read(peer, bytes, 9), 4);
    ck_assert(memcmp(bytes, "\2\x9e\x9d\0", 4) == 0);
    ck_assert_int_eq(read(peer, bytes, 9), 0);
    assert_flushed("a0");
    RLStreamResumeReading(ear.stream);
    run_passes();
    assert_said(&ear, "(a)");
    end_ear(&ear);
    close(peer);
}
END_TEST

/* The beginning of the peer's greeting was searched for a delimiter before the filter was set. Delivered data is
 * searched anew. */
START_TEST(lines_begin_anew_with_it)
{
    int peer = listen_to_pair(&ear);
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 100);
    say(peer, "H");
    run_passes();
    require(set_framer(ear.stream, &framer));
    say(peer, "I\3\xf5\x9d\xf5");
    run_passes();
    assert_said(&ear, "O(\n)(b\n)");
    end_ear(&ear);
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
    int peer = listen_to_pair(&ear);
    RLStreamFilter filter = {0, size, NULL, open_at_once, answer, pass_on, say_nothing};
    require(RLStreamSetFilter(ear.stream, &filter));
    return peer;
}

/* A peer that reads less than it requests makes the queue no longer than 64 KiB plus the answers to one read. */
START_TEST(a_slow_reader_is_read_slowly)
{
    int peer = listen_and_answer(NULL);
    small_buffers(RLStreamGetNativeDescriptor(ear.stream));
    size_t sent = 0;
    for (int round = 0; round < 200; round++) {
        ssize_t count = write(peer, zeros, 16384);
        sent += count > 0 ? (size_t)count : 0;
        run_passes();
        char bytes[2048];
        require(read(peer, bytes, sizeof bytes) > 0);
        ck_assert_int_le(RLStreamGetQueuedLength(ear.stream), 2 * 65536);
    }
    ck_assert_uint_gt(sent, 2 * 65536);
    ck_assert_uint_lt(received, sent);
    do
        run_passes();
    while (drain(peer) > 0);
    ck_assert_uint_eq(received, sent);
    end_ear(&ear);
    close(peer);
}
END_TEST

/* The peer reads everything, and there are many more answers than may be queued at the same time. */
START_TEST(a_queue_that_is_never_empty_stops_no_reading)
{
    size_t size = 1000;
    int peer = listen_and_answer(&size);
    for (int round = 0; round < 300; round++) {
        while (RLStreamGetQueuedLength(ear.stream) < (RLIndex)sizeof zeros)
            require(RLStreamWrite(ear.stream, zeros, sizeof zeros));
        say(peer, "?");
        run_passes();
        drain(peer);
    }
    run_passes();
    ck_assert_uint_eq(received, 300);
    end_ear(&ear);
    close(peer);
}
END_TEST

/* Each peer only continues to read if the data written by the other one does not count as answers. */
START_TEST(what_the_program_has_written_is_no_answer)
{
    static struct ear other;
    static struct framer others;
    int peer = listen_to_pair(&ear);
    listen_to(&other, peer);
    require(set_framer(ear.stream, &framer) && set_framer(other.stream, &others));
    for (int i = 0; i < 2; i++)
        require(RLStreamWrite(ear.stream, zeros, sizeof zeros) && RLStreamWrite(other.stream, zeros, sizeof zeros));
    run_passes();
    ck_assert_uint_eq(ear.bytes, 2 * sizeof zeros);
    ck_assert_uint_eq(other.bytes, 2 * sizeof zeros);
    end_ear(&ear);
    end_ear(&other);
}
END_TEST

static void set_null(void) { ck_assert(!RLStreamSetFilter(ear.stream, NULL)); }
static void set_empty(void) { ck_assert(!RLStreamSetFilter(ear.stream, &(RLStreamFilter){.info = NULL})); }
static void set_version(void) { ck_assert(!RLStreamSetFilter(ear.stream, &(RLStreamFilter){.version = 1})); }
static void fail_without_reason(void) { RLStreamFilterFail(ear.stream, kRLStreamSuccess, 0); }

START_TEST(mistakes_are_reported)
{
    int peer = listen_to_pair(&ear);
    assert_reports(set_null, "runloop: RLStreamSetFilter: filter: expected a filter, got NULL");
    assert_reports(set_empty, "runloop: RLStreamSetFilter: filter: a function is NULL");
    assert_reports(set_version, "runloop: RLStreamSetFilter: filter: version must be 0");
    assert_reports(fail_without_reason, "runloop: RLStreamFilterFail: result: is kRLStreamSuccess");
    RLStreamClose(ear.stream);
    ck_assert(!set_framer(ear.stream, &framer) && errno == EBADF);
    ck_assert_int_eq(framer.releases, 0);
    end_ear(&ear);
    close(peer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream filter");
    TCase *all = add_case(suite, "stream filter", 20);
    tcase_add_test(all, bytes_pass_through_it);
    tcase_add_test(all, it_fails);
    tcase_add_test(all, it_begins_in_the_middle);
    tcase_add_test(all, a_paused_stream_keeps_its_bytes_for_the_filter);
    tcase_add_test(all, it_holds_writes_back);
    tcase_add_test(all, lines_begin_anew_with_it);
    tcase_add_test(all, a_slow_reader_is_read_slowly);
    tcase_add_test(all, a_queue_that_is_never_empty_stops_no_reading);
    tcase_add_test(all, what_the_program_has_written_is_no_answer);
    tcase_add_test(all, mistakes_are_reported);
    return suite;
}
