/* Checks a message port's source that several threads add and remove at the same time. Afterwards the port is served, for clients
 * of other processes, if and only if RLRunLoopContainsSource() says that the loop has the source. */
#include "message-port-frames.h"

enum { ROUNDS = 10000, ADDERS = 2, REMOVERS = 2 };

static RLRunLoopRef rl;
static struct server server;
static int handled;

static RLDataRef count_request(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data,
                               UNUSED void *info)
{
    handled++;
    return NULL;
}

/* ---- a client in another process, which acts when it reads a byte, and then writes the byte back ---- */

static pid_t child;
static int commands[2], done[2];

static void execute_commands(void)
{
    char byte;
    RLMessagePortRef port = RLMessagePortCreateRemote(NULL, NAME);
    require(port != NULL);
    while (read(commands[0], &byte, 1) == 1) {
        bool wants_reply = byte == 'r';
        RLRunLoopMode mode = wants_reply ? kRLMessagePortPrivateReplyMode : NULL;
        require(ask(port, 1, "x", HUGE_VAL, mode, NULL) == kRLMessagePortSuccess);
        require(write(done[1], &byte, 1) == 1);
    }
    _exit(0);
}

static void begin(void)
{
    use_own_directory();
    rl = RLRunLoopGetCurrent();
    serve(&server, NAME, count_request, NULL);
    make_pipe(done);
    require(pipe2(commands, O_CLOEXEC) == 0);
    child = fork_child();
    if (child == 0) {
        close(commands[1]);
        execute_commands();
    }
}

static void end(void)
{
    close_pipe(commands);
    require(waitpid(child, NULL, 0) == child);
    close_pipe(done);
    end_server(&server);
    remove_own_directory();
}

static void command(char byte) { require(write(commands[1], &byte, 1) == 1); }

static bool is_done(void)
{
    char byte;
    return read(done[0], &byte, 1) == 1;
}

/* ---- threads that add or remove the source, each once per round ---- */

static pthread_barrier_t round_begins, round_ends;
static bool is_over;

static void *change(void *info)
{
    bool adds = (intptr_t)info < ADDERS;
    for (;;) {
        pthread_barrier_wait(&round_begins);
        if (is_over)
            return NULL;
        if (adds)
            RLRunLoopAddSource(rl, server.source, MODE);
        else
            RLRunLoopRemoveSource(rl, server.source, MODE);
        pthread_barrier_wait(&round_ends);
    }
}

static bool change_at_once(void)
{
    pthread_barrier_wait(&round_begins);
    pthread_barrier_wait(&round_ends);
    return RLRunLoopContainsSource(rl, server.source, MODE);
}

static void run_rounds(void (*check)(bool is_served, int round))
{
    pthread_t threads[ADDERS + REMOVERS];
    pthread_barrier_init(&round_begins, NULL, ADDERS + REMOVERS + 1);
    pthread_barrier_init(&round_ends, NULL, ADDERS + REMOVERS + 1);
    for (intptr_t i = 0; i < ADDERS + REMOVERS; i++)
        threads[i] = start_thread(change, (void *)i);
    for (int round = 0; round < SCALED(ROUNDS); round++)
        check(change_at_once(), round);
    is_over = true;
    pthread_barrier_wait(&round_begins);
    for (int i = 0; i < ADDERS + REMOVERS; i++)
        join_thread(threads[i]);
}

/* Keeps the mode from being empty. */
static RLRunLoopSourceRef add_keeper(void)
{
    RLRunLoopSourceRef keeper = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(rl, keeper, MODE);
    return keeper;
}

static void check_for_process(bool is_served, int round)
{
    handled = 0;
    command('o');
    while (!is_done())
        sched_yield();
    /* The request has been sent, so a loop that watches the port finds it immediately. */
    for (int i = 0; i < 3; i++)
        RLRunLoopRunInMode(MODE, 0, false);
    ck_assert_msg(handled == is_served, "round %d: served %d, in the mode %d", round, handled, is_served);
    RLRunLoopRemoveSource(rl, server.source, MODE);
    RLRunLoopAddSource(rl, server.source, MODE);
    while (handled == 0)
        ck_assert_int_eq(RLRunLoopRunInMode(MODE, 20, true), kRLRunLoopRunHandledSource);
    if (round % 8 == 0) { /* many one-way requests in a row would travel through shared memory */
        command('r');
        while (!is_done())
            RLRunLoopRunInMode(MODE, 0.001, true);
    }
    if (round % 2)
        RLRunLoopRemoveSource(rl, server.source, MODE);
}

START_TEST(clients_are_served_if_and_only_if_the_loop_has_the_source)
{
    RLRunLoopSourceRef keeper = add_keeper();
    run_rounds(check_for_process);
    drop_source(keeper);
}
END_TEST

/* ---- clients come and go meanwhile ---- */

enum { CLIENTS = 100 };

static atomic_bool all_are_gone;

static void *change_until_all_are_gone(void *info)
{
    while (!all_are_gone) {
        if (info == NULL)
            RLRunLoopAddSource(rl, server.source, MODE);
        else
            RLRunLoopRemoveSource(rl, server.source, MODE);
    }
    return NULL;
}

static void connect_and_disconnect(void)
{
    int fd = plain_socket();
    send_hello(fd);
    RLRunLoopRunInMode(MODE, 0, false);
    close(fd);
    RLRunLoopRunInMode(MODE, 0, false);
}

START_TEST(clients_may_connect_and_disconnect_while_the_source_is_added_and_removed)
{
    RLRunLoopSourceRef keeper = add_keeper();
    command('r');
    while (!is_done())
        RLRunLoopRunInMode(MODE, 0.001, true);
    int before = open_descriptors();
    pthread_t threads[] = {start_thread(change_until_all_are_gone, NULL),
                           start_thread(change_until_all_are_gone, &handled)};
    for (int count = 0; count < SCALED(CLIENTS); count++)
        connect_and_disconnect();
    all_are_gone = true;
    join_thread(threads[0]);
    join_thread(threads[1]);
    RLRunLoopAddSource(rl, server.source, MODE);
    while (open_descriptors() > before)
        RLRunLoopRunInMode(MODE, 0.01, false);
    drop_source(keeper);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-source-races");
    TCase *tcase = add_case(suite, "races", 60);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, clients_are_served_if_and_only_if_the_loop_has_the_source);
    tcase_add_test(tcase, clients_may_connect_and_disconnect_while_the_source_is_added_and_removed);
    return suite;
}
