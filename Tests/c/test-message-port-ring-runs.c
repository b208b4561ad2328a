/* Checks the messages of a ring when each one is delivered by its own run of the loop: the loop knows that there is a next one
 * without asking the kernel. */
#include "message-port-ring.h"

enum { AT_ONCE = 300, MOST_IN_A_ROW = 2 * 64 };

static void send_at_once(void)
{
    RLMessagePortRef remote = connect_to_server();
    int id = send_until_ring(remote);
    for (int more = 0; more < AT_ONCE; more++)
        child_assert(send_one(remote, 0, id++, SMALL, 50) == kRLMessagePortSuccess);
    shared->answers = 1;
    pause();
}

static pid_t start_and_fill_ring(void)
{
    pid_t child = start(send_at_once);
    serve_until_ring();
    while (!shared->answers)
        sched_yield();
    return child;
}

static int in_a_row, most_in_a_row;

static int ready_descriptor(void *info) { return *(int *)info; }

static void end_row(UNUSED void *info) { in_a_row = 0; }

/* The loop knows the next entry without asking the kernel, but another descriptor still has its turn: after 64 entries, a count
 * that may begin anew when that descriptor becomes ready. The port may also end with entries unread. */
START_TEST(runs_for_one_ring_message_do_not_starve_a_descriptor)
{
    int ends[2], before = -1;
    pid_t child = start_and_fill_ring();
    require(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    RLRunLoopSourceRef other = make_port_source(0, ready_descriptor, end_row, &ends[0]);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), other, MODE);
    while (shared->received < shared->sent - _i * AT_ONCE / 2) {
        before = shared->received;
        ck_assert_int_eq(RLRunLoopRunInMode(MODE, 50, true), kRLRunLoopRunHandledSource);
        ck_assert_int_le(shared->received, before + 1);
        in_a_row += shared->received - before;
        most_in_a_row = in_a_row > most_in_a_row ? in_a_row : most_in_a_row;
    }
    ck_assert_int_le(most_in_a_row, MOST_IN_A_ROW);
    finish();
    server.port = NULL;
    for (int run = 0; run < 5; run++)
        ck_assert_int_eq(RLRunLoopRunInMode(MODE, 50, true), kRLRunLoopRunHandledSource);
    drop_source(other);
    close_pipe(ends);
    end_process(child, SIGKILL);
    use_own_directory();
}
END_TEST

/* Makes one run for one entry, so that the loop knows of the next one. */
static pid_t receive_one_of_many(void)
{
    pid_t child = start_and_fill_ring();
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 50, true), kRLRunLoopRunHandledSource);
    return child;
}

static void note_pass_and_stop(UNUSED RLRunLoopObserverRef observer, RLRunLoopActivity activity, UNUSED void *info)
{
    note(activity == kRLRunLoopBeforeTimers ? "pass" : "wait");
    if (activity == kRLRunLoopBeforeWaiting)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

START_TEST(the_next_ring_entry_does_not_keep_another_mode_awake)
{
    pid_t child = receive_one_of_many();
    int before = shared->received;
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), keeper, RLSTR("other"));
    RLRunLoopObserverRef observer =
        make_observer(kRLRunLoopBeforeTimers | kRLRunLoopBeforeWaiting, 1, 0, note_pass_and_stop, NULL);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, RLSTR("other"));
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 50, true), kRLRunLoopRunStopped);
    assert_notes("pass wait");
    ck_assert_int_eq(shared->received, before);
    RLRelease(observer);
    drop_source(keeper);
    end_process(child, SIGKILL);
}
END_TEST

