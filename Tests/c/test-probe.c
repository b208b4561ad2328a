/* Checks RLRunLoopSetProbe(): which events a probe receives, and what the events of a call and of its cause have in common. */
#include "message-port.h"

/* The events received, as words: a letter for the probe's function, then the kind. "c4" is willCall of a function. */
static struct record {
    char part;
    struct event {
        uint32_t kind;
        uint64_t detail;
        const void *object, *info;
        void (*function)(void);
        uint64_t number;
    } event;
    pthread_t thread;
} records[256];
static atomic_int count;

static void add(char part, struct event event)
{
    int index = atomic_fetch_add(&count, 1);
    require(index < 256);
    records[index] = (struct record){part, event, pthread_self()};
}
static void add_call(char part, const RLRunLoopProbeCall *call)
{
    add(part, (struct event){call->kind, call->detail, call->item, call->info, call->function, 0});
}
static void will_call(const RLRunLoopProbeCall *call) { add_call('c', call); }
static void did_call(const RLRunLoopProbeCall *call) { add_call('d', call); }
#define ON(name, part)                                                                                             \
    static void name(const void *object, uint32_t kind, uint64_t number, void (*function)(void), const void *info) \
    {                                                                                                              \
        add(part, (struct event){kind, 0, object, info, function, number});                                        \
    }
ON(will_sleep, 's')
ON(did_sleep, 'w')
ON(sent, '>')
ON(received, '<')
ON(dropped, 'x')
ON(will_pass, 'p')
/* Without passes, of which there may be more than a test expects. */
static const RLRunLoopProbe everything = {0, will_call, did_call, will_sleep, did_sleep, sent, received, dropped, NULL};

static RLRunLoopRef rl;
static void use_probe(void)
{
    rl = RLRunLoopGetCurrent();
    ck_assert(RLRunLoopSetProbe(&everything));
}
static void end_probe(void) { ck_assert(RLRunLoopSetProbe(NULL)); }

static void assert_events(const char *expected)
{
    char event_at[2048] = "";
    for (int index = 0; index < atomic_load(&count); index++)
        snprintf(event_at + strlen(event_at), sizeof event_at - strlen(event_at), "%s%c%u", index ? " " : "",
                 records[index].part, records[index].event.kind);
    ck_assert_str_eq(event_at, expected);
}
static const struct event *event_at(int index) { return &records[index].event; }
static void forget(void) { atomic_store(&count, 0); }

static void run_once(void) { RLRunLoopRunInMode(MODE, 0, 0); }
static void fire(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) {}
static void watch(UNUSED RLRunLoopObserverRef observer, UNUSED RLRunLoopActivity activity, UNUSED void *info) {}

#define FUNCTION(function) ((void (*)(void))(function))

START_TEST(a_signal_and_its_perform_report_the_same_function_and_info)
{
    RLRunLoopSourceRef source = make_source(0, do_nothing, &count);
    RLRunLoopAddSource(rl, source, MODE);
    RLRunLoopSourceSignal(source);
    run_once();
    assert_events(">1 c1 d1");
    for (int index = 0; index < 3; index++) {
        ck_assert(event_at(index)->function == FUNCTION(do_nothing));
        ck_assert_ptr_eq(event_at(index)->info, &count);
        ck_assert_ptr_eq(event_at(index)->object, index == 0 ? (const void *)source : &count);
    }
    RLRunLoopSourceInvalidate(source);
    RLRunLoopSourceSignal(source);
    assert_events(">1 c1 d1");
    RLRelease(source);
}
END_TEST

START_TEST(a_post_and_its_call_report_the_same_function_and_info)
{
    RLRunLoopPostFunction(rl, MODE, do_nothing, &count);
    RLRunLoopPerformFunctionWithRelease(rl, MODE, do_nothing, rl, do_nothing);
    run_once();
    assert_events(">4 >4 c4 d4 c4 d4 c4 d4");
    ck_assert_ptr_eq(event_at(0)->object, rl);
    ck_assert(event_at(0)->function == FUNCTION(do_nothing) && event_at(2)->function == FUNCTION(do_nothing));
    ck_assert_ptr_eq(event_at(0)->info, &count);
    ck_assert_ptr_eq(event_at(2)->info, &count);
    ck_assert_ptr_eq(event_at(4)->info, rl);
}
END_TEST

