/* Checks runs whose mode another thread empties: they end when the last item is invalidated, and sleep on when it is removed. */
#include "message-port.h"

enum kind { SIGNALLED, READABLE, TIMER, FUNCTION, DESCRIPTOR, SOCKET, PORT, MESSAGE_PORT, KINDS };
enum { ROUNDS = 40 };

/* An item that never makes a callback. */
struct item {
    enum kind kind;
    RLTypeRef object;          /* what clients invalidate; NULL for a function */
    RLRunLoopSourceRef source; /* NULL for a timer and a function */
    int ends[2];
};

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

static int first_end(void *info) { return ((struct item *)info)->ends[0]; }
static void on_descriptor(UNUSED RLFileDescriptorRef f, UNUSED RLOptionFlags types, UNUSED void *info) {}
static void on_socket(UNUSED RLSocketRef s, UNUSED RLSocketCallBackType type, UNUSED RLDataRef address,
                      UNUSED const void *data, UNUSED void *info)
{
}
static void on_message(UNUSED RLPortRef port, UNUSED RLPortMessageRef message, UNUSED void *info) {}
static RLDataRef on_request(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    return NULL;
}

static void make_object(struct item *item)
{
    switch (item->kind) {
    case SIGNALLED:
        item->object = item->source = make_source(0, do_nothing, item);
        break;
    case READABLE:
        item->object = item->source = make_port_source(0, first_end, do_nothing, item);
        break;
    case TIMER:
        item->object = make_timer(RLAbsoluteTimeGetCurrent() + 1e6, 0, count_timer, NULL);
        break;
    case DESCRIPTOR: {
        RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, item->ends[0], 0, on_descriptor, NULL);
        RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
        item->object = f;
        item->source = RLFileDescriptorCreateRunLoopSource(NULL, f, 0);
        break;
    }
    case SOCKET: {
        RLSocketRef s = RLSocketCreateWithNative(NULL, item->ends[0], kRLSocketReadCallBack, on_socket, NULL);
        RLSocketSetSocketFlags(s, 0);
        item->object = s;
        item->source = RLSocketCreateRunLoopSource(NULL, s, 0);
        break;
    }
    case PORT: {
        RLPortRef port = RLPortCreate(NULL, on_message, NULL, NULL);
        item->object = port;
        item->source = RLPortCreateRunLoopSource(NULL, port, 0);
        break;
    }
    case MESSAGE_PORT: {
        RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, on_request, NULL, NULL);
        item->object = port;
        item->source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
        break;
    }
    default:
        break;
    }
}

static void make_item(struct item *item, enum kind kind, RLRunLoopMode mode)
{
    *item = (struct item){.kind = kind};
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, item->ends) == 0);
    make_object(item);
    if (kind == TIMER)
        RLRunLoopAddTimer(rl, (RLRunLoopTimerRef)item->object, mode);
    else if (kind == FUNCTION)
        require(RLRunLoopPerformFunctionAfterDelay(rl, mode, do_nothing, item, 1e6));
    else
        RLRunLoopAddSource(rl, item->source, mode);
}

static void invalidate(struct item *item)
{
    void *object = (void *)item->object;
    switch (item->kind) {
    case TIMER:
        RLRunLoopTimerInvalidate(object);
        break;
    case FUNCTION:
        RLRunLoopCancelPerformFunction(rl, do_nothing, item);
        break;
    case DESCRIPTOR:
        RLFileDescriptorInvalidate(object);
        break;
    case SOCKET:
        RLSocketInvalidate(object);
        break;
    case PORT:
        RLPortInvalidate(object);
        break;
    case MESSAGE_PORT:
        RLMessagePortInvalidate(object);
        break;
    default:
        RLRunLoopSourceInvalidate(object);
        break;
    }
}

/* Releases all references that the client has. */
static void release(struct item *item)
{
    if (item->source != NULL && item->source != item->object)
        RLRelease(item->source);
    if (item->object != NULL)
        RLRelease(item->object);
    item->source = NULL;
    item->object = NULL;
}

static void drop_item(struct item *item)
{
    invalidate(item);
    release(item);
    close_pipe(item->ends);
}

