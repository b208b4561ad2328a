/* RLStream and its filters in combinations: errors after the end, filters that are set late, connections that have
 * ended. */
#include "stream-filter.h"

#include <netdb.h>
#include <netinet/in.h>

static struct spy spy;
static struct framer framer;

static void pass(void) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1); }

/* -- Completions -- */

static int completions;
static void flush_again(RLStreamRef stream, UNUSED RLStreamResult result, UNUSED int error, UNUSED void *info)
{
    if (++completions < 1000)
        require(RLStreamWrite(stream, "x", 1) && RLStreamFlush(stream, flush_again, NULL));
}

START_TEST(a_completion_that_flushes_again_does_not_starve_others)
{
    int peer = spy_on_pair(&spy);
    require(RLStreamFlush(spy.stream, flush_again, NULL));
    pass();
    ck_assert_int_eq(completions, 1);
    for (; completions < 1000; drain(peer))
        pass();
    end_spy(&spy);
    close(peer);
}
END_TEST

static atomic_int completed;
static void count_completion(UNUSED RLStreamRef stream, UNUSED RLStreamResult result, UNUSED int error,
                             UNUSED void *info)
{
    completed++;
}
static void *close_stream(void *stream)
{
    RLStreamClose(stream);
    return NULL;
}
START_TEST(each_completion_is_called_once_if_another_thread_closes_the_stream)
{
    enum { each = 8, modes = 20 };
    for (int round = 0; round < SCALED(100); round++) {
        completed = 0;
        int peer = spy_on_pair(&spy);
        for (int i = 0; i < modes; i++) { /* makes closing slower */
            char name[16];
            snprintf(name, sizeof name, "mode %d", i);
            RLStringRef mode = RLStringCreateWithCString(NULL, name, kRLStringEncodingUTF8);
            RLRunLoopAddSource(RLRunLoopGetCurrent(), spy.stream, mode);
            RLRelease(mode);
        }
        for (int i = 0; i < each; i++)
            require(RLStreamFlush(spy.stream, count_completion, NULL));
        pthread_t thread = start_thread(close_stream, spy.stream);
        while (completed < each && RLRunLoopSourceIsValid(spy.stream))
            pass();
        join_thread(thread);
        ck_assert_int_eq(completed, each);
        RLRelease(spy.stream);
        spy.stream = NULL;
        close(peer);
    }
}
END_TEST

/* -- Connections -- */

START_TEST(a_closed_connection_is_read_to_its_end)
{
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    require(bind(server, (void *)&address, size) == 0 && listen(server, 1) == 0);
    require(getsockname(server, (void *)&address, &size) == 0);
    int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(connect(peer, (void *)&address, size) == 0);
    int own = accept(server, NULL, NULL);
    require(own >= 0 && shutdown(own, SHUT_WR) == 0);
    char end;
    require(read(peer, &end, 1) == 0);
    send_text(peer, "last words");
    close(peer);
    spy_on(&spy, own);
    while (strchr(spy.seen, 'E') == NULL)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    assert_seen(&spy, "(last words)E");
    end_spy(&spy);
    close(server);
}
END_TEST

/* -- Errors -- */

static void ask_for_the_rest(struct spy *own, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventErrorOccurred)
        RLStreamSetReadCount(own->stream, 0);
}
START_TEST(bytes_left_before_an_error_can_be_requested)
{
    int peer = spy_on_pair(&spy);
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 100);
    spy.action = ask_for_the_rest;
    send_text(peer, "line\nincomplete");
    require(RLStreamWrite(spy.stream, "unread", 6));
    close(peer); /* with unread data: a reset */
    while (strstr(spy.seen, "incomplete") == NULL)
        pass();
    assert_seen(&spy, "(line\n)!ECONNRESET(incomplete)");
    end_spy(&spy);
}
END_TEST

static void pause_after_an_error(struct spy *own, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventErrorOccurred)
        RLStreamPauseReading(own->stream);
}
START_TEST(a_stream_paused_by_a_write_error_reports_no_end)
{
    int peer = spy_on_pair(&spy);
    RLStreamSetReadCount(spy.stream, 100);
    spy.action = pause_after_an_error;
    close(peer);
    ck_assert(!RLStreamWrite(spy.stream, "x", 1));
    run_passes();
    assert_seen(&spy, "!EPIPE");
    RLStreamResumeReading(spy.stream);
    run_passes();
    assert_seen(&spy, "E");
    end_spy(&spy);
}
END_TEST

