/* Checks the life of an RLFileDescriptor: who closes the descriptor and releases the info, and when; that its source is cached;
 * and that misuse is reported. */
#include "descriptor.h"

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;
static int ends[2];
static struct port port;
static struct lifetime life;
static int descriptors_before;

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    make_pipe(ends);
    port = (struct port){.name = ""};
    port_open(&port, ends[0], 0); /* the loop opens its own descriptors here */
    poll_once();
    port_drop(&port);
    port = (struct port){.name = ""};
    descriptors_before = open_descriptors();
}

static void tear_down(void)
{
    drop_source(keeper);
    close_pipe(ends);
}

static RLStringRef describe_life(UNUSED const void *info) { return RLSTR("a life"); }
static void ignore(UNUSED RLFileDescriptorRef f, UNUSED RLOptionFlags types, UNUSED void *info) {}

static RLFileDescriptorRef make_with_life(int fd, bool closes, RLFileDescriptorCallBack callout)
{
    RLFileDescriptorContext context = {0, &life, lifetime_retain, lifetime_release, describe_life};
    RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, fd, closes, callout, &context);
    ck_assert_ptr_nonnull(f);
    return f;
}

/* -- closeOnInvalidate, info -- */

START_TEST(invalidation_closes_the_descriptor_if_requested)
{
    for (int closes = 0; closes < 2; closes++) {
        int fd = dup(ends[0]);
        RLFileDescriptorRef f = make_with_life(fd, closes, ignore);
        ck_assert_int_eq(RLFileDescriptorGetNativeDescriptor(f), fd);
        ck_assert(RLFileDescriptorIsValid(f));
        RLFileDescriptorInvalidate(f);
        ck_assert(!RLFileDescriptorIsValid(f));
        ck_assert_int_eq(RLFileDescriptorGetNativeDescriptor(f), -1);
        ck_assert(is_open(fd) == !closes);
        ck_assert_int_eq(life.retains, 1 + closes);
        ck_assert_int_eq(life.releases, 1 + closes);
        int again = dup(ends[0]); /* reuses the number if the descriptor was closed */
        RLFileDescriptorInvalidate(f);
        RLRelease(f);
        ck_assert(is_open(again));
        ck_assert_int_eq(life.releases, 1 + closes);
        close(again);
        if (!closes)
            close(fd);
    }
}
END_TEST

START_TEST(the_last_release_invalidates_a_descriptor_object)
{
    int fd = dup(ends[0]);
    RLRelease(make_with_life(fd, true, ignore));
    ck_assert(!is_open(fd));
    ck_assert_int_eq(lifetime_held(&life), 0);
    RLRelease(make_with_life(ends[0], false, ignore));
    ck_assert(is_open(ends[0]));
    ck_assert_int_eq(lifetime_held(&life), 0);
}
END_TEST

START_TEST(the_context_is_returned_until_invalidation)
{
    RLFileDescriptorRef f = make_with_life(ends[0], false, ignore);
    RLFileDescriptorContext got = {0};
    RLFileDescriptorGetContext(f, &got);
    ck_assert_ptr_eq(got.info, &life);
    ck_assert(got.retain == lifetime_retain && got.release == lifetime_release && got.copyDescription == describe_life);
    ck_assert_int_eq(life.retains, 1);
    RLStringRef text = RLCopyDescription(f);
    ck_assert_ptr_nonnull(strstr(RLStringGetCStringPtr(text, kRLStringEncodingUTF8), "a life"));
    RLRelease(text);
    RLFileDescriptorInvalidate(f);
    RLFileDescriptorGetContext(f, &got);
    ck_assert(got.info == NULL && got.retain == NULL && got.release == NULL && got.copyDescription == NULL);
    RLRelease(RLCopyDescription(f));
    RLRelease(f);
}
END_TEST

static const void *retain_other(UNUSED const void *info) { return &descriptors_before; }
START_TEST(the_info_is_what_retain_returned)
{
    RLFileDescriptorContext context = {.info = &life, .retain = retain_other}, got = {0};
    RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, ends[0], 0, ignore, &context);
    RLFileDescriptorGetContext(f, &got);
    ck_assert_ptr_eq(got.info, &descriptors_before);
    RLRelease(f);
}
END_TEST