static void release_nothing(UNUSED void *info) {}

START_TEST(each_cancelled_post_is_reported_as_dropped)
{
    RLRunLoopPostFunction(rl, MODE, do_nothing, &count);
    RLRunLoopPostFunction(rl, MODE, release_nothing, &count);
    RLRunLoopPostFunctionWithRelease(rl, MODE, do_nothing, &count, release_nothing);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, NULL, &count), 3);
    assert_events(">4 >4 >4 x4 x4 x4 c4 d4");
    ck_assert(event_at(3)->function == FUNCTION(do_nothing) && event_at(4)->function == FUNCTION(release_nothing));
    for (int index = 3; index < 6; index++)
        ck_assert_ptr_eq(event_at(index)->info, &count);
    ck_assert_int_eq(RLRunLoopCancelPerformFunction(rl, NULL, &count), 0);
    assert_events(">4 >4 >4 x4 x4 x4 c4 d4");
}
END_TEST

static void *post_to_own_loop(UNUSED void *argument)
{
    RLRunLoopRef own = RLRunLoopGetCurrent();
    RLRunLoopPostFunction(own, MODE, do_nothing, &count);
    RLRunLoopPostFunctionWithRelease(own, MODE, do_nothing, &count, release_nothing);
    return own;
}

START_TEST(posts_left_in_an_ended_loop_are_reported_as_dropped)
{
    pthread_t thread = start_thread(post_to_own_loop, NULL);
    void *loop;
    require(pthread_join(thread, &loop) == 0);
    assert_events(">4 >4 x4 x4 c4 d4");
    for (int index = 0; index < 4; index++)
        ck_assert(event_at(index)->info == &count && event_at(index)->function == FUNCTION(do_nothing) &&
                  (index >= 2 || event_at(index)->object == loop));
}
END_TEST

START_TEST(timer_and_observer_events_name_their_objects)
{
    int ends[2];
    make_pipe(ends);
    RLRunLoopTimerRef timer = make_timer(0, 0, fire, &count);
    RLRunLoopObserverContext context = {.info = &count};
    RLRunLoopObserverRef observer = RLRunLoopObserverCreate(NULL, kRLRunLoopExit, 0, 0, watch, &context);
    RLRunLoopAddTimer(rl, timer, MODE);
    RLRunLoopAddObserver(rl, observer, MODE);
    run_once();
    assert_events("c2 d2 c3 d3");
    ck_assert(event_at(0)->object == timer && event_at(0)->function == FUNCTION(fire) && event_at(0)->info == &count);
    ck_assert(event_at(3)->object == observer && event_at(3)->info == &count && event_at(3)->detail == kRLRunLoopExit);
    RLRelease(timer);
    RLRelease(observer);
    close_pipe(ends);
}
END_TEST