static RLStreamFilter scripted(RLStreamFilterFunction receive)
{
    return (RLStreamFilter){0, &framer, framer_release, framer_start, receive, framer_write, framer_shutdown};
}
static void fail_to_answer(RLStreamRef stream, UNUSED const uint8_t *bytes, RLIndex length, UNUSED void *info)
{
    if (length > 0)
        RLStreamFilterSend(stream, (const uint8_t *)"answer", 6);
}
START_TEST(a_write_error_is_reported_once_however_often_a_filter_tries)
{
    int peer = spy_on_pair(&spy);
    RLStreamFilter filter = scripted(fail_to_answer);
    require(RLStreamSetFilter(spy.stream, &filter) && shutdown(peer, SHUT_RD) == 0);
    for (int i = 0; i < 4; i++) {
        send_text(peer, "data");
        run_passes();
    }
    assert_seen(&spy, "!EPIPE");
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(a_filter_may_fail_after_the_end)
{
    int peer = spy_on_pair(&spy);
    require(set_framer(spy.stream, &framer));
    require(write(peer, "HI\0", 3) == 3);
    run_passes();
    assert_seen(&spy, "OE");
    RLStreamFilterFail(spy.stream, kRLStreamFailed, EPROTO);
    run_passes();
    assert_seen(&spy, "!EPROTO");
    end_spy(&spy);
    close(peer);
}
END_TEST

/* -- Filters that are set late -- */

static char received[64];
static void note_receipt(UNUSED RLStreamRef stream, const uint8_t *bytes, RLIndex length, UNUSED void *info)
{
    require(strlen(received) + (size_t)length < sizeof received);
    strncat(received, (const char *)bytes, (size_t)length);
}
static void set_filter_at_error(struct spy *own, const RLStreamEvent *event)
{
    RLStreamFilter filter = scripted(note_receipt);
    if (event->type == kRLStreamEventErrorOccurred) {
        RLStreamSetReadCount(own->stream, 0);
        require(RLStreamSetFilter(own->stream, &filter));
    }
}
START_TEST(a_filter_set_at_an_overlong_line_receives_the_remaining_bytes)
{
    int peer = spy_on_pair(&spy);
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 8);
    spy.action = set_filter_at_error;
    send_text(peer, "ok\nraw bytes of the network");
    run_passes();
    assert_seen(&spy, "(ok\n)!EMSGSIZE");
    ck_assert_str_eq(received, "raw bytes of the network");
    end_spy(&spy);
    close(peer);
}
END_TEST

static void deliver_at_once(RLStreamRef stream, UNUSED void *info)
{
    RLStreamFilterDeliver(stream, (const uint8_t *)"from start", 10);
}
START_TEST(bytes_delivered_while_a_filter_starts_are_not_filtered)
{
    int peer = spy_on_pair(&spy);
    RLStreamFilter filter = scripted(note_receipt);
    filter.start = deliver_at_once;
    require(RLStreamSetFilter(spy.stream, &filter));
    run_passes();
    assert_seen(&spy, "(from start)");
    ck_assert_str_eq(received, "");
    end_spy(&spy);
    close(peer);
}
END_TEST

/* A chunk received in two parts is in the stream's buffer; it is read again after the filter was set. */
static void start_in_the_middle(struct spy *own, const RLStreamEvent *event)
{
    static const char filler[4096];
    if (event->type != kRLStreamEventHasBytesAvailable || framer.greeted > 0)
        return;
    framer.greeted = 2;
    framer.left = -1;
    require(set_framer(own->stream, &framer));
    RLStreamFilterOpen(own->stream);
    RLStreamFilterDeliver(own->stream, (const uint8_t *)filler, sizeof filler);
    ck_assert_int_eq(memcmp(event->bytes, "start\n", (size_t)event->length), 0);
    own->action = NULL;
    RLStreamSetReadCount(own->stream, 0);
}
START_TEST(a_piece_does_not_change_during_its_callback)
{
    int peer = spy_on_pair(&spy);
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 100);
    spy.action = start_in_the_middle;
    send_text(peer, "sta");
    run_passes();
    send_text(peer, "rt\n");
    run_passes();
    ck_assert_uint_eq(spy.bytes, 6 + 4096);
    end_spy(&spy);
    close(peer);
}
END_TEST

