/* RLStream: closing and releasing it wherever possible; several loops and modes, fork, misuse, shortages. */
#include "stream.h"

#include <sys/resource.h>

static struct lifetime life;
static struct spy spy;
static int peer, end_number; /* -1: the stream has ended */
static char block[200000];

/* -- Ways to end a stream in a callback ---------------------------------------------------------------------------- */

static void close_it(void)
{
    RLStreamClose(spy.stream);
    RLStreamClose(spy.stream);
}
static void invalidate_it(void) { RLRunLoopSourceInvalidate(spy.stream); }
static void release_it(void)
{
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), spy.stream, kRLRunLoopDefaultMode);
    RLRelease(spy.stream);
    spy.stream = NULL;
}
static void close_and_release_it(void) { end_spy(&spy); }
static void run_and_close_it(void)
{
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    RLStreamClose(spy.stream);
}
static void (*const ends[])(void) = {close_it, invalidate_it, release_it, close_and_release_it, run_and_close_it};
enum { end_count = 5 };

static RLStreamEventType end_at;
static void end_in(struct spy *e, const RLStreamEvent *event)
{
    (void)e;
    if (event->type != end_at)
        return;
    char first = event->length > 0 ? (char)event->bytes[0] : 0;
    int number = end_number;
    end_at = 0, end_number = -1;
    ends[number]();
    require(event->length == 0 || (char)event->bytes[0] == first); /* the data is still valid */
}

static void flush_ends(UNUSED RLStreamRef stream, UNUSED RLStreamResult result, UNUSED int error, void *info)
{
    int *calls = info;
    ++*calls;
    if (end_number >= 0 && end_at == 0) {
        int number = end_number;
        end_number = -1;
        ends[number]();
    }
}

static void make_stream(void)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    RLStreamContext context = {.info = &spy};
    spy.stream = add(RLStreamCreate(NULL, pair[0], 1, spy_callback, &context));
    peer = pair[1];
    small_buffers(pair[0]);
}

/* Causes the event of a given type. */
static void cause(RLStreamEventType type)
{
    switch (type) {
    case kRLStreamEventHasBytesAvailable:
        RLStreamSetReadDelimiter(spy.stream, "\n", 1, 10);
        send_text(peer, "a\nb\nc");
        break;
    case kRLStreamEventEndEncountered:
        shutdown(peer, SHUT_WR);
        break;
    case kRLStreamEventErrorOccurred:
        if (end_number % 2) {
            RLStreamSetReadDelimiter(spy.stream, "\n", 1, 1);
            send_text(peer, "ab");
        } else {
            shutdown(peer, SHUT_RD);
            RLStreamWrite(spy.stream, "x", 1);
        }
        break;
    case kRLStreamEventCanAcceptBytes:
        RLStreamWrite(spy.stream, block, sizeof block);
        ck_assert(!RLStreamCanAcceptBytes(spy.stream));
        break;
    default:
        RLStreamAppend(spy.stream, "x", 1);
    }
}

START_TEST(a_stream_may_end_in_any_callback)
{
    static const RLStreamEventType types[] = {kRLStreamEventHasBytesAvailable, kRLStreamEventEndEncountered,
                                              kRLStreamEventErrorOccurred, kRLStreamEventCanAcceptBytes, 0};
    int before = open_descriptors(), flushes = 0, expected = 0;
    for (int type = 0; type < 5; type++) {
        for (int end = 0; end < end_count; end++) {
            make_stream();
            spy.action = end_in;
            end_at = types[type];
            end_number = end;
            cause(types[type]);
            for (int i = 0; i < 3; i++)
                expected += RLStreamFlush(spy.stream, flush_ends, &flushes); /* not after an error */
            for (int i = 0; i < 1000 && end_number != -1; i++) {
                drain(peer);
                RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
            }
            ck_assert_msg(end_number == -1, "type %d, end %d", type, end);
            run_passes();
            ck_assert_int_eq(flushes, expected); /* each one once */
            if (spy.stream != NULL) {
                ck_assert(!RLRunLoopSourceIsValid(spy.stream));
                ck_assert_int_eq(RLRunLoopContainsSource(RLRunLoopGetCurrent(), spy.stream, kRLRunLoopDefaultMode), 0);
                RLRelease(spy.stream);
            }
            close(peer);
            ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
            ck_assert_int_le(open_descriptors(), before + 2); /* those of the loop */
        }
    }
}
END_TEST

