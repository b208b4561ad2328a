/* fork() in each function that a stream calls: the stream keeps working in the child, on the thread that forked and on others. */
#include "stream-filter.h"

static struct spy spy;
static struct framer framer;

/* Where to fork: before or after the framer's own function uses the stream, and how many generations. */
enum place { IN_START, IN_RECEIVE, IN_WRITE, IN_SHUTDOWN, IN_RELEASE, IN_CALLBACK, IN_FLUSH, PLACES };
static struct attempt {
    enum place place;
    int after, forks;
} wanted;
static int forks;

/* A second thread of the child, which may be the first to use the stream there. */
static pthread_t other;
static void *ask(UNUSED void *info)
{
    RLStreamGetQueuedLength(spy.stream);
    return NULL;
}

/* Returns in the last child only, which continues in the callback and with the stream. Each parent waits for its child and ends with
 * the same result. */
static void fork_in(enum place place, int after)
{
    if (place != wanted.place || after != wanted.after)
        return;
    while (forks < wanted.forks) {
        pid_t child = fork_child();
        int status;
        if (child != 0) {
            require(waitpid(child, &status, 0) == child);
            _exit(status == 0 ? 0 : 1);
        }
        alarm(60);
        forks++;
        if (forks == wanted.forks)
            other = start_thread(ask, NULL);
    }
}

static void start(RLStreamRef stream, void *info)
{
    fork_in(IN_START, 0);
    framer_start(stream, info);
    fork_in(IN_START, 1);
}
static void receive(RLStreamRef stream, const uint8_t *bytes, RLIndex length, void *info)
{
    fork_in(IN_RECEIVE, 0);
    framer_receive(stream, bytes, length, info);
    fork_in(IN_RECEIVE, 1);
}
static void write_frames(RLStreamRef stream, const uint8_t *bytes, RLIndex length, void *info)
{
    fork_in(IN_WRITE, 0);
    framer_write(stream, bytes, length, info);
    fork_in(IN_WRITE, 1);
}
static void shut_down(RLStreamRef stream, void *info)
{
    fork_in(IN_SHUTDOWN, 0);
    framer_shutdown(stream, info);
    fork_in(IN_SHUTDOWN, 1);
}
static void release(void *info)
{
    fork_in(IN_RELEASE, 0);
    framer_release(info);
    fork_in(IN_RELEASE, 1);
}
static void in_callback(struct spy *e, const RLStreamEvent *event)
{
    if (event->type != kRLStreamEventHasBytesAvailable)
        return;
    fork_in(IN_CALLBACK, 0);
    RLStreamFlush(e->stream, note_flush, "c");
    fork_in(IN_CALLBACK, 1);
}
static void in_flush(RLStreamRef stream, RLStreamResult result, int error, void *info)
{
    fork_in(IN_FLUSH, 0);
    RLStreamGetQueuedLength(stream);
    note_flush(stream, result, error, info);
    fork_in(IN_FLUSH, 1);
}

/* Uses the stream on another thread, which would wait forever if the lock were still held. */
static void ask_elsewhere(void)
{
    if (other != 0)
        join_thread(other);
    other = 0;
    join_thread(start_thread(ask, NULL));
}

/* Makes the stream call each of the functions, and checks that it does the same in the child as it would in the parent. */
static void use_stream(UNUSED void *info)
{
    RLStreamFilter filter = {0, &framer, release, start, receive, write_frames, shut_down};
    int peer = spy_on_pair(&spy);
    spy.action = in_callback;
    require(RLStreamSetFilter(spy.stream, &filter));
    ask_elsewhere();
    require(strcmp(take(peer), "HI") == 0);
    send_text(peer, "HI\1\x9e");
    run_passes();
    ask_elsewhere();
    require(strcmp(spy.seen, "O(a)") == 0 && RLStreamWrite(spy.stream, "b", 1));
    ask_elsewhere();
    require(strcmp(take(peer), "\1\x9d") == 0 && RLStreamFlush(spy.stream, in_flush, "f"));
    run_passes();
    ask_elsewhere();
    require(strcmp(flushed, "c0f0") == 0);
    RLStreamShutdown(spy.stream);
    ask_elsewhere();
    char end[2] = "x";
    require(read(peer, end, 2) == 1 && end[0] == 0);
    require(write(peer, "\1\x9d\0", 3) == 3);
    run_passes();
    require(strcmp(spy.seen, "O(a)(b)E") == 0);
    RLStreamClose(spy.stream);
    ask_elsewhere();
    end_spy(&spy);
    require(framer.releases == 1 && forks == wanted.forks);
}

START_TEST(the_stream_works_in_the_child)
{
    wanted = (struct attempt){(enum place)(_i / 4), _i % 2, 1 + _i / 2 % 2};
    ck_assert_int_eq(run_in_child(use_stream, NULL), 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream fork");
    TCase *all = add_case(suite, "fork", 60);
    tcase_add_loop_test(all, the_stream_works_in_the_child, 0, 4 * PLACES);
    return suite;
}