static void read_descriptor(RLFileDescriptorRef descriptor, UNUSED RLOptionFlags types, UNUSED void *info)
{
    RLFileDescriptorInvalidate(descriptor);
}
static void read_socket(RLSocketRef socket, UNUSED RLSocketCallBackType type, UNUSED RLDataRef address,
                        UNUSED const void *data, UNUSED void *info)
{
    RLSocketInvalidate(socket);
}
START_TEST(descriptor_and_socket_events_name_object_and_cause)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 && write(ends[0], "x", 1) == 1 &&
            write(ends[1], "x", 1) == 1);
    RLFileDescriptorContext context = {.info = &count};
    RLFileDescriptorRef descriptor = RLFileDescriptorCreate(NULL, ends[0], 0, read_descriptor, &context);
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, descriptor, 0);
    RLFileDescriptorEnableCallBacks(descriptor, kRLFileDescriptorReadCallBack);
    RLRunLoopAddSource(rl, source, MODE);
    run_once();
    assert_events("c5 d5");
    ck_assert(event_at(0)->object == descriptor && event_at(0)->function == FUNCTION(read_descriptor));
    ck_assert(event_at(0)->info == &count && event_at(0)->detail == kRLFileDescriptorReadCallBack);
    RLRelease(source);
    RLRelease(descriptor);

    forget();
    RLSocketContext its = {.info = &count};
    RLSocketRef socket = RLSocketCreateWithNative(NULL, ends[1], kRLSocketReadCallBack, read_socket, &its);
    source = RLSocketCreateRunLoopSource(NULL, socket, 0);
    RLRunLoopAddSource(rl, source, MODE);
    run_once();
    assert_events("c6 d6");
    ck_assert(event_at(1)->object == socket && event_at(1)->function == FUNCTION(read_socket));
    ck_assert(event_at(1)->info == &count && event_at(1)->detail == kRLSocketReadCallBack);
    RLRelease(source);
    RLRelease(socket);
    close(ends[0]);
}
END_TEST