START_TEST(the_last_release_closes_a_stream)
{
    int before = open_descriptors(), flushes = 0, pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    RLStreamContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLStreamRef stream = RLStreamCreate(NULL, pair[0], 1, spy_callback, &context);
    RLStreamFlush(stream, flush_ends, &flushes);
    end_number = -1;
    RLRelease(stream); /* it was in no loop */
    ck_assert_int_eq(flushes, 1);
    ck_assert_int_eq(lifetime_held(&life), 0);
    close(pair[1]);
    ck_assert_int_eq(open_descriptors(), before);

    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    stream = RLStreamCreate(NULL, pair[0], 0, spy_callback, &context); /* does not own the descriptor */
    RLStreamClose(stream);
    ck_assert_int_eq(lifetime_held(&life), 1);
    RLRelease(stream);
    ck_assert_int_eq(lifetime_held(&life), 0);
    close_pipe(pair);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

/* -- Modes, loops, threads ----------------------------------------------------------------------------------------- */

/* The stream's first completion drops the program's reference, which is the last one at that point. */
START_TEST(a_completion_may_release_a_stream_that_is_being_closed)
{
    for (int is_in_loop = 0; is_in_loop < 2; is_in_loop++) {
        int flushes = 0;
        make_stream();
        if (!is_in_loop)
            RLRunLoopRemoveSource(RLRunLoopGetCurrent(), spy.stream, kRLRunLoopDefaultMode);
        RLStreamWrite(spy.stream, block, sizeof block);
        ck_assert(RLStreamFlush(spy.stream, flush_ends, &flushes) && RLStreamFlush(spy.stream, flush_ends, &flushes));
        end_at = 0, end_number = 2;
        RLStreamClose(spy.stream);
        ck_assert_int_eq(flushes, 2);
        ck_assert_ptr_null(spy.stream);
        close(peer);
    }
}
END_TEST

START_TEST(a_stream_is_served_in_the_modes_it_was_added_to)
{
    RLRunLoopMode other = RLSTR("other");
    make_stream();
    ck_assert_int_eq(RLRunLoopRunInMode(other, 0, 1), kRLRunLoopRunFinished);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), spy.stream, other);
    send_text(peer, "x");
    ck_assert_int_eq(RLRunLoopRunInMode(other, 1, 1), kRLRunLoopRunHandledSource);
    assert_seen(&spy, "(x)");
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), spy.stream, kRLRunLoopDefaultMode);
    send_text(peer, "y");
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1), kRLRunLoopRunFinished);
    assert_seen(&spy, "");
    ck_assert_int_eq(RLRunLoopRunInMode(other, 1, 1), kRLRunLoopRunHandledSource);
    assert_seen(&spy, "(y)");
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), spy.stream, other);
    send_text(peer, "z");
    ck_assert_int_eq(RLRunLoopRunInMode(other, 0, 1), kRLRunLoopRunFinished);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), spy.stream, kRLRunLoopCommonModes);
    run_passes();
    assert_seen(&spy, "(z)");
    end_spy(&spy);
    close(peer);
}
END_TEST

/* Two loops share a stream, and constantly add and remove it: each byte is reported once, in order. */
static atomic_int numbers_read, is_called;
static void read_numbers(UNUSED RLStreamRef stream, const RLStreamEvent *event, UNUSED void *info)
{
    if (event->type != kRLStreamEventHasBytesAvailable)
        return;
    require(is_called++ == 0);
    for (RLIndex i = 0; i < event->length; i++)
        require(event->bytes[i] == (uint8_t)(numbers_read++ % 251));
    is_called--;
}
static void *serve_numbers(void *stream)
{
    RLRunLoopSourceRef keeper = add(make_source(0, do_nothing, NULL));
    while (numbers_read < SCALED(20000)) {
        RLRunLoopAddSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
        for (int i = 0; i < 5; i++)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.0001, 1);
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
    }
    drop_source(keeper);
    return NULL;
}

START_TEST(two_loops_share_a_stream)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    RLStreamRef stream = RLStreamCreate(NULL, pair[0], 1, read_numbers, NULL);
    pthread_t threads[2] = {start_thread(serve_numbers, stream), start_thread(serve_numbers, stream)};
    for (int i = 0; i < SCALED(20000); i++)
        require(write(pair[1], &(uint8_t){(uint8_t)(i % 251)}, 1) == 1);
    join_thread(threads[0]);
    join_thread(threads[1]);
    ck_assert_int_eq(numbers_read, SCALED(20000));
    RLRelease(stream);
    ck_assert_int_eq(read(pair[1], block, 1), 0);
    close(pair[1]);
}
END_TEST

