/* Checks when RLAutorelease() releases an object that was autoreleased in a pass, in a run outside any pass, and outside all
 * runs: at the end of the pass, at the end of the run, and when the thread exits. Objects note their names when they are freed. */
#include "harness.h"

#include <sys/wait.h>

static void note_release(const void *info) { note(info); }

/* An object that notes its name when it is freed. */
static RLTypeRef make_noting(const char *name)
{
    RLRunLoopSourceContext context = {.info = (void *)name, .release = note_release};
    return RLRunLoopSourceCreate(NULL, 0, &context);
}

static void autorelease_named(void *name)
{
    RLTypeRef object = make_noting(name);
    ck_assert_ptr_eq(RLAutorelease(object), object);
    ck_assert_int_eq(RLGetRetainCount(object), 1);
}

static void perform_named(void *name)
{
    note("perform");
    autorelease_named(name);
}

static RLRunLoopRef here(void) { return RLRunLoopGetCurrent(); }
static int32_t run_once(double seconds) { return RLRunLoopRunInMode(kRLRunLoopDefaultMode, seconds, false); }

START_TEST(an_autoreleased_object_is_released_at_the_end_of_the_pass)
{
    RLRunLoopSourceRef source = make_source(0, perform_named, "freed");
    RLRunLoopObserverRef observer = note_activities(here(), kRLRunLoopDefaultMode);
    RLRunLoopAddSource(here(), source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(run_once(0.2), kRLRunLoopRunTimedOut);
    assert_notes("En BT BS perform freed BT BS BW AW Ex");
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, true), kRLRunLoopRunHandledSource);
    assert_notes("En BT BS perform freed Ex");
    drop_source(source);
    drop_observer(observer);
}
END_TEST

START_TEST(an_autoreleased_object_is_released_before_the_loop_sleeps)
{
    RLRunLoopObserverRef observer = note_activities(here(), kRLRunLoopDefaultMode);
    RLRunLoopPerformFunction(here(), kRLRunLoopDefaultMode, perform_named, "freed");
    ck_assert_int_eq(run_once(0.05), kRLRunLoopRunTimedOut);
    assert_notes("En BT BS perform BW freed AW Ex");
    drop_observer(observer);
}
END_TEST

static void autorelease_in_activity(UNUSED RLRunLoopObserverRef observer, RLRunLoopActivity activity, UNUSED void *info)
{
    if (activity == kRLRunLoopEntry)
        autorelease_named("of-entry");
    if (activity == kRLRunLoopAfterWaiting)
        autorelease_named("of-waking");
    if (activity == kRLRunLoopExit)
        autorelease_named("of-exit");
}

START_TEST(objects_autoreleased_by_observers_are_released_before_the_run_returns)
{
    static atomic_int ticks;
    RLRunLoopTimerRef timer = make_timer(0, 0, count_timer, &ticks);
    RLRunLoopAddTimer(here(), timer, kRLRunLoopDefaultMode);
    RLRunLoopObserverRef first = make_observer(kRLRunLoopAllActivities, true, -1, autorelease_in_activity, NULL);
    RLRunLoopAddObserver(here(), first, kRLRunLoopDefaultMode);
    RLRunLoopObserverRef second = note_activities(here(), kRLRunLoopDefaultMode);
    ck_assert_int_eq(run_once(10), kRLRunLoopRunFinished);
    assert_notes("En BT BS BW of-entry AW of-waking Ex of-exit");
    ck_assert_int_eq(ticks, 1);
    drop_timer(timer);
    drop_observer(first);
    drop_observer(second);
}
END_TEST

static void run_nested(UNUSED void *info)
{
    autorelease_named("outer");
    RLRunLoopPerformFunction(here(), RLSTR("inner"), autorelease_named, "inner");
    note("begin");
    RLRunLoopRunInMode(RLSTR("inner"), 0.001, false);
    note("end");
    autorelease_named("outer-too");
}

START_TEST(a_nested_run_does_not_release_objects_of_the_outer_run)
{
    RLRunLoopSourceRef source = make_source(0, run_nested, NULL);
    RLRunLoopAddSource(here(), source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, true), kRLRunLoopRunHandledSource);
    assert_notes("begin inner end outer-too outer");
    drop_source(source);
}
END_TEST

static void autorelease_chain(void *info);
static atomic_int chain, freed, endless;

static void continue_chain(UNUSED const void *info)
{
    freed++;
    if (endless || --chain > 0)
        autorelease_chain(NULL);
}

