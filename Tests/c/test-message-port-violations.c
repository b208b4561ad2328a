/* Checks a client whose server violates the protocol, when several threads, or none of them, receive what it has sent: there is one
 * diagnostic, and the replies before the violation reach their callbacks. */
#include "message-port-hostile.h"

enum { REQUESTS = 3, VIOLATIONS = 50, THREADS = 4, ROUNDS = 60 };

static RLMessagePortRef remote;
static int called, succeeded, violations;

/* Answers all requests but the last, violates the protocol, and ends if it has done so only once. */
static void violate(int ready)
{
    struct head packet[100];
    int listener = listen_as_victim();
    say_ready(ready);
    int fd = accept(listener, NULL, NULL);
    for (int count = 0; count <= REQUESTS; count++) /* the hello is the first */
        if (recv(fd, packet, sizeof packet, 0) <= 0)
            _exit(2);
    for (uint32_t id = 1; id < REQUESTS; id++) {
        struct head reply = {.magic = MAGIC, .kind = REPLY, .location = ABSENT, .id = id, .deadline = ~0ull};
        require(send(fd, &reply, sizeof reply, 0) > 0);
    }
    for (int count = 0; count < violations; count++)
        send(fd, "nonsense", 8, MSG_NOSIGNAL);
    unlink(victim_address.sun_path);
    if (violations > 1)
        while (recv(fd, packet, sizeof packet, 0) > 0) {}
}

static void count_result(UNUSED RLMessagePortRef port, int32_t result, UNUSED RLDataRef reply, UNUSED void *info)
{
    called++;
    succeeded += result == kRLMessagePortSuccess;
}

static void *use(UNUSED void *info)
{
    while (RLMessagePortSendRequest(remote, 1, NULL, 20, 0, NULL, NULL) == kRLMessagePortSuccess)
        ;
    return NULL;
}

static void *wait_for_reply(UNUSED void *info)
{
    require(ask(remote, 1, NULL, 20, MODE, NULL) != kRLMessagePortSuccess);
    return NULL;
}

static void ask_all(int *ready, pid_t *server)
{
    *server = start_server_process(violate, ready);
    remote = RLMessagePortCreateRemote(NULL, VICTIM);
    called = succeeded = 0;
    for (int count = 0; count < REQUESTS; count++)
        ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, 1, NULL, 20, 20, MODE, count_result, NULL),
                         kRLMessagePortSuccess);
}

static void expect_one_diagnostic(int ready, pid_t server)
{
    while (called < REQUESTS)
        RLRunLoopRunInMode(MODE, 20, true);
    ck_assert_int_eq(succeeded, REQUESTS - 1);
    ck_assert_int_eq(take_diagnostics(), 1);
    RLRelease(remote);
    end_process(server, 0);
    close(ready);
}

static int handled;

/* The port has become invalid before, so what the handler does with it ends at once. */
static void use_and_release(UNUSED const char *message, UNUSED void *info)
{
    require(!RLMessagePortIsValid(remote));
    require(ask(remote, 1, NULL, 20, MODE, NULL) == kRLMessagePortIsInvalid);
    RLRelease(remote);
    handled++;
}

/* The violation is found by the use of the port or, unless _i, by a run of the loop. */
START_TEST(the_error_handler_may_use_and_release_the_port)
{
    int ready;
    char byte;
    pid_t server;
    use_own_directory();
    violations = 1;
    handled = 0;
    ask_all(&ready, &server);
    ck_assert_int_eq(read(ready, &byte, 1), 0); /* the server has ended */
    RLSetErrorHandler(use_and_release, NULL);
    if (_i)
        ck_assert_int_eq(ask(remote, 1, NULL, 20, NULL, NULL), kRLMessagePortIsInvalid);
    while (called < REQUESTS)
        RLRunLoopRunInMode(MODE, 20, true);
    RLSetErrorHandler(NULL, NULL);
    ck_assert_int_eq(handled, 1);
    ck_assert_int_eq(succeeded, REQUESTS - 1);
    end_process(server, 0);
    close(ready);
    remove_own_directory();
}
END_TEST

START_TEST(a_violation_found_by_the_use_of_the_port_is_reported)
{
    int ready;
    pid_t server;
    use_own_directory();
    violations = 1;
    ask_all(&ready, &server);
    char byte;
    ck_assert_int_eq(read(ready, &byte, 1), 0); /* the server has ended */
    ck_assert_int_eq(ask(remote, 1, NULL, 20, NULL, NULL), kRLMessagePortIsInvalid);
    expect_one_diagnostic(ready, server);
    remove_own_directory();
}
END_TEST

START_TEST(violations_found_by_several_threads_are_reported_once)
{
    pthread_t threads[THREADS];
    use_own_directory();
    violations = VIOLATIONS;
    for (int round = 0; round < ROUNDS; round++) {
        int ready;
        pid_t server;
        ask_all(&ready, &server);
        for (int index = 0; index < THREADS; index++)
            threads[index] = start_thread(index % 2 ? use : wait_for_reply, NULL);
        for (int index = 0; index < THREADS; index++)
            join_thread(threads[index]);
        expect_one_diagnostic(ready, server);
    }
    remove_own_directory();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-violations");
    TCase *tcase = add_case(suite, "violations", 60);
    tcase_add_loop_test(tcase, the_error_handler_may_use_and_release_the_port, 0, 2);
    tcase_add_test(tcase, a_violation_found_by_the_use_of_the_port_is_reported);
    tcase_add_test(tcase, violations_found_by_several_threads_are_reported_once);
    return suite;
}
