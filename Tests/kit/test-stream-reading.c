/* RLStream: data is reported in the chunks that were requested; pausing, ends, errors. */
#include "stream.h"

static struct ear ear;

START_TEST(whatever_has_come_is_a_piece)
{
    int peer = listen_to_pair(&ear);
    run_passes();
    assert_said(&ear, "");
    say(peer, "one");
    run_passes();
    assert_said(&ear, "(one)");
    say(peer, "two");
    say(peer, "three");
    run_passes();
    assert_said(&ear, "(twothree)");
    end_ear(&ear);
    ck_assert_str_eq(take(peer), "");
    close(peer);
}
END_TEST

START_TEST(a_delimiter_may_be_anywhere)
{
    int peer = listen_to_pair(&ear);
    RLStreamSetReadDelimiter(ear.stream, "\r\n", 2, 100);
    say(peer, "one\r\ntwo\r");
    run_passes();
    assert_said(&ear, "(one\r\n)");
    say(peer, "\nth\rr");
    run_passes();
    assert_said(&ear, "(two\r\n)");
    say(peer, "\n\r\r\n\r\n");
    run_passes();
    assert_said(&ear, "(th\rr\n\r\r\n)(\r\n)");
    say(peer, "no delimiter");
    close(peer);
    run_passes();
    assert_said(&ear, "(no delimiter)E");
    end_ear(&ear);
}
END_TEST

START_TEST(pieces_of_a_length)
{
    int peer = listen_to_pair(&ear);
    RLStreamSetReadCount(ear.stream, 4);
    say(peer, "one");
    run_passes();
    assert_said(&ear, "");
    say(peer, "two three");
    run_passes();
    assert_said(&ear, "(onet)(wo t)(hree)");
    say(peer, "x");
    shutdown(peer, SHUT_WR);
    run_passes();
    assert_said(&ear, "(x)E");
    end_ear(&ear);
    close(peer);
}
END_TEST

/* Reads a header, whose lines end with an empty one. Its last line states the length of the body. */
static void read_message(struct ear *e, const RLStreamEvent *event)
{
    if (event->length > 2 && event->bytes[event->length - 1] == '\n')
        RLStreamSetReadCount(e->stream, event->bytes[0] - '0');
    else
        RLStreamSetReadDelimiter(e->stream, "\n", 1, 10);
}

START_TEST(each_call_chooses_the_next_piece)
{
    int peer = listen_to_pair(&ear);
    ear.action = read_message;
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 10);
    say(peer, "3..\nabc\n4..\ndefg1..\nh");
    run_passes();
    assert_said(&ear, "(3..\n)(abc)(\n)(4..\n)(defg)(1..\n)(h)");
    end_ear(&ear);
    close(peer);
}
END_TEST

static void take_the_rest(struct ear *e, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventErrorOccurred)
        RLStreamSetReadCount(e->stream, 0);
}

START_TEST(a_line_may_be_too_long)
{
    int peer = listen_to_pair(&ear);
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 4);
    say(peer, "123\n1234");
    run_passes();
    assert_said(&ear, "(123\n)!EMSGSIZE");
    ck_assert_int_eq(ear.result, kRLStreamTooLong);
    say(peer, "5678\n");
    run_passes();
    assert_said(&ear, ""); /* reading has stopped */
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 9);
    run_passes();
    assert_said(&ear, "(12345678\n)");
    ear.action = take_the_rest;
    say(peer, "0123456789\nx");
    run_passes();
    assert_said(&ear, "!EMSGSIZE(0123456789\nx)");
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 4);
    say(peer, "1234"); /* the last line may be as long as the limit, without its delimiter */
    close(peer);
    run_passes();
    assert_said(&ear, "!EMSGSIZE(1234)E");
    end_ear(&ear);
}
END_TEST

START_TEST(a_huge_line)
{
    enum { length = 3000000 };
    int peer = listen_to_pair(&ear);
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, length);
    static char bytes[length];
    memset(bytes, 'x', length);
    bytes[length - 1] = '\n';
    for (size_t sent = 0; sent < length;) {
        ssize_t count = write(peer, bytes + sent, length - sent);
        sent += count > 0 ? (size_t)count : 0;
        run_passes();
    }
    ck_assert_int_eq(ear.calls, 1);
    ck_assert_uint_eq(ear.bytes, length);
    end_ear(&ear);
    close(peer);
}
END_TEST

