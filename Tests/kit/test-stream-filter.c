/* RLStreamFilter: what stands between a stream and its descriptor. */
#include "stream-filter.h"

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

/* As STARTTLS: what comes behind the line that begins it is the filter's, and never the program's. */
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
    end_ear(&ear);
    close(peer);
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
    tcase_add_test(all, mistakes_are_reported);
    return suite;
}
