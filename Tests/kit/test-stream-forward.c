/* RLStreamForward: forwarded data, ends and errors, and which stream waits for which. */
#include "stream-forward.h"

START_TEST(bytes_and_ends_are_forwarded_in_both_directions)
{
    make_two();
    ck_assert(RLStreamSetReadDelimiter(a.stream, "\n", 1, 2)); /* has no effect on forwarded data */
    ck_assert(RLStreamForward(a.stream, b.stream) && RLStreamForward(b.stream, a.stream));
    send_text(peer_of_a, "hello");
    send_text(peer_of_b, "hi");
    run_passes();
    ck_assert_str_eq(take(peer_of_b), "hello");
    ck_assert_str_eq(take(peer_of_a), "hi");
    send_text(peer_of_a, "that was all");
    shutdown(peer_of_a, SHUT_WR);
    run_passes();
    ck_assert_str_eq(take(peer_of_b), "that was all");
    ck_assert(has_ended(peer_of_b) && !has_ended(peer_of_a));
    assert_seen(&a, "E");
    send_text(peer_of_b, "a last word");
    shutdown(peer_of_b, SHUT_WR);
    run_passes();
    ck_assert_str_eq(take(peer_of_a), "a last word");
    ck_assert(has_ended(peer_of_a));
    assert_seen(&a, "");
    assert_seen(&b, "E");
    end_two();
}
END_TEST

START_TEST(a_slow_reader_slows_the_sender)
{
    enum { all = 1000000, mark = 20000, most = mark + 65536 };
    make_two();
    small_buffers(RLStreamGetNativeDescriptor(b.stream));
    RLStreamSetHighWaterMark(b.stream, mark);
    ck_assert(RLStreamForward(a.stream, b.stream));
    size_t sent = 0, received = 0;
    int rests = 0;
    while (received < all) {
        for (size_t before = sent + 1; before != sent; run_passes()) {
            before = sent;
            sent = send_pattern(peer_of_a, sent, all);
        }
        rests += sent < all; /* the sender cannot continue */
        if (sent == all)
            shutdown(peer_of_a, SHUT_WR);
        ck_assert_int_lt(RLStreamGetQueuedLength(b.stream), most);
        received = check_pattern(peer_of_b, received, 3000);
        run_passes();
    }
    ck_assert_int_gt(rests, 10);
    run_passes();
    ck_assert(has_ended(peer_of_b));
    assert_seen(&a, "E");
    assert_seen(&b, ""); /* room is not reported */
    end_two();
}
END_TEST

static void close_when_written(struct spy *spy, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventEndEncountered)
        RLStreamCloseWhenWritten(spy->stream);
}
START_TEST(a_stream_may_be_forwarded_to_itself)
{
    enum { all = 500000 };
    make_two();
    small_buffers(RLStreamGetNativeDescriptor(a.stream));
    a.action = close_when_written;
    ck_assert(RLStreamForward(a.stream, a.stream));
    size_t sent = 0, received = 0;
    while (received < all) {
        ck_assert_int_lt(RLStreamGetQueuedLength(a.stream), 2 * 65536);
        if (sent < all && (sent = send_pattern(peer_of_a, sent, all)) == all)
            shutdown(peer_of_a, SHUT_WR);
        run_passes();
        received = check_pattern(peer_of_a, received, 5000);
    }
    run_passes();
    ck_assert(has_ended(peer_of_a));
    ck_assert(!RLRunLoopSourceIsValid(a.stream));
    assert_seen(&a, "E");
    ck_assert_int_eq(RLGetRetainCount(a.stream), 1);
    end_two();
}
END_TEST

START_TEST(forwarding_can_be_undone)
{
    make_two();
    pause_source();
    RLIndex queued = RLStreamGetQueuedLength(b.stream);
    a.calls = 0;
    ck_assert(RLStreamForward(a.stream, NULL) && RLStreamForward(a.stream, NULL));
    run_passes();
    ck_assert_int_gt(a.calls, 0); /* data is read again, for the program */
    ck_assert_int_eq(RLStreamGetQueuedLength(b.stream), queued);
    a.seen[0] = 0, a.length = 0;
    ck_assert(RLStreamForward(a.stream, a.stream) && RLStreamForward(a.stream, b.stream)); /* it has one target */
    ck_assert(RLStreamForward(a.stream, a.stream));
    send_text(peer_of_a, "x");
    run_passes();
    ck_assert_str_eq(take(peer_of_a), "x");
    ck_assert_int_eq(RLGetRetainCount(b.stream), RLGetRetainCount(a.stream)); /* held by the loop and the program */
    end_two();
}
END_TEST

