/* RLStream: data is reported in the chunks that were requested; pausing, ends, errors. */
#include "stream.h"

static struct spy spy;

START_TEST(all_available_bytes_are_one_piece)
{
    int peer = spy_on_pair(&spy);
    run_passes();
    assert_seen(&spy, "");
    send_text(peer, "one");
    run_passes();
    assert_seen(&spy, "(one)");
    send_text(peer, "two");
    send_text(peer, "three");
    run_passes();
    assert_seen(&spy, "(twothree)");
    end_spy(&spy);
    ck_assert_str_eq(take(peer), "");
    close(peer);
}
END_TEST

START_TEST(a_delimiter_may_be_split_across_reads)
{
    int peer = spy_on_pair(&spy);
    RLStreamSetReadDelimiter(spy.stream, "\r\n", 2, 100);
    send_text(peer, "one\r\ntwo\r");
    run_passes();
    assert_seen(&spy, "(one\r\n)");
    send_text(peer, "\nth\rr");
    run_passes();
    assert_seen(&spy, "(two\r\n)");
    send_text(peer, "\n\r\r\n\r\n");
    run_passes();
    assert_seen(&spy, "(th\rr\n\r\r\n)(\r\n)");
    send_text(peer, "no delimiter");
    close(peer);
    run_passes();
    assert_seen(&spy, "(no delimiter)E");
    end_spy(&spy);
}
END_TEST

START_TEST(pieces_have_the_requested_length)
{
    int peer = spy_on_pair(&spy);
    RLStreamSetReadCount(spy.stream, 4);
    send_text(peer, "one");
    run_passes();
    assert_seen(&spy, "");
    send_text(peer, "two three");
    run_passes();
    assert_seen(&spy, "(onet)(wo t)(hree)");
    send_text(peer, "x");
    shutdown(peer, SHUT_WR);
    run_passes();
    assert_seen(&spy, "(x)E");
    end_spy(&spy);
    close(peer);
}
END_TEST

/* Reads a header, whose lines end with an empty one. Its last line states the length of the body. */
static void read_message(struct spy *e, const RLStreamEvent *event)
{
    if (event->length > 2 && event->bytes[event->length - 1] == '\n')
        RLStreamSetReadCount(e->stream, event->bytes[0] - '0');
    else
        RLStreamSetReadDelimiter(e->stream, "\n", 1, 10);
}

START_TEST(each_callback_chooses_the_next_piece)
{
    int peer = spy_on_pair(&spy);
    spy.action = read_message;
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 10);
    send_text(peer, "3..\nabc\n4..\ndefg1..\nh");
    run_passes();
    assert_seen(&spy, "(3..\n)(abc)(\n)(4..\n)(defg)(1..\n)(h)");
    end_spy(&spy);
    close(peer);
}
END_TEST

static void take_the_rest(struct spy *e, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventErrorOccurred)
        RLStreamSetReadCount(e->stream, 0);
}

START_TEST(a_line_that_is_too_long_is_an_error)
{
    int peer = spy_on_pair(&spy);
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 4);
    send_text(peer, "123\n1234");
    run_passes();
    assert_seen(&spy, "(123\n)!EMSGSIZE");
    ck_assert_int_eq(spy.result, kRLStreamTooLong);
    send_text(peer, "5678\n");
    run_passes();
    assert_seen(&spy, ""); /* reading has stopped */
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 9);
    run_passes();
    assert_seen(&spy, "(12345678\n)");
    spy.action = take_the_rest;
    send_text(peer, "0123456789\nx");
    run_passes();
    assert_seen(&spy, "!EMSGSIZE(0123456789\nx)");
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 4);
    send_text(peer, "1234"); /* the last line may be as long as the limit, without its delimiter */
    close(peer);
    run_passes();
    assert_seen(&spy, "!EMSGSIZE(1234)E");
    end_spy(&spy);
}
END_TEST

START_TEST(a_huge_line_is_one_piece)
{
    enum { length = 3000000 };
    int peer = spy_on_pair(&spy);
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, length);
    static char bytes[length];
    memset(bytes, 'x', length);
    bytes[length - 1] = '\n';
    for (size_t sent = 0; sent < length;) {
        ssize_t count = write(peer, bytes + sent, length - sent);
        sent += count > 0 ? (size_t)count : 0;
        run_passes();
    }
    ck_assert_int_eq(spy.calls, 1);
    ck_assert_uint_eq(spy.bytes, length);
    end_spy(&spy);
    close(peer);
}
END_TEST

static void pause_reading(struct spy *e, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventHasBytesAvailable)
        RLStreamPauseReading(e->stream);
}

