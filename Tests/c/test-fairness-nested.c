/* Checks that nothing that is ready starves in nested runs, in modes that take turns, and among items that callbacks remove, add
 * or replace. */
#include "harness.h"

#include <sys/eventfd.h>

enum { READY = 3, CALLS = 3000 };

static RLRunLoopRef rl;
static RLStringRef modes[2];

struct ready {
    int fd, calls;
    RLRunLoopSourceRef source;
    void (*action)(struct ready *ready);
};
static struct ready ready[READY];
static int calls;

static int ready_port(void *info) { return ((struct ready *)info)->fd; }

static void ready_performs(void *info)
{
    struct ready *one = info;
    one->calls++;
    if (++calls >= CALLS)
        RLRunLoopStop(rl);
    if (one->action)
        one->action(one);
}

/* Adds a descriptor that stays ready to a mode. */
static void make_ready(struct ready *one, int fd, int mode, void (*action)(struct ready *))
{
    *one = (struct ready){.fd = fd, .action = action};
    one->source = make_port_source(0, ready_port, ready_performs, one);
    RLRunLoopAddSource(rl, one->source, modes[mode]);
}

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    modes[0] = kRLRunLoopDefaultMode;
    modes[1] = RLSTR("other");
    calls = 0;
}

static void count_fired(UNUSED RLRunLoopTimerRef timer, void *info) { ++*(int *)info; }

static int new_event(void) { return eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK); }

static void run_for_calls(int mode, int style)
{
    while (calls < CALLS)
        RLRunLoopRunInMode(modes[mode], style == 1 ? 0 : 1e20, style == 2);
}

static int nesting;

static void run_once(UNUSED struct ready *one)
{
    if (nesting++ == 0)
        RLRunLoopRunInMode(modes[0], 0, false);
    nesting--;
}

START_TEST(a_nested_run_does_not_skip_the_turns_of_other_descriptors)
{
    for (int i = 0; i < READY; i++)
        make_ready(&ready[i], new_event(), 0, i == 0 ? run_once : NULL);
    run_for_calls(0, _i);
    for (int i = 0; i < READY; i++) {
        ck_assert_int_ge(ready[i].calls, CALLS / 10);
        drop_source(ready[i].source);
        close(ready[i].fd);
    }
}
END_TEST

START_TEST(alternating_modes_serve_timers_and_descriptors_evenly)
{
    int fired[2] = {0, 0};
    RLRunLoopTimerRef timers[2];
    for (int m = 0; m < 2; m++) {
        make_ready(&ready[m], new_event(), m, NULL);
        timers[m] = make_timer(0, 1e-9, count_fired, &fired[m]);
        RLRunLoopAddTimer(rl, timers[m], modes[m]);
    }
    for (int i = 0; i < 400; i++)
        RLRunLoopRunInMode(modes[i % 2], 0, _i);
    for (int m = 0; m < 2; m++) {
        ck_assert_int_ge(ready[m].calls, 50);
        ck_assert_int_ge(fired[m], 50);
        drop_timer(timers[m]);
        drop_source(ready[m].source);
        close(ready[m].fd);
    }
}
END_TEST

/* ready[0] and ready[1] share a descriptor but are in different modes; ready[2] has its own descriptor and is in the second mode. */
START_TEST(alternating_modes_share_a_descriptor_evenly)
{
    int fd = new_event();
    make_ready(&ready[0], fd, 0, NULL);
    make_ready(&ready[1], fd, 1, NULL);
    make_ready(&ready[2], new_event(), 1, NULL);
    for (int i = 0; i < 400; i++)
        RLRunLoopRunInMode(modes[i % 2], 0, _i);
    for (int i = 0; i < READY; i++) {
        ck_assert_int_ge(ready[i].calls, 50);
        drop_source(ready[i].source);
    }
    close(fd);
    close(ready[2].fd);
}
END_TEST

