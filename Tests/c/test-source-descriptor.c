/* Checks version-1 sources: the loop watches a descriptor, level-triggered, and never reads from it. */
#include "harness.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

static int run_for_source(void) { return RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1); }

START_TEST(bytes_written_before_adding_are_noticed_and_not_read)
{
    int ends[2];
    char bytes[16];
    struct watch watch = {0};
    make_pipe(ends);
    ck_assert_int_eq(write(ends[1], "sixteen bytes...", 16), 16);
    watch_fd(&watch, ends[0], 0);
    ck_assert_int_eq(run_for_source(), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(run_for_source(), kRLRunLoopRunHandledSource); /* level-triggered: the bytes are still there */
    ck_assert_int_eq(watch.performed, 2);
    ck_assert_int_eq(read(ends[0], bytes, sizeof bytes), 16);
    ck_assert_int_eq(run_for_source(), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(watch.performed, 2);
    drop_source(watch.source);
    close_pipe(ends);
}
END_TEST

START_TEST(a_source_performs_once_for_each_byte_it_reads)
{
    int ends[2];
    struct watch watch = {.reads = true};
    make_pipe(ends);
    watch_fd(&watch, ends[0], 0);
    ck_assert_int_eq(write(ends[1], "abc", 3), 3);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(run_for_source(), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(run_for_source(), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(watch.performed, 3);
    drop_source(watch.source);
    close_pipe(ends);
}
END_TEST

static void *write_to_sleeping_loop(void *info)
{
    await_waiting(rl);
    ck_assert_int_eq(write(*(int *)info, "x", 1), 1);
    return NULL;
}

START_TEST(a_byte_wakes_a_sleeping_loop)
{
    int ends[2];
    struct watch watch = {.reads = true};
    make_pipe(ends);
    watch_fd(&watch, ends[0], 0);
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    pthread_t thread = start_thread(write_to_sleeping_loop, &ends[1]);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    join_thread(thread);
    assert_notes("En BT BS BW AW Ex");
    drop_observer(observer);
    drop_source(watch.source);
    close_pipe(ends);
}
END_TEST

/* Step 5: a descriptor that is ready when the loop reaches it is handled without waiting. */
START_TEST(a_ready_descriptor_is_handled_without_waiting)
{
    int ends[2];
    struct watch watch = {.reads = true, .name = "P"};
    make_pipe(ends);
    watch_fd(&watch, ends[0], 0);
    RLRunLoopObserverRef observer = note_activities(rl, kRLRunLoopDefaultMode);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    assert_notes("En BT BS P Ex");
    drop_observer(observer);
    drop_source(watch.source);
    close_pipe(ends);
}
END_TEST

START_TEST(two_sources_on_one_descriptor_both_perform)
{
    int ends[2];
    struct watch one = {0}, other = {0};
    make_pipe(ends);
    watch_fd(&one, ends[0], 0);
    watch_fd(&other, ends[0], 0);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    for (int pass = 0; pass < 10; pass++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_gt(one.performed, 0);
    ck_assert_int_gt(other.performed, 0);
    drop_source(one.source); /* the other one continues */
    int before = other.performed;
    ck_assert_int_eq(run_for_source(), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(other.performed, before + 1);
    drop_source(other.source);
    close_pipe(ends);
}
END_TEST

START_TEST(one_source_in_two_modes_is_watched_in_both)
{
    int ends[2];
    struct watch watch = {.reads = true};
    make_pipe(ends);
    watch_fd(&watch, ends[0], 0);
    RLRunLoopAddSource(rl, watch.source, RLSTR("other"));
    ck_assert_int_eq(write(ends[1], "xyz", 3), 3);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(run_for_source(), kRLRunLoopRunHandledSource);
    RLRunLoopRemoveSource(rl, watch.source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("other"), 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(watch.performed, 3);
    drop_source(watch.source);
    close_pipe(ends);
}
END_TEST

START_TEST(a_descriptor_of_another_mode_neither_wakes_nor_performs)
{
    int ends[2];
    struct watch watch = {.reads = true};
    make_pipe(ends);
    watch_fd(&watch, ends[0], 0);
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, keeper, RLSTR("quiet"));
    RLRunLoopObserverRef observer = note_activities(rl, RLSTR("quiet"));
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("quiet"), 0.05, 0), kRLRunLoopRunTimedOut);
    assert_notes("En BT BS BW AW Ex");
    ck_assert_int_eq(watch.performed, 0);
    drop_observer(observer);
    drop_source(keeper);
    drop_source(watch.source);
    close_pipe(ends);
}
END_TEST

START_TEST(observed_passes_serve_one_ready_descriptor_each_and_all_in_time)
{
    enum { pipes = 100 };
    static struct watch watches[pipes];
    static int ends[pipes][2];
    atomic_int passes = 0;
    for (int i = 0; i < pipes; i++) {
        make_pipe(ends[i]);
        watches[i].reads = true;
        watch_fd(&watches[i], ends[i][0], i % 3);
        ck_assert_int_eq(write(ends[i][1], "x", 1), 1);
    }
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopBeforeTimers, 1, 0, count_activity, &passes);
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0), kRLRunLoopRunTimedOut);
    for (int i = 0; i < pipes; i++)
        ck_assert_int_eq(watches[i].performed, 1);
    ck_assert_int_ge(passes, pipes);
    for (int i = 0; i < pipes; i++) {
        drop_source(watches[i].source);
        close_pipe(ends[i]);
    }
    drop_observer(observer);
}
END_TEST

static struct watch *victim;
static void (*victim_end)(struct watch *);

static void end_victim_once(void *info)
{
    watch_perform(info);
    if (victim)
        victim_end(victim);
    victim = NULL;
}
static void invalidate_watch(struct watch *watch) { RLRunLoopSourceInvalidate(watch->source); }
static void remove_watch(struct watch *watch) { RLRunLoopRemoveSource(rl, watch->source, kRLRunLoopDefaultMode); }

/* Whichever of the two performs first ends the other: exactly one performs, although both were reported together. */
static void one_of_two_ready(void (*end)(struct watch *))
{
    int ends[2][2];
    struct watch watches[2] = {{.reads = true}, {.reads = true}};
    victim_end = end;
    for (int i = 0; i < 2; i++) {
        make_pipe(ends[i]);
        ck_assert_int_eq(write(ends[i][1], "x", 1), 1);
        watches[i].fd = ends[i][0];
        watches[i].source = make_port_source(0, watch_port, end_victim_once, &watches[i]);
        RLRunLoopAddSource(rl, watches[i].source, kRLRunLoopDefaultMode);
    }
    /* Either of the two may be served first. */
    victim = &watches[1];
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
    if (watches[1].performed) { /* it was served first, and ended itself: the other one is still ready */
        ck_assert_int_eq(watches[0].performed, 0);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.02, 0);
        ck_assert_int_eq(watches[0].performed, 1);
    } else {
        ck_assert_int_eq(watches[0].performed, 1);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.02, 0);
        ck_assert_int_eq(watches[1].performed, 0);
    }
    for (int i = 0; i < 2; i++) {
        drop_source(watches[i].source);
        close_pipe(ends[i]);
    }
}

