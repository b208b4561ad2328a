/* Checks that a server which has answered a request and waits for the next one handles events as in any other sleep, and that
 * what ends a sleep ends this one. The main thread serves, the clients are processes, and another thread acts on the loop. */
#include "message-port-meanwhile.h"

enum { CLIENTS = 2, ECHO = 0, IN_CALLBACK = 1 };

static struct server server;
static atomic_int answered;
static pid_t clients[CLIENTS];
static int orders[CLIENTS];
static void (*action)(void);

static RLDataRef answer(UNUSED RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    if (id == IN_CALLBACK)
        action();
    atomic_fetch_add(&answered, 1);
    return RLRetain(data);
}

static void client_process(int orders_of_mine)
{
    RLMessagePortRef remote;
    while ((remote = RLMessagePortCreateRemote(NULL, NAME)) == NULL)
        usleep(100);
    for (char id; read(orders_of_mine, &id, 1) == 1;) {
        RLDataRef reply = NULL;
        child_assert(ask(remote, id, "x", 20, MODE, &reply) == kRLMessagePortSuccess && is_text(reply, "x"));
        RLRelease(reply);
    }
    _exit(0);
}

static void begin(void)
{
    use_own_directory();
    for (int index = 0; index < CLIENTS; index++) {
        int ends[2];
        require(pipe(ends) == 0);
        clients[index] = fork_child();
        if (clients[index] == 0) {
            for (int other = 0; other < index; other++)
                close(orders[other]);
            close(ends[1]);
            client_process(ends[0]);
        }
        close(ends[0]);
        orders[index] = ends[1];
    }
    main_loop = RLRunLoopGetCurrent();
    mode = MODE;
    sem_init(&served, 0, 0);
    serve(&server, NAME, answer, NULL);
}

static void end_client(int index)
{
    close(orders[index]);
    end_process(clients[index], 0);
    clients[index] = 0;
}

static void end(void)
{
    for (int index = 0; index < CLIENTS; index++)
        if (clients[index] > 0)
            kill(clients[index], SIGKILL);
    end_server(&server);
    remove_own_directory();
}

/* Lets the client send a request, and returns when it has been answered and the loop sleeps again. */
static void let_client_ask(int client, char id)
{
    int before = atomic_load(&answered);
    require(write(orders[client], &id, 1) == 1);
    await_count(&answered, before + 1);
    await_waiting(main_loop);
}

static void let_client_ask_often(void)
{
    for (int round = 0; round < 5; round++)
        let_client_ask(0, ECHO);
}

static void *act(UNUSED void *info)
{
    let_client_ask_often();
    action();
    let_client_ask_often();
    RLRunLoopStop(main_loop);
    return NULL;
}

static void run_while(void *(*body)(void *))
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, body, NULL), 0);
    RLRunLoopRun();
    pthread_join(thread, NULL);
}

static void ask_within_the_process(void)
{
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLDataRef reply = NULL;
    require(ask(remote, ECHO, "own", 20, MODE, &reply) == kRLMessagePortSuccess && is_text(reply, "own"));
    RLRelease(reply);
    RLRelease(remote);
}

static void let_both_clients_ask(void)
{
    for (int round = 0; round < 20; round++)
        let_client_ask(round & 1, ECHO);
    end_client(1);
}

static void (*const actions[])(void) = {MEANWHILE, ask_within_the_process, let_both_clients_ask};

START_TEST(a_server_waiting_for_the_next_request_handles_events)
{
    action = actions[_i];
    run_while(act);
    end_client(0);
}
END_TEST

/* ---- done by the callback that answers ---- */

static void add_timer_here(void)
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.001, 0, timer_serves, NULL);
    RLRunLoopAddTimer(main_loop, timer, mode);
    RLRelease(timer);
}

static void perform_here(void) { RLRunLoopPerformFunction(main_loop, mode, say_served, NULL); }

static RLRunLoopSourceRef source;

static void signal_here(void)
{
    source = make_source(0, say_served, NULL);
    RLRunLoopAddSource(main_loop, source, mode);
    RLRunLoopSourceSignal(source);
}

static RLRunLoopActivity observed;

static void observe_here(void)
{
    RLRunLoopObserverRef observer = make_observer(observed, false, 0, observer_serves, NULL);
    RLRunLoopAddObserver(main_loop, observer, mode);
    RLRelease(observer);
}

