/* RLStream: data is written in order, immediately or later; the queue, flushing, half-closing, errors. */
#include "stream.h"

static struct spy spy;
static char block[100000];

START_TEST(bytes_are_written_at_once)
{
    int peer = spy_on_pair(&spy);
    ck_assert(RLStreamWrite(spy.stream, "one", 3) && RLStreamWrite(spy.stream, "two", 3));
    ck_assert_str_eq(take(peer), "onetwo");
    ck_assert_int_eq(RLStreamGetQueuedLength(spy.stream), 0);
    ck_assert(RLStreamWrite(spy.stream, NULL, 0));
    end_spy(&spy);
    ck_assert_str_eq(take(peer), "");
    close(peer);
}
END_TEST

START_TEST(appended_bytes_are_written_with_the_next_write)
{
    int peer = spy_on_pair(&spy);
    ck_assert(RLStreamAppend(spy.stream, "one", 3) && RLStreamAppend(spy.stream, "two", 3));
    ck_assert_str_eq(take(peer), "");
    ck_assert_int_eq(RLStreamGetQueuedLength(spy.stream), 6);
    ck_assert(RLStreamWrite(spy.stream, "three", 5));
    ck_assert_str_eq(take(peer), "onetwothree");
    ck_assert(RLStreamAppend(spy.stream, "four", 4));
    run_passes(); /* or without being asked */
    ck_assert_str_eq(take(peer), "four");
    ck_assert(RLStreamAppend(spy.stream, "five", 4) && RLStreamWrite(spy.stream, NULL, 0));
    ck_assert_str_eq(take(peer), "five");
    for (int i = 0; i < 40; i++) { /* more parts than one system call accepts */
        RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"y", 1);
        ck_assert(i % 2 ? RLStreamAppend(spy.stream, "y", 1) : RLStreamWriteData(spy.stream, data));
        RLRelease(data);
    }
    ck_assert(RLStreamWrite(spy.stream, "z", 1));
    ck_assert_str_eq(take(peer), "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyz");
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(bytes_that_do_not_fit_are_written_when_there_is_room)
{
    int peer = spy_on_pair(&spy);
    small_buffers(RLStreamGetNativeDescriptor(spy.stream));
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)block, sizeof block);
    for (int i = 0; i < 20; i++)
        ck_assert(RLStreamWriteData(spy.stream, data) && RLStreamWrite(spy.stream, block, 1000) &&
                  RLStreamAppend(spy.stream, block, 10));
    ck_assert_int_gt(RLGetRetainCount(data), 1);
    ck_assert(RLStreamFlush(spy.stream, note_flush, "a"));
    size_t all = 20 * (sizeof block + 1010), got = 0;
    ck_assert_int_gt(RLStreamGetQueuedLength(spy.stream), (RLIndex)all / 2);
    while (got < all) {
        if (RLStreamGetQueuedLength(spy.stream) > 0)
            assert_flushed("");
        got += drain(peer);
        run_passes();
    }
    ck_assert_uint_eq(got, all);
    assert_flushed("a0");
    ck_assert_int_eq(RLGetRetainCount(data), 1);
    RLRelease(data);
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(room_is_reported_once_below_the_high_water_mark)
{
    int peer = spy_on_pair(&spy);
    small_buffers(RLStreamGetNativeDescriptor(spy.stream));
    RLStreamSetHighWaterMark(spy.stream, 20000);
    ck_assert(RLStreamCanAcceptBytes(spy.stream));
    RLStreamWrite(spy.stream, block, 5000); /* fills the socket */
    for (int i = 0; RLStreamCanAcceptBytes(spy.stream); i++) {
        ck_assert_int_lt(i, 100);
        ck_assert(RLStreamWrite(spy.stream, block, 1000));
    }
    ck_assert(RLStreamGetQueuedLength(spy.stream) >= 20000 && RLStreamGetQueuedLength(spy.stream) < 21000);
    ck_assert(RLStreamWrite(spy.stream, block, 1)); /* the mark is not a limit */
    run_passes();
    while (RLStreamGetQueuedLength(spy.stream) > 0) {
        assert_seen(&spy, "");
        drain(peer);
        run_passes();
        if (RLStreamGetQueuedLength(spy.stream) <= 10000)
            break;
    }
    assert_seen(&spy, "R");
    while (RLStreamGetQueuedLength(spy.stream) > 0) {
        drain(peer);
        run_passes();
    }
    assert_seen(&spy, ""); /* only once */
    drain(peer);
    RLStreamSetHighWaterMark(spy.stream, 1);
    RLStreamAppend(spy.stream, "x", 1);
    ck_assert(!RLStreamCanAcceptBytes(spy.stream));
    run_passes();
    assert_seen(&spy, "R");
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(a_flush_completes_when_earlier_bytes_are_written)
{
    int peer = spy_on_pair(&spy);
    ck_assert(RLStreamFlush(spy.stream, note_flush, "a")); /* nothing to write: not called within this call */
    assert_flushed("");
    run_passes();
    assert_flushed("a0");
    RLStreamAppend(spy.stream, "x", 1);
    ck_assert(RLStreamFlush(spy.stream, note_flush, "b"));
    ck_assert_str_eq(take(peer), "x");
    small_buffers(RLStreamGetNativeDescriptor(spy.stream));
    while (RLStreamGetQueuedLength(spy.stream) == 0)
        RLStreamWrite(spy.stream, block, sizeof block);
    ck_assert(RLStreamFlush(spy.stream, note_flush, "c"));
    RLStreamWrite(spy.stream, block, 1);
    ck_assert(RLStreamFlush(spy.stream, note_flush, "d") && RLStreamFlush(spy.stream, note_flush, "e"));
    run_passes();
    assert_flushed("b0");
    while (RLStreamGetQueuedLength(spy.stream) > 0) {
        drain(peer);
        run_passes();
    }
    assert_flushed("c0d0e0");
    while (RLStreamGetQueuedLength(spy.stream) == 0)
        RLStreamWrite(spy.stream, block, sizeof block);
    ck_assert(RLStreamFlush(spy.stream, note_flush, "f"));
    RLStreamClose(spy.stream);
    assert_flushed("f3");
    ck_assert(!RLStreamFlush(spy.stream, note_flush, "g") && errno == EBADF);
    ck_assert(!RLStreamWrite(spy.stream, "x", 1) && errno == EBADF);
    RLRelease(spy.stream);
    close(peer);
}
END_TEST

START_TEST(a_shutdown_ends_one_direction)
{
    int peer = spy_on_pair(&spy);
    RLStreamAppend(spy.stream, "last", 4);
    RLStreamShutdown(spy.stream);
    RLStreamShutdown(spy.stream);
    ck_assert(!RLStreamWrite(spy.stream, "x", 1) && errno == EPIPE);
    ck_assert(!RLStreamCanAcceptBytes(spy.stream));
    ck_assert(RLStreamFlush(spy.stream, note_flush, "a"));
    char bytes[10];
    ck_assert_int_eq(read(peer, bytes, sizeof bytes), 4);
    ck_assert_int_eq(read(peer, bytes, sizeof bytes), 0);
    send_text(peer, "answer");
    run_passes();
    assert_seen(&spy, "(answer)");
    assert_flushed("a0");
    close(peer);
    run_passes();
    assert_seen(&spy, "E");
    end_spy(&spy);

    peer = spy_on_pair(&spy); /* in the other direction */
    small_buffers(RLStreamGetNativeDescriptor(spy.stream));
    shutdown(peer, SHUT_WR);
    run_passes();
    assert_seen(&spy, "E");
    for (int i = 0; i < 10; i++)
        ck_assert(RLStreamWrite(spy.stream, block, sizeof block));
    RLStreamShutdown(spy.stream); /* takes effect after all of it */
    size_t all = 0;
    while (all < 10 * sizeof block) {
        all += drain(peer);
        run_passes();
    }
    ck_assert_int_eq(read(peer, bytes, sizeof bytes), 0);
    assert_seen(&spy, ""); /* room is not reported unless it was asked for */
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(shutting_down_a_pipe_closes_it)
{
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0);
    spy_on(&spy, ends[1]);
    while (RLStreamGetQueuedLength(spy.stream) == 0)
        ck_assert(RLStreamWrite(spy.stream, block, sizeof block));
    RLStreamFlush(spy.stream, note_flush, "a");
    RLStreamShutdown(spy.stream);
    require(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    while (RLRunLoopSourceIsValid(spy.stream)) {
        drain(ends[0]);
        run_passes();
    }
    assert_flushed("a0");
    drain(ends[0]);
    ck_assert_int_eq(read(ends[0], block, 1), 0);
    ck_assert_int_eq(RLStreamGetNativeDescriptor(spy.stream), -1);
    close(ends[0]);
    assert_seen(&spy, "");
    end_spy(&spy);
}
END_TEST

/* Data that the peer sent before it closed is reported first. */
START_TEST(bytes_received_before_a_write_error_are_reported_first)
{
    int peer = spy_on_pair(&spy);
    RLStreamSetReadDelimiter(spy.stream, "\n", 1, 100);
    small_buffers(RLStreamGetNativeDescriptor(spy.stream));
    while (RLStreamGetQueuedLength(spy.stream) == 0)
        RLStreamWrite(spy.stream, block, sizeof block);
    RLStreamFlush(spy.stream, note_flush, "a");
    send_text(peer, "too large\nbye\n");
    close(peer);
    run_passes();
    ck_assert(strcmp(spy.seen, "(too large\n)(bye\n)!EPIPEE") == 0 ||
              strcmp(spy.seen, "(too large\n)(bye\n)!ECONNRESET") == 0 ||
              strcmp(spy.seen, "(too large\n)(bye\n)!EPIPE!ECONNRESET") == 0);
    assert_flushed("a1");
    end_spy(&spy);
}
END_TEST

static void *write_lines(void *number)
{
    char line[101];
    for (int i = 0; i < 500; i++) {
        snprintf(line, sizeof line, "%d%-98d\n", (int)(intptr_t)number, i);
        require(RLStreamWrite(spy.stream, line, 100));
    }
    return NULL;
}

START_TEST(several_threads_may_write)
{
    int peer = spy_on_pair(&spy);
    small_buffers(RLStreamGetNativeDescriptor(spy.stream));
    /* Each thread writes its own lines, and none is torn apart. */
    enum { threads = 4, lines = 500, size = 100 };
    pthread_t ids[threads];
    for (int i = 0; i < threads; i++)
        ids[i] = start_thread(write_lines, (void *)(intptr_t)i);
    static char got[threads * lines * size];
    size_t all = 0;
    while (all < sizeof got) {
        ssize_t count = read(peer, got + all, sizeof got - all);
        all += count > 0 ? (size_t)count : 0;
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
    }
    int next[threads] = {0};
    for (char *line = got; line < got + sizeof got; line += size) {
        int number = line[0] - '0';
        ck_assert(number >= 0 && number < threads && line[size - 1] == '\n');
        ck_assert_int_eq(atoi(line + 1), next[number]++);
    }
    for (int i = 0; i < threads; i++)
        join_thread(ids[i]);
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(bytes_may_be_written_while_connecting)
{
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage address = {.ss_family = AF_INET};
    socklen_t size = 16;
    require(bind(server, (void *)&address, size) == 0 && listen(server, 1) == 0);
    require(getsockname(server, (void *)&address, &size) == 0);
    RLDataRef data = RLDataCreate(NULL, (const void *)&address, (RLIndex)size);
    RLStreamContext context = {.info = &spy};
    spy.stream = add(RLStreamCreateConnectedToAddress(NULL, data, spy_callback, &context));
    ck_assert(RLStreamWrite(spy.stream, "hello", 5));
    RLStreamFlush(spy.stream, note_flush, "a");
    int peer = accept(server, NULL, NULL);
    while (flushed[0] == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1, 1);
    assert_seen(&spy, "O");
    assert_flushed("a0");
    ck_assert_str_eq(take(peer), "hello");
    close(peer);
    close(server);
    end_spy(&spy);

    spy.stream = RLStreamCreateConnectedToAddress(NULL, data, spy_callback, &context);
    ck_assert(spy.stream != NULL || errno == ECONNREFUSED);
    if (spy.stream != NULL) {
        add(spy.stream);
        ck_assert(RLStreamWrite(spy.stream, "hello", 5) && RLStreamFlush(spy.stream, note_flush, "b"));
        while (spy.seen[0] == 0)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1, 1);
        assert_seen(&spy, "!ECONNREFUSED");
        assert_flushed("b1");
        ck_assert(!RLStreamWrite(spy.stream, "x", 1) && errno == ECONNREFUSED);
        end_spy(&spy);
    }
    RLRelease(data);
}
END_TEST

START_TEST(close_when_written_closes_after_the_last_byte)
{
    int peer = spy_on_pair(&spy);
    small_buffers(RLStreamGetNativeDescriptor(spy.stream));
    for (int i = 0; i < 10; i++)
        ck_assert(RLStreamWrite(spy.stream, block, sizeof block));
    ck_assert(RLStreamFlush(spy.stream, note_flush, "a"));
    RLStreamShutdown(spy.stream);
    RLStreamCloseWhenWritten(spy.stream);
    ck_assert(!RLStreamWrite(spy.stream, "x", 1) && errno == EPIPE);
    send_text(peer, "read on");
    size_t got = 0;
    for (; RLRunLoopSourceIsValid(spy.stream); run_passes()) {
        assert_flushed("");
        got += drain(peer);
    }
    assert_flushed("a0");
    assert_seen(&spy, "(read on)");
    ck_assert_uint_eq(got + drain(peer), 10 * sizeof block);
    ck_assert_int_eq(read(peer, block, 1), 0);
    RLStreamCloseWhenWritten(spy.stream);
    end_spy(&spy);
    close(peer);

    peer = spy_on_pair(&spy);
    RLStreamCloseWhenWritten(spy.stream); /* immediately */
    ck_assert(!RLRunLoopSourceIsValid(spy.stream) && read(peer, block, 1) == 0);
    end_spy(&spy);
    close(peer);
}
END_TEST

START_TEST(close_when_written_closes_if_nothing_can_be_written)
{
    int peer = spy_on_pair(&spy), ends[2];
    small_buffers(RLStreamGetNativeDescriptor(spy.stream));
    ck_assert(RLStreamWrite(spy.stream, block, sizeof block));
    RLStreamCloseWhenWritten(spy.stream);
    close(peer);
    run_passes();
    ck_assert(!RLRunLoopSourceIsValid(spy.stream));
    ck_assert_ptr_nonnull(strstr(spy.seen, "!")); /* is reported before */
    end_spy(&spy);
    require(pipe2(ends, O_CLOEXEC) == 0);
    spy_on(&spy, ends[0]);
    RLStreamCloseWhenWritten(spy.stream);
    ck_assert(!RLRunLoopSourceIsValid(spy.stream));
    end_spy(&spy);
    close(ends[1]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream writing");
    TCase *all = add_case(suite, "stream writing", 20);
    tcase_add_test(all, bytes_are_written_at_once);
    tcase_add_test(all, appended_bytes_are_written_with_the_next_write);
    tcase_add_test(all, bytes_that_do_not_fit_are_written_when_there_is_room);
    tcase_add_test(all, room_is_reported_once_below_the_high_water_mark);
    tcase_add_test(all, a_flush_completes_when_earlier_bytes_are_written);
    tcase_add_test(all, a_shutdown_ends_one_direction);
    tcase_add_test(all, shutting_down_a_pipe_closes_it);
    tcase_add_test(all, bytes_received_before_a_write_error_are_reported_first);
    tcase_add_test(all, several_threads_may_write);
    tcase_add_test(all, bytes_may_be_written_while_connecting);
    tcase_add_test(all, close_when_written_closes_after_the_last_byte);
    tcase_add_test(all, close_when_written_closes_if_nothing_can_be_written);
    return suite;
}