static void autorelease_chain(UNUSED void *info)
{
    RLRunLoopSourceContext context = {.info = &chain, .release = continue_chain};
    RLAutorelease(RLRunLoopSourceCreate(NULL, 0, &context));
}

START_TEST(objects_autoreleased_by_release_callbacks_are_released_in_the_same_pass)
{
    chain = 500;
    RLRunLoopPerformFunction(here(), kRLRunLoopDefaultMode, autorelease_chain, NULL);
    run_once(0);
    ck_assert_int_eq(chain, 0);
    ck_assert_int_eq(freed, 500);
}
END_TEST

static void end_chain(RLRunLoopTimerRef timer, UNUSED void *info)
{
    if (freed < 10000)
        return;
    endless = 0;
    chain = 1;
    RLRunLoopTimerInvalidate(timer);
}

START_TEST(an_endless_chain_of_autoreleases_does_not_starve_a_timer)
{
    endless = 1;
    RLRunLoopTimerRef timer = make_timer(0, 1e-6, end_chain, NULL);
    RLRunLoopAddTimer(here(), timer, kRLRunLoopDefaultMode);
    RLRunLoopPerformFunction(here(), kRLRunLoopDefaultMode, autorelease_chain, NULL);
    ck_assert_int_eq(run_once(1e9), kRLRunLoopRunFinished);
    ck_assert_int_ge(freed, 10000);
    ck_assert_int_eq(endless, 0);
    RLRelease(timer);
}
END_TEST

static void run_in_release(UNUSED const void *info)
{
    autorelease_named("around");
    RLRunLoopPerformFunction(here(), kRLRunLoopDefaultMode, autorelease_named, "within");
    run_once(0);
    note("ran");
}

static void autorelease_one_that_runs(UNUSED void *info)
{
    RLRunLoopSourceContext context = {.info = &chain, .release = run_in_release};
    RLAutorelease(RLRunLoopSourceCreate(NULL, 0, &context));
}

START_TEST(a_release_callback_may_run_the_loop)
{
    RLRunLoopPerformFunction(here(), kRLRunLoopDefaultMode, autorelease_one_that_runs, NULL);
    run_once(0);
    assert_notes("within ran around");
}
END_TEST

static void perform_watch(void *info)
{
    struct watch *watch = info;
    watch_perform(watch);
    autorelease_named((void *)"freed");
    if (watch->performed == 3)
        RLRunLoopStop(here());
}

START_TEST(objects_are_released_after_each_ready_descriptor)
{
    int ends[2];
    make_pipe(ends);
    ck_assert_int_eq(write(ends[1], "abc", 3), 3);
    struct watch watches[] = {{.fd = ends[0], .name = "one"}, {.fd = dup(ends[0]), .name = "two"}};
    for (int i = 0; i < 2; i++) {
        watches[i].source = make_port_source(0, watch_port, perform_watch, &watches[i]);
        RLRunLoopAddSource(here(), watches[i].source, kRLRunLoopDefaultMode);
    }
    RLRunLoopRun();
    int performed = watches[0].performed + watches[1].performed;
    for (char *word = strtok(notes, " "); word; word = strtok(NULL, " "), performed--) {
        ck_assert_str_ne(word, "freed");
        ck_assert_str_eq(strtok(NULL, " "), "freed");
    }
    ck_assert_int_eq(performed, 0);
    for (int i = 0; i < 2; i++)
        drop_source(watches[i].source);
    close(watches[1].fd);
    close_pipe(ends);
}
END_TEST

static int received;
static void receive(UNUSED RLPortRef port, UNUSED RLPortMessageRef message, void *info)
{
    perform_named(info);
    if (++received == 3)
        RLRunLoopStop(here());
}

START_TEST(objects_are_released_after_each_port_message)
{
    RLPortContext context = {.info = (void *)"freed"};
    RLPortRef port = RLPortCreate(NULL, receive, &context, NULL);
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(here(), source, kRLRunLoopDefaultMode);
    for (int i = 0; i < 3; i++) {
        RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, NULL);
        ck_assert(RLPortMessageSendBeforeDate(message, 0));
        RLRelease(message);
    }
    ck_assert_int_eq(run_once(10), kRLRunLoopRunStopped);
    assert_notes("perform freed perform freed perform freed");
    RLPortInvalidate(port);
    RLRelease(source);
    RLRelease(port);
}
END_TEST

static void *use_outside_of_runs(void *info)
{
    autorelease_named("early");
    RLRunLoopPerformFunction(here(), kRLRunLoopDefaultMode, perform_named, "freed");
    run_once(0);
    note("ran");
    autorelease_named("late");
    if (info) {
        RLRunLoopPerformFunction(here(), kRLRunLoopDefaultMode, autorelease_named, "in-callback");
        RLRunLoopPerformFunction(here(), kRLRunLoopDefaultMode, (void (*)(void *))pthread_exit, NULL);
        run_once(0);
    }
    return NULL;
}