START_TEST(a_descriptor_object_needs_neither_callback_nor_context)
{
    RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, ends[0], 0, NULL, NULL);
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, f, 0);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    put(ends[1]);
    RLFileDescriptorEnableCallBacks(f, READ);
    poll_once();
    ck_assert_int_le(passes_while_idle(), 3);
    RLFileDescriptorInvalidate(f);
    RLRelease(source);
    RLRelease(f);
}
END_TEST

/* -- Invalidated in its own callback -- */

static void end_port(struct port *ended, UNUSED RLOptionFlags types)
{
    port_drop(ended);
    require(!is_open(ended->fd));
}

START_TEST(a_descriptor_object_may_be_invalidated_and_released_in_its_callback)
{
    port.action = end_port;
    port_make(&port, dup(ends[0]), true);
    port_add(&port, rl, kRLRunLoopDefaultMode, 0);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    put(ends[1]);
    ck_assert(poll_once());
    ck_assert(!poll_once());
    ck_assert_int_eq(port.calls, 1);
    ck_assert_int_eq(open_descriptors(), descriptors_before);
}
END_TEST

/* The nested callback invalidates the object. No other thread is using it, so the descriptor is closed immediately, as the header
 * promises. */
static void run_and_end(struct port *outer, UNUSED RLOptionFlags types)
{
    static int depth;
    if (depth++ == 0) {
        RLFileDescriptorEnableCallBacks(outer->object, READ);
        require(poll_once());
    } else {
        RLFileDescriptorInvalidate(outer->object);
        require(!is_open(outer->fd));
    }
}

START_TEST(a_descriptor_object_may_be_invalidated_in_a_nested_callback)
{
    port.action = run_and_end;
    port_make(&port, dup(ends[0]), true);
    port_add(&port, rl, kRLRunLoopDefaultMode, 0);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    put(ends[1]);
    ck_assert(poll_once());
    ck_assert_int_eq(port.calls, 2);
    RLRelease(port.object);
    ck_assert_int_eq(open_descriptors(), descriptors_before);
}
END_TEST

/* -- Invalidated by another thread while the callback runs -- */

static gate inside, ended;
static void wait_inside(UNUSED RLFileDescriptorRef f, UNUSED RLOptionFlags types, UNUSED void *info)
{
    gate_open(&inside);
    gate_pass(&ended);
    require(is_open(port.fd)); /* not closed before the callback returns */
    require(life.releases == 0);
}

static void *end_while_inside(void *f)
{
    gate_pass(&inside);
    RLFileDescriptorInvalidate(f);
    require(!RLFileDescriptorIsValid(f));
    require(RLFileDescriptorGetNativeDescriptor(f) == -1);
    RLRelease(f);
    gate_open(&ended);
    return NULL;
}

START_TEST(a_running_callback_keeps_descriptor_and_info_when_another_thread_invalidates)
{
    gate_init(&inside);
    gate_init(&ended);
    port.fd = dup(ends[0]);
    port.object = make_with_life(port.fd, true, wait_inside);
    port_add(&port, rl, kRLRunLoopDefaultMode, 0);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    put(ends[1]);
    pthread_t thread = start_thread(end_while_inside, port.object);
    ck_assert(poll_once());
    join_thread(thread);
    ck_assert(!is_open(port.fd));
    ck_assert_int_eq(life.releases, 1);
    ck_assert_int_eq(open_descriptors(), descriptors_before);
}
END_TEST

/* -- The source -- */

START_TEST(the_source_is_cached_with_the_order_of_the_first_call)
{
    port_make(&port, ends[0], false);
    RLRunLoopSourceRef first = RLFileDescriptorCreateRunLoopSource(NULL, port.object, 7);
    RLRunLoopSourceRef second = RLFileDescriptorCreateRunLoopSource(NULL, port.object, 9);
    ck_assert_ptr_eq(first, second);
    ck_assert_int_eq(RLRunLoopSourceGetOrder(second), 7);
    RLRunLoopSourceInvalidate(first);
    ck_assert(RLFileDescriptorIsValid(port.object));
    RLRunLoopSourceRef third = RLFileDescriptorCreateRunLoopSource(NULL, port.object, 9);
    ck_assert_ptr_ne(first, third);
    ck_assert_int_eq(RLRunLoopSourceGetOrder(third), 9);
    RLRunLoopAddSource(rl, third, kRLRunLoopDefaultMode);
    put(ends[1]);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert(poll_once());
    RLFileDescriptorInvalidate(port.object);
    ck_assert(!RLRunLoopSourceIsValid(third));
    ck_assert(!RLRunLoopContainsSource(rl, third, kRLRunLoopDefaultMode));
    ck_assert_ptr_null(RLFileDescriptorCreateRunLoopSource(NULL, port.object, 0));
    RLRelease(first);
    RLRelease(second);
    RLRelease(third);
    RLRelease(port.object);
}
END_TEST

