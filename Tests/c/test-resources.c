/* Checks what a loop takes from the system (descriptors, threads, memory), and what happens when there are no descriptors left. */
#include "harness.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>

static RLRunLoopRef rl;
static int descriptors_before;
static int poll_default(void) { return RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1); }

static void count_descriptors(void) { descriptors_before = open_descriptors(); }

/* Runs, sleeps, wakes and fires a timer without watching any descriptor. */
static void use_without_descriptors(void)
{
    atomic_int calls = 0;
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopSourceRef source = make_source(0, count_perform, &calls);
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.002, 0, count_timer, &calls);
    RLRunLoopObserverRef observer = note_activities(loop, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(loop, source, kRLRunLoopCommonModes);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, count_perform, &calls);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 0), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(calls, 3);
    drop_observer(observer);
    drop_source(source);
    RLRelease(timer);
    notes[0] = 0;
}

START_TEST(a_loop_without_version_1_sources_needs_no_descriptor_and_no_thread)
{
    int threads = live_threads();
    use_without_descriptors();
    ck_assert_int_eq(open_descriptors(), descriptors_before);
    ck_assert_int_eq(live_threads(), threads);
}
END_TEST

static void *use_on_thread(UNUSED void *info)
{
    RLRunLoopGetCurrent();
    return NULL;
}

START_TEST(loops_of_other_threads_need_no_descriptor)
{
    struct looper loopers[8];
    for (int i = 0; i < 8; i++)
        looper_start(&loopers[i]);
    for (int i = 0; i < 8; i++)
        ck_assert(RLRunLoopPerformFunctionAndWait(loopers[i].loop, kRLRunLoopDefaultMode, do_nothing, NULL, HUGE_VAL));
    join_thread(start_thread(use_on_thread, NULL));
    ck_assert_int_eq(open_descriptors(), descriptors_before);
    for (int i = 0; i < 8; i++)
        looper_stop(&loopers[i]);
}
END_TEST

static int null_fd;
static int null_port(UNUSED void *info) { return null_fd; }
static int pipe_ends[2];
static int pipe_port(UNUSED void *info) { return pipe_ends[0]; }

START_TEST(at_most_two_descriptors_per_loop_however_many_modes)
{
    static int infos[20];
    int threads = live_threads();
    RLRunLoopSourceRef sources[20];
    ck_assert_int_eq(pipe(pipe_ends), 0);
    descriptors_before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "mode %d", i);
        sources[i] = make_port_source(0, pipe_port, do_nothing, &infos[i]);
        RLRunLoopAddSource(rl, sources[i], RLStringMakeConstant(name));
        RLRunLoopAddSource(rl, sources[i], kRLRunLoopDefaultMode);
        RLRunLoopRunInMode(RLStringMakeConstant(name), 0.0002, 0);
    }
    ck_assert_int_eq(poll_default(), kRLRunLoopRunTimedOut);
    use_without_descriptors();
    ck_assert_int_le(open_descriptors() - descriptors_before, 2);
    ck_assert_int_eq(live_threads(), threads);
    for (int i = 0; i < 20; i++)
        drop_source(sources[i]);
}
END_TEST

static void *watch_on_thread(UNUSED void *info)
{
    static int infos[8];
    static atomic_int next;
    RLRunLoopSourceRef source = make_port_source(0, pipe_port, do_nothing, &infos[next++]);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    drop_source(source);
    return NULL;
}

START_TEST(thread_exit_closes_the_descriptors_of_its_loop)
{
    ck_assert_int_eq(pipe(pipe_ends), 0);
    descriptors_before = open_descriptors();
    for (int i = 0; i < 8; i++)
        join_thread(start_thread(watch_on_thread, NULL));
    ck_assert_int_eq(open_descriptors(), descriptors_before);
}
END_TEST

START_TEST(descriptors_of_the_loop_are_close_on_exec)
{
    ck_assert_int_eq(pipe2(pipe_ends, O_CLOEXEC), 0);
    int first_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(first_free);
    RLRunLoopSourceRef source = make_port_source(0, pipe_port, do_nothing, NULL);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    for (int fd = first_free; fd < first_free + 4; fd++) {
        int flags = fcntl(fd, F_GETFD);
        ck_assert(flags < 0 || (flags & FD_CLOEXEC));
    }
    drop_source(source);
}
END_TEST

/* -- Out of descriptors -- */

static struct rlimit usual_limit;
static void allow_no_more_descriptors(void)
{
    getrlimit(RLIMIT_NOFILE, &usual_limit);
    int next = open("/dev/null", O_RDONLY);
    close(next);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next, usual_limit.rlim_max}), 0);
    ck_assert_int_eq(open("/dev/null", O_RDONLY), -1);
}
static void allow_descriptors_again(void) { ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual_limit), 0); }

START_TEST(a_loop_without_version_1_sources_works_without_free_descriptors)
{
    allow_no_more_descriptors();
    use_without_descriptors();
    join_thread(start_thread(use_on_thread, NULL));
    allow_descriptors_again();
}
END_TEST

/* As RLRunLoop.h says: Finished with errno if the loop cannot be set up. It never aborts, and works again when there are
 * descriptors. */
START_TEST(a_run_with_version_1_sources_fails_without_free_descriptors_and_works_later)
{
    atomic_int performed = 0;
    ck_assert_int_eq(pipe(pipe_ends), 0);
    ck_assert_int_eq(write(pipe_ends[1], "x", 1), 1);
    RLRunLoopSourceRef source = make_port_source(0, pipe_port, count_perform, &performed);
    allow_no_more_descriptors();
    errno = 0;
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    int added = errno; /* it was added: the descriptor will be watched when that becomes possible */
    int result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    int error = errno;
    allow_descriptors_again();
    ck_assert_int_eq(added, 0);
    ck_assert(RLRunLoopContainsSource(rl, source, kRLRunLoopDefaultMode));
    ck_assert_int_eq(result, kRLRunLoopRunFinished);
    ck_assert_int_eq(error, EMFILE);
    ck_assert_int_eq(performed, 0);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(performed, 1);
    drop_source(source);
}
END_TEST

