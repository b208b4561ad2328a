/* RLStream and its filters in combinations: errors after the end, filters that are set late, connections that have
 * ended. */
#include "stream-filter.h"

#include <netinet/in.h>

static struct ear ear;
static struct framer framer;

static void pass(void) { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1); }

/* -- Completions -- */

static int completions;
static void flush_again(RLStreamRef stream, UNUSED RLStreamResult result, UNUSED int error, UNUSED void *info)
{
    if (++completions < 1000)
        require(RLStreamWrite(stream, "x", 1) && RLStreamFlush(stream, flush_again, NULL));
}

START_TEST(a_completion_that_flushes_again_lets_others_go_first)
{
    int peer = listen_to_pair(&ear);
    require(RLStreamFlush(ear.stream, flush_again, NULL));
    pass();
    ck_assert_int_eq(completions, 1);
    for (; completions < 1000; drain(peer))
        pass();
    end_ear(&ear);
    close(peer);
}
END_TEST

static atomic_int told;
static void count_completion(UNUSED RLStreamRef stream, UNUSED RLStreamResult result, UNUSED int error,
                             UNUSED void *info)
{
    told++;
}
static void *close_stream(void *stream)
{
    RLStreamClose(stream);
    return NULL;
}
START_TEST(each_completion_is_called_once_if_another_thread_closes)
{
    enum { each = 8, modes = 20 };
    for (int round = 0; round < SCALED(100); round++) {
        told = 0;
        int peer = listen_to_pair(&ear);
        for (int i = 0; i < modes; i++) { /* makes closing slower */
            char name[16];
            snprintf(name, sizeof name, "mode %d", i);
            RLStringRef mode = RLStringCreateWithCString(NULL, name, kRLStringEncodingUTF8);
            RLRunLoopAddSource(RLRunLoopGetCurrent(), ear.stream, mode);
            RLRelease(mode);
        }
        for (int i = 0; i < each; i++)
            require(RLStreamFlush(ear.stream, count_completion, NULL));
        pthread_t thread = start_thread(close_stream, ear.stream);
        while (told < each && RLRunLoopSourceIsValid(ear.stream))
            pass();
        join_thread(thread);
        ck_assert_int_eq(told, each);
        RLRelease(ear.stream);
        ear.stream = NULL;
        close(peer);
    }
}
END_TEST

/* -- Connections -- */

START_TEST(a_connection_that_is_over_is_read_to_its_end)
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
    say(peer, "last words");
    close(peer);
    listen_to(&ear, own);
    while (strchr(ear.said, 'E') == NULL)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    assert_said(&ear, "(last words)E");
    end_ear(&ear);
    close(server);
}
END_TEST

/* -- Errors -- */

static void ask_for_the_rest(struct ear *own, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventErrorOccurred)
        RLStreamSetReadCount(own->stream, 0);
}
START_TEST(what_is_left_in_front_of_an_error_can_be_asked_for)
{
    int peer = listen_to_pair(&ear);
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 100);
    ear.action = ask_for_the_rest;
    say(peer, "line\nincomplete");
    require(RLStreamWrite(ear.stream, "unread", 6));
    close(peer); /* with unread data: a reset */
    while (strstr(ear.said, "incomplete") == NULL)
        pass();
    assert_said(&ear, "(line\n)!ECONNRESET(incomplete)");
    end_ear(&ear);
}
END_TEST

