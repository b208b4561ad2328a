/* RLStreamForwardBoth: what ends both streams, what is written before, and streams without a callback. */
#include "stream-forward.h"

static struct lifetime life;
static RLStreamContext silent = {0, &life, lifetime_retain, lifetime_release, NULL};

static bool is_open(struct spy *spy) { return RLRunLoopSourceIsValid(spy->stream); }
/* Asserts that both are closed, and that only the program holds references to them. */
static void assert_both_closed(void)
{
    ck_assert(!is_open(&a) && !is_open(&b));
    ck_assert_int_eq(RLGetRetainCount(a.stream), 1);
    ck_assert_int_eq(RLGetRetainCount(b.stream), 1);
}

START_TEST(the_end_of_both_directions_closes_both_streams)
{
    for (int first = 0; first < 2; first++) {
        make_two();
        int ends[] = {first ? peer_of_b : peer_of_a, first ? peer_of_a : peer_of_b};
        struct spy *spies[] = {first ? &b : &a, first ? &a : &b};
        ck_assert(RLStreamForwardBoth(a.stream, b.stream));
        send_text(ends[0], "to the other");
        send_text(ends[1], "and back");
        run_passes();
        ck_assert_str_eq(take(ends[1]), "to the other");
        ck_assert_str_eq(take(ends[0]), "and back");
        shutdown(ends[0], SHUT_WR);
        run_passes();
        ck_assert(has_ended(ends[1]) && is_open(&a) && is_open(&b));
        assert_seen(spies[0], "E");
        send_text(ends[1], "a last word");
        shutdown(ends[1], SHUT_WR);
        run_passes();
        ck_assert_str_eq(take(ends[0]), "a last word");
        ck_assert(has_ended(ends[0]));
        assert_seen(spies[0], "");
        assert_seen(spies[1], "E");
        assert_both_closed();
        end_two();
    }
}
END_TEST

/* Both peers have ended, and data that the relay has queued for one of them is written before it closes. */
START_TEST(queued_bytes_are_written_before_both_streams_close)
{
    enum { all = 1000000 };
    make_two();
    small_buffers(RLStreamGetNativeDescriptor(b.stream));
    ck_assert(RLStreamForwardBoth(a.stream, b.stream));
    shutdown(peer_of_b, SHUT_WR);
    size_t sent = 0, received = 0;
    while (received < all) {
        if (sent < all && (sent = send_pattern(peer_of_a, sent, all)) == all)
            shutdown(peer_of_a, SHUT_WR);
        run_passes();
        received = check_pattern(peer_of_b, received, 5000);
    }
    run_passes();
    ck_assert(has_ended(peer_of_a) && has_ended(peer_of_b));
    assert_both_closed();
    end_two();
}
END_TEST

/* The stream is kept by the loop alone, and has no callback. */
START_TEST(an_echo_needs_no_callback)
{
    enum { all = 500000 };
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    small_buffers(ends[0]);
    RLStreamRef echo = RLScheduleSource(RLStreamCreate(NULL, ends[0], 1, NULL, &silent));
    ck_assert(RLStreamForwardBoth(echo, echo));
    ck_assert_int_eq(lifetime_held(&life), 1);
    for (size_t sent = 0, received = 0; received < all;) {
        if (sent < all && (sent = send_pattern(ends[1], sent, all)) == all)
            shutdown(ends[1], SHUT_WR);
        run_passes();
        received = check_pattern(ends[1], received, 5000);
    }
    run_passes();
    ck_assert(has_ended(ends[1]));
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
    close(ends[1]);
}
END_TEST