START_TEST(a_source_invalidated_by_another_of_the_batch_does_not_perform) { one_of_two_ready(invalidate_watch); }
END_TEST

START_TEST(a_source_removed_by_another_of_the_batch_does_not_perform) { one_of_two_ready(remove_watch); }
END_TEST

static void watch_invalidate_self(void *info)
{
    watch_perform(info);
    drop_source(((struct watch *)info)->source);
}

START_TEST(a_version_1_source_may_invalidate_and_release_itself_in_its_callback)
{
    int ends[2];
    struct watch watch = {0};
    make_pipe(ends);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    watch.fd = ends[0];
    watch.source = make_port_source(0, watch_port, watch_invalidate_self, &watch);
    RLRunLoopAddSource(rl, watch.source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(watch.performed, 1);
    close_pipe(ends);
}
END_TEST

START_TEST(signalling_a_version_1_source_does_nothing)
{
    int ends[2];
    struct watch watch = {0};
    make_pipe(ends);
    watch_fd(&watch, ends[0], 0);
    RLRunLoopSourceSignal(watch.source);
    ck_assert_int_eq(run_for_source(), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(watch.performed, 0);
    drop_source(watch.source);
    close_pipe(ends);
}
END_TEST

START_TEST(sockets_eventfds_timerfds_and_hang_ups_are_noticed)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    int event = eventfd(1, EFD_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    ck_assert_int_eq(timerfd_settime(timer, 0, &soon, NULL), 0);
    int fds[] = {pair[0], event, timer};
    close(pair[1]); /* the peer hangs up */
    for (int i = 0; i < 3; i++) {
        struct watch watch = {0};
        watch_fd(&watch, fds[i], 0);
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
        ck_assert_int_eq(watch.performed, 1);
        drop_source(watch.source);
        close(fds[i]);
    }
}
END_TEST

static void *add_while_asleep(void *info)
{
    struct watch *watch = info;
    await_waiting(rl);
    RLRunLoopAddSource(rl, watch->source, kRLRunLoopDefaultMode);
    return NULL;
}

START_TEST(a_sleeping_loop_notices_a_source_added_by_another_thread)
{
    int ends[2];
    struct watch watch = {.reads = true};
    make_pipe(ends);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    watch.fd = ends[0];
    watch.source = make_port_source(0, watch_port, watch_perform, &watch);
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    /* The loop sleeps without any descriptor when the first one is added. */
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    pthread_t thread = start_thread(add_while_asleep, &watch);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    join_thread(thread);
    ck_assert_int_eq(watch.performed, 1);
    drop_source(watch.source);
    drop_source(keeper);
    close_pipe(ends);
}
END_TEST

/* -- Between two descriptors that were reported together, everything that a pass would do is done -- */

enum { READY_TOGETHER = 4 };
static struct watch together[READY_TOGETHER];
static int together_ends[READY_TOGETHER][2];
static int served_together;

static void note_timer(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { note("timer"); }

/* The timer is due when it is added. The current date would be a moment ahead of the loop's clock, so that the next descriptor
 * might be served first. */
static void add_due_timer(void)
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() - 1e-3, 0, note_timer, NULL);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRelease(timer);
}

/* The second of them adds the timer, after the loop has checked whether there are timers. */
static void note_and_add_timer(void *info)
{
    watch_perform(info);
    if (++served_together == 2)
        add_due_timer();
    if (served_together == READY_TOGETHER)
        RLRunLoopStop(rl);
}

START_TEST(a_due_timer_added_in_a_callback_fires_before_the_next_descriptor)
{
    if (_i) { /* the loop has had timers before, so adding one more takes no memory */
        add_due_timer();
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false);
        assert_notes("timer");
    }
    for (int i = 0; i < READY_TOGETHER; i++) {
        make_pipe(together_ends[i]);
        ck_assert_int_eq(write(together_ends[i][1], "x", 1), 1);
        together[i] = (struct watch){.fd = together_ends[i][0], .name = "ready", .reads = true};
        together[i].source = make_port_source(0, watch_port, note_and_add_timer, &together[i]);
        RLRunLoopAddSource(rl, together[i].source, kRLRunLoopDefaultMode);
    }
    RLRunLoopRun();
    assert_notes("ready ready timer ready ready");
    for (int i = 0; i < READY_TOGETHER; i++) {
        drop_source(together[i].source);
        close_pipe(together_ends[i]);
    }
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source-descriptor");
    TCase *tcase = add_case(suite, "descriptor", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, bytes_written_before_adding_are_noticed_and_not_read);
    tcase_add_test(tcase, a_source_performs_once_for_each_byte_it_reads);
    tcase_add_test(tcase, a_byte_wakes_a_sleeping_loop);
    tcase_add_test(tcase, a_ready_descriptor_is_handled_without_waiting);
    tcase_add_test(tcase, two_sources_on_one_descriptor_both_perform);
    tcase_add_test(tcase, one_source_in_two_modes_is_watched_in_both);
    tcase_add_test(tcase, a_descriptor_of_another_mode_neither_wakes_nor_performs);
    tcase_add_test(tcase, observed_passes_serve_one_ready_descriptor_each_and_all_in_time);
    tcase_add_test(tcase, a_source_invalidated_by_another_of_the_batch_does_not_perform);
    tcase_add_test(tcase, a_source_removed_by_another_of_the_batch_does_not_perform);
    tcase_add_test(tcase, a_version_1_source_may_invalidate_and_release_itself_in_its_callback);
    tcase_add_test(tcase, signalling_a_version_1_source_does_nothing);
    tcase_add_test(tcase, sockets_eventfds_timerfds_and_hang_ups_are_noticed);
    tcase_add_test(tcase, a_sleeping_loop_notices_a_source_added_by_another_thread);
    tcase_add_loop_test(tcase, a_due_timer_added_in_a_callback_fires_before_the_next_descriptor, 0, 2);
    return suite;
}