static void pause_after_an_error(struct ear *own, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventErrorOccurred)
        RLStreamPauseReading(own->stream);
}
START_TEST(a_stream_that_is_paused_by_an_error_of_writing_tells_no_end)
{
    int peer = listen_to_pair(&ear);
    RLStreamSetReadCount(ear.stream, 100);
    ear.action = pause_after_an_error;
    close(peer);
    ck_assert(!RLStreamWrite(ear.stream, "x", 1));
    run_passes();
    assert_said(&ear, "!EPIPE");
    RLStreamResumeReading(ear.stream);
    run_passes();
    assert_said(&ear, "E");
    end_ear(&ear);
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
START_TEST(an_error_of_writing_is_told_once_however_often_a_filter_tries)
{
    int peer = listen_to_pair(&ear);
    RLStreamFilter filter = scripted(fail_to_answer);
    require(RLStreamSetFilter(ear.stream, &filter) && shutdown(peer, SHUT_RD) == 0);
    for (int i = 0; i < 4; i++) {
        say(peer, "data");
        run_passes();
    }
    assert_said(&ear, "!EPIPE");
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(a_filter_may_fail_behind_the_end)
{
    int peer = listen_to_pair(&ear);
    require(set_framer(ear.stream, &framer));
    require(write(peer, "HI\0", 3) == 3);
    run_passes();
    assert_said(&ear, "OE");
    RLStreamFilterFail(ear.stream, kRLStreamFailed, EPROTO);
    run_passes();
    assert_said(&ear, "!EPROTO");
    end_ear(&ear);
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
static void set_filter_at_error(struct ear *own, const RLStreamEvent *event)
{
    RLStreamFilter filter = scripted(note_receipt);
    if (event->type == kRLStreamEventErrorOccurred) {
        RLStreamSetReadCount(own->stream, 0);
        require(RLStreamSetFilter(own->stream, &filter));
    }
}
START_TEST(what_is_behind_a_line_that_is_too_long_is_the_filters)
{
    int peer = listen_to_pair(&ear);
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 8);
    ear.action = set_filter_at_error;
    say(peer, "ok\nraw bytes of the network");
    run_passes();
    assert_said(&ear, "(ok\n)!EMSGSIZE");
    ck_assert_str_eq(received, "raw bytes of the network");
    end_ear(&ear);
    close(peer);
}
END_TEST

static void deliver_at_once(RLStreamRef stream, UNUSED void *info)
{
    RLStreamFilterDeliver(stream, (const uint8_t *)"from start", 10);
}
START_TEST(what_its_start_delivers_does_not_come_from_the_peer)
{
    int peer = listen_to_pair(&ear);
    RLStreamFilter filter = scripted(note_receipt);
    filter.start = deliver_at_once;
    require(RLStreamSetFilter(ear.stream, &filter));
    run_passes();
    assert_said(&ear, "(from start)");
    ck_assert_str_eq(received, "");
    end_ear(&ear);
    close(peer);
}
END_TEST

/* A chunk received in two parts is in the stream's buffer; it is read again after the filter was set. */
static void start_in_the_middle(struct ear *own, const RLStreamEvent *event)
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
START_TEST(a_piece_stays_as_it_is_during_its_call)
{
    int peer = listen_to_pair(&ear);
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 100);
    ear.action = start_in_the_middle;
    say(peer, "sta");
    run_passes();
    say(peer, "rt\n");
    run_passes();
    ck_assert_uint_eq(ear.bytes, 6 + 4096);
    end_ear(&ear);
    close(peer);
}
END_TEST

static void open_at_once(RLStreamRef stream, UNUSED void *info) { RLStreamFilterOpen(stream); }
static void keep(UNUSED RLStreamRef stream, UNUSED const uint8_t *bytes, UNUSED RLIndex length, UNUSED void *info) {}
START_TEST(what_was_appended_before_it_is_written)
{
    int peer = listen_to_pair(&ear);
    RLStreamFilter filter = scripted(note_receipt);
    filter.start = open_at_once;
    filter.write = keep;
    require(RLStreamAppend(ear.stream, "plain", 5) && RLStreamSetFilter(ear.stream, &filter));
    require(RLStreamWrite(ear.stream, "kept", 4));
    run_passes();
    ck_assert_str_eq(take(peer), "plain");
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(shutting_down_waits_until_it_is_open)
{
    int peer = listen_to_pair(&ear);
    require(set_framer(ear.stream, &framer));
    RLStreamShutdown(ear.stream);
    run_passes();
    ck_assert_str_eq(take(peer), "HI");
    char bytes[4];
    ck_assert_int_eq(read(peer, bytes, sizeof bytes), -1);
    say(peer, "HI");
    run_passes();
    assert_said(&ear, "O");
    ck_assert(read(peer, bytes, sizeof bytes) == 1 && bytes[0] == 0); /* the end frame of the filter */
    ck_assert_int_eq(read(peer, bytes, sizeof bytes), 0);
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(a_stream_that_was_connected_at_once_is_open_when_its_filter_is)
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
    RLStreamContext context = {.info = &ear};
    ear.stream = add(RLStreamCreateConnectedToAddress(NULL, data, ear_hears, &context));
    RLRelease(data);
    require(set_framer(ear.stream, &framer));
    run_passes();
    assert_said(&ear, "");
    int peer = accept(server, NULL, NULL);
    say(peer, "HI");
    run_passes();
    assert_said(&ear, "O");
    end_ear(&ear);
    close(peer);
    close(server);
}
END_TEST

static gate in_call, may_return;
static atomic_int releases;
static void note_release(UNUSED const void *info) { releases++; }
static void hold(UNUSED struct ear *own, UNUSED const RLStreamEvent *event)
{
    gate_open(&in_call);
    gate_pass(&may_return);
}
static void *hold_in_call(void *info)
{
    RLStreamContext context = {.info = &ear, .release = note_release};
    ear.stream = add(RLStreamCreate(NULL, *(int *)info, 1, ear_hears, &context));
    pass();
    return NULL;
}
static void *ask_for_the_queue(UNUSED void *info)
{
    require(RLStreamGetQueuedLength(ear.stream) == 0);
    return NULL;
}
static void end_on_another_thread(UNUSED void *info)
{
    join_thread(start_thread(ask_for_the_queue, NULL));
    end_ear(&ear);
    require(releases == 1);
}
/* One thread is in a callback of the stream while another one forks: in the child that callback never returns. */
START_TEST(the_child_of_a_fork_can_free_it_whichever_thread_uses_it_first)
{
    int pair[2];
    gate_init(&in_call);
    gate_init(&may_return);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    say(pair[1], "x");
    ear.action = hold;
    pthread_t thread = start_thread(hold_in_call, &pair[0]);
    gate_pass(&in_call);
    ck_assert_int_eq(run_in_child(end_on_another_thread, NULL), 0);
    gate_open(&may_return);
    join_thread(thread);
    end_ear(&ear);
    ck_assert_int_eq(releases, 1);
    close(pair[1]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream corners");
    TCase *all = add_case(suite, "corners", 60);
    tcase_add_test(all, a_completion_that_flushes_again_lets_others_go_first);
    tcase_add_test(all, each_completion_is_called_once_if_another_thread_closes);
    tcase_add_test(all, a_connection_that_is_over_is_read_to_its_end);
    tcase_add_test(all, what_is_left_in_front_of_an_error_can_be_asked_for);
    tcase_add_test(all, a_stream_that_is_paused_by_an_error_of_writing_tells_no_end);
    tcase_add_test(all, an_error_of_writing_is_told_once_however_often_a_filter_tries);
    tcase_add_test(all, a_filter_may_fail_behind_the_end);
    tcase_add_test(all, what_is_behind_a_line_that_is_too_long_is_the_filters);
    tcase_add_test(all, what_its_start_delivers_does_not_come_from_the_peer);
    tcase_add_test(all, a_piece_stays_as_it_is_during_its_call);
    tcase_add_test(all, what_was_appended_before_it_is_written);
    tcase_add_test(all, shutting_down_waits_until_it_is_open);
    tcase_add_test(all, a_stream_that_was_connected_at_once_is_open_when_its_filter_is);
    tcase_add_test(all, the_child_of_a_fork_can_free_it_whichever_thread_uses_it_first);
    return suite;
}