START_TEST(a_stream_without_a_callback_reads_only_while_it_is_forwarded)
{
    make_two();
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    RLStreamRef stream = RLScheduleSource(RLStreamCreate(NULL, ends[0], 1, NULL, &silent));
    send_text(ends[1], "one");
    run_passes();
    for (int round = 0; round < 2; round++) {
        require(recv(ends[0], (char[4]){0}, 3, MSG_PEEK) == 3); /* it has not been read */
        ck_assert(RLStreamForward(stream, b.stream));
        run_passes();
        ck_assert_str_eq(take(peer_of_b), round ? "two" : "one");
        ck_assert(RLStreamForward(stream, NULL));
        send_text(ends[1], "two");
        run_passes();
    }
    RLStreamClose(b.stream); /* data that the target refuses is dropped */
    ck_assert(!RLStreamForward(stream, b.stream) && errno == EBADF);
    ck_assert(RLStreamForward(stream, a.stream));
    RLStreamShutdown(a.stream);
    run_passes();
    send_text(ends[1], "three");
    run_passes();
    require(recv(ends[0], (char[8]){0}, 8, MSG_PEEK) == 5);
    end_two();
    make_two();
    ck_assert(RLStreamForward(stream, a.stream));
    close(ends[1]);
    run_passes();
    ck_assert_str_eq(take(peer_of_a), "three");
    ck_assert(has_ended(peer_of_a)); /* afterwards it cannot be forwarded */
    ck_assert(!RLStreamForward(stream, b.stream) && errno == EBADF);
    RLStreamClose(stream);
    ck_assert_int_eq(lifetime_held(&life), 0);
    end_two();
}
END_TEST

/* -- One stream fails, or is closed -- */

static void set_limit(void) { RLStreamSetIdleLimit(b.stream, 0.01); }
static void close_b(void) { RLStreamClose(b.stream); }
static void invalidate_b(void) { RLRunLoopSourceInvalidate(b.stream); }
static void close_b_later(void) { RLStreamCloseWhenWritten(b.stream); }
static void reset_b(void)
{
    require(RLStreamWrite(b.stream, "unread", 6));
    run_passes();
    close(peer_of_b);
    peer_of_b = -1;
}
/* The peer of b has already ended, so that reading does not report the failure. */
static void fail_b_in_writing(void)
{
    shutdown(peer_of_b, SHUT_WR);
    run_passes();
    close(peer_of_b);
    peer_of_b = -1;
    send_text(peer_of_a, "to nobody");
}

START_TEST(the_end_of_one_stream_ends_its_partner)
{
    static const struct {
        void (*end)(void);
        const char *seen;
    } cases[] = {{set_limit, "!ETIMEDOUT"}, {close_b, ""},
                 {invalidate_b, ""},        {close_b_later, ""},
                 {reset_b, "!ECONNRESET"},  {fail_b_in_writing, "E!EPIPE"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_two();
        small_buffers(RLStreamGetNativeDescriptor(a.stream));
        ck_assert(RLStreamForwardBoth(a.stream, b.stream));
        static char text[200000];
        require(RLStreamWrite(a.stream, text, sizeof text)); /* is written whatever happens to b */
        cases[i].end();
        size_t received = 0;
        while (is_open(&a)) {
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 1);
            received += drain(peer_of_a);
        }
        received += drain(peer_of_a);
        ck_assert_int_eq(received, sizeof text);
        ck_assert(has_ended(peer_of_a));
        assert_seen(&b, cases[i].seen);
        assert_both_closed();
        end_spy(&a);
        end_spy(&b);
        close(peer_of_a);
        if (peer_of_b >= 0)
            close(peer_of_b);
    }
}
END_TEST

static RLStreamRef connect_to_nothing(void)
{
    RLStreamRef stream = RLStreamCreateConnectedToHost(NULL, "127.0.0.1", "1", NULL, 1000, NULL, &silent);
    return RLScheduleSource((RLStreamRef)RLRetain(stream));
}
START_TEST(a_failed_connection_ends_its_partner)
{
    make_two();
    RLStreamRef stream = connect_to_nothing();
    while (RLStreamWrite(stream, "x", 1))
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert(!RLStreamForward(stream, a.stream) && errno == EBADF); /* there is nothing to read, and never will be */
    drop_source(stream);
    stream = connect_to_nothing();
    ck_assert(RLStreamForwardBoth(a.stream, stream));
    send_text(peer_of_a, "is anybody there?");
    while (is_open(&a))
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    drop_source(stream);
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert(has_ended(peer_of_a) || errno == ECONNRESET);
    end_two();
}
END_TEST

