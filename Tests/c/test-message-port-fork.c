/* Checks message ports in the child of a fork(), whatever threads were doing with them: the parent's descriptors are closed
 * there, and the forking thread can continue what it was doing. */
#include "message-port.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/syscall.h>

/* -- A fork in a callback of the context, which the library calls around the port's callback ---------------------------- */
static pid_t forked = -1;
static int calls, call_that_forks;

static void take_call(void)
{
    if (++calls == call_that_forks)
        forked = fork_child();
}

static const void *retain_and_fork(const void *info)
{
    take_call();
    return info;
}

static void release_and_fork(UNUSED const void *info) { take_call(); }

static RLDataRef answer(UNUSED RLMessagePortRef port, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    return (RLDataRef)RLRetain(data);
}

START_TEST(a_context_callback_may_fork)
{
    RLMessagePortContext context = {.retain = retain_and_fork, .release = release_and_fork};
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, answer, &context, NULL);
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, port, 0);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLDataRef reply = NULL;
    call_that_forks = _i;
    int32_t result = ask(remote, 1, "x", 10, MODE, &reply);
    RLMessagePortInvalidate(port);
    RLRelease(source);
    RLRelease(port);
    if (forked == 0) {
        child_assert(result == kRLMessagePortBecameInvalidError && !RLMessagePortIsValid(remote));
        RLRelease(remote);
        _exit(0);
    }
    RLRelease(remote);
    ck_assert(is_text(reply, "x"));
    RLRelease(reply);
    end_process(forked, 0);
}
END_TEST

/* -- A fork while another thread invalidates a port -------------------------------------------------------------------------------- */
enum { CLIENTS = 3 };
static gate in_callback, may_continue;
static RLMessagePortRequestRef taken[CLIENTS];
static int requests;

static int open_sockets(void)
{
    int count = 0;
    struct stat status;
    for (int fd = 0; fd < 256; fd++)
        count += fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
    return count;
}

static void wait_in_callback(UNUSED RLMessagePortRequestRef request, UNUSED void *info)
{
    gate_open(&in_callback);
    gate_pass(&may_continue);
}

static RLDataRef take_over(RLMessagePortRef port, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    taken[requests] = RLMessagePortCopyRequest(port);
    RLMessagePortRequestSetInvalidationCallBack(taken[requests++], wait_in_callback, NULL);
    return NULL;
}

static void *invalidate_with_clients(UNUSED void *info)
{
    struct server server;
    serve(&server, NAME, take_over, NULL);
    gate_open(&in_callback);
    while (requests < CLIENTS)
        RLRunLoopRunInMode(MODE, 10, true);
    end_server(&server);
    for (int i = 0; i < CLIENTS; i++)
        RLRelease(taken[i]);
    return NULL;
}

static void look_in_child(UNUSED void *info)
{
    signal(SIGALRM, SIG_DFL);
    alarm(20); /* ends a child that waits for a lock which no thread will unlock */
    child_assert(open_sockets() == 0);
    for (int i = 0; i < CLIENTS; i++) {
        child_assert(RLMessagePortRequestGetRemainingTime(taken[i]) == 0);
        RLRelease(taken[i]);
    }
    struct server server;
    serve(&server, RLSTR("com.example.child"), take_over, NULL);
    end_server(&server);
}

START_TEST(a_port_invalidated_during_a_fork_leaves_no_descriptor_in_the_child)
{
    pid_t clients[CLIENTS];
    int ready[2];
    gate_init(&in_callback);
    gate_init(&may_continue);
    make_pipe(ready);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = fork_child();
        if (clients[i] == 0) {
            while (poll(&(struct pollfd){.fd = ready[0], .events = POLLIN}, 1, -1) < 1) {}
            RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
            RLDataRef reply;
            ask(remote, i, "x", 1e9, MODE, &reply);
            RLRelease(remote);
            _exit(0);
        }
    }
    pthread_t thread = start_thread(invalidate_with_clients, NULL);
    gate_pass(&in_callback);
    ck_assert_int_eq(write(ready[1], "r", 1), 1);
    for (int i = 0; i < CLIENTS; i++) {
        gate_pass(&in_callback);
        ck_assert_int_eq(run_in_child(look_in_child, NULL), 0);
        gate_open(&may_continue);
    }
    join_thread(thread);
    for (int i = 0; i < CLIENTS; i++)
        end_process(clients[i], 0);
    close_pipe(ready);
}
END_TEST

