/* RLSignal: several owners, the program's own handlers, threads and fork. */
#include "signal-owner.h"

#include <setjmp.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

/* -- Several owners -- */

START_TEST(signal_objects_are_called_by_order)
{
    struct owner owners[4] = {{.name = "late"}, {.name = "first"}, {.name = "second"}, {.name = "early"}};
    RLIndex order[4] = {1, 0, 0, -1};
    for (int i = 0; i < 4; i++) {
        make_owner(&owners[i], SIGUSR1, order[i]);
        add(owners[i].object);
    }
    raise(SIGUSR1);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_str_eq(notes, "early first second late");
    for (int i = 0; i < 4; i++)
        drop_source(owners[i].object);
}
END_TEST

static void end_owner(struct owner *owner) { drop_source(owner->object); }

START_TEST(a_signal_object_may_end_in_its_callback)
{
    struct owner owners[2] = {{.action = end_owner}, {0}};
    own(&owners[0], SIGUSR1);
    own(&owners[1], SIGUSR1);
    raise(SIGUSR1);
    run_passes();
    raise(SIGUSR1);
    run_passes();
    ck_assert_int_eq(owners[0].calls, 1);
    ck_assert_int_eq(owners[1].calls, 2);
    drop_source(owners[1].object);
}
END_TEST

static void *watch_on_a_thread(void *info)
{
    struct owner *owner = info;
    own(owner, SIGUSR1);
    note("added");
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    return NULL; /* the thread exits with the object in its loop */
}

START_TEST(thread_exit_stops_catching_the_signals_of_its_loop)
{
    struct owner owner = {0};
    pthread_t thread = start_thread(watch_on_a_thread, &owner);
    while (!is_caught(SIGUSR1))
        sched_yield();
    raise(SIGUSR1);
    join_thread(thread);
    ck_assert_int_eq(owner.calls, 1);
    ck_assert(!is_caught(SIGUSR1));
    add(owner.object); /* the object is still valid */
    raise(SIGUSR1);
    run_passes();
    ck_assert_int_eq(owner.calls, 2);
    drop_source(owner.object);
}
END_TEST

static gate first_call;
static void open_first_call(UNUSED struct owner *owner) { gate_open(&first_call); }

START_TEST(one_of_several_loops_reports_a_signal)
{
    struct looper loopers[3] = {0};
    struct owner owner = {.action = open_first_call};
    gate_init(&first_call);
    make_owner(&owner, SIGUSR1, 0);
    for (int i = 0; i < 3; i++) {
        looper_start(&loopers[i]);
        RLRunLoopAddSource(loopers[i].loop, owner.object, kRLRunLoopDefaultMode);
    }
    for (int i = 0; i < 3; i++)
        await_waiting(loopers[i].loop);
    raise(SIGUSR1);
    gate_pass(&first_call); /* otherwise the loop might be stopped before the callback */
    for (int i = 0; i < 3; i++)
        looper_stop(&loopers[i]);
    ck_assert_int_eq(owner.count, 1);
    ck_assert(!is_caught(SIGUSR1));
    drop_source(owner.object);
}
END_TEST

/* -- The program's own handlers -- */

static volatile sig_atomic_t handled, handled_value, once;
static void handle(UNUSED int number) { handled++; }
static void handle_information(UNUSED int number, siginfo_t *information, void *context)
{
    handled++;
    handled_value = information->si_value.sival_int;
    require(context != NULL);
}
static void handle_once(UNUSED int number) { once++; }

START_TEST(an_earlier_signal_handler_is_called_as_well)
{
    struct owner owner = {0};
    struct sigaction action = {.sa_sigaction = handle_information, .sa_flags = SA_SIGINFO}, now;
    sigaddset(&action.sa_mask, SIGUSR2);
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    own(&owner, SIGUSR1);
    ck_assert_int_eq(sigaction(SIGUSR1, NULL, &now), 0);
    ck_assert(sigismember(&now.sa_mask, SIGUSR2) && (now.sa_flags & SA_RESTART) == 0);
    ck_assert_int_eq(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 5}), 0);
    ck_assert_int_eq(handled, 1);
    ck_assert_int_eq(handled_value, 5);
    run_passes();
    ck_assert_int_eq(owner.count, 1);
    drop_source(owner.object);
    ck_assert(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_sigaction == handle_information);
    raise(SIGUSR1);
    ck_assert_int_eq(handled, 2);
}
END_TEST