START_TEST(partners_forward_through_filters)
{
    static struct framer of_a, of_b;
    make_two();
    ck_assert(set_framer(a.stream, &of_a) && set_framer(b.stream, &of_b));
    ck_assert(RLStreamForwardBoth(a.stream, b.stream));
    require(write(peer_of_a, "HI\1\x9c\0", 5) == 5); /* ~c, the end */
    send_text(peer_of_b, "HI");
    run_passes();
    ck_assert_int_eq(read(peer_of_b, (char[9]){0}, 9), 5);
    ck_assert(is_open(&a) && is_open(&b));
    require(write(peer_of_b, "\0", 1) == 1);
    run_passes();
    assert_seen(&a, "OE");
    assert_seen(&b, "OE");
    assert_both_closed();
    ck_assert(of_a.releases == 1 && of_b.releases == 1);
    end_two();
}
END_TEST

/* -- In callbacks, and by threads -- */

static struct spy *ended;
static int ending;
static void end_it(UNUSED struct spy *spy, UNUSED const RLStreamEvent *event)
{
    RLStreamRef stream = ended->stream;
    if (stream == NULL)
        return;
    ended->stream = NULL;
    if (ending == 1)
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
    else if (ending == 2)
        RLStreamForward(stream, NULL);
    if (ending == 0 || ending == 2)
        RLStreamClose(stream);
    RLRelease(stream);
}
START_TEST(either_partner_may_end_in_any_callback)
{
    for (int i = 0; i < 4 * 2 * 3; i++) {
        make_two();
        RLStreamRef streams[] = {a.stream, b.stream};
        RLRetain(a.stream), RLRetain(b.stream);
        ck_assert(RLStreamForwardBoth(a.stream, b.stream));
        a.action = b.action = end_it;
        ended = i % 2 ? &a : &b;
        ending = i / 2 % 4;
        if (i / 8 == 0) {
            shutdown(peer_of_a, SHUT_WR); /* in the callback for the first end */
        } else if (i / 8 == 1) {
            a.action = NULL; /* in the callback for the second end */
            shutdown(peer_of_a, SHUT_WR);
            run_passes();
            shutdown(peer_of_b, SHUT_WR);
        } else {
            require(RLStreamWrite(a.stream, "unread", 6)); /* in the callback for an error */
            close(peer_of_a);
            peer_of_a = -1;
        }
        run_passes();
        ck_assert_ptr_null(ended->stream);
        for (int which = 0; which < 2; which++)
            RLStreamClose(streams[which]);
        run_passes();
        for (int which = 0; which < 2; which++) {
            ck_assert(!RLRunLoopSourceIsValid(streams[which]));
            ck_assert_int_eq(RLGetRetainCount(streams[which]), (which ? b : a).stream != NULL ? 2 : 1);
            RLRelease(streams[which]);
        }
        RLRelease((ended == &a ? b : a).stream);
        if (peer_of_a >= 0)
            close(peer_of_a);
        close(peer_of_b);
    }
}
END_TEST