START_TEST(enabled_callbacks_outlive_the_source)
{
    put(ends[1]);
    port_open(&port, ends[0], READ);
    RLRunLoopSourceInvalidate(port.source);
    ck_assert(!poll_once());
    port_add(&port, rl, kRLRunLoopDefaultMode, 0);
    ck_assert(poll_once());
    ck_assert(!poll_once());
    port_drop(&port);
}
END_TEST

START_TEST(a_descriptor_object_and_its_source_keep_each_other_alive)
{
    port_make(&port, dup(ends[0]), true);
    port_add(&port, rl, kRLRunLoopDefaultMode, 0);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    port.reads = true;
    RLRelease(port.object);
    put(ends[1]);
    ck_assert(poll_once());
    ck_assert_int_eq(port.calls, 1);
    RLFileDescriptorInvalidate(port.object);
    ck_assert(!is_open(port.fd));
}
END_TEST

/* -- Misuse -- */

/* The callback ends its thread: what it was using is released as if it had returned. */
static void end_thread(UNUSED struct port *port, UNUSED RLOptionFlags types) { pthread_exit(NULL); }
static void *run_until_ended(UNUSED void *info)
{
    port_add(&port, RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, 0);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    run_once();
    return NULL;
}

START_TEST(a_callback_that_exits_its_thread_leaks_nothing)
{
    port.action = end_thread;
    port_make(&port, dup(ends[0]), true);
    put(ends[1]);
    join_thread(start_thread(run_until_ended, NULL));
    ck_assert(RLFileDescriptorIsValid(port.object));
    port.action = NULL;
    port_add(&port, rl, kRLRunLoopDefaultMode, 0);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert(poll_once());
    RLFileDescriptorInvalidate(port.object);
    ck_assert(!is_open(port.fd));
    ck_assert_int_eq(RLGetRetainCount(port.object), 1);
    RLRelease(port.object);
    ck_assert_int_eq(open_descriptors(), descriptors_before);
}
END_TEST

/* The callbacks of two loops overlap, and return in the order in which they began. Then a third loop makes a callback, and the
 * first thread invalidates the object. That thread is in no callback by then, and must not take the third thread's callback for
 * its own: the descriptor stays open until that one returns. */
static gate begun[3], go[3];
static void *run_one_call(void *info)
{
    port_add(&port, RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, 0);
    run_once();
    if (info) { /* the first */
        gate_open(&go[1]);
        gate_pass(&begun[2]);
        RLFileDescriptorInvalidate(port.object);
        gate_open(&go[2]);
    }
    return NULL;
}

static void call_in_turn(struct port *called, UNUSED RLOptionFlags types)
{
    static atomic_int turn;
    int mine = turn++;
    if (mine == 0)
        RLFileDescriptorEnableCallBacks(called->object, READ);
    gate_open(&begun[mine]);
    gate_pass(&go[mine]);
    if (mine == 2)
        require(is_open(called->fd));
}

START_TEST(overlapping_callbacks_in_several_loops_are_not_confused)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        gate_init(&begun[i]);
        gate_init(&go[i]);
    }
    port.name = NULL;
    port.action = call_in_turn;
    port_make(&port, dup(ends[0]), true);
    put(ends[1]);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    threads[0] = start_thread(run_one_call, "first");
    gate_pass(&begun[0]);
    threads[1] = start_thread(run_one_call, NULL);
    gate_pass(&begun[1]);
    gate_open(&go[0]);
    join_thread(threads[1]);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    threads[2] = start_thread(run_one_call, NULL);
    join_thread(threads[2]);
    join_thread(threads[0]);
    ck_assert(!is_open(port.fd));
    RLRelease(port.object);
}
END_TEST