/* -- A fork while another thread accepts a client ---------------------------------------------------------------------------------- */
static atomic_bool stops_after_accept, stops_before_close;

static bool is_socket(int fd)
{
    int type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof type}) == 0;
}

static void stop_here(void)
{
    gate_open(&in_callback);
    gate_pass(&may_continue);
}

/* Takes precedence over libc's, which the library calls. Reads six arguments, also where the caller has passed fewer. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
    static long (*_Atomic real)(long, ...);
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "syscall");
        long (*function)(long, ...);
        memcpy(&function, &found, sizeof function);
        real = function;
    }
    if (number == SYS_close && !is_child() && is_socket((int)arguments[0]) &&
        atomic_exchange(&stops_before_close, false)) {
        stop_here();
        RLRunLoopStop(RLRunLoopGetCurrent());
    }
    long result = real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    if (number == SYS_accept4 && result >= 0 && atomic_exchange(&stops_after_accept, false))
        stop_here();
    return result;
}

static void *serve_one(UNUSED void *info)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    gate_open(&in_callback);
    RLRunLoopRunInMode(MODE, 10, true);
    end_server(&server);
    return NULL;
}

static atomic_int forker;
static atomic_bool has_forked;

static void *fork_meanwhile(UNUSED void *info)
{
    int status;
    forker = gettid();
    pid_t copy = fork();
    if (copy == 0)
        _exit(open_sockets());
    has_forked = true;
    require(copy > 0 && waitpid(copy, &status, 0) == copy && status == 0);
    return NULL;
}

/* Returns whether the forking thread sleeps, waiting for the lock that it needs. */
static bool forker_sleeps(void)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", forker);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        require(fscanf(file, "%*d %*s %c", &state) == 1);
        fclose(file);
    }
    return state == 'S';
}

/* Forks on another thread. The stopped thread continues once that one has forked, or waits for it. */
static void fork_beside_stopped(void)
{
    pthread_t forking = start_thread(fork_meanwhile, NULL);
    while (!has_forked && !forker_sleeps())
        sched_yield();
    gate_open(&may_continue);
    join_thread(forking);
}

static pid_t start_client(void)
{
    pid_t client = fork_child();
    if (client == 0) {
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
        RLDataRef reply = NULL;
        child_assert(ask(remote, 1, "x", 20, MODE, &reply) == kRLMessagePortSuccess && is_text(reply, "x"));
        _exit(0);
    }
    return client;
}

/* Forks while a thread with a server has stopped in accept() or close() for a client; `stops` selects which. */
static void fork_while_stopped(void *(*serve)(void *), atomic_bool *stops)
{
    gate_init(&in_callback);
    gate_init(&may_continue);
    pthread_t thread = start_thread(serve, NULL);
    gate_pass(&in_callback);
    *stops = true;
    pid_t client = start_client();
    gate_pass(&in_callback);
    fork_beside_stopped();
    end_process(client, 0);
    join_thread(thread);
}

/* If the child had the connection, the client would not notice the end of the server until the child ends. */
START_TEST(a_client_accepted_during_a_fork_is_not_connected_to_the_child)
{
    fork_while_stopped(serve_one, &stops_after_accept);
}
END_TEST

/* -- A fork while another thread closes a connection ------------------------------------------------------------------------------ */
static void *serve_until_closed(UNUSED void *info)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    gate_open(&in_callback);
    RLRunLoopRunInMode(MODE, 1e9, false);
    end_server(&server);
    return NULL;
}

START_TEST(a_connection_closed_during_a_fork_is_not_open_in_the_child)
{
    fork_while_stopped(serve_until_closed, &stops_before_close);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-fork");
    TCase *tcase = add_case(suite, "fork", 60);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_loop_test(tcase, a_context_callback_may_fork, 2, 4);
    tcase_add_test(tcase, a_port_invalidated_during_a_fork_leaves_no_descriptor_in_the_child);
    tcase_add_test(tcase, a_client_accepted_during_a_fork_is_not_connected_to_the_child);
    tcase_add_test(tcase, a_connection_closed_during_a_fork_is_not_open_in_the_child);
    return suite;
}
