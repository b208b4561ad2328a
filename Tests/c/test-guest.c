/* Checks a run loop as the guest of another event loop: one descriptor tells the host when to dispatch. */
#include "guest.h"
#include <fcntl.h>

/* Asserts that what was just done has made the descriptor readable, and that one dispatch handles it. Two are needed if a
 * callback leaves a descriptor ready that nothing waits for: the loop stops watching it only when epoll reports it. */
static void assert_host_woken_once(const char *cause, bool stays_ready)
{
    if (!readable())
        ck_abort_msg("%s: the descriptor is not readable", cause);
    dispatch();
    if (stays_ready)
        dispatch();
    if (readable())
        ck_abort_msg("%s: the descriptor is still readable after a dispatch", cause);
}

/* -- Causes, from the loop's thread or another ----------------------------------------------------------------------- */

static RLRunLoopRef guest;
static RLRunLoopSourceRef source;
static RLRunLoopTimerRef timer;
static struct watch late;
static RLFileDescriptorRef descriptor;
static int ends[2];
static atomic_int counted;

static void count_descriptor(RLFileDescriptorRef f UNUSED, RLOptionFlags types UNUSED, void *info)
{
    atomic_fetch_add((atomic_int *)info, 1);
}

static void wake_up(void) { RLRunLoopWakeUp(guest); }
static void stop(void) { RLRunLoopStop(guest); }
static void post(void) { require(RLRunLoopPostFunction(guest, kRLRunLoopDefaultMode, count_function, &counted)); }
static void signal_source(void)
{
    RLRunLoopSourceSignal(source);
    RLRunLoopWakeUp(guest);
}
static void add_timer(void) { RLRunLoopAddTimer(guest, timer, kRLRunLoopDefaultMode); }
static void move_timer(void) { RLRunLoopTimerSetNextFireDate(timer, RLAbsoluteTimeGetCurrent() + 500); }
static void add_source(void)
{
    RLRunLoopSourceRef another = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(guest, another, kRLRunLoopDefaultMode);
    RLRelease(another);
}
static void add_descriptor(void) { RLRunLoopAddSource(guest, late.source, kRLRunLoopDefaultMode); }
static void enable_descriptor(void) { RLFileDescriptorEnableCallBacks(descriptor, kRLFileDescriptorWriteCallBack); }
static void cancel_nothing(void) { RLRunLoopAddCommonMode(guest, RLSTR("another")); }

static const struct cause {
    const char *name;
    void (*make)(void);
    bool stays_ready;
} causes[] = {
    {"a wake-up", wake_up, false},
    {"a stop", stop, false},
    {"a function", post, false},
    {"a signal", signal_source, false},
    {"the first timer", add_timer, false},
    {"an earlier date", move_timer, false},
    {"a version-0 source", add_source, false},
    {"a descriptor that is ready", add_descriptor, false},
    {"a descriptor object that is enabled", enable_descriptor, true},
    {"a mode that becomes common", cancel_nothing, false},
};
#define CAUSES (int)(sizeof causes / sizeof causes[0])

static void *make_on_thread(void *cause)
{
    ((const struct cause *)cause)->make();
    return NULL;
}

static void prepare_causes(void)
{
    guest = RLRunLoopGetCurrent();
    source = make_source(0, count_function, &counted);
    RLRunLoopAddSource(guest, source, kRLRunLoopDefaultMode);
    timer = make_timer(RLAbsoluteTimeGetCurrent() + 1000, 0, count_timer, &counted);
    make_pipe(ends);
    require(write(ends[1], "x", 1) == 1);
    late = (struct watch){.fd = ends[0], .reads = true};
    RLRunLoopSourceContext1 context = {.version = 1, .info = &late, .getPort = watch_port, .perform = watch_perform};
    late.source = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
    RLFileDescriptorContext of_descriptor = {.info = &counted};
    descriptor = RLFileDescriptorCreate(NULL, ends[1], 0, count_descriptor, &of_descriptor);
    RLRunLoopSourceRef its = RLFileDescriptorCreateRunLoopSource(NULL, descriptor, 0);
    RLRunLoopAddSource(guest, its, kRLRunLoopDefaultMode);
    RLRelease(its);
    prepare();
    if (readable())
        dispatch();
    ck_assert(!readable());
}