START_TEST(a_pause_keeps_the_bytes_already_read)
{
    int peer = spy_on_pair(&spy);
    spy.action = pause_reading;
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 100);
    send_text(peer, "a\nb\nc");
    run_passes();
    assert_seen(&spy, "(a\n)");
    send_text(peer, "\n");
    close(peer);
    run_passes();
    assert_seen(&spy, "");
    RLStreamResumeReading(spy.stream);
    RLStreamResumeReading(spy.stream);
    run_passes();
    assert_seen(&spy, "(b\n)");
    RLStreamResumeReading(spy.stream);
    run_passes();
    assert_seen(&spy, "(c\n)");
    RLStreamResumeReading(spy.stream);
    run_passes();
    assert_seen(&spy, "E");
    end_spy(&spy);
}
END_TEST

START_TEST(nothing_is_read_while_a_stream_is_paused)
{
    int peer = spy_on_pair(&spy);
    RLStreamPauseReading(spy.stream);
    send_text(peer, "x");
    run_passes();
    char byte;
    ck_assert_int_eq(recv(RLStreamGetNativeDescriptor(spy.stream), &byte, 1, MSG_PEEK | MSG_DONTWAIT), 1);
    assert_seen(&spy, "");
    RLStreamResumeReading(spy.stream);
    run_passes();
    assert_seen(&spy, "(x)");
    end_spy(&spy);
    close(peer);
}
END_TEST

static void run_nested(struct spy *e, UNUSED const RLStreamEvent *event)
{
    spy_notes(e, "<", 1);
    for (int i = 0; i < 3; i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
    spy_notes(e, ">", 1);
}

START_TEST(a_nested_run_does_not_read_the_stream_of_its_callback)
{
    int peer = spy_on_pair(&spy);
    spy.action = run_nested;
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 100);
    send_text(peer, "a\nb\n");
    run_passes();
    assert_seen(&spy, "(a\n)<>(b\n)<>");
    send_text(peer, "c\n");
    run_passes();
    assert_seen(&spy, "(c\n)<>");
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(a_reset_by_the_peer_is_an_error)
{
    for (int before = 0; before < 2; before++) {
        int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_storage address = {.ss_family = AF_INET};
        socklen_t size = 16;
        require(bind(server, (void *)&address, size) == 0 && listen(server, 1) == 0);
        require(getsockname(server, (void *)&address, &size) == 0 && connect(client, (void *)&address, size) == 0);
        int peer = accept(server, NULL, NULL);
        struct linger linger = {1, 0};
        require(setsockopt(peer, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
        if (before)
            close(peer);
        spy_on(&spy, client);
        if (!before) {
            run_passes();
            close(peer);
        }
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1);
        run_passes();
        assert_seen(&spy, "!ECONNRESET");
        ck_assert_int_eq(spy.result, kRLStreamFailed);
        ck_assert(RLRunLoopSourceIsValid(spy.stream));
        end_spy(&spy);
        close(server);
    }
}
END_TEST

START_TEST(pipes_have_one_direction)
{
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0);
    spy_on(&spy, ends[0]);
    send_text(ends[1], "x");
    run_passes();
    assert_seen(&spy, "(x)");
    ck_assert(!RLStreamWrite(spy.stream, "y", 1) && errno == EBADF);
    ck_assert(!RLStreamCanAcceptBytes(spy.stream));
    close(ends[1]);
    run_passes();
    assert_seen(&spy, "E");
    end_spy(&spy);
}
END_TEST

START_TEST(nothing_is_read_without_a_callback)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    RLStreamRef stream = add(RLStreamCreate(NULL, ends[0], 1, NULL, NULL));
    send_text(ends[1], "x");
    run_passes();
    char byte;
    ck_assert_int_eq(recv(ends[0], &byte, 1, MSG_PEEK | MSG_DONTWAIT), 1);
    ck_assert(RLStreamWrite(stream, "y", 1));
    close(ends[1]);
    run_passes();
    ck_assert(!RLStreamWrite(stream, "y", 1) && errno == EPIPE);
    run_passes();
    RLStreamClose(stream);
    RLRelease(stream);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream reading");
    TCase *all = add_case(suite, "stream reading", 20);
    tcase_add_test(all, all_available_bytes_are_one_piece);
    tcase_add_test(all, a_delimiter_may_be_split_across_reads);
    tcase_add_test(all, pieces_have_the_requested_length);
    tcase_add_test(all, each_callback_chooses_the_next_piece);
    tcase_add_test(all, a_line_that_is_too_long_is_an_error);
    tcase_add_test(all, a_huge_line_is_one_piece);
    tcase_add_test(all, a_pause_keeps_the_bytes_already_read);
    tcase_add_test(all, nothing_is_read_while_a_stream_is_paused);
    tcase_add_test(all, a_nested_run_does_not_read_the_stream_of_its_callback);
    tcase_add_test(all, a_reset_by_the_peer_is_an_error);
    tcase_add_test(all, pipes_have_one_direction);
    tcase_add_test(all, nothing_is_read_without_a_callback);
    return suite;
}