START_TEST(a_nested_run_does_not_starve_a_source_on_the_same_descriptor)
{
    int fd = new_event();
    make_ready(&ready[0], fd, 0, run_once);
    make_ready(&ready[1], fd, 0, NULL);
    make_ready(&ready[2], new_event(), 0, NULL);
    run_for_calls(0, _i);
    for (int i = 0; i < READY; i++) {
        ck_assert_int_ge(ready[i].calls, CALLS / 10);
        drop_source(ready[i].source);
    }
    close(fd);
    close(ready[2].fd);
}
END_TEST

static void leave_and_come_back(struct ready *one)
{
    RLRunLoopRemoveSource(rl, one->source, modes[0]);
    RLRunLoopAddSource(rl, one->source, modes[0]);
}

START_TEST(a_source_removed_and_added_again_queues_behind_the_others)
{
    make_ready(&ready[0], new_event(), 0, leave_and_come_back);
    make_ready(&ready[1], new_event(), 0, NULL);
    run_for_calls(0, _i);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_ge(ready[i].calls, CALLS / 10);
        drop_source(ready[i].source);
        close(ready[i].fd);
    }
}
END_TEST

static struct ready replacements[16];
static int replacement_count;

static void replace(struct ready *one)
{
    require(replacement_count < 15); /* one per run */
    make_ready(&replacements[++replacement_count], one->fd, 0, replace);
    drop_source(one->source);
}

START_TEST(a_source_added_in_a_callback_on_the_same_descriptor_waits_for_the_next_pass)
{
    replacement_count = 0;
    make_ready(&replacements[0], new_event(), 0, replace);
    for (int i = 0; i < 10; i++)
        RLRunLoopRunInMode(modes[0], 0, false);
    ck_assert_int_eq(replacement_count, 10);
    close(replacements[0].fd);
    drop_source(replacements[10].source);
}
END_TEST

/* -- A long queue of functions that pauses in a nested run, which a function of another long queue makes -- */

static int called, released;

static void count_released(UNUSED void *info) { released++; }

static void slow_function(UNUSED void *info)
{
    called++;
    spin_until(RLAbsoluteTimeGetCurrent() + 100e-6);
}

static void queue_slow_ones_and_run(UNUSED void *info)
{
    called++;
    for (int i = 0; i < 200; i++)
        require(RLRunLoopPerformFunctionWithRelease(rl, modes[0], slow_function, NULL, count_released));
    RLRunLoopRunInMode(modes[0], 0.001, false);
}

START_TEST(a_nested_run_within_a_long_queue_loses_no_function)
{
    called = released = 0;
    for (int i = 0; i < 5; i++)
        require(RLRunLoopPerformFunctionWithRelease(rl, modes[1], slow_function, NULL, count_released));
    require(RLRunLoopPerformFunctionWithRelease(rl, modes[0], queue_slow_ones_and_run, NULL, count_released));
    for (int i = 0; i < 34; i++)
        require(RLRunLoopPerformFunctionWithRelease(rl, modes[0], slow_function, NULL, count_released));
    for (int i = 0; i < 40; i++) {
        RLRunLoopRunInMode(modes[0], 0.001, false);
        RLRunLoopRunInMode(modes[1], 0.001, false);
    }
    ck_assert_int_eq(called, 5 + 1 + 34 + 200);
    ck_assert_int_eq(released, called);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("fairness-nested");
    TCase *tcase = add_case(suite, "nested", 30);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_loop_test(tcase, a_nested_run_does_not_skip_the_turns_of_other_descriptors, 0, 3);
    tcase_add_loop_test(tcase, alternating_modes_serve_timers_and_descriptors_evenly, 0, 2);
    tcase_add_loop_test(tcase, alternating_modes_share_a_descriptor_evenly, 0, 2);
    tcase_add_loop_test(tcase, a_nested_run_does_not_starve_a_source_on_the_same_descriptor, 0, 3);
    tcase_add_loop_test(tcase, a_source_removed_and_added_again_queues_behind_the_others, 0, 3);
    tcase_add_test(tcase, a_source_added_in_a_callback_on_the_same_descriptor_waits_for_the_next_pass);
    tcase_add_test(tcase, a_nested_run_within_a_long_queue_loses_no_function);
    return suite;
}