/* RLRunLoopRun() has no result, so it prints one line and sets errno. That is not misuse, so it does not abort. */
START_TEST(an_unlimited_run_that_cannot_watch_its_descriptors_reports_it)
{
    atomic_int performed = 0;
    ck_assert_int_eq(pipe(pipe_ends), 0);
    RLRunLoopSourceRef source = make_port_source(0, pipe_port, count_perform, &performed);
    setenv("RUNLOOP_MISUSE", "abort", 1);
    allow_no_more_descriptors();
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    errno = 0;
    RLRunLoopRun();
    int error = errno;
    allow_descriptors_again();
    ck_assert_int_eq(error, EMFILE);
    assert_misuse("RLRunLoopRun", "kRLRunLoopDefaultMode",
                  "cannot watch its descriptors: no descriptors left in this process (EMFILE)");
    drop_source(source);
    RLRunLoopRun(); /* an empty mode: nothing to report */
    ck_assert_int_eq(take_diagnostics(), 0);
}
END_TEST

START_TEST(an_always_ready_file_works_without_spare_descriptors_once_the_loop_is_set_up)
{
    atomic_int performed = 0;
    null_fd = open("/dev/null", O_RDONLY);
    RLRunLoopSourceRef source = make_port_source(0, null_port, count_perform, &performed);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(poll_default(), kRLRunLoopRunHandledSource);
    allow_no_more_descriptors();
    ck_assert_int_eq(poll_default(), kRLRunLoopRunHandledSource);
    allow_descriptors_again();
    ck_assert_int_eq(performed, 2);
    drop_source(source);
    close(null_fd);
}
END_TEST

/* -- Memory -- */

static void ignore(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) {}

/* Creates, uses and drops a thousand of everything. */
static void live_one_day(void)
{
    enum { many = 1000 };
    static atomic_int entries;
    static int infos[many];
    static RLRunLoopTimerRef timers[many];
    static RLRunLoopSourceRef sources[many];
    static RLRunLoopObserverRef observers[many];
    for (int i = 0; i < many; i++) {
        timers[i] = make_timer(0, i % 2, ignore, NULL);
        sources[i] = make_source(i % 5, do_nothing, &infos[i]);
        observers[i] = make_observer(kRLRunLoopEntry, i % 2, i % 5, count_activity, &entries);
        RLRunLoopAddObserver(rl, observers[i], kRLRunLoopCommonModes);
        RLRunLoopAddTimer(rl, timers[i], kRLRunLoopCommonModes);
        RLRunLoopAddSource(rl, sources[i], kRLRunLoopDefaultMode);
        RLRunLoopSourceSignal(sources[i]);
        RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, do_nothing, NULL);
        RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, do_nothing, NULL, 0);
        RLRunLoopPerformFunctionAfterDelay(rl, kRLRunLoopDefaultMode, do_nothing, &infos[i], 3600);
        RLRunLoopCancelPerformFunction(rl, do_nothing, &infos[i]);
        RLStringRef text = RLStringCreateWithCString(NULL, "text", kRLStringEncodingUTF8);
        RLArrayRef array = RLArrayCreate(NULL, (const void **)&text, 1, &kRLTypeArrayCallBacks);
        RLRelease(RLCopyDescription(array));
        RLRelease(text);
        RLRelease(array);
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    for (int i = 0; i < many; i++) {
        drop_observer(observers[i]);
        drop_timer(timers[i]);
        drop_source(sources[i]);
    }
}

START_TEST(a_long_lived_loop_leaks_no_memory)
{
    for (int day = 0; day < 5; day++)
        live_one_day();
    long resident = resident_kilobytes();
    size_t allocated = mallinfo2().uordblks;
    for (int day = 0; day < (SANITIZED ? 4 : 60); day++)
        live_one_day();
    if (SANITIZED) /* sanitizers keep freed memory, and count leaks themselves */
        return;
    /* Both grow for some 400 days, and then stop. Losing 16 bytes with each timer would be 960 kB, losing whole timers 6 MB. */
    ck_assert_int_le((long)(mallinfo2().uordblks - allocated) / 1024, 400);
    ck_assert_int_lt(resident_kilobytes() - resident, 1500);
}
END_TEST

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    count_descriptors();
}

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("resources");
    TCase *tcase = add_case(suite, "resources", 20);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, a_loop_without_version_1_sources_needs_no_descriptor_and_no_thread);
    tcase_add_test(tcase, loops_of_other_threads_need_no_descriptor);
    tcase_add_test(tcase, at_most_two_descriptors_per_loop_however_many_modes);
    tcase_add_test(tcase, thread_exit_closes_the_descriptors_of_its_loop);
    tcase_add_test(tcase, descriptors_of_the_loop_are_close_on_exec);
    tcase_add_test(tcase, a_loop_without_version_1_sources_works_without_free_descriptors);
    tcase_add_test(tcase, a_run_with_version_1_sources_fails_without_free_descriptors_and_works_later);
    tcase_add_test(tcase, an_unlimited_run_that_cannot_watch_its_descriptors_reports_it);
    tcase_add_test(tcase, an_always_ready_file_works_without_spare_descriptors_once_the_loop_is_set_up);
    tcase_add_test(tcase, a_long_lived_loop_leaks_no_memory);
    return suite;
}