static void *post_stop(void *info)
{
    await_waiting(info);
    RLRunLoopPostFunction(info, MODE, stop_current, NULL);
    return NULL;
}
START_TEST(a_sleep_reports_its_deadline_and_what_ended_it)
{
    RLRunLoopSourceRef source = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, source, MODE);
    pthread_t thread = start_thread(post_stop, rl);
    RLRunLoopRun();
    join_thread(thread);
    /* The loop may also wake by itself; the last sleep is the one that the other thread ends. */
    int last = atomic_load(&count) - 1;
    while (records[last].part != 'w')
        last--;
    ck_assert_uint_eq(event_at(last)->number, kRLRunLoopProbeWokenUp);
    ck_assert_ptr_eq(event_at(last)->object, rl);
    int wakes = 0;
    for (int index = 0; index < last; index++) {
        if (records[index].part == 's') {
            ck_assert_ptr_eq(event_at(index)->object, rl);
            ck_assert_ptr_eq(event_at(index)->info, kRLRunLoopDefaultMode);
            ck_assert(event_at(index)->number > INT64_MAX);
        }
        if (records[index].part == '>' && event_at(index)->kind == kRLRunLoopProbeWake) {
            wakes++;
            ck_assert_ptr_eq(event_at(index)->object, rl);
            ck_assert(!pthread_equal(records[index].thread, pthread_self()));
        }
    }
    ck_assert_int_eq(wakes, 1);

    forget();
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    RLRunLoopRunInMode(MODE, 0.01, 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    uint64_t until = event_at(0)->number;
    ck_assert(until >= (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec);
    ck_assert(until <= (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec);
    ck_assert_uint_eq(event_at(atomic_load(&count) - 1)->number, kRLRunLoopProbeByItself);
    drop_source(source);
}
END_TEST

START_TEST(each_pass_is_reported_with_its_loop_and_mode)
{
    static const RLRunLoopProbe passes = {.willCall = will_call, .willPass = will_pass};
    ck_assert(RLRunLoopSetProbe(&passes));
    RLRunLoopPostFunction(rl, MODE, do_nothing, NULL);
    run_once();
    assert_events("p13 c4");
    ck_assert(event_at(0)->object == rl && event_at(0)->info == kRLRunLoopDefaultMode);
    RLRunLoopSourceRef source = make_source(0, stop_current, NULL);
    RLRunLoopAddSource(rl, source, MODE);
    RLRunLoopPostFunction(rl, MODE, do_nothing, NULL);
    RLRunLoopPostFunction(rl, MODE, (void (*)(void *))RLRunLoopSourceSignal, source);
    RLRunLoopRun();
    /* A source that a function signals performs in the same pass. */
    assert_events("p13 c4 p13 c4 c4 c1");
    drop_source(source);
}
END_TEST

START_TEST(a_wake_up_is_reported_even_if_the_loop_is_awake)
{
    RLRunLoopWakeUp(rl);
    assert_events(">14");
    ck_assert_ptr_eq(event_at(0)->object, rl);
}
END_TEST

static void receive(UNUSED RLPortRef port, UNUSED RLPortMessageRef message, UNUSED void *info) {}
START_TEST(a_message_and_its_callback_report_the_same_port)
{
    RLPortRef port = RLPortCreate(NULL, receive, NULL, NULL);
    RLRunLoopSourceRef source = RLPortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(rl, source, MODE);
    RLPortSetCapacity(port, 1);
    RLPortMessageRef message = RLPortMessageCreate(NULL, port, NULL, NULL);
    ck_assert(RLPortMessageSendBeforeDate(message, 0));
    ck_assert(!RLPortMessageSendBeforeDate(message, 0));
    run_once();
    assert_events(">7 >7 x7 c1 c7 d7 d1");
    for (int index = 0; index < 3; index++)
        ck_assert_ptr_eq(event_at(index)->object, port);
    ck_assert(event_at(4)->object == port && event_at(4)->function == FUNCTION(receive));
    RLRelease(message);
    RLRunLoopSourceInvalidate(source);
    RLRelease(source);
    RLRelease(port);
}
END_TEST

static RLDataRef answer(UNUSED RLMessagePortRef port, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    return text_data("reply");
}
/* The number that both processes have in common. */
static uint64_t number_of(const struct event *event)
{
    return event->number >> 32 == 0 ? event->number | (uint64_t)getpid() << 32 : event->number;
}
/* The server reports what its probe received: the numbers of the request and of the reply, and the message's ID. */
static void serve_and_report(int ready)
{
    struct server server;
    atomic_store(&count, 0);
    serve(&server, NAME, answer, NULL);
    say_ready(ready);
    while (atomic_load(&count) == 0 || records[atomic_load(&count) - 1].part != '>')
        RLRunLoopRunInMode(MODE, 1e9, 1);
    uint64_t numbers[3] = {0, 0, 0};
    for (int index = 0; index < atomic_load(&count); index++) {
        if (records[index].part == '<' && event_at(index)->kind == kRLRunLoopProbeMessagePort)
            numbers[0] = number_of(event_at(index));
        if (records[index].part == '>' && event_at(index)->kind == kRLRunLoopProbeReply)
            numbers[1] = number_of(event_at(index));
    }
    for (int index = 0; index < atomic_load(&count); index++)
        if (records[index].part == 'c' && event_at(index)->kind == kRLRunLoopProbeMessagePort)
            numbers[2] = event_at(index)->detail;
    require(write(ready, numbers, sizeof numbers) == sizeof numbers);
    end_server(&server);
}
START_TEST(a_request_and_its_reply_have_the_same_number_in_both_processes)
{
    int ready;
    pid_t child = start_server_process(serve_and_report, &ready);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLDataRef reply = NULL;
    forget();
    ck_assert_int_eq(ask(remote, 7, "question", 100, MODE, &reply), kRLMessagePortSuccess);
    RLRelease(reply);
    int last = atomic_load(&count) - 1;
    ck_assert(records[0].part == '>' && event_at(0)->kind == kRLRunLoopProbeMessagePort &&
              event_at(0)->object == remote);
    ck_assert(records[last].part == '<' && event_at(last)->kind == kRLRunLoopProbeReply &&
              event_at(last)->object == remote);
    uint64_t numbers[3];
    require(read(ready, numbers, sizeof numbers) == sizeof numbers);
    ck_assert(numbers[0] != 0 && numbers[0] == number_of(event_at(0)) && numbers[1] == number_of(event_at(last)));
    ck_assert(numbers[0] == numbers[1] && numbers[2] == 7);
    close(ready);
    end_process(child, 0);
    RLRelease(remote);
}
END_TEST

START_TEST(null_probe_functions_are_not_called_and_an_unknown_version_is_refused)
{
    static const RLRunLoopProbe nothing = {.version = 0}, later = {.version = 1, .sent = sent},
                                negative = {.version = -1, .sent = sent};
    ck_assert(!RLRunLoopSetProbe(&later) && !RLRunLoopSetProbe(&negative));
    RLRunLoopWakeUp(rl);
    assert_events(">14");
    forget();
    ck_assert(RLRunLoopSetProbe(&nothing));
    RLRunLoopPostFunction(rl, MODE, do_nothing, NULL);
    RLRunLoopRunInMode(MODE, 0.001, 0);
    assert_events("");
}
END_TEST

static void will_call_other(const RLRunLoopProbeCall *call) { add_call('C', call); }
static void did_call_other(const RLRunLoopProbeCall *call) { add_call('D', call); }
static const RLRunLoopProbe other = {.willCall = will_call_other, .didCall = did_call_other};
static void set_probe(void *probe) { RLRunLoopSetProbe(probe); }
static void set_socket_probe(UNUSED RLSocketRef socket, UNUSED RLSocketCallBackType type, UNUSED RLDataRef address,
                             UNUSED const void *data, UNUSED void *info)
{
    RLRunLoopSetProbe(NULL);
}

START_TEST(the_end_of_a_call_is_reported_to_the_probe_that_is_set_then)
{
    RLRunLoopPerformFunction(rl, MODE, set_probe, (void *)&other);
    RLRunLoopPerformFunction(rl, MODE, set_probe, NULL);
    forget();
    run_once();
    assert_events("c4 D4 C4");
    int ends[2];
    require(pipe(ends) == 0);
    forget();
    RLSocketRef socket = RLSocketCreateWithNative(NULL, ends[1], kRLSocketWriteCallBack, set_socket_probe, NULL);
    RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(NULL, socket, 0);
    RLRunLoopAddSource(rl, source, MODE);
    use_probe();
    run_once();
    ck_assert(count >= 1 && records[count - 1].part == 'c' && event_at(count - 1)->kind == kRLRunLoopProbeSocket);
    drop_source(source);
    RLSocketInvalidate(socket);
    RLRelease(socket);
    close(ends[0]);
}
END_TEST

static RLRunLoopSourceRef signalled;
static void signal_source(UNUSED int number) { RLRunLoopSourceSignal(signalled); }
START_TEST(a_signal_handler_may_signal_a_source_while_a_probe_is_installed)
{
    RLRunLoopSourceRef source = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, source, MODE);
    signalled = source;
    signal(SIGUSR1, signal_source);
    raise(SIGUSR1);
    run_once();
    assert_events(">1 c1 d1");
    drop_source(source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("probe");
    TCase *tcase = add_case(suite, "probe", 20);
    tcase_add_unchecked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_checked_fixture(tcase, use_probe, end_probe);
    tcase_add_test(tcase, a_signal_and_its_perform_report_the_same_function_and_info);
    tcase_add_test(tcase, a_post_and_its_call_report_the_same_function_and_info);
    tcase_add_test(tcase, each_cancelled_post_is_reported_as_dropped);
    tcase_add_test(tcase, posts_left_in_an_ended_loop_are_reported_as_dropped);
    tcase_add_test(tcase, timer_and_observer_events_name_their_objects);
    tcase_add_test(tcase, descriptor_and_socket_events_name_object_and_cause);
    tcase_add_test(tcase, a_sleep_reports_its_deadline_and_what_ended_it);
    tcase_add_test(tcase, each_pass_is_reported_with_its_loop_and_mode);
    tcase_add_test(tcase, a_wake_up_is_reported_even_if_the_loop_is_awake);
    tcase_add_test(tcase, a_message_and_its_callback_report_the_same_port);
    tcase_add_test(tcase, a_request_and_its_reply_have_the_same_number_in_both_processes);
    tcase_add_test(tcase, null_probe_functions_are_not_called_and_an_unknown_version_is_refused);
    tcase_add_test(tcase, the_end_of_a_call_is_reported_to_the_probe_that_is_set_then);
    tcase_add_test(tcase, a_signal_handler_may_signal_a_source_while_a_probe_is_installed);
    return suite;
}