static void *act_in_callback(UNUSED void *info)
{
    let_client_ask_often();
    let_client_ask(0, IN_CALLBACK);
    if (observed == kRLRunLoopAfterWaiting)
        RLRunLoopWakeUp(main_loop);
    sem_wait(&served);
    let_client_ask_often();
    RLRunLoopStop(main_loop);
    return NULL;
}

static void (*const callback_actions[])(void) = {add_timer_here, perform_here, signal_here};

START_TEST(changes_made_in_a_request_callback_take_effect)
{
    action = callback_actions[_i];
    run_while(act_in_callback);
    if (source)
        drop_source(source);
    end_client(0);
}
END_TEST

static const RLRunLoopActivity activities[] = {kRLRunLoopBeforeTimers, kRLRunLoopBeforeSources, kRLRunLoopBeforeWaiting,
                                               kRLRunLoopAfterWaiting};

START_TEST(observers_added_in_a_request_callback_are_notified)
{
    action = observe_here;
    observed = activities[_i];
    run_while(act_in_callback);
    end_client(0);
}
END_TEST

/* ---- what ends the sleep ---- */

static void stop_main(void) { RLRunLoopStop(main_loop); }
static void remove_source(void) { RLRunLoopRemoveSource(main_loop, server.source, MODE); }

/* Wakes the loop as well: it notices in its next pass that the mode is empty. */
static void invalidate_port_and_wake(void)
{
    RLMessagePortInvalidate(server.port);
    RLRunLoopWakeUp(main_loop);
}

static void remove_source_and_wake(void)
{
    remove_source();
    RLRunLoopWakeUp(main_loop);
}

static pthread_t main_thread;
static void stop_in_handler(UNUSED int signal) { RLRunLoopStop(main_loop); }
static void stop_by_signal(void) { pthread_kill(main_thread, SIGUSR1); }

static void *act_at_the_end(UNUSED void *info)
{
    let_client_ask_often();
    action();
    return NULL;
}

static void (*const final_actions[])(void) = {stop_main, invalidate_port_and_wake, remove_source_and_wake,
                                              stop_by_signal};

START_TEST(anything_that_ends_a_run_ends_the_wait_for_requests)
{
    signal(SIGUSR1, stop_in_handler);
    main_thread = pthread_self();
    action = final_actions[_i];
    run_while(act_at_the_end);
    ck_assert_int_eq(atomic_load(&answered), 5);
}
END_TEST

static void *ask_until_the_run_ends(UNUSED void *info)
{
    char ids[] = {ECHO, ECHO, IN_CALLBACK};
    require(write(orders[0], ids, 3) == 3);
    return NULL;
}

START_TEST(a_request_callback_can_end_the_run)
{
    action = _i ? remove_source : stop_main;
    run_while(ask_until_the_run_ends);
    ck_assert_int_eq(atomic_load(&answered), 3);
    end_client(0);
}
END_TEST

static void *end_one_client(UNUSED void *info)
{
    let_client_ask_often();
    kill(clients[0], SIGKILL);
    for (int round = 0; round < 10; round++)
        let_client_ask(1, ECHO);
    RLRunLoopStop(main_loop);
    return NULL;
}

START_TEST(the_death_of_one_client_does_not_disturb_the_others)
{
    run_while(end_one_client);
    waitpid(clients[0], NULL, 0);
    clients[0] = 0;
    end_client(1);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-again");
    TCase *tcase = add_case(suite, "again", 20);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_loop_test(tcase, a_server_waiting_for_the_next_request_handles_events, 0,
                        (int)(sizeof actions / sizeof *actions));
    tcase_add_loop_test(tcase, changes_made_in_a_request_callback_take_effect, 0,
                        (int)(sizeof callback_actions / sizeof *callback_actions));
    tcase_add_loop_test(tcase, observers_added_in_a_request_callback_are_notified, 0,
                        (int)(sizeof activities / sizeof *activities));
    tcase_add_loop_test(tcase, anything_that_ends_a_run_ends_the_wait_for_requests, 0,
                        (int)(sizeof final_actions / sizeof *final_actions));
    tcase_add_loop_test(tcase, a_request_callback_can_end_the_run, 0, 2);
    tcase_add_test(tcase, the_death_of_one_client_does_not_disturb_the_others);
    return suite;
}
