/* RLStreamForward: forwarded data, ends and errors, and which stream waits for which. */
#include "stream-forward.h"

START_TEST(both_directions_and_their_ends)
{
    make_two();
    ck_assert(RLStreamSetReadDelimiter(a.stream, "\n", 1, 2)); /* has no effect on forwarded data */
    ck_assert(RLStreamForward(a.stream, b.stream) && RLStreamForward(b.stream, a.stream));
    say(peer_of_a, "hello");
    say(peer_of_b, "hi");
    run_passes();
    ck_assert_str_eq(take(peer_of_b), "hello");
    ck_assert_str_eq(take(peer_of_a), "hi");
    say(peer_of_a, "that was all");
    shutdown(peer_of_a, SHUT_WR);
    run_passes();
    ck_assert_str_eq(take(peer_of_b), "that was all");
    ck_assert(has_ended(peer_of_b) && !has_ended(peer_of_a));
    assert_said(&a, "E");
    say(peer_of_b, "a last word");
    shutdown(peer_of_b, SHUT_WR);
    run_passes();
    ck_assert_str_eq(take(peer_of_a), "a last word");
    ck_assert(has_ended(peer_of_a));
    assert_said(&a, "");
    assert_said(&b, "E");
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
    size_t said = 0, heard = 0;
    int rests = 0;
    while (heard < all) {
        for (size_t before = said + 1; before != said; run_passes()) {
            before = said;
            said = say_text(peer_of_a, said, all);
        }
        rests += said < all; /* the sender cannot continue */
        if (said == all)
            shutdown(peer_of_a, SHUT_WR);
        ck_assert_int_lt(RLStreamGetQueuedLength(b.stream), most);
        heard = check_text(peer_of_b, heard, 3000);
        run_passes();
    }
    ck_assert_int_gt(rests, 10);
    run_passes();
    ck_assert(has_ended(peer_of_b));
    assert_said(&a, "E");
    assert_said(&b, ""); /* room is not reported */
    end_two();
}
END_TEST

static void close_when_written(struct ear *ear, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventEndEncountered)
        RLStreamCloseWhenWritten(ear->stream);
}
START_TEST(an_echo)
{
    enum { all = 500000 };
    make_two();
    small_buffers(RLStreamGetNativeDescriptor(a.stream));
    a.action = close_when_written;
    ck_assert(RLStreamForward(a.stream, a.stream));
    size_t said = 0, heard = 0;
    while (heard < all) {
        ck_assert_int_lt(RLStreamGetQueuedLength(a.stream), 2 * 65536);
        if (said < all && (said = say_text(peer_of_a, said, all)) == all)
            shutdown(peer_of_a, SHUT_WR);
        run_passes();
        heard = check_text(peer_of_a, heard, 5000);
    }
    run_passes();
    ck_assert(has_ended(peer_of_a));
    ck_assert(!RLRunLoopSourceIsValid(a.stream));
    assert_said(&a, "E");
    ck_assert_int_eq(RLGetRetainCount(a.stream), 1);
    end_two();
}
END_TEST

START_TEST(forwarding_is_undone)
{
    make_two();
    let_it_rest();
    RLIndex queued = RLStreamGetQueuedLength(b.stream);
    a.calls = 0;
    ck_assert(RLStreamForward(a.stream, NULL) && RLStreamForward(a.stream, NULL));
    run_passes();
    ck_assert_int_gt(a.calls, 0); /* data is read again, for the program */
    ck_assert_int_eq(RLStreamGetQueuedLength(b.stream), queued);
    a.said[0] = 0, a.length = 0;
    ck_assert(RLStreamForward(a.stream, a.stream) && RLStreamForward(a.stream, b.stream)); /* it has one target */
    ck_assert(RLStreamForward(a.stream, a.stream));
    say(peer_of_a, "x");
    run_passes();
    ck_assert_str_eq(take(peer_of_a), "x");
    ck_assert_int_eq(RLGetRetainCount(b.stream), RLGetRetainCount(a.stream)); /* held by the loop and the program */
    end_two();
}
END_TEST

static void forward_the_rest(struct ear *ear, UNUSED const RLStreamEvent *event)
{
    require(RLStreamForward(ear->stream, b.stream));
}
START_TEST(a_line_is_read_and_the_rest_is_forwarded)
{
    make_two();
    a.action = forward_the_rest;
    RLStreamSetReadDelimiter(a.stream, "\n", 1, 100);
    say(peer_of_a, "to b\nlines\nand more");
    run_passes();
    assert_said(&a, "(to b\n)");
    ck_assert_str_eq(take(peer_of_b), "lines\nand more");
    ck_assert(RLStreamForward(a.stream, NULL));
    a.action = NULL;
    say(peer_of_a, "again\n");
    run_passes();
    assert_said(&a, "(again\n)");
    end_two();
}
END_TEST

