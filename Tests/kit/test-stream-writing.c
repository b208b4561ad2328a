/* RLStream: data is written in order, immediately or later; the queue, flushing, half-closing, errors. */
#include "stream.h"

static struct ear ear;
static char block[100000];

START_TEST(it_is_written_at_once)
{
    int peer = listen_to_pair(&ear);
    ck_assert(RLStreamWrite(ear.stream, "one", 3) && RLStreamWrite(ear.stream, "two", 3));
    ck_assert_str_eq(take(peer), "onetwo");
    ck_assert_int_eq(RLStreamGetQueuedLength(ear.stream), 0);
    ck_assert(RLStreamWrite(ear.stream, NULL, 0));
    end_ear(&ear);
    ck_assert_str_eq(take(peer), "");
    close(peer);
}
END_TEST

START_TEST(appended_bytes_go_with_the_next)
{
    int peer = listen_to_pair(&ear);
    ck_assert(RLStreamAppend(ear.stream, "one", 3) && RLStreamAppend(ear.stream, "two", 3));
    ck_assert_str_eq(take(peer), "");
    ck_assert_int_eq(RLStreamGetQueuedLength(ear.stream), 6);
    ck_assert(RLStreamWrite(ear.stream, "three", 5));
    ck_assert_str_eq(take(peer), "onetwothree");
    ck_assert(RLStreamAppend(ear.stream, "four", 4));
    run_passes(); /* or without being asked */
    ck_assert_str_eq(take(peer), "four");
    ck_assert(RLStreamAppend(ear.stream, "five", 4) && RLStreamWrite(ear.stream, NULL, 0));
    ck_assert_str_eq(take(peer), "five");
    for (int i = 0; i < 40; i++) { /* more parts than one system call accepts */
        RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"y", 1);
        ck_assert(i % 2 ? RLStreamAppend(ear.stream, "y", 1) : RLStreamWriteData(ear.stream, data));
        RLRelease(data);
    }
    ck_assert(RLStreamWrite(ear.stream, "z", 1));
    ck_assert_str_eq(take(peer), "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyz");
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(the_rest_is_written_when_there_is_room)
{
    int peer = listen_to_pair(&ear);
    small_buffers(RLStreamGetNativeDescriptor(ear.stream));
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)block, sizeof block);
    for (int i = 0; i < 20; i++)
        ck_assert(RLStreamWriteData(ear.stream, data) && RLStreamWrite(ear.stream, block, 1000) &&
                  RLStreamAppend(ear.stream, block, 10));
    ck_assert_int_gt(RLGetRetainCount(data), 1);
    ck_assert(RLStreamFlush(ear.stream, note_flush, "a"));
    size_t all = 20 * (sizeof block + 1010), got = 0;
    ck_assert_int_gt(RLStreamGetQueuedLength(ear.stream), (RLIndex)all / 2);
    while (got < all) {
        if (RLStreamGetQueuedLength(ear.stream) > 0)
            assert_flushed("");
        got += drain(peer);
        run_passes();
    }
    ck_assert_uint_eq(got, all);
    assert_flushed("a0");
    ck_assert_int_eq(RLGetRetainCount(data), 1);
    RLRelease(data);
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(the_high_water_mark)
{
    int peer = listen_to_pair(&ear);
    small_buffers(RLStreamGetNativeDescriptor(ear.stream));
    RLStreamSetHighWaterMark(ear.stream, 20000);
    ck_assert(RLStreamCanAcceptBytes(ear.stream));
    RLStreamWrite(ear.stream, block, 5000); /* fills the socket */
    for (int i = 0; RLStreamCanAcceptBytes(ear.stream); i++) {
        ck_assert_int_lt(i, 100);
        ck_assert(RLStreamWrite(ear.stream, block, 1000));
    }
    ck_assert(RLStreamGetQueuedLength(ear.stream) >= 20000 && RLStreamGetQueuedLength(ear.stream) < 21000);
    ck_assert(RLStreamWrite(ear.stream, block, 1)); /* the mark is not a limit */
    run_passes();
    while (RLStreamGetQueuedLength(ear.stream) > 0) {
        assert_said(&ear, "");
        drain(peer);
        run_passes();
        if (RLStreamGetQueuedLength(ear.stream) <= 10000)
            break;
    }
    assert_said(&ear, "R");
    while (RLStreamGetQueuedLength(ear.stream) > 0) {
        drain(peer);
        run_passes();
    }
    assert_said(&ear, ""); /* only once */
    drain(peer);
    RLStreamSetHighWaterMark(ear.stream, 1);
    RLStreamAppend(ear.stream, "x", 1);
    ck_assert(!RLStreamCanAcceptBytes(ear.stream));
    run_passes();
    assert_said(&ear, "R");
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(flushing)
{
    int peer = listen_to_pair(&ear);
    ck_assert(RLStreamFlush(ear.stream, note_flush, "a")); /* nothing to write: not called within this call */
    assert_flushed("");
    run_passes();
    assert_flushed("a0");
    RLStreamAppend(ear.stream, "x", 1);
    ck_assert(RLStreamFlush(ear.stream, note_flush, "b"));
    ck_assert_str_eq(take(peer), "x");
    small_buffers(RLStreamGetNativeDescriptor(ear.stream));
    while (RLStreamGetQueuedLength(ear.stream) == 0)
        RLStreamWrite(ear.stream, block, sizeof block);
    ck_assert(RLStreamFlush(ear.stream, note_flush, "c"));
    RLStreamWrite(ear.stream, block, 1);
    ck_assert(RLStreamFlush(ear.stream, note_flush, "d") && RLStreamFlush(ear.stream, note_flush, "e"));
    run_passes();
    assert_flushed("b0");
    while (RLStreamGetQueuedLength(ear.stream) > 0) {
        drain(peer);
        run_passes();
    }
    assert_flushed("c0d0e0");
    while (RLStreamGetQueuedLength(ear.stream) == 0)
        RLStreamWrite(ear.stream, block, sizeof block);
    ck_assert(RLStreamFlush(ear.stream, note_flush, "f"));
    RLStreamClose(ear.stream);
    assert_flushed("f3");
    ck_assert(!RLStreamFlush(ear.stream, note_flush, "g") && errno == EBADF);
    ck_assert(!RLStreamWrite(ear.stream, "x", 1) && errno == EBADF);
    RLRelease(ear.stream);
    close(peer);
}
END_TEST

START_TEST(half_closing)
{
    int peer = listen_to_pair(&ear);
    RLStreamAppend(ear.stream, "last", 4);
    RLStreamShutdown(ear.stream);
    RLStreamShutdown(ear.stream);
    ck_assert(!RLStreamWrite(ear.stream, "x", 1) && errno == EPIPE);
    ck_assert(!RLStreamCanAcceptBytes(ear.stream));
    ck_assert(RLStreamFlush(ear.stream, note_flush, "a"));
    char bytes[10];
    ck_assert_int_eq(read(peer, bytes, sizeof bytes), 4);
    ck_assert_int_eq(read(peer, bytes, sizeof bytes), 0);
    say(peer, "answer");
    run_passes();
    assert_said(&ear, "(answer)");
    assert_flushed("a0");
    close(peer);
    run_passes();
    assert_said(&ear, "E");
    end_ear(&ear);

    peer = listen_to_pair(&ear); /* in the other direction */
    small_buffers(RLStreamGetNativeDescriptor(ear.stream));
    shutdown(peer, SHUT_WR);
    run_passes();
    assert_said(&ear, "E");
    for (int i = 0; i < 10; i++)
        ck_assert(RLStreamWrite(ear.stream, block, sizeof block));
    RLStreamShutdown(ear.stream); /* takes effect after all of it */
    size_t all = 0;
    while (all < 10 * sizeof block) {
        all += drain(peer);
        run_passes();
    }
    ck_assert_int_eq(read(peer, bytes, sizeof bytes), 0);
    assert_said(&ear, ""); /* room is not reported unless it was asked for */
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(shutting_a_pipe_down_closes_it)
{
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0);
    listen_to(&ear, ends[1]);
    while (RLStreamGetQueuedLength(ear.stream) == 0)
        ck_assert(RLStreamWrite(ear.stream, block, sizeof block));
    RLStreamFlush(ear.stream, note_flush, "a");
    RLStreamShutdown(ear.stream);
    require(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    while (RLRunLoopSourceIsValid(ear.stream)) {
        drain(ends[0]);
        run_passes();
    }
    assert_flushed("a0");
    drain(ends[0]);
    ck_assert_int_eq(read(ends[0], block, 1), 0);
    ck_assert_int_eq(RLStreamGetNativeDescriptor(ear.stream), -1);
    close(ends[0]);
    assert_said(&ear, "");
    end_ear(&ear);
}
END_TEST

static atomic_int pipe_signals;
static void count_signal(UNUSED int number) { pipe_signals++; }

/* Writing to a closed pipe or connection is an error, not a signal. The program's own pending SIGPIPE stays pending. */
START_TEST(nobody_reads)
{
    signal(SIGPIPE, count_signal);
    int ends[2];
    if (_i == 0)
        require(pipe2(ends, O_CLOEXEC) == 0);
    else
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    listen_to(&ear, ends[1]);
    close(ends[0]);
    ck_assert(!RLStreamWrite(ear.stream, "x", 1) && errno == EPIPE);
    ck_assert(!RLStreamWrite(ear.stream, "x", 1) && errno == EPIPE);
    ck_assert(!RLStreamFlush(ear.stream, note_flush, "a") && errno == EPIPE);
    run_passes();
    assert_said(&ear, _i == 0 ? "!EPIPE" : "!EPIPEE");
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    ck_assert_int_eq(pipe_signals, 0);
    end_ear(&ear);

    pthread_sigmask(SIG_BLOCK, &set, NULL);
    raise(SIGPIPE);
    require(pipe2(ends, O_CLOEXEC) == 0);
    listen_to(&ear, ends[1]);
    close(ends[0]);
    ck_assert(!RLStreamWrite(ear.stream, "x", 1) && errno == EPIPE);
    require(sigpending(&pending) == 0);
    ck_assert(sigismember(&pending, SIGPIPE));
    end_ear(&ear);
}
END_TEST

/* Data that the peer sent before it closed is reported first. */
START_TEST(the_last_words_of_a_peer)
{
    int peer = listen_to_pair(&ear);
    RLStreamSetReadDelimiter(ear.stream, "\n", 1, 100);
    small_buffers(RLStreamGetNativeDescriptor(ear.stream));
    while (RLStreamGetQueuedLength(ear.stream) == 0)
        RLStreamWrite(ear.stream, block, sizeof block);
    RLStreamFlush(ear.stream, note_flush, "a");
    say(peer, "too large\nbye\n");
    close(peer);
    run_passes();
    ck_assert(strcmp(ear.said, "(too large\n)(bye\n)!EPIPEE") == 0 ||
              strcmp(ear.said, "(too large\n)(bye\n)!ECONNRESET") == 0 ||
              strcmp(ear.said, "(too large\n)(bye\n)!EPIPE!ECONNRESET") == 0);
    assert_flushed("a1");
    end_ear(&ear);
}
END_TEST

static void *write_lines(void *number)
{
    char line[101];
    for (int i = 0; i < 500; i++) {
        snprintf(line, sizeof line, "%d%-98d\n", (int)(intptr_t)number, i);
        require(RLStreamWrite(ear.stream, line, 100));
    }
    return NULL;
}

START_TEST(threads_may_write)
{
    int peer = listen_to_pair(&ear);
    small_buffers(RLStreamGetNativeDescriptor(ear.stream));
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
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(connecting)
{
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage address = {.ss_family = AF_INET};
    socklen_t size = 16;
    require(bind(server, (void *)&address, size) == 0 && listen(server, 1) == 0);
    require(getsockname(server, (void *)&address, &size) == 0);
    RLDataRef data = RLDataCreate(NULL, (const void *)&address, (RLIndex)size);
    RLStreamContext context = {.info = &ear};
    ear.stream = add(RLStreamCreateConnectedToAddress(NULL, data, ear_hears, &context));
    ck_assert(RLStreamWrite(ear.stream, "hello", 5));
    RLStreamFlush(ear.stream, note_flush, "a");
    int peer = accept(server, NULL, NULL);
    while (flushed[0] == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1, 1);
    assert_said(&ear, "O");
    assert_flushed("a0");
    ck_assert_str_eq(take(peer), "hello");
    close(peer);
    close(server);
    end_ear(&ear);

    ear.stream = RLStreamCreateConnectedToAddress(NULL, data, ear_hears, &context);
    ck_assert(ear.stream != NULL || errno == ECONNREFUSED);
    if (ear.stream != NULL) {
        add(ear.stream);
        ck_assert(RLStreamWrite(ear.stream, "hello", 5) && RLStreamFlush(ear.stream, note_flush, "b"));
        while (ear.said[0] == 0)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1, 1);
        assert_said(&ear, "!ECONNREFUSED");
        assert_flushed("b1");
        ck_assert(!RLStreamWrite(ear.stream, "x", 1) && errno == ECONNREFUSED);
        end_ear(&ear);
    }
    RLRelease(data);
}
END_TEST

START_TEST(it_closes_when_all_is_written)
{
    int peer = listen_to_pair(&ear);
    small_buffers(RLStreamGetNativeDescriptor(ear.stream));
    for (int i = 0; i < 10; i++)
        ck_assert(RLStreamWrite(ear.stream, block, sizeof block));
    ck_assert(RLStreamFlush(ear.stream, note_flush, "a"));
    RLStreamShutdown(ear.stream);
    RLStreamCloseWhenWritten(ear.stream);
    ck_assert(!RLStreamWrite(ear.stream, "x", 1) && errno == EPIPE);
    say(peer, "read on");
    size_t got = 0;
    for (; RLRunLoopSourceIsValid(ear.stream); run_passes()) {
        assert_flushed("");
        got += drain(peer);
    }
    assert_flushed("a0");
    assert_said(&ear, "(read on)");
    ck_assert_uint_eq(got + drain(peer), 10 * sizeof block);
    ck_assert_int_eq(read(peer, block, 1), 0);
    RLStreamCloseWhenWritten(ear.stream);
    end_ear(&ear);
    close(peer);

    peer = listen_to_pair(&ear);
    RLStreamCloseWhenWritten(ear.stream); /* immediately */
    ck_assert(!RLRunLoopSourceIsValid(ear.stream) && read(peer, block, 1) == 0);
    end_ear(&ear);
    close(peer);
}
END_TEST

START_TEST(it_closes_when_nothing_can_be_written)
{
    int peer = listen_to_pair(&ear), ends[2];
    small_buffers(RLStreamGetNativeDescriptor(ear.stream));
    ck_assert(RLStreamWrite(ear.stream, block, sizeof block));
    RLStreamCloseWhenWritten(ear.stream);
    close(peer);
    run_passes();
    ck_assert(!RLRunLoopSourceIsValid(ear.stream));
    ck_assert_ptr_nonnull(strstr(ear.said, "!")); /* is reported before */
    end_ear(&ear);
    require(pipe2(ends, O_CLOEXEC) == 0);
    listen_to(&ear, ends[0]);
    RLStreamCloseWhenWritten(ear.stream);
    ck_assert(!RLRunLoopSourceIsValid(ear.stream));
    end_ear(&ear);
    close(ends[1]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream writing");
    TCase *all = add_case(suite, "stream writing", 20);
    tcase_add_test(all, it_is_written_at_once);
    tcase_add_test(all, appended_bytes_go_with_the_next);
    tcase_add_test(all, the_rest_is_written_when_there_is_room);
    tcase_add_test(all, the_high_water_mark);
    tcase_add_test(all, flushing);
    tcase_add_test(all, half_closing);
    tcase_add_test(all, shutting_a_pipe_down_closes_it);
    tcase_add_loop_test(all, nobody_reads, 0, 2);
    tcase_add_test(all, the_last_words_of_a_peer);
    tcase_add_test(all, threads_may_write);
    tcase_add_test(all, connecting);
    tcase_add_test(all, it_closes_when_all_is_written);
    tcase_add_test(all, it_closes_when_nothing_can_be_written);
    return suite;
}