START_TEST(misuse_of_file_descriptor_create_is_reported)
{
    int closed = dup(ends[0]);
    close(closed);
    RLFileDescriptorContext wrong = {.version = 1, .info = &life, .retain = lifetime_retain};
    for (int i = 0; i < 4; i++) {
        errno = 0;
        int fd = i == 0 ? -1 : i == 1 ? closed : i == 2 ? INT32_MAX : ends[0];
        ck_assert_ptr_null(RLFileDescriptorCreate(NULL, fd, 1, ignore, i == 3 ? &wrong : NULL));
        ck_assert_int_eq(errno, EINVAL);
        assert_misuse("RLFileDescriptorCreate", i == 3 ? "context" : "fd", NULL);
    }
    ck_assert_int_eq(life.retains, 0);
    ck_assert(is_open(ends[0]));
}
END_TEST

START_TEST(descriptor_functions_report_wrong_handles)
{
    RLTypeRef wrong[] = {NULL, RLSTR("no descriptor"), keeper};
    for (int i = 0; i < 3; i++) {
        RLFileDescriptorRef f = (RLFileDescriptorRef)(uintptr_t)wrong[i];
        RLFileDescriptorContext context = {0};
        ck_assert_int_eq(RLFileDescriptorGetNativeDescriptor(f), -1);
        assert_misuse("RLFileDescriptorGetNativeDescriptor", "f", NULL);
        RLFileDescriptorGetContext(f, &context);
        assert_misuse("RLFileDescriptorGetContext", "f", NULL);
        RLFileDescriptorEnableCallBacks(f, READ);
        assert_misuse("RLFileDescriptorEnableCallBacks", "f", NULL);
        RLFileDescriptorDisableCallBacks(f, READ);
        assert_misuse("RLFileDescriptorDisableCallBacks", "f", NULL);
        ck_assert(!RLFileDescriptorIsValid(f));
        assert_misuse("RLFileDescriptorIsValid", "f", NULL);
        ck_assert_ptr_null(RLFileDescriptorCreateRunLoopSource(NULL, f, 0));
        assert_misuse("RLFileDescriptorCreateRunLoopSource", "f", NULL);
        RLFileDescriptorInvalidate(f);
        assert_misuse("RLFileDescriptorInvalidate", "f", NULL);
    }
    port_make(&port, ends[0], false);
    RLFileDescriptorGetContext(port.object, NULL);
    assert_misuse("RLFileDescriptorGetContext", "context", NULL);
    RLFileDescriptorContext context = {.version = 5, .info = &life};
    RLFileDescriptorGetContext(port.object, &context);
    assert_misuse("RLFileDescriptorGetContext", "context", NULL);
    ck_assert_ptr_eq(context.info, &life);
    ck_assert_uint_eq(RLGetTypeID(port.object), RLFileDescriptorGetTypeID());
    port_drop(&port);
}
END_TEST

START_TEST(using_an_invalidated_descriptor_object_is_not_misuse)
{
    put(ends[1]);
    port_open(&port, ends[0], 0);
    RLFileDescriptorInvalidate(port.object);
    RLFileDescriptorEnableCallBacks(port.object, READ | WRITE);
    RLFileDescriptorDisableCallBacks(port.object, READ);
    ck_assert(!poll_once());
    RLRelease(port.object);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-descriptor-life");
    TCase *tcase = add_case(suite, "life", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, invalidation_closes_the_descriptor_if_requested);
    tcase_add_test(tcase, the_last_release_invalidates_a_descriptor_object);
    tcase_add_test(tcase, the_context_is_returned_until_invalidation);
    tcase_add_test(tcase, the_info_is_what_retain_returned);
    tcase_add_test(tcase, a_descriptor_object_needs_neither_callback_nor_context);
    tcase_add_test(tcase, a_descriptor_object_may_be_invalidated_and_released_in_its_callback);
    tcase_add_test(tcase, a_descriptor_object_may_be_invalidated_in_a_nested_callback);
    tcase_add_test(tcase, a_running_callback_keeps_descriptor_and_info_when_another_thread_invalidates);
    tcase_add_test(tcase, the_source_is_cached_with_the_order_of_the_first_call);
    tcase_add_test(tcase, enabled_callbacks_outlive_the_source);
    tcase_add_test(tcase, a_descriptor_object_and_its_source_keep_each_other_alive);
    tcase_add_test(tcase, a_callback_that_exits_its_thread_leaks_nothing);
    tcase_add_test(tcase, overlapping_callbacks_in_several_loops_are_not_confused);
    tcase_add_test(tcase, misuse_of_file_descriptor_create_is_reported);
    tcase_add_test(tcase, descriptor_functions_report_wrong_handles);
    tcase_add_test(tcase, using_an_invalidated_descriptor_object_is_not_misuse);
    return suite;
}