static void pause_reading(struct ear *e, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventHasBytesAvailable)
        RLStreamPauseReading(e->stream);
}

START_TEST(a_pause_keeps_what_is_there)
{
    int peer = listen_to_pair(&ear);
    ear.action = pause_reading;
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 100);
    say(peer, "a\nb\nc");
    run_passes();
    assert_said(&ear, "(a\n)");
    say(peer, "\n");
    close(peer);
    run_passes();
    assert_said(&ear, "");
    RLStreamResumeReading(ear.stream);
    RLStreamResumeReading(ear.stream);
    run_passes();
    assert_said(&ear, "(b\n)");
    RLStreamResumeReading(ear.stream);
    run_passes();
    assert_said(&ear, "(c\n)");
    RLStreamResumeReading(ear.stream);
    run_passes();
    assert_said(&ear, "E");
    end_ear(&ear);
}
END_TEST

START_TEST(nothing_is_read_while_it_is_paused)
{
    int peer = listen_to_pair(&ear);
    RLStreamPauseReading(ear.stream);
    say(peer, "x");
    run_passes();
    char byte;
    ck_assert_int_eq(recv(RLStreamGetNativeDescriptor(ear.stream), &byte, 1, MSG_PEEK | MSG_DONTWAIT), 1);
    assert_said(&ear, "");
    RLStreamResumeReading(ear.stream);
    run_passes();
    assert_said(&ear, "(x)");
    end_ear(&ear);
    close(peer);
}
END_TEST

static void run_nested(struct ear *e, UNUSED const RLStreamEvent *event)
{
    ear_notes(e, "<", 1);
    for (int i = 0; i < 3; i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
    ear_notes(e, ">", 1);
}

START_TEST(a_nested_run_reads_nothing)
{
    int peer = listen_to_pair(&ear);
    ear.action = run_nested;
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 100);
    say(peer, "a\nb\n");
    run_passes();
    assert_said(&ear, "(a\n)<>(b\n)<>");
    say(peer, "c\n");
    run_passes();
    assert_said(&ear, "(c\n)<>");
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(a_peer_resets)
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
        listen_to(&ear, client);
        if (!before) {
            run_passes();
            close(peer);
        }
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 1);
        run_passes();
        assert_said(&ear, "!ECONNRESET");
        ck_assert_int_eq(ear.result, kRLStreamFailed);
        ck_assert(RLRunLoopSourceIsValid(ear.stream));
        end_ear(&ear);
        close(server);
    }
}
END_TEST

START_TEST(pipes_have_one_direction)
{
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0);
    listen_to(&ear, ends[0]);
    say(ends[1], "x");
    run_passes();
    assert_said(&ear, "(x)");
    ck_assert(!RLStreamWrite(ear.stream, "y", 1) && errno == EBADF);
    ck_assert(!RLStreamCanAcceptBytes(ear.stream));
    close(ends[1]);
    run_passes();
    assert_said(&ear, "E");
    end_ear(&ear);
}
END_TEST

START_TEST(without_a_function_nothing_is_read)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    RLStreamRef stream = add(RLStreamCreate(NULL, ends[0], 1, NULL, NULL));
    say(ends[1], "x");
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
    tcase_add_test(all, whatever_has_come_is_a_piece);
    tcase_add_test(all, a_delimiter_may_be_anywhere);
    tcase_add_test(all, pieces_of_a_length);
    tcase_add_test(all, each_call_chooses_the_next_piece);
    tcase_add_test(all, a_line_may_be_too_long);
    tcase_add_test(all, a_huge_line);
    tcase_add_test(all, a_pause_keeps_what_is_there);
    tcase_add_test(all, nothing_is_read_while_it_is_paused);
    tcase_add_test(all, a_nested_run_reads_nothing);
    tcase_add_test(all, a_peer_resets);
    tcase_add_test(all, pipes_have_one_direction);
    tcase_add_test(all, without_a_function_nothing_is_read);
    return suite;
}