START_TEST(what_the_target_does_not_take_is_told)
{
    make_two();
    ck_assert(RLStreamForward(a.stream, b.stream));
    RLStreamShutdown(b.stream);
    say(peer_of_a, "left");
    run_passes();
    assert_said(&a, "(left)");
    end_two();

    make_two();
    let_it_rest(); /* continues when b is closed */
    RLStreamClose(b.stream);
    a.calls = 0;
    run_passes();
    ck_assert_int_gt(a.calls, 0);
    ck_assert_int_eq(RLGetRetainCount(b.stream), 1);
    end_two();

    make_two();
    let_it_rest(); /* or when b has failed */
    close(peer_of_b);
    a.calls = 0;
    run_passes();
    ck_assert_int_gt(a.calls, 0);
    ck_assert_ptr_nonnull(strstr(b.said, "!"));
    peer_of_b = -1;
    end_two();
}
END_TEST

START_TEST(an_error_leaves_the_target_as_it_is)
{
    make_two();
    ck_assert(RLStreamForward(a.stream, b.stream));
    ck_assert(RLStreamWrite(a.stream, "unread", 6));
    close(peer_of_a); /* resets the connection */
    run_passes();
    assert_said(&a, "!ECONNRESET");
    ck_assert(!has_ended(peer_of_b) && RLStreamWrite(b.stream, "x", 1));
    assert_said(&b, "");
    ck_assert_int_eq(RLGetRetainCount(b.stream), RLGetRetainCount(a.stream));
    peer_of_a = -1;
    end_two();
}
END_TEST

/* -- Ends in callbacks -- */

enum ending { CLOSES, INVALIDATES, RELEASES, UNDOES, CLOSES_LATER };
static struct ear *ended;
static enum ending ending;
static void end_it(UNUSED struct ear *ear, UNUSED const RLStreamEvent *event)
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
START_TEST(either_ends_in_any_callback)
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
            let_it_rest();
            RLStreamForward(b.stream, a.stream);
            a.action = end_it;
            shutdown(peer_of_b, SHUT_WR);
            b.action = end_it;
            break;
        case 1: /* in the callback for an error of b, while a is paused */
            let_it_rest();
            b.action = end_it;
            close(peer_of_b);
            peer_of_b = -1;
            break;
        case 2: /* in the callback for a completed flush, while a is paused */
            let_it_rest();
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
            end_ear(&a);
        if (b.stream)
            end_ear(&b);
        close(peer_of_a);
        if (peer_of_b >= 0)
            close(peer_of_b);
    }
}
END_TEST

/* -- Threads, filters, misuse -- */

START_TEST(the_target_is_in_another_thread)
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
    for (size_t said = 0, heard = 0; heard < all;) {
        said = say_text(peer_of_a, said, all);
        run_passes();
        heard = check_text(peer_of_b, heard, 5000);
        if (said % 3 == 0 && RLStreamForward(a.stream, NULL)) /* while data may be in transit */
            require(RLStreamForward(a.stream, b.stream));
    }
    looper_stop(&other);
    assert_said(&a, "");
    end_two();
}
END_TEST

START_TEST(through_filters)
{
    static struct framer of_a, of_b;
    make_two();
    ck_assert(set_framer(a.stream, &of_a) && set_framer(b.stream, &of_b));
    ck_assert(RLStreamForward(a.stream, b.stream));
    say(peer_of_a, "HI\2\x9e\x9d"); /* ~a, ~b */
    run_passes();
    ck_assert_str_eq(take(peer_of_b), "HI");
    say(peer_of_b, "HI");
    require(write(peer_of_a, "\1\x9c\0", 3) == 3); /* ~c, the end */
    run_passes();
    char bytes[9];
    ck_assert_int_eq(read(peer_of_b, bytes, sizeof bytes), 6);
    ck_assert(memcmp(bytes, "\2\x9e\x9d\1\x9c\0", 6) == 0 || memcmp(bytes, "\3\x9e\x9d\x9c\0", 5) == 0);
    ck_assert(has_ended(peer_of_b));
    assert_said(&a, "OE");
    assert_said(&b, "O");
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
START_TEST(what_is_refused)
{
    make_two();
    ck_assert(RLStreamForward(a.stream, b.stream) && RLStreamForward(a.stream, b.stream));
    ck_assert(!RLStreamForward(b.stream, b.stream) && errno == EBUSY);
    ck_assert(RLStreamForward(a.stream, NULL) && RLStreamForward(b.stream, b.stream));
    shutdown(peer_of_b, SHUT_WR);
    run_passes();
    assert_said(&b, "E");
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
    tcase_add_test(all, both_directions_and_their_ends);
    tcase_add_test(all, a_slow_reader_slows_the_sender);
    tcase_add_test(all, an_echo);
    tcase_add_test(all, forwarding_is_undone);
    tcase_add_test(all, a_line_is_read_and_the_rest_is_forwarded);
    tcase_add_test(all, what_the_target_does_not_take_is_told);
    tcase_add_test(all, an_error_leaves_the_target_as_it_is);
    tcase_add_test(all, either_ends_in_any_callback);
    tcase_add_test(all, the_target_is_in_another_thread);
    tcase_add_test(all, through_filters);
    tcase_add_test(all, what_is_refused);
    return suite;
}