START_TEST(objects_autoreleased_outside_runs_are_released_at_thread_exit)
{
    pthread_t thread;
    pthread_create(&thread, NULL, use_outside_of_runs, NULL);
    pthread_join(thread, NULL);
    assert_notes("perform freed ran late early");
    pthread_create(&thread, NULL, use_outside_of_runs, "");
    pthread_join(thread, NULL);
    assert_notes("perform freed ran in-callback late early");
}
END_TEST

static void cancel_autoreleases(void *info, UNUSED RLRunLoopRef rl, UNUSED RLRunLoopMode mode) { perform_named(info); }

static void *end_with_a_source(UNUSED void *info)
{
    RLRunLoopSourceContext context = {.info = "freed", .cancel = cancel_autoreleases};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(here(), source, kRLRunLoopDefaultMode);
    RLAutorelease(source);
    endless = 1;
    autorelease_chain(NULL);
    return NULL;
}

START_TEST(callbacks_during_thread_exit_may_autorelease)
{
    pthread_t thread;
    pthread_create(&thread, NULL, end_with_a_source, NULL);
    pthread_join(thread, NULL);
    endless = 0;
    assert_notes("perform freed");
    ck_assert_int_gt(freed, 1000); /* the chain is cut off, because the thread is exiting */
}
END_TEST

static void run_on_in_child(UNUSED void *info)
{
    notes[0] = 0;
    autorelease_named("of-child");
    RLRunLoopPerformFunction(here(), kRLRunLoopDefaultMode, perform_named, "of-pass");
    run_once(0);
    child_assert(strcmp(notes, "perform of-pass") == 0);
}

static void fork_in_callback(UNUSED void *info)
{
    autorelease_named("of-outer-pass");
    pid_t child = fork();
    if (child == 0) {
        note("child");
        return;
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    note("parent");
}

START_TEST(the_child_of_a_fork_releases_objects_autoreleased_by_its_thread)
{
    pid_t parent = getpid();
    autorelease_named("of-parent"); /* outside of any run */
    ck_assert_int_eq(run_in_child(run_on_in_child, NULL), 0);
    RLRunLoopPerformFunction(here(), kRLRunLoopDefaultMode, fork_in_callback, NULL);
    run_once(0);
    if (getpid() != parent)
        _exit(strcmp(notes, "child of-outer-pass") != 0);
    assert_notes("parent of-outer-pass");
}
END_TEST

START_TEST(constants_can_be_autoreleased_and_invalid_objects_are_reported)
{
    ck_assert_ptr_eq(RLAutorelease(kRLRunLoopDefaultMode), kRLRunLoopDefaultMode);
    ck_assert_ptr_null(RLAutorelease(NULL));
    assert_misuse("RLAutorelease", "object", NULL);
    static const uint64_t nothing[8];
    ck_assert_ptr_null(RLAutorelease(nothing));
    assert_misuse("RLAutorelease", "object", NULL);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("autorelease");
    TCase *passes = add_case(suite, "passes", 10);
    tcase_add_test(passes, an_autoreleased_object_is_released_at_the_end_of_the_pass);
    tcase_add_test(passes, an_autoreleased_object_is_released_before_the_loop_sleeps);
    tcase_add_test(passes, objects_autoreleased_by_observers_are_released_before_the_run_returns);
    tcase_add_test(passes, a_nested_run_does_not_release_objects_of_the_outer_run);
    tcase_add_test(passes, objects_autoreleased_by_release_callbacks_are_released_in_the_same_pass);
    tcase_add_test(passes, an_endless_chain_of_autoreleases_does_not_starve_a_timer);
    tcase_add_test(passes, a_release_callback_may_run_the_loop);
    tcase_add_test(passes, objects_are_released_after_each_ready_descriptor);
    tcase_add_test(passes, objects_are_released_after_each_port_message);
    TCase *threads = add_case(suite, "threads", 10);
    tcase_add_test(threads, objects_autoreleased_outside_runs_are_released_at_thread_exit);
    tcase_add_test(threads, callbacks_during_thread_exit_may_autorelease);
    tcase_add_test(threads, the_child_of_a_fork_releases_objects_autoreleased_by_its_thread);
    tcase_add_test(threads, constants_can_be_autoreleased_and_invalid_objects_are_reported);
    return suite;
}