/* One thread closes the stream while another one reads and writes. */
static void echo(RLStreamRef stream, const RLStreamEvent *event, UNUSED void *info)
{
    if (event->type == kRLStreamEventHasBytesAvailable)
        RLStreamWrite(stream, event->bytes, event->length);
}
START_TEST(another_thread_may_close_a_stream)
{
    struct looper looper;
    looper_start(&looper);
    int before = open_descriptors();
    for (int round = 0; round < SCALED(300); round++) {
        int pair[2];
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
        RLStreamRef stream = RLStreamCreate(NULL, pair[0], 1, echo, NULL);
        RLRunLoopAddSource(looper.loop, stream, kRLRunLoopDefaultMode);
        RLRunLoopWakeUp(looper.loop);
        for (int i = 0; i < round % 7; i++)
            send_text(pair[1], "0123456789");
        if (round % 3 == 0)
            RLStreamClose(stream);
        else
            RLRunLoopRemoveSource(looper.loop, stream, kRLRunLoopDefaultMode);
        RLRelease(stream);
        close(pair[1]);
    }
    looper_stop(&looper);
    ck_assert_int_le(open_descriptors(), before);
}
END_TEST

/* -- fork ---------------------------------------------------------------------------------------------------------- */

static void in_child(UNUSED void *info)
{
    send_text(peer, "from the child");
    run_passes();
    require(strcmp(spy.seen, "(from the child)") == 0);
    require(RLStreamWrite(spy.stream, "answer", 6));
    end_spy(&spy);
}

static void *hold_in_call(UNUSED void *info)
{
    make_stream();
    send_text(peer, "x");
    run_passes();
    return NULL;
}
static gate in_call, may_return;
static void hold(UNUSED struct spy *e, UNUSED const RLStreamEvent *event)
{
    gate_open(&in_call);
    gate_pass(&may_return);
}
/* The thread that was delivering data does not exist in the child. */
static void take_over(UNUSED void *info)
{
    spy.action = NULL;
    spy.seen[0] = 0, spy.length = 0;
    RLRunLoopAddSource(RLRunLoopGetCurrent(), spy.stream, kRLRunLoopDefaultMode);
    send_text(peer, "y");
    run_passes();
    require(strcmp(spy.seen, "(y)") == 0);
}

START_TEST(a_stream_works_in_the_child_of_a_fork)
{
    make_stream();
    run_passes();
    ck_assert_int_eq(run_in_child(in_child, NULL), 0);
    ck_assert_str_eq(take(peer), "answer"); /* the connection is still open in the parent */
    send_text(peer, "x");
    run_passes();
    assert_seen(&spy, "(x)");
    end_spy(&spy);
    close(peer);

    gate_init(&in_call);
    gate_init(&may_return);
    spy.action = hold;
    pthread_t thread = start_thread(hold_in_call, NULL);
    gate_pass(&in_call);
    ck_assert_int_eq(run_in_child(take_over, NULL), 0);
    gate_open(&may_return);
    join_thread(thread);
    spy.action = NULL;
    end_spy(&spy);
    close(peer);
}
END_TEST

/* -- Misuse and shortages ------------------------------------------------------------------------------------------ */

static void create_closed(void) { ck_assert_ptr_null(RLStreamCreate(NULL, 999, 1, spy_callback, NULL)); }
static void create_datagrams(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    ck_assert_ptr_null(RLStreamCreate(NULL, fd, 1, spy_callback, NULL));
    close(fd);
    errno = EINVAL;
}
static void create_version(void)
{
    RLStreamContext context = {.version = 1};
    ck_assert_ptr_null(RLStreamCreate(NULL, 0, 0, spy_callback, &context));
}
static void connect_nowhere(void) { ck_assert_ptr_null(RLStreamCreateConnectedToAddress(NULL, NULL, NULL, NULL)); }
static void connect_string(void)
{
    ck_assert_ptr_null(RLStreamCreateConnectedToAddress(NULL, (RLDataRef)RLSTR("x"), NULL, NULL));
}
static RLRunLoopSourceRef plain;
static void write_source(void) { ck_assert(!RLStreamWrite(plain, "x", 1)); }
static void write_null(void) { ck_assert(!RLStreamWrite(NULL, "x", 1)); }
static void write_no_bytes(void) { ck_assert(!RLStreamWrite(spy.stream, NULL, 1)); }
static void write_negative(void) { ck_assert(!RLStreamAppend(spy.stream, "x", -1)); }
static void write_string(void) { ck_assert(!RLStreamWriteData(spy.stream, (RLDataRef)RLSTR("x"))); }
static void flush_null(void) { ck_assert(!RLStreamFlush(spy.stream, NULL, NULL)); }
static void count_negative(void) { RLStreamSetReadCount(spy.stream, -1); }
static void delimiter_empty(void) { ck_assert(!RLStreamSetReadDelimiter(spy.stream, "", 0, 10)); }
static void delimiter_long(void) { ck_assert(!RLStreamSetReadDelimiter(spy.stream, block, 129, 1000)); }
static void limit_short(void) { ck_assert(!RLStreamSetReadDelimiter(spy.stream, "\r\n", 2, 1)); }
static void mark_zero(void) { RLStreamSetHighWaterMark(spy.stream, 0); }