/* -- A thread that acts before the loop of the test sleeps, or while it does -- */

struct helper {
    gate go, done;
    struct item *item, *outer_item;
    int yields; /* before it acts; if negative, it acts once the loop is asleep */
    void (*act)(struct item *item);
};

static void *help(void *info)
{
    struct helper *helper = info;
    for (gate_pass(&helper->go); helper->item != NULL; gate_pass(&helper->go)) {
        if (helper->yields < 0)
            await_waiting(rl);
        for (int i = 0; i < helper->yields; i++)
            sched_yield();
        helper->act(helper->item);
        gate_open(&helper->done);
    }
    return NULL;
}

static pthread_t start_helper(struct helper *helper, void (*act)(struct item *item))
{
    gate_init(&helper->go);
    gate_init(&helper->done);
    helper->act = act;
    return start_thread(help, helper);
}

static void end_helper(struct helper *helper, pthread_t thread)
{
    helper->item = NULL;
    gate_open(&helper->go);
    join_thread(thread);
}

/* Runs the loop while the helper acts on an item. */
static int run_beside(struct helper *helper, struct item *item, int yields, RLRunLoopMode mode, double seconds)
{
    helper->item = item;
    helper->yields = yields;
    gate_open(&helper->go);
    int result = RLRunLoopRunInMode(mode, seconds, 0);
    gate_pass(&helper->done);
    return result;
}

static void empty_the_mode(enum kind kind, void (*act)(struct item *item))
{
    static struct helper helper;
    pthread_t thread = start_helper(&helper, act);
    for (int round = 0; round < SCALED(ROUNDS); round++) {
        struct item item;
        RLRunLoopMode mode = round & 1 ? RLSTR("custom") : kRLRunLoopDefaultMode;
        make_item(&item, kind, round % 4 == 0 ? kRLRunLoopCommonModes : mode);
        if (round % 4 == 1 && item.source)
            RLRunLoopAddSource(rl, item.source, RLSTR("another"));
        ck_assert_int_eq(run_beside(&helper, &item, round & 2 ? -1 : round / 4, mode, 1e10), kRLRunLoopRunFinished);
        drop_item(&item);
    }
    end_helper(&helper, thread);
}

START_TEST(a_run_ends_when_another_thread_invalidates_the_last_item) { empty_the_mode(_i, invalidate); }
END_TEST
static void unreference(struct item *item)
{
    if (item->kind == TIMER)
        RLRunLoopTimerSetKeepsModeRunning((RLRunLoopTimerRef)item->object, 0);
    else
        RLRunLoopSourceSetKeepsModeRunning(item->source, 0);
}

START_TEST(a_run_ends_when_another_thread_makes_the_last_item_unreferenced)
{
    if (_i != FUNCTION)
        empty_the_mode(_i, unreference);
}
END_TEST
static void invalidate_and_post_stop(struct item *item)
{
    invalidate(item);
    require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, stop_current, NULL));
}

START_TEST(a_run_continues_while_its_mode_has_another_item)
{
    static struct helper helper;
    pthread_t thread = start_helper(&helper, invalidate_and_post_stop);
    struct item item, keeper;
    make_item(&keeper, (_i + 1) % KINDS, kRLRunLoopDefaultMode);
    make_item(&item, _i, kRLRunLoopCommonModes);
    ck_assert_int_eq(run_beside(&helper, &item, -1, kRLRunLoopDefaultMode, 1e10), kRLRunLoopRunStopped);
    drop_item(&item);
    drop_item(&keeper);
    end_helper(&helper, thread);
}
END_TEST

static void on_nested(UNUSED RLRunLoopTimerRef timer, void *info)
{
    struct helper *helper = info;
    ck_assert_int_eq(run_beside(helper, helper->item, -1, RLSTR("inner"), 1e10), kRLRunLoopRunFinished);
    RLRunLoopStop(rl);
}