START_TEST(an_earlier_one_shot_signal_handler_is_called_once)
{
    struct owner owner = {0};
    struct sigaction action = {.sa_handler = handle_once, .sa_flags = (int)SA_RESETHAND};
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    own(&owner, SIGUSR1);
    raise(SIGUSR1);
    raise(SIGUSR1);
    ck_assert_int_eq(once, 1);
    drop_source(owner.object);
    ck_assert(!is_caught(SIGUSR1));
}
END_TEST

static struct sigaction under;
static void handle_and_chain(int number, siginfo_t *information, void *context)
{
    handled++;
    under.sa_sigaction(number, information, context);
}

/* handle_and_chain is installed over the kit's handler, and calls it. */
START_TEST(a_handler_installed_over_the_kits_may_call_it)
{
    struct owner owners[2] = {0};
    struct sigaction before = {.sa_handler = handle_once},
                     over = {.sa_sigaction = handle_and_chain, .sa_flags = SA_SIGINFO}, now;
    ck_assert_int_eq(sigaction(SIGUSR1, &before, NULL), 0);
    own(&owners[0], SIGUSR1);
    ck_assert_int_eq(sigaction(SIGUSR1, &over, &under), 0);
    raise(SIGUSR1);
    run_passes();
    ck_assert_int_eq(owners[0].count, 1);
    ck_assert(handled == 1 && once == 1);
    /* The last object is dropped: the other handler stays installed, and still calls the kit's handler. */
    drop_source(owners[0].object);
    raise(SIGUSR1);
    ck_assert(handled == 2 && once == 2);
    /* The kit needs its handler again, and installs it over the other one, which in turn calls it. Each is called
     * once. */
    own(&owners[1], SIGUSR1);
    for (int i = 1; i <= 3; i++) {
        raise(SIGUSR1);
        run_passes();
        ck_assert_int_eq(owners[1].count, i);
        ck_assert(handled == 2 + i && once == 2 + i);
    }
    drop_source(owners[1].object);
    ck_assert(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_sigaction == handle_and_chain);
    raise(SIGUSR1);
    ck_assert(handled == 6 && once == 6);
}
END_TEST

/* Handlers are installed over each other, with the kit's in between: each is called once, the latest one first. */
enum { LAYERS = 5 };
static struct sigaction below_layer[LAYERS];
static int layer_calls[LAYERS];
#define LAYER(index)                                                             \
    static void layer_##index(int number, siginfo_t *information, void *context) \
    {                                                                            \
        layer_calls[index]++;                                                    \
        below_layer[index].sa_sigaction(number, information, context);           \
    }
LAYER(0)
LAYER(1)
LAYER(2)
LAYER(3)
LAYER(4)

START_TEST(layers_of_handlers_over_the_kits_are_all_called)
{
    static void (*const functions[LAYERS])(int, siginfo_t *, void *) = {layer_0, layer_1, layer_2, layer_3, layer_4};
    struct owner owners[LAYERS + 1] = {{0}};
    signal(SIGUSR1, handle);
    for (int layer = 0; layer <= LAYERS; layer++) {
        own(&owners[layer], SIGUSR1);
        raise(SIGUSR1);
        run_passes();
        ck_assert_int_eq(handled, layer + 1);
        for (int i = 0; i < LAYERS; i++)
            ck_assert_int_eq(layer_calls[i], i < layer ? layer - i : 0);
        ck_assert_int_eq(owners[layer].count, 1);
        if (layer == LAYERS)
            break;
        struct sigaction over = {.sa_sigaction = functions[layer], .sa_flags = SA_SIGINFO};
        require(sigaction(SIGUSR1, &over, &below_layer[layer]) == 0);
        drop_source(owners[layer].object);
    }
    drop_source(owners[LAYERS].object);
    raise(SIGUSR1);
    ck_assert_int_eq(handled, LAYERS + 2);
    ck_assert_int_eq(layer_calls[0], LAYERS + 1);
}
END_TEST