START_TEST(misuse_of_streams_is_reported)
{
    make_stream();
    plain = make_source(0, do_nothing, NULL);
    assert_reports(create_closed, "runloop: RLStreamCreate: descriptor: not open");
    assert_reports(create_datagrams, "runloop: RLStreamCreate: descriptor: not a stream socket");
    assert_reports(create_version, "runloop: RLStreamCreate: context: version must be 0");
    assert_reports(connect_nowhere, "runloop: RLStreamCreateConnectedToAddress: address: expected RLData, got NULL");
    assert_reports(connect_string,
                   "runloop: RLStreamCreateConnectedToAddress: address: not the data of a struct sockaddr");
    assert_reports(write_source, "runloop: RLStreamWrite: stream: expected RLStream, got another source");
    assert_reports(write_null, "runloop: RLStreamWrite: stream: expected RLStream, got NULL");
    assert_reports(write_no_bytes, "runloop: RLStreamWrite: bytes: expected bytes, got NULL");
    assert_reports(write_negative, "runloop: RLStreamAppend: length: negative");
    assert_reports(write_string, "runloop: RLStreamWriteData: data: not an RLData");
    assert_reports(flush_null, "runloop: RLStreamFlush: callout: expected a function, got NULL");
    assert_reports(count_negative, "runloop: RLStreamSetReadCount: count: negative");
    assert_reports(delimiter_empty, "runloop: RLStreamSetReadDelimiter: delimiter: must have from 1 to 128 bytes");
    assert_reports(delimiter_long, "runloop: RLStreamSetReadDelimiter: delimiter: must have from 1 to 128 bytes");
    assert_reports(limit_short, "runloop: RLStreamSetReadDelimiter: longest: less than the delimiter's length");
    assert_reports(mark_zero, "runloop: RLStreamSetHighWaterMark: length: not positive");
    RLStringRef text = RLCopyDescription(spy.stream);
    ck_assert_ptr_nonnull(strstr(RLStringGetCStringPtr(text, kRLStringEncodingUTF8), "RLStream"));
    RLRelease(text);
    ck_assert(RLStreamWrite(spy.stream, "x", 1)); /* none of it has done harm */
    ck_assert_str_eq(take(peer), "x");
    drop_source(plain);
    end_spy(&spy);
    close(peer);
}
END_TEST

/* No descriptor is left for the loop's epoll: the stream fails, and reports that when the loop can run. */
START_TEST(a_stream_fails_without_free_descriptors)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    struct rlimit limit, none;
    require(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    none = limit;
    none.rlim_cur = (rlim_t)pair[1] + 1;
    RLRunLoopGetCurrent();
    require(setrlimit(RLIMIT_NOFILE, &none) == 0);
    RLStreamContext context = {.info = &spy};
    spy.stream = RLStreamCreate(NULL, pair[0], 1, spy_callback, &context);
    bool is_made = spy.stream != NULL;
    struct sockaddr_storage address = {.ss_family = AF_INET};
    RLDataRef data = RLDataCreate(NULL, (const void *)&address, 16);
    ck_assert_ptr_null(RLStreamCreateConnectedToAddress(NULL, data, spy_callback, NULL));
    ck_assert_int_eq(errno, EMFILE);
    RLRelease(data);
    if (is_made)
        RLRunLoopAddSource(RLRunLoopGetCurrent(), spy.stream, kRLRunLoopDefaultMode);
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    ck_assert(is_made);
    send_text(pair[1], "x");
    run_passes();
    ck_assert(strcmp(spy.seen, "(x)") == 0 || strcmp(spy.seen, "!EMFILE") == 0 || strcmp(spy.seen, "!ENOMEM") == 0);
    end_spy(&spy);
    close(pair[1]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream life");
    TCase *all = add_case(suite, "stream life", 30);
    tcase_add_test(all, a_stream_may_end_in_any_callback);
    tcase_add_test(all, the_last_release_closes_a_stream);
    tcase_add_test(all, a_completion_may_release_a_stream_that_is_being_closed);
    tcase_add_test(all, a_stream_is_served_in_the_modes_it_was_added_to);
    tcase_add_test(all, two_loops_share_a_stream);
    tcase_add_test(all, another_thread_may_close_a_stream);
    tcase_add_test(all, a_stream_works_in_the_child_of_a_fork);
    tcase_add_test(all, misuse_of_streams_is_reported);
    tcase_add_test(all, a_stream_fails_without_free_descriptors);
    return suite;
}