static void forward_the_rest(struct spy *spy, UNUSED const RLStreamEvent *event)
{
    require(RLStreamForward(spy->stream, b.stream));
}
START_TEST(a_line_is_read_and_the_rest_is_forwarded)
{
    make_two();
    a.action = forward_the_rest;
    RLStreamSetReadDelimiter(a.stream, "\n", 1, 100);
    send_text(peer_of_a, "to b\nlines\nand more");
    run_passes();
    assert_seen(&a, "(to b\n)");
    ck_assert_str_eq(take(peer_of_b), "lines\nand more");
    ck_assert(RLStreamForward(a.stream, NULL));
    a.action = NULL;
    send_text(peer_of_a, "again\n");
    run_passes();
    assert_seen(&a, "(again\n)");
    end_two();
}
END_TEST

START_TEST(bytes_refused_by_the_target_are_reported)
{
    make_two();
    ck_assert(RLStreamForward(a.stream, b.stream));
    RLStreamShutdown(b.stream);
    send_text(peer_of_a, "left");
    run_passes();
    assert_seen(&a, "(left)");
    end_two();

    make_two();
    pause_source(); /* continues when b is closed */
    RLStreamClose(b.stream);
    a.calls = 0;
    run_passes();
    ck_assert_int_gt(a.calls, 0);
    ck_assert_int_eq(RLGetRetainCount(b.stream), 1);
    end_two();

    make_two();
    pause_source(); /* or when b has failed */
    close(peer_of_b);
    a.calls = 0;
    run_passes();
    ck_assert_int_gt(a.calls, 0);
    ck_assert_ptr_nonnull(strstr(b.seen, "!"));
    peer_of_b = -1;
    end_two();
}
END_TEST

START_TEST(an_error_of_the_source_does_not_change_the_target)
{
    make_two();
    ck_assert(RLStreamForward(a.stream, b.stream));
    ck_assert(RLStreamWrite(a.stream, "unread", 6));
    close(peer_of_a); /* resets the connection */
    run_passes();
    assert_seen(&a, "!ECONNRESET");
    ck_assert(!has_ended(peer_of_b) && RLStreamWrite(b.stream, "x", 1));
    assert_seen(&b, "");
    ck_assert_int_eq(RLGetRetainCount(b.stream), RLGetRetainCount(a.stream));
    peer_of_a = -1;
    end_two();
}
END_TEST

/* -- Ends in callbacks -- */

enum ending { CLOSES, INVALIDATES, RELEASES, UNDOES, CLOSES_LATER };
static struct spy *ended;
static enum ending ending;
static void end_it(UNUSED struct spy *spy, UNUSED const RLStreamEvent *event)
{
    if (ended->stream == NULL)
        return;
    switch (ending) {
    case CLOSES:
        RLStreamClose(ended->stream);
        break;
    case INVALIDATES:
        RLRunLoopSourceInvalidate(ended->stream);
        break;
    case UNDOES:
        RLStreamForward(ended->stream, NULL);
        return;
    case CLOSES_LATER:
        RLStreamCloseWhenWritten(ended->stream);
        break;
    case RELEASES:
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), ended->stream, kRLRunLoopDefaultMode);
    }
    RLRelease(ended->stream);
    ended->stream = NULL;
}
static void flush_ends_it(UNUSED RLStreamRef stream, UNUSED RLStreamResult result, UNUSED int error, UNUSED void *info)
{
    end_it(NULL, NULL);
}
START_TEST(either_forwarding_stream_may_end_in_any_callback)
{
    enum { ends = 2, endings = 5, callbacks = 4 };
    for (int i = 0; i < ends * endings * callbacks; i++) {
        make_two();
        ended = i % ends ? &b : &a;
        ending = (enum ending)(i / ends % endings);
        RLRetain(a.stream), RLRetain(b.stream);
        RLStreamRef streams[] = {a.stream, b.stream};
        switch (i / ends / endings) {
        case 0: /* in the callback for the end of a, while the queue of b is full */
            pause_source();
            RLStreamForward(b.stream, a.stream);
            a.action = end_it;
            shutdown(peer_of_b, SHUT_WR);
            b.action = end_it;
            break;
        case 1: /* in the callback for an error of b, while a is paused */
            pause_source();
            b.action = end_it;
            close(peer_of_b);
            peer_of_b = -1;
            break;
        case 2: /* in the callback for a completed flush, while a is paused */
            pause_source();
            require(RLStreamFlush(b.stream, flush_ends_it, NULL));
            break;
        default: /* in the callback for the end of an echo */
            require(RLStreamForward(a.stream, a.stream) && RLStreamForward(b.stream, b.stream));
            a.action = b.action = end_it;
            shutdown(peer_of_a, SHUT_WR);
        }
        for (size_t got = 1; got > 0;) {
            run_passes();
            got = peer_of_b < 0 ? 0 : drain(peer_of_b);
        }
        a.action = b.action = NULL;
        require(ended->stream == NULL || ending == UNDOES);
        for (int which = 0; which < 2; which++) {
            RLStreamClose(streams[which]);
            ck_assert_int_eq(RLGetRetainCount(streams[which]), (which ? b : a).stream != NULL ? 2 : 1);
            RLRelease(streams[which]);
        }
        if (a.stream)
            end_spy(&a);
        if (b.stream)
            end_spy(&b);
        close(peer_of_a);
        if (peer_of_b >= 0)
            close(peer_of_b);
    }
}
END_TEST

