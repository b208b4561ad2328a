/* Checks a server that has answered a request and finds the next one waiting: whatever a pass of the loop would do between the
 * two is done there, in the same order. */
#include "message-port-between.h"

/* ---- what the callback of the first request does ---- */

static void say(void *word) { note(word); }
static void say_timer(UNUSED RLRunLoopTimerRef timer, void *word) { note(word); }

static void nothing(void) {}
static void wake(void) { RLRunLoopWakeUp(main_loop); }
static void perform(void) { RLRunLoopPerformFunction(main_loop, MODE, say, "function"); }

static RLRunLoopSourceRef signalled, keeper;

static void signal_one(void)
{
    signalled = make_source(0, say, "source");
    RLRunLoopAddSource(main_loop, signalled, MODE);
    RLRunLoopSourceSignal(signalled);
}

static struct looper looper;

static void signal_shared(void)
{
    looper_start(&looper);
    signalled = make_source(0, say, "source");
    RLRunLoopAddSource(looper.loop, signalled, OTHER);
    RLRunLoopAddSource(main_loop, signalled, MODE);
    RLRunLoopSourceSignal(signalled);
}

static void run_other_mode(void)
{
    keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(main_loop, keeper, OTHER);
    require(RLRunLoopRunInMode(OTHER, 0, false) == kRLRunLoopRunTimedOut);
    note("run");
}

/* The inner run finds the pending signal, and leaves the source to the outer run. */
static void signal_and_run_other_mode(void)
{
    signal_one();
    run_other_mode();
}

static void perform_and_run_other_mode(void)
{
    perform();
    run_other_mode();
}

static void add_due_timer(void)
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent(), 0, say_timer, "timer");
    RLRunLoopAddTimer(main_loop, timer, MODE);
    RLRelease(timer);
}

static RLRunLoopObserverRef observer;
static void say_observed(UNUSED RLRunLoopObserverRef which, RLRunLoopActivity activity, UNUSED void *info)
{
    note(activity == kRLRunLoopBeforeTimers ? "timers?" : "sources?");
}

static void observe(RLRunLoopActivity activity)
{
    observer = make_observer(activity, true, 0, say_observed, NULL);
    RLRunLoopAddObserver(main_loop, observer, MODE);
}

static void observe_timers(void) { observe(kRLRunLoopBeforeTimers); }
static void observe_sources(void) { observe(kRLRunLoopBeforeSources); }

static RLFileDescriptorRef descriptors[2];
static int pipes[2][2];

static void say_descriptor(UNUSED RLFileDescriptorRef descriptor, UNUSED RLOptionFlags types, void *word)
{
    note(word);
}

static void watch(int index, int fd, RLIndex order, char *word)
{
    RLFileDescriptorContext context = {.info = word};
    descriptors[index] = RLFileDescriptorCreate(NULL, fd, false, say_descriptor, &context);
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, descriptors[index], order);
    RLRunLoopAddSource(main_loop, source, MODE);
    RLRelease(source);
}

static void enable(int index) { RLFileDescriptorEnableCallBacks(descriptors[index], kRLFileDescriptorReadCallBack); }

static void watch_ready_pipe(int index, RLIndex order, char *word)
{
    make_pipe(pipes[index]);
    watch(index, pipes[index][0], order, word);
    enable(index);
    require(write(pipes[index][1], "x", 1) == 1);
}

static void watch_pipe(void) { watch_ready_pipe(0, 0, "pipe"); }

/* Either of them may be reported first. */
static void watch_ordered_pipes(void)
{
    watch_ready_pipe(0, 2, "high");
    watch_ready_pipe(1, 1, "low");
}

static void watch_ordered_pipes_backwards(void)
{
    watch_ready_pipe(1, 1, "low");
    watch_ready_pipe(0, 2, "high");
}