static void open_at_once(RLStreamRef stream, UNUSED void *info) { RLStreamFilterOpen(stream); }
static void keep(UNUSED RLStreamRef stream, UNUSED const uint8_t *bytes, UNUSED RLIndex length, UNUSED void *info) {}
START_TEST(bytes_appended_before_a_filter_is_set_are_written_unfiltered)
{
    int peer = spy_on_pair(&spy);
    RLStreamFilter filter = scripted(note_receipt);
    filter.start = open_at_once;
    filter.write = keep;
    require(RLStreamAppend(spy.stream, "plain", 5) && RLStreamSetFilter(spy.stream, &filter));
    require(RLStreamWrite(spy.stream, "kept", 4));
    run_passes();
    ck_assert_str_eq(take(peer), "plain");
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(a_shutdown_waits_until_the_filter_is_open)
{
    int peer = spy_on_pair(&spy);
    require(set_framer(spy.stream, &framer));
    RLStreamShutdown(spy.stream);
    run_passes();
    ck_assert_str_eq(take(peer), "HI");
    char bytes[4];
    ck_assert_int_eq(read(peer, bytes, sizeof bytes), -1);
    send_text(peer, "HI");
    run_passes();
    assert_seen(&spy, "O");
    ck_assert(read(peer, bytes, sizeof bytes) == 1 && bytes[0] == 0); /* the end frame of the filter */
    ck_assert_int_eq(read(peer, bytes, sizeof bytes), 0);
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(a_stream_connected_at_once_opens_with_its_filter)
{
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un {
        sa_family_t family;
        char path[108];
    } address = {.family = AF_UNIX};
    socklen_t size = sizeof address;
    require(bind(server, (void *)&address, sizeof address.family) == 0 && listen(server, 1) == 0);
    require(getsockname(server, (void *)&address, &size) == 0);
    RLDataRef data = RLDataCreate(NULL, (void *)&address, (RLIndex)size);
    RLStreamContext context = {.info = &spy};
    spy.stream = add(RLStreamCreateConnectedToAddress(NULL, data, spy_callback, &context));
    RLRelease(data);
    require(set_framer(spy.stream, &framer));
    run_passes();
    assert_seen(&spy, "");
    int peer = accept(server, NULL, NULL);
    send_text(peer, "HI");
    run_passes();
    assert_seen(&spy, "O");
    end_spy(&spy);
    close(peer);
    close(server);
}
END_TEST

static gate in_call, may_return;
static atomic_int releases;
static void note_release(UNUSED const void *info) { releases++; }
static void hold(UNUSED struct spy *own, UNUSED const RLStreamEvent *event)
{
    gate_open(&in_call);
    gate_pass(&may_return);
}
static void *hold_in_call(void *info)
{
    RLStreamContext context = {.info = &spy, .release = note_release};
    spy.stream = add(RLStreamCreate(NULL, *(int *)info, 1, spy_callback, &context));
    pass();
    return NULL;
}
static void *ask_for_the_queue(UNUSED void *info)
{
    require(RLStreamGetQueuedLength(spy.stream) == 0);
    return NULL;
}
static void end_on_another_thread(UNUSED void *info)
{
    join_thread(start_thread(ask_for_the_queue, NULL));
    end_spy(&spy);
    require(releases == 1);
}
/* One thread is in a callback of the stream while another one forks: in the child that callback never returns. */
START_TEST(the_child_of_a_fork_can_free_a_stream_from_any_thread)
{
    int pair[2];
    gate_init(&in_call);
    gate_init(&may_return);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    send_text(pair[1], "x");
    spy.action = hold;
    pthread_t thread = start_thread(hold_in_call, &pair[0]);
    gate_pass(&in_call);
    ck_assert_int_eq(run_in_child(end_on_another_thread, NULL), 0);
    gate_open(&may_return);
    join_thread(thread);
    end_spy(&spy);
    ck_assert_int_eq(releases, 1);
    close(pair[1]);
}
END_TEST

START_TEST(each_result_has_a_text)
{
    ck_assert_str_eq(RLStreamResultGetText(kRLStreamFailed, ECONNREFUSED), "Connection refused");
    ck_assert_str_eq(RLStreamResultGetText(kRLStreamFailed, 4711), "unknown error");
    ck_assert_str_eq(RLStreamResultGetText(kRLStreamFailed, -2), "unknown error");
    ck_assert_str_eq(RLStreamResultGetText(kRLStreamNotFound, EAI_NONAME), gai_strerror(EAI_NONAME));
    const char *unknown = RLStreamResultGetText(-1, 0);
    ck_assert_str_eq(unknown, "unknown result");
    ck_assert_str_eq(RLStreamResultGetText(kRLStreamNotFound + 1, EPIPE), unknown);
    for (RLStreamResult result = kRLStreamSuccess; result <= kRLStreamNotFound; result++) {
        const char *text = RLStreamResultGetText(result, EPROTO);
        ck_assert_str_ne(text, unknown);
        ck_assert_ptr_eq(text, RLStreamResultGetText(result, EPROTO));
        for (RLStreamResult other = 0; other < result; other++)
            ck_assert_str_ne(text, RLStreamResultGetText(other, EPROTO));
    }
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream corners");
    TCase *all = add_case(suite, "corners", 60);
    tcase_add_test(all, a_completion_that_flushes_again_does_not_starve_others);
    tcase_add_test(all, each_completion_is_called_once_if_another_thread_closes_the_stream);
    tcase_add_test(all, a_closed_connection_is_read_to_its_end);
    tcase_add_test(all, bytes_left_before_an_error_can_be_requested);
    tcase_add_test(all, a_stream_paused_by_a_write_error_reports_no_end);
    tcase_add_test(all, a_write_error_is_reported_once_however_often_a_filter_tries);
    tcase_add_test(all, a_filter_may_fail_after_the_end);
    tcase_add_test(all, a_filter_set_at_an_overlong_line_receives_the_remaining_bytes);
    tcase_add_test(all, bytes_delivered_while_a_filter_starts_are_not_filtered);
    tcase_add_test(all, a_piece_does_not_change_during_its_callback);
    tcase_add_test(all, bytes_appended_before_a_filter_is_set_are_written_unfiltered);
    tcase_add_test(all, a_shutdown_waits_until_the_filter_is_open);
    tcase_add_test(all, a_stream_connected_at_once_opens_with_its_filter);
    tcase_add_test(all, the_child_of_a_fork_can_free_a_stream_from_any_thread);
    tcase_add_test(all, each_result_has_a_text);
    return suite;
}