START_TEST(a_nested_run_ends_without_ending_the_outer_one)
{
    static struct helper helper;
    pthread_t thread = start_helper(&helper, invalidate);
    struct item item, keeper;
    make_item(&keeper, SIGNALLED, kRLRunLoopDefaultMode);
    make_item(&item, _i, RLSTR("inner"));
    helper.item = &item;
    RLRunLoopTimerRef timer = make_timer(0, 0, on_nested, &helper);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunStopped);
    RLRelease(timer);
    drop_item(&item);
    drop_item(&keeper);
    end_helper(&helper, thread);
}
END_TEST

/* The outer run is in a step after which it goes to sleep. Its mode is emptied while the nested run sleeps in another mode. */
static void run_nested(void *info)
{
    struct helper *helper = info;
    if (helper->item != NULL)
        return;
    helper->item = helper->outer_item;
    helper->yields = -1;
    gate_open(&helper->go);
    do
        ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("inner"), 0.01, 0), kRLRunLoopRunTimedOut);
    while (sem_trywait(&helper->done) != 0);
}
static void run_nested_before_waiting(UNUSED RLRunLoopObserverRef o, UNUSED RLRunLoopActivity activity, void *info)
{
    run_nested(info);
}

START_TEST(an_outer_run_ends_if_its_mode_is_emptied_during_a_nested_run)
{
    static struct helper helper;
    pthread_t thread = start_helper(&helper, invalidate);
    struct item item, keeper;
    make_item(&keeper, SIGNALLED, RLSTR("inner"));
    make_item(&item, _i % KINDS, kRLRunLoopDefaultMode);
    helper.outer_item = &item;
    RLRunLoopObserverContext context = {.info = &helper};
    RLRunLoopObserverRef observer =
        RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeWaiting, 0, 0, run_nested_before_waiting, &context);
    if (_i < KINDS)
        RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    else
        require(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, run_nested, &helper));
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
    drop_observer(observer);
    drop_item(&item);
    drop_item(&keeper);
    end_helper(&helper, thread);
}
END_TEST

static void remove_item(struct item *item)
{
    if (item->kind == TIMER)
        RLRunLoopRemoveTimer(rl, (RLRunLoopTimerRef)item->object, kRLRunLoopDefaultMode);
    else
        RLRunLoopRemoveSource(rl, item->source, kRLRunLoopDefaultMode);
}

/* As in CFRunLoop: an item that is removed may be on its way to another mode, or may be added again. */
START_TEST(a_run_keeps_sleeping_when_another_thread_removes_the_last_item)
{
    if (_i == FUNCTION)
        return; /* can only be cancelled */
    static struct helper helper;
    pthread_t thread = start_helper(&helper, remove_item);
    struct item item;
    make_item(&item, _i, kRLRunLoopDefaultMode);
    ck_assert_int_eq(run_beside(&helper, &item, -1, kRLRunLoopDefaultMode, 0.2), kRLRunLoopRunTimedOut);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
    drop_item(&item);
    end_helper(&helper, thread);
}
END_TEST

static void remove_and_wake(struct item *item)
{
    remove_item(item);
    RLRunLoopWakeUp(rl);
}

START_TEST(a_run_ends_when_the_last_item_is_removed_and_the_loop_woken)
{
    if (_i == FUNCTION)
        return;
    static struct helper helper;
    pthread_t thread = start_helper(&helper, remove_and_wake);
    for (int round = 0; round < SCALED(ROUNDS); round++) {
        struct item item;
        make_item(&item, _i, kRLRunLoopDefaultMode);
        int yields = round & 1 ? -1 : round / 2;
        ck_assert_int_eq(run_beside(&helper, &item, yields, kRLRunLoopDefaultMode, 1e10), kRLRunLoopRunFinished);
        drop_item(&item);
    }
    end_helper(&helper, thread);
}
END_TEST

/* -- Before the run's first pass -- */

static void act_on_entry(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, void *info)
{
    struct helper *helper = info;
    gate_open(&helper->go);
    gate_pass(&helper->done);
}