START_TEST(a_handler_that_replaces_the_kits_is_respected)
{
    struct owner owner = {0};
    struct sigaction now;
    own(&owner, SIGUSR1);
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    run_passes();
    ck_assert(handled == 1 && owner.calls == 0);
    drop_source(owner.object);
    ck_assert(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == handle);
}
END_TEST

/* Acts as a library that handles a signal for the duration of a call, during which the last object is dropped. */
static void watch_under_another(UNUSED void *info)
{
    struct owner owner = {0};
    struct sigaction over = {.sa_handler = handle}, ours;
    own(&owner, SIGUSR1);
    require(sigaction(SIGUSR1, &over, &ours) == 0);
    drop_source(owner.object);
    require(sigaction(SIGUSR1, &ours, NULL) == 0);
}
static void raise_under_another(void *info)
{
    watch_under_another(info);
    raise(SIGUSR1);
    child_assert(!"alive");
}

START_TEST(the_kits_handler_without_an_object_acts_like_the_earlier_handler)
{
    struct owner owner = {0};
    ck_assert_int_eq(run_in_child(raise_under_another, NULL), 128 + SIGUSR1);
    signal(SIGUSR1, SIG_IGN);
    watch_under_another(NULL);
    raise(SIGUSR1);
    signal(SIGUSR1, handle);
    own(&owner, SIGUSR1);
    raise(SIGUSR1);
    run_passes();
    ck_assert(owner.count == 1 && handled == 1);
    drop_source(owner.object);
}
END_TEST

/* -- Threads -- */

enum { rounds = 300 };
static atomic_int stop_sending;
static void *send_signals(UNUSED void *info)
{
    RLIndex sent = 0;
    while (!atomic_load(&stop_sending)) {
        raise(SIGUSR1); /* is delivered to this thread */
        sent++;
    }
    return (void *)sent;
}

/* One object counts all signals, while others are created and dropped on the loops of two threads, and the handler
 * is constantly replaced. */
static void *come_and_go(UNUSED void *info)
{
    for (int i = 0; i < SCALED(rounds); i++) {
        struct owner owner = {0};
        own(&owner, SIGUSR1);
        if (i % 2)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
        drop_source(owner.object);
    }
    return NULL;
}

START_TEST(signal_objects_are_added_and_removed_while_signals_arrive_on_all_threads)
{
    struct owner owner = {0};
    pthread_t senders[2], others[2];
    RLIndex sent = 0;
    own(&owner, SIGUSR1);
    for (int i = 0; i < 2; i++)
        senders[i] = start_thread(send_signals, NULL);
    for (int i = 0; i < 2; i++)
        others[i] = start_thread(come_and_go, NULL);
    for (int i = 0; i < 2; i++)
        join_thread(others[i]);
    atomic_store(&stop_sending, 1);
    for (int i = 0; i < 2; i++) {
        void *count;
        ck_assert_int_eq(pthread_join(senders[i], &count), 0);
        sent += (RLIndex)count;
    }
    run_passes();
    ck_assert_int_eq(owner.count, sent);
    drop_source(owner.object);
    ck_assert(!is_caught(SIGUSR1));
}
END_TEST

/* -- fork -- */

static struct owner parents, elsewhere;
static void watch_in_child(UNUSED void *info)
{
    raise(SIGUSR1);
    run_passes();
    child_assert(parents.count == 1);
    struct owner own_one = {0};
    own(&own_one, SIGUSR2);
    raise(SIGUSR2);
    run_passes();
    child_assert(own_one.count == 1);
    drop_source(own_one.object);
    drop_source(parents.object);
    child_assert(!is_caught(SIGUSR1) && !is_caught(SIGUSR2));
    /* The object of the other thread is still in that thread's loop, which never runs here. */
    raise(SIGHUP);
    run_passes();
    child_assert(elsewhere.calls == 0);
    drop_source(elsewhere.object);
    child_assert(!is_caught(SIGHUP));
}