static void watch_always_ready(void)
{
    pipes[0][0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pipes[0][1] = -1;
    watch(0, pipes[0][0], 0, "null");
    enable(0);
}

/* The program closes a descriptor without telling the library, and an inner run notices it. */
static void lose_descriptor(void)
{
    make_pipe(pipes[0]);
    watch(0, pipes[0][0], 0, "never");
    close(pipes[0][0]);
    enable(0);
    run_other_mode();
    require(take_diagnostics() == 0);
}

static void clean(void)
{
    for (int index = 0; index < 2; index++)
        if (descriptors[index]) {
            RLFileDescriptorInvalidate(descriptors[index]);
            RLRelease(descriptors[index]);
            close_pipe(pipes[index]);
        }
    if (looper.loop)
        looper_stop(&looper);
    if (signalled)
        drop_source(signalled);
    if (keeper)
        drop_source(keeper);
    if (observer)
        drop_observer(observer);
}

static void stop_here(void) { RLRunLoopStop(main_loop); }

/* `of_one_way`: the notes to expect from one-way requests, if they differ, because several of these are received for one event. */
static const struct {
    void (*action)(void);
    const char *notes, *of_one_way;
} between[] = {
    {nothing, "1 2 3", NULL},
    {wake, "1 2 3", NULL},
    {perform, "1 function 2 3", NULL},
    {signal_one, "1 source 2 3", NULL},
    {signal_shared, "1 source 2 3", NULL},
    {signal_and_run_other_mode, "1 run source 2 3", NULL},
    {perform_and_run_other_mode, "1 run function 2 3", NULL},
    {add_due_timer, "1 timer 2 3", NULL},
    {observe_timers, "1 timers? 2 timers? 3", NULL},
    {observe_sources, "1 sources? 2 sources? 3", NULL},
    {watch_pipe, "1 2 pipe 3", "1 2 3"},
    {watch_ordered_pipes, "1 2 low high 3", "1 2 3"},
    {watch_ordered_pipes_backwards, "1 2 low high 3", "1 2 3"},
    {watch_always_ready, "1 2 null 3", "1 2 3"},
    {stop_here, "1", NULL},
};

START_TEST(the_work_of_a_pass_is_done_between_two_requests)
{
    const char *expected = between[_i / 2].notes;
    action = between[_i / 2].action;
    is_one_way = _i & 1;
    if (is_one_way && between[_i / 2].of_one_way)
        expected = between[_i / 2].of_one_way;
    let_client_send_all(0);
    RLRunLoopRun();
    ck_assert_str_eq(notes, expected);
    clean();
}
END_TEST

START_TEST(clients_with_queued_requests_take_turns)
{
    let_client_send_all(0);
    let_client_send_all(1);
    RLRunLoopRun();
    if (notes[1] == '1') /* epoll decides which client is first */
        assert_notes("11 1 12 2 13 3");
    else
        assert_notes("1 11 2 12 3 13");
}
END_TEST

/* Tests the condition OtherWork.descriptors: both connections are in the batch that the loop has fetched. */
START_TEST(a_ready_client_is_served_before_the_second_one_way_request_of_another)
{
    is_one_way = true;
    let_client_send_all(0);
    let_client_send_all(1);
    RLRunLoopRun();
    if (notes[1] == '1') /* epoll decides which client is first */
        assert_notes("11 1 2 3 12 13");
    else
        assert_notes("1 11 12 13 2 3");
}
END_TEST

START_TEST(many_one_way_requests_do_not_starve_a_descriptor)
{
    /* After the requests of the first round the server creates the ring, in which those of the second round wait. */
    for (int round = 0; round < 2; round++) {
        notes[0] = 0;
        action = round ? watch_pipe : NULL;
        let_client_send(0, BY_ONE_WAY + 90);
        RLRunLoopRun();
    }
    ck_assert_ptr_nonnull(strstr(notes, "pipe"));
    ck_assert_msg(strstr(notes, "pipe") < strstr(notes, "90"), "%s", notes);
    clean();
}
END_TEST

START_TEST(a_run_for_one_source_handles_one_request)
{
    is_one_way = _i;
    let_client_send_all(0);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e10, true), kRLRunLoopRunHandledSource);
    assert_notes("1");
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e10, true), kRLRunLoopRunHandledSource);
    assert_notes("2");
}
END_TEST

static void take_too_long(void) { spin_until(RLAbsoluteTimeGetCurrent() + 0.02); }

START_TEST(the_deadline_of_a_run_is_checked_between_two_requests)
{
    is_one_way = _i;
    action = take_too_long;
    let_client_send_all(0);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 0.01, false), kRLRunLoopRunTimedOut);
    assert_notes("1");
    missing++;
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 0.05, false), kRLRunLoopRunTimedOut);
    assert_notes("2 3");
}
END_TEST

START_TEST(a_closed_descriptor_is_reported_by_the_next_pass)
{
    action = lose_descriptor;
    let_client_send_all(0);
    RLRunLoopRun();
    assert_notes("1 run 2 3");
    ck_assert_int_eq(take_diagnostics(), 1);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-between");
    TCase *tcase = add_case(suite, "between", 20);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_loop_test(tcase, the_work_of_a_pass_is_done_between_two_requests, 0,
                        2 * (int)(sizeof between / sizeof *between));
    tcase_add_test(tcase, clients_with_queued_requests_take_turns);
    tcase_add_test(tcase, a_ready_client_is_served_before_the_second_one_way_request_of_another);
    tcase_add_test(tcase, many_one_way_requests_do_not_starve_a_descriptor);
    tcase_add_loop_test(tcase, a_run_for_one_source_handles_one_request, 0, 2);
    tcase_add_loop_test(tcase, the_deadline_of_a_run_is_checked_between_two_requests, 0, 2);
    tcase_add_test(tcase, a_closed_descriptor_is_reported_by_the_next_pass);
    return suite;
}