/* -- Threads, filters, misuse -- */

START_TEST(the_target_may_be_in_the_loop_of_another_thread)
{
    enum { all = 1000000 };
    make_two();
    RLStreamSetHighWaterMark(b.stream, 10000);
    small_buffers(RLStreamGetNativeDescriptor(b.stream));
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), b.stream, kRLRunLoopDefaultMode);
    struct looper other;
    looper_start(&other);
    RLRunLoopAddSource(other.loop, b.stream, kRLRunLoopDefaultMode);
    ck_assert(RLStreamForward(a.stream, b.stream) && RLStreamForward(b.stream, a.stream));
    for (size_t sent = 0, received = 0; received < all;) {
        sent = send_pattern(peer_of_a, sent, all);
        run_passes();
        received = check_pattern(peer_of_b, received, 5000);
        if (sent % 3 == 0 && RLStreamForward(a.stream, NULL)) /* while data may be in transit */
            require(RLStreamForward(a.stream, b.stream));
    }
    looper_stop(&other);
    assert_seen(&a, "");
    end_two();
}
END_TEST

START_TEST(bytes_are_forwarded_through_filters)
{
    static struct framer of_a, of_b;
    make_two();
    ck_assert(set_framer(a.stream, &of_a) && set_framer(b.stream, &of_b));
    ck_assert(RLStreamForward(a.stream, b.stream));
    send_text(peer_of_a, "HI\2\x9e\x9d"); /* ~a, ~b */
    run_passes();
    ck_assert_str_eq(take(peer_of_b), "HI");
    send_text(peer_of_b, "HI");
    require(write(peer_of_a, "\1\x9c\0", 3) == 3); /* ~c, the end */
    run_passes();
    char bytes[9];
    ck_assert_int_eq(read(peer_of_b, bytes, sizeof bytes), 6);
    ck_assert(memcmp(bytes, "\2\x9e\x9d\1\x9c\0", 6) == 0 || memcmp(bytes, "\3\x9e\x9d\x9c\0", 5) == 0);
    ck_assert(has_ended(peer_of_b));
    assert_seen(&a, "OE");
    assert_seen(&b, "O");
    end_two();
}
END_TEST

static void forward_nothing(void) { ck_assert(!RLStreamForward(NULL, a.stream)); }
static void forward_to_another_source(void)
{
    RLRunLoopSourceContext context = {.version = 0};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    ck_assert(!RLStreamForward(a.stream, source));
    RLRelease(source);
}
static void forward_to_a_loop(void) { ck_assert(!RLStreamForward(a.stream, (RLStreamRef)RLRunLoopGetCurrent())); }
START_TEST(impossible_forwarding_is_refused)
{
    make_two();
    ck_assert(RLStreamForward(a.stream, b.stream) && RLStreamForward(a.stream, b.stream));
    ck_assert(!RLStreamForward(b.stream, b.stream) && errno == EBUSY);
    ck_assert(RLStreamForward(a.stream, NULL) && RLStreamForward(b.stream, b.stream));
    shutdown(peer_of_b, SHUT_WR);
    run_passes();
    assert_seen(&b, "E");
    ck_assert(!RLStreamForward(b.stream, a.stream) && errno == EBADF);
    ck_assert(!RLStreamForward(a.stream, b.stream) && errno == EPIPE); /* it has been shut down */
    RLStreamClose(b.stream);
    ck_assert(!RLStreamForward(a.stream, b.stream) && errno == EBADF);
    ck_assert(RLStreamForward(b.stream, NULL));
    assert_reports(forward_nothing, "runloop: RLStreamForward: from: expected RLStream, got NULL");
    assert_reports(forward_to_another_source, "runloop: RLStreamForward: to: expected RLStream, got another source");
    capture_stderr(forward_to_a_loop, (char[256]){0}, 256);
    ck_assert_int_eq(take_diagnostics(), 1);
    ck_assert(RLStreamForward(a.stream, a.stream)); /* no other stream forwards to it */
    end_two();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("forwarded streams");
    TCase *all = add_case(suite, "forwarded streams", 30);
    tcase_add_test(all, bytes_and_ends_are_forwarded_in_both_directions);
    tcase_add_test(all, a_slow_reader_slows_the_sender);
    tcase_add_test(all, a_stream_may_be_forwarded_to_itself);
    tcase_add_test(all, forwarding_can_be_undone);
    tcase_add_test(all, a_line_is_read_and_the_rest_is_forwarded);
    tcase_add_test(all, bytes_refused_by_the_target_are_reported);
    tcase_add_test(all, an_error_of_the_source_does_not_change_the_target);
    tcase_add_test(all, either_forwarding_stream_may_end_in_any_callback);
    tcase_add_test(all, the_target_may_be_in_the_loop_of_another_thread);
    tcase_add_test(all, bytes_are_forwarded_through_filters);
    tcase_add_test(all, impossible_forwarding_is_refused);
    return suite;
}