static atomic_int go;
static void *close_it(void *stream)
{
    while (!go) {}
    RLStreamClose(stream);
    return NULL;
}
START_TEST(two_threads_may_close_both_partners_at_once)
{
    for (int i = 0; i < 100; i++) {
        make_two();
        ck_assert(RLStreamForwardBoth(a.stream, b.stream));
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), b.stream, kRLRunLoopDefaultMode);
        struct looper other;
        looper_start(&other);
        RLRunLoopAddSource(other.loop, b.stream, kRLRunLoopDefaultMode);
        go = 0;
        pthread_t thread = start_thread(close_it, b.stream);
        send_text(peer_of_a, "x");
        shutdown(i % 2 ? peer_of_a : peer_of_b, SHUT_WR);
        go = 1;
        run_passes();
        RLStreamClose(a.stream);
        join_thread(thread);
        looper_stop(&other);
        assert_both_closed();
        end_two();
    }
}
END_TEST

/* -- Refused calls -- */

static void forward_nothing(void) { ck_assert(!RLStreamForwardBoth(NULL, a.stream)); }
static void forward_to_nothing(void) { ck_assert(!RLStreamForwardBoth(a.stream, NULL)); }
START_TEST(a_refused_partnership_changes_nothing)
{
    make_two();
    struct spy c = {0};
    int peer_of_c = spy_on_pair(&c), ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0);
    RLStreamRef to_read = add(RLStreamCreate(NULL, ends[0], 1, NULL, NULL));
    ck_assert(!RLStreamForwardBoth(a.stream, to_read) && errno == EBADF);
    ck_assert(!RLStreamForwardBoth(to_read, a.stream) && errno == EBADF);
    ck_assert_int_eq(RLGetRetainCount(a.stream), 3); /* held by the program, by the loop, and by itself */
    ck_assert_int_eq(RLGetRetainCount(to_read), 3);
    drop_source(to_read);
    close(ends[1]);
    ck_assert(RLStreamForward(c.stream, b.stream));
    ck_assert(!RLStreamForwardBoth(a.stream, b.stream) && errno == EBUSY);
    ck_assert(!RLStreamForwardBoth(b.stream, a.stream) && errno == EBUSY);
    ck_assert(RLStreamForward(c.stream, NULL));
    ck_assert(RLStreamForwardBoth(a.stream, b.stream));
    ck_assert(!RLStreamForwardBoth(b.stream, c.stream) && errno == EBUSY);
    ck_assert(!RLStreamForwardBoth(c.stream, a.stream) && errno == EBUSY);
    ck_assert(!RLStreamForwardBoth(a.stream, a.stream) && errno == EBUSY);
    RLStreamClose(b.stream);
    run_passes();
    assert_both_closed();
    ck_assert(!RLStreamForwardBoth(c.stream, b.stream) && errno == EBADF);
    ck_assert(!RLStreamForwardBoth(b.stream, b.stream) && errno == EBADF);
    send_text(peer_of_c, "mine");
    run_passes();
    assert_seen(&c, "(mine)");
    ck_assert_int_eq(RLGetRetainCount(c.stream), 3);
    assert_reports(forward_nothing, "runloop: RLStreamForwardBoth: stream: expected RLStream, got NULL");
    assert_reports(forward_to_nothing, "runloop: RLStreamForwardBoth: other: expected RLStream, got NULL");
    end_spy(&c);
    close(peer_of_c);
    end_two();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("streams that are forwarded to each other");
    TCase *all = add_case(suite, "streams that are forwarded to each other", 60);
    tcase_add_test(all, the_end_of_both_directions_closes_both_streams);
    tcase_add_test(all, queued_bytes_are_written_before_both_streams_close);
    tcase_add_test(all, an_echo_needs_no_callback);
    tcase_add_test(all, a_stream_without_a_callback_reads_only_while_it_is_forwarded);
    tcase_add_test(all, the_end_of_one_stream_ends_its_partner);
    tcase_add_test(all, a_failed_connection_ends_its_partner);
    tcase_add_test(all, partners_forward_through_filters);
    tcase_add_test(all, either_partner_may_end_in_any_callback);
    tcase_add_test(all, two_threads_may_close_both_partners_at_once);
    tcase_add_test(all, a_refused_partnership_changes_nothing);
    return suite;
}