/* The helper acts when the run has seen that the mode is not empty, but has not yet checked for wake-ups. */
static void run_and_act_on_entry(enum kind kind, void (*act)(struct item *item))
{
    static struct helper helper;
    pthread_t thread = start_helper(&helper, act);
    RLRunLoopObserverRef observer = make_observer(kRLRunLoopEntry, 1, 0, act_on_entry, &helper);
    struct item item;
    make_item(&item, kind, kRLRunLoopDefaultMode);
    helper.item = &item;
    RLRunLoopAddObserver(rl, observer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
    drop_observer(observer);
    drop_item(&item);
    end_helper(&helper, thread);
}

static void wake_and_invalidate(struct item *item)
{
    RLRunLoopWakeUp(rl);
    invalidate(item);
}

START_TEST(a_run_ends_when_a_wake_up_precedes_the_invalidation_of_the_last_item)
{
    run_and_act_on_entry(_i, wake_and_invalidate);
}
END_TEST

START_TEST(a_run_ends_when_the_last_item_is_removed_before_its_first_pass)
{
    if (_i != FUNCTION)
        run_and_act_on_entry(_i, remove_and_wake);
}
END_TEST

static void release_and_post_stop(struct item *item)
{
    release(item);
    require(RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, stop_current, NULL));
}

/* The loop has its own reference, so this invalidates nothing, and the mode is as full as before. */
START_TEST(a_run_continues_when_another_thread_releases_the_last_reference)
{
    static struct helper helper;
    pthread_t thread = start_helper(&helper, release_and_post_stop);
    struct item item;
    make_item(&item, _i, kRLRunLoopDefaultMode);
    ck_assert_int_eq(run_beside(&helper, &item, -1, kRLRunLoopDefaultMode, 1e10), kRLRunLoopRunStopped);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
    end_helper(&helper, thread);
    close_pipe(item.ends);
}
END_TEST

static void cancel_queued(struct item *item)
{
    /* Queued without waking the loop, so that only this function keeps the mode when the item is gone. */
    require(RLRunLoopPerformFunction(rl, kRLRunLoopDefaultMode, do_nothing, &rl));
    invalidate(item);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, do_nothing, &rl), 1);
}

START_TEST(a_run_ends_when_another_thread_cancels_the_last_function)
{
    static struct helper helper;
    pthread_t thread = start_helper(&helper, cancel_queued);
    for (int round = 0; round < SCALED(ROUNDS); round++) {
        struct item item;
        make_item(&item, round % KINDS, kRLRunLoopDefaultMode);
        ck_assert_int_eq(run_beside(&helper, &item, -1, kRLRunLoopDefaultMode, 1e10), kRLRunLoopRunFinished);
        drop_item(&item);
    }
    end_helper(&helper, thread);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("run-emptied");
    TCase *all = add_case(suite, "every kind of item", 20);
    tcase_add_unchecked_fixture(all, use_own_directory, remove_own_directory);
    tcase_add_checked_fixture(all, use_current_loop, NULL);
    tcase_add_loop_test(all, a_run_ends_when_another_thread_invalidates_the_last_item, 0, KINDS);
    tcase_add_loop_test(all, a_run_ends_when_another_thread_makes_the_last_item_unreferenced, 0, KINDS);
    tcase_add_loop_test(all, a_run_continues_while_its_mode_has_another_item, 0, KINDS);
    tcase_add_loop_test(all, an_outer_run_ends_if_its_mode_is_emptied_during_a_nested_run, 0, 2 * KINDS);
    tcase_add_loop_test(all, a_nested_run_ends_without_ending_the_outer_one, 0, KINDS);
    tcase_add_loop_test(all, a_run_keeps_sleeping_when_another_thread_removes_the_last_item, 0, KINDS);
    tcase_add_loop_test(all, a_run_ends_when_the_last_item_is_removed_and_the_loop_woken, 0, KINDS);
    tcase_add_loop_test(all, a_run_ends_when_a_wake_up_precedes_the_invalidation_of_the_last_item, 0, KINDS);
    tcase_add_loop_test(all, a_run_ends_when_the_last_item_is_removed_before_its_first_pass, 0, KINDS);
    tcase_add_loop_test(all, a_run_continues_when_another_thread_releases_the_last_reference, 0, KINDS);
    tcase_add_test(all, a_run_ends_when_another_thread_cancels_the_last_function);
    return suite;
}