/* Runs of 0 seconds ask the kernel. */
START_TEST(a_ring_entry_that_a_run_of_zero_seconds_has_taken_makes_no_pass)
{
    pid_t child = receive_one_of_many();
    while (shared->received < shared->sent)
        ck_assert_int_eq(RLRunLoopRunInMode(MODE, 0, true), kRLRunLoopRunHandledSource);
    RLRunLoopRunInMode(MODE, 0, true); /* takes the doorbell */
    RLRunLoopObserverRef observer =
        make_observer(kRLRunLoopBeforeTimers | kRLRunLoopBeforeWaiting, 1, 0, note_pass_and_stop, NULL);
    RLRunLoopAddObserver(RLRunLoopGetCurrent(), observer, MODE);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 50, true), kRLRunLoopRunStopped);
    assert_notes("pass wait");
    RLRelease(observer);
    end_process(child, SIGKILL);
}
END_TEST

START_TEST(the_next_ring_entry_keeps_only_its_own_mode_from_being_idle)
{
    pid_t child = receive_one_of_many();
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), keeper, RLSTR("other"));
    ck_assert(RLRunLoopIsIdleInMode(RLSTR("other")));
    ck_assert(!RLRunLoopIsIdleInMode(MODE));
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), server.source, MODE);
    ck_assert(RLRunLoopIsIdleInMode(MODE));
    drop_source(keeper);
    end_process(child, SIGKILL);
}
END_TEST

static void note_ready(UNUSED RLFileDescriptorRef descriptor, UNUSED RLOptionFlags ready, UNUSED void *info)
{
    note("descriptor");
}

START_TEST(a_source_of_lower_order_is_served_before_the_next_ring_entry)
{
    pid_t child = receive_one_of_many();
    int ends[2], before = shared->received;
    make_pipe(ends);
    require(write(ends[1], "x", 1) == 1);
    RLFileDescriptorRef descriptor = RLFileDescriptorCreate(NULL, ends[0], false, note_ready, NULL);
    RLFileDescriptorEnableCallBacks(descriptor, kRLFileDescriptorReadCallBack);
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, descriptor, -1);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 50, true), kRLRunLoopRunHandledSource);
    assert_notes("descriptor");
    ck_assert_int_eq(shared->received, before);
    RLFileDescriptorInvalidate(descriptor);
    RLRelease(source);
    RLRelease(descriptor);
    close_pipe(ends);
    end_process(child, SIGKILL);
}
END_TEST

enum { MOST_IN_TWO_TURNS = 2 * 64 };
static int received_before = -1;

static void note_received(UNUSED void *info)
{
    if (received_before < 0)
        received_before = shared->received;
}

/* A run without a deadline takes many entries in a pass, so it asks the kernel in each pass. */
START_TEST(an_unlimited_run_serves_another_descriptor_between_ring_entries)
{
    int ends[2];
    pid_t child = start_and_fill_ring();
    int first = stop_at = shared->received + 1;
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e10, false), kRLRunLoopRunStopped);
    ck_assert_int_eq(shared->received, first);
    make_pipe(ends);
    require(write(ends[1], "x", 1) == 1);
    RLRunLoopSourceRef other = make_port_source(0, ready_descriptor, note_received, &ends[0]);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), other, MODE);
    endless = true;
    receive_until(shared->sent);
    ck_assert_int_ge(received_before, first);
    ck_assert_int_le(received_before, first + MOST_IN_TWO_TURNS);
    drop_source(other);
    close_pipe(ends);
    end_process(child, SIGKILL);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-ring-runs");
    TCase *tcase = add_case(suite, "a run for each", 60);
    tcase_add_checked_fixture(tcase, begin, finish);
    tcase_add_loop_test(tcase, runs_for_one_ring_message_do_not_starve_a_descriptor, 0, 2);
    tcase_add_test(tcase, the_next_ring_entry_does_not_keep_another_mode_awake);
    tcase_add_test(tcase, a_ring_entry_that_a_run_of_zero_seconds_has_taken_makes_no_pass);
    tcase_add_test(tcase, the_next_ring_entry_keeps_only_its_own_mode_from_being_idle);
    tcase_add_test(tcase, an_unlimited_run_serves_another_descriptor_between_ring_entries);
    tcase_add_test(tcase, a_source_of_lower_order_is_served_before_the_next_ring_entry);
    return suite;
}