START_TEST(a_forked_child_keeps_watching_the_signals_of_the_forking_thread)
{
    struct looper looper = {0};
    own(&parents, SIGUSR1);
    looper_start(&looper);
    make_owner(&elsewhere, SIGHUP, 0);
    RLRunLoopAddSource(looper.loop, elsewhere.object, kRLRunLoopDefaultMode);
    ck_assert_int_eq(run_in_child(watch_in_child, NULL), 0);
    ck_assert_int_eq(parents.calls, 0);
    looper_stop(&looper);
    drop_source(elsewhere.object);
    drop_source(parents.object);
}
END_TEST

static void *fork_often(UNUSED void *info)
{
    for (int i = 0; i < SCALED(20); i++) {
        pid_t child = fork_child();
        int status;
        if (child == 0) {
            struct owner owner = {0};
            alarm(20);
            own(&owner, SIGUSR2);
            drop_source(owner.object);
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    atomic_store(&stop_sending, 1);
    return NULL;
}

START_TEST(a_fork_leaves_no_lock_of_the_kit_held)
{
    struct owner owner = {0};
    own(&owner, SIGUSR1);
    pthread_t thread = start_thread(fork_often, NULL), sender = start_thread(send_signals, NULL);
    while (!atomic_load(&stop_sending))
        come_and_go(NULL);
    join_thread(thread);
    join_thread(sender);
    drop_source(owner.object);
}
END_TEST

/* -- A handler of the program that jumps out of the kit's
 * --------------------------------------------------------------- */

static sigjmp_buf way_out;
static void leave_by_a_jump(UNUSED int number) { siglongjmp(way_out, 1); }

/* A time limit for a computation, in a program that does not know the kit's handler: it interrupts that handler,
 * too. */
START_TEST(a_signal_handler_may_jump_out_of_the_kits)
{
    struct owner owner = {0};
    own(&owner, SIGUSR1);
    struct sigaction limit = {.sa_handler = leave_by_a_jump};
    require(sigaction(SIGALRM, &limit, NULL) == 0);
    for (volatile int i = 0; i < SCALED(1000); i++) {
        if (sigsetjmp(way_out, 1) != 0)
            continue;
        struct itimerval soon = {.it_value.tv_usec = 30 + i % 50};
        require(setitimer(ITIMER_REAL, &soon, NULL) == 0);
        for (;;)
            syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
    }
    run_passes();
    ck_assert_int_gt(owner.count, 0);
    drop_source(owner.object); /* waits for handlers that have begun */
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("signal owners");
    TCase *owners = add_case(suite, "owners", 20);
    tcase_add_test(owners, signal_objects_are_called_by_order);
    tcase_add_test(owners, a_signal_object_may_end_in_its_callback);
    tcase_add_test(owners, thread_exit_stops_catching_the_signals_of_its_loop);
    tcase_add_test(owners, one_of_several_loops_reports_a_signal);
    tcase_add_test(owners, an_earlier_signal_handler_is_called_as_well);
    tcase_add_test(owners, an_earlier_one_shot_signal_handler_is_called_once);
    tcase_add_test(owners, a_handler_installed_over_the_kits_may_call_it);
    tcase_add_test(owners, layers_of_handlers_over_the_kits_are_all_called);
    tcase_add_test(owners, a_handler_that_replaces_the_kits_is_respected);
    tcase_add_test(owners, the_kits_handler_without_an_object_acts_like_the_earlier_handler);
    TCase *threads = add_case(suite, "threads", 60);
    tcase_add_test(threads, signal_objects_are_added_and_removed_while_signals_arrive_on_all_threads);
    tcase_add_test(threads, a_forked_child_keeps_watching_the_signals_of_the_forking_thread);
    tcase_add_test(threads, a_fork_leaves_no_lock_of_the_kit_held);
    TCase *jumps = add_case(suite, "jumps", 20);
    if (!THREAD_SANITIZED) /* it delivers signals later, when nothing can be interrupted */
        tcase_add_test(jumps, a_signal_handler_may_jump_out_of_the_kits);
    return suite;
}