static void end_causes(void)
{
    drop_source(source);
    drop_timer(timer);
    drop_source(late.source);
    RLFileDescriptorInvalidate(descriptor);
    RLRelease(descriptor);
    close_pipe(ends);
}

START_TEST(events_of_the_loops_own_thread_wake_the_host_once)
{
    prepare_causes();
    for (int i = 0; i < CAUSES; i++) {
        causes[i].make();
        assert_host_woken_once(causes[i].name, causes[i].stays_ready);
    }
    ck_assert_int_eq(atomic_load(&counted), 3);
    ck_assert_int_eq(atomic_load(&late.performed), 1);
    end_causes();
}
END_TEST

START_TEST(events_of_another_thread_wake_the_host_once)
{
    prepare_causes();
    for (int i = 0; i < CAUSES; i++) {
        join_thread(start_thread(make_on_thread, (void *)&causes[i]));
        assert_host_woken_once(causes[i].name, causes[i].stays_ready);
    }
    ck_assert_int_eq(atomic_load(&counted), 3);
    ck_assert_int_eq(atomic_load(&late.performed), 1);
    end_causes();
}
END_TEST

START_TEST(a_host_that_prepares_before_each_wait_misses_no_event)
{
    prepare_causes();
    for (int i = 0; i < CAUSES; i++) {
        if (i % 2 == 0)
            causes[i].make();
        else
            join_thread(start_thread(make_on_thread, (void *)&causes[i]));
        prepare();
        prepare();
        dispatch();
        if (causes[i].stays_ready)
            dispatch();
        ck_assert_msg(!readable(), "%s", causes[i].name);
    }
    ck_assert_int_eq(atomic_load(&counted), 3);
    ck_assert_int_eq(atomic_load(&late.performed), 1);
    end_causes();
}
END_TEST

/* -- What is reported ------------------------------------------------------------------------------------------------- */

START_TEST(a_stop_is_the_result_of_one_dispatch)
{
    RLRunLoopStop(RLRunLoopGetCurrent()); /* no run: no effect */
    prepare();
    ck_assert_int_eq(dispatch(), kRLRunLoopRunFinished);
    RLRunLoopStop(RLRunLoopGetCurrent());
    ck_assert(readable());
    ck_assert_int_eq(dispatch(), kRLRunLoopRunStopped);
    ck_assert_int_eq(dispatch(), kRLRunLoopRunFinished);
    require(RLRunLoopPostFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, stop_current, NULL));
    ck_assert_int_eq(dispatch(), kRLRunLoopRunStopped);
    ck_assert_int_eq(dispatch(), kRLRunLoopRunFinished);
    ck_assert(!readable());
}
END_TEST

START_TEST(a_timer_makes_the_guest_descriptor_readable)
{
    timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.02, 0.01, count_timer, &counted);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    prepare();
    ck_assert(state.timeout == HUGE_VAL || state.timeout == 0); /* 0 if the date has already passed */
    for (int ticks = 1; ticks <= 5; ticks++) {
        await_readable();
        ck_assert_int_eq(dispatch(), kRLRunLoopRunTimedOut);
        ck_assert_int_eq(atomic_load(&counted), ticks);
    }
    drop_timer(timer);
    prepare();
    ck_assert(!readable());
}
END_TEST

START_TEST(without_the_timer_option_the_host_receives_a_timeout)
{
    require(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, 0, &state) == 1);
    ck_assert(state.timeout == HUGE_VAL);
    timer = make_timer(RLAbsoluteTimeGetCurrent() + 100, 0, count_timer, &counted);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    ck_assert(readable());
    require(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, 0, &state) == 1);
    ck_assert(!readable());
    ck_assert(state.timeout > 0 && state.timeout < 101);
    RLRunLoopTimerSetNextFireDate(timer, RLAbsoluteTimeGetCurrent());
    do {
        require(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, 0, &state) == 1);
    } while (state.timeout != 0);
    ck_assert(readable());
    dispatch();
    ck_assert_int_eq(atomic_load(&counted), 1);
    require(RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, 0, &state) == 1);
    ck_assert(state.timeout == HUGE_VAL && !readable());
    drop_timer(timer);
}
END_TEST

START_TEST(a_ready_descriptor_keeps_the_guest_descriptor_readable)
{
    struct watch quick = {.reads = true}, slow = {0};
    int other[2];
    make_pipe(ends);
    make_pipe(other);
    prepare();
    watch_fd(&quick, ends[0], 0);
    watch_fd(&slow, other[0], 0);
    dispatch();
    ck_assert(!readable());
    require(write(ends[1], "x", 1) == 1 && write(other[1], "y", 1) == 1);
    for (int pass = 0; pass < 10; pass++) {
        ck_assert(readable());
        dispatch();
    }
    ck_assert_int_eq(atomic_load(&quick.performed), 1);
    ck_assert_int_ge(atomic_load(&slow.performed), 8);
    drop_source(quick.source);
    drop_source(slow.source);
    dispatch();
    ck_assert(!readable());
    close_pipe(ends);
    close_pipe(other);
}
END_TEST

START_TEST(an_always_ready_file_keeps_the_guest_descriptor_readable)
{
    struct watch file = {0};
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    watch_fd(&file, fd, 0);
    prepare();
    for (int pass = 1; pass < 4; pass++) {
        ck_assert(readable());
        dispatch();
        ck_assert_int_eq(atomic_load(&file.performed), pass);
    }
    drop_source(file.source);
    close(fd);
}
END_TEST

START_TEST(events_of_other_modes_do_not_keep_the_guest_descriptor_readable)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLStringRef other = RLSTR("other");
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    make_pipe(ends);
    require(write(ends[1], "x", 1) == 1);
    struct watch elsewhere = {.fd = ends[0]};
    watch_fd(&elsewhere, ends[0], 0);
    RLRunLoopAddSource(rl, elsewhere.source, other);
    RLRunLoopRemoveSource(rl, elsewhere.source, kRLRunLoopDefaultMode);
    source = make_source(0, count_function, &counted);
    RLRunLoopAddSource(rl, source, other);
    RLRunLoopSourceSignal(source);
    require(RLRunLoopPostFunction(rl, other, count_function, &counted));
    timer = make_timer(RLAbsoluteTimeGetCurrent(), 0, count_timer, &counted);
    RLRunLoopAddTimer(rl, timer, other);
    prepare();
    for (int passes = 0; readable() && passes < 3; passes++)
        dispatch();
    ck_assert(!readable());
    ck_assert_int_eq(atomic_load(&counted), 0);
    require(RLRunLoopPrepareGuest(other, kRLRunLoopGuestTimerInDescriptor, &state) == 1);
    for (int passes = 0; passes < 4; passes++) {
        ck_assert(readable());
        ck_assert_int_eq(RLRunLoopDispatchGuest(other), kRLRunLoopRunTimedOut);
    }
    ck_assert_int_eq(atomic_load(&counted), 3);
    ck_assert_int_ge(atomic_load(&elsewhere.performed), 2);
    drop_source(keeper);
    drop_source(source);
    drop_source(elsewhere.source);
    drop_timer(timer);
    close_pipe(ends);
}
END_TEST

START_TEST(a_wake_up_in_an_empty_mode_wakes_the_host_once)
{
    prepare();
    for (int i = 0; i < 3; i++) {
        RLRunLoopWakeUp(RLRunLoopGetCurrent());
        ck_assert(readable());
        errno = EIO;
        ck_assert_int_eq(dispatch(), kRLRunLoopRunFinished);
        ck_assert_int_eq(errno, 0);
        ck_assert(!readable());
    }
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("guest");
    TCase *tcase = add_case(suite, "guest", 20);
    tcase_add_test(tcase, events_of_the_loops_own_thread_wake_the_host_once);
    tcase_add_test(tcase, events_of_another_thread_wake_the_host_once);
    tcase_add_test(tcase, a_host_that_prepares_before_each_wait_misses_no_event);
    tcase_add_test(tcase, a_stop_is_the_result_of_one_dispatch);
    tcase_add_test(tcase, a_timer_makes_the_guest_descriptor_readable);
    tcase_add_test(tcase, without_the_timer_option_the_host_receives_a_timeout);
    tcase_add_test(tcase, a_ready_descriptor_keeps_the_guest_descriptor_readable);
    tcase_add_test(tcase, an_always_ready_file_keeps_the_guest_descriptor_readable);
    tcase_add_test(tcase, events_of_other_modes_do_not_keep_the_guest_descriptor_readable);
    tcase_add_test(tcase, a_wake_up_in_an_empty_mode_wakes_the_host_once);
    return suite;
}
