/* Message ports between processes: requests, replies, results, deaths. */
#include "message-port-child.h"
#include <sys/time.h>

static RLDataRef answer(RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    if (id == 0)
        return NULL;
    if (id == 2) { /* a reply as large as asked for */
        char text[32] = {0};
        memcpy(text, RLDataGetBytePtr(data), (size_t)RLDataGetLength(data));
        size_t size = (size_t)atol(text);
        uint8_t *bytes = malloc(size);
        for (size_t index = 0; index < size; index++)
            bytes[index] = (uint8_t)(index * 31 >> 4);
        RLDataRef reply = RLDataCreate(NULL, bytes, (RLIndex)size);
        free(bytes);
        return reply;
    }
    if (id == 3) { /* who asks, and how long it waits */
        char text[128];
        int pid;
        unsigned uid, gid;
        require(RLMessagePortGetPeerCredentials(local, &pid, &uid, &gid));
        RLTimeInterval left = RLMessagePortGetRemainingTime(local);
        snprintf(text, sizeof text, "%d %d %d %d", (int)pid, (int)uid, (int)gid, left > 1 && left <= 20);
        return text_data(text);
    }
    if (id == 4) /* no answer in time */
        usleep(100000);
    if (id == 5)
        kill(getpid(), SIGKILL);
    if (id == 6) {
        RLRunLoopStop(RLRunLoopGetCurrent());
        return NULL;
    }
    if (id == 7) { /* the sum of the bytes, to see that all have come */
        unsigned long sum = 0;
        RLIndex length = RLDataGetLength(data);
        const uint8_t *bytes = RLDataGetBytePtr(data);
        for (RLIndex index = 0; index < length; index++)
            sum += bytes[index];
        char text[64];
        snprintf(text, sizeof text, "%ld %lu", (long)RLDataGetLength(data), sum);
        return text_data(text);
    }
    if (id == 8) {
        RLMessagePortInvalidate(local);
        RLRunLoopStop(RLRunLoopGetCurrent());
        return text_data("too late");
    }
    if (id == 9) { /* dies when four wait for it */
        static int waiting;
        RLMessagePortCopyRequest(local);
        if (++waiting == 4)
            kill(getpid(), SIGKILL);
        return NULL;
    }
    if (id == 10) { /* the same with another size, each byte changed: half as much, as much, or twice as much */
        const uint8_t *asked = RLDataGetBytePtr(data);
        RLIndex size = RLDataGetLength(data), wanted = size * (1 << asked[0] % 3) / 2;
        uint8_t *bytes = malloc((size_t)wanted);
        for (RLIndex index = 0; index < wanted; index++)
            bytes[index] = (uint8_t)~asked[index % size];
        RLDataRef reply = RLDataCreate(NULL, bytes, wanted);
        free(bytes);
        return reply;
    }
    return RLRetain(data);
}

static void begin(void) { begin_child(answer); }

START_TEST(request_and_reply)
{
    RLDataRef reply = NULL;
    for (int round = 0; round < 100; round++) {
        ck_assert_int_eq(ask(remote, 1, "hello", 10, MODE, &reply), kRLMessagePortSuccess);
        ck_assert(is_text(reply, "hello"));
        RLRelease(reply);
    }
    ck_assert_int_eq(ask(remote, 0, NULL, 10, MODE, &reply), kRLMessagePortSuccess);
    ck_assert_ptr_null(reply);
    ck_assert_int_eq(ask(remote, 1, NULL, 10, MODE, &reply), kRLMessagePortSuccess);
    ck_assert_int_eq(RLDataGetLength(reply), 0);
    RLRelease(reply);
    ck_assert_ptr_null(RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL));
    ck_assert_int_eq(errno, EADDRINUSE);
    ck_assert_int_eq(RLMessagePortGetNameOwner(NAME), child);
    ck_assert_int_eq(errno, EADDRINUSE); /* who asks by whom it is taken says why in the same line */
    /* A server stops as it should, and leaves nothing. */
    ck_assert_int_eq(ask(remote, 6, NULL, 10, MODE, NULL), kRLMessagePortSuccess);
    end_process(child, 0);
    child = 0;
    ck_assert_int_eq(name_files(), 0);
}
END_TEST

START_TEST(credentials_and_deadline_travel)
{
    char expected[128];
    RLDataRef reply = NULL;
    snprintf(expected, sizeof expected, "%d %d %d 1", (int)getpid(), (int)geteuid(), (int)getegid());
    ck_assert_int_eq(ask(remote, 3, NULL, 20, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, expected));
    RLRelease(reply);
}
END_TEST

static void check_size(size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    unsigned long sum = 0;
    for (size_t index = 0; index < size; index++)
        sum += bytes[index] = (uint8_t)(index * 7 >> 3);
    RLDataRef data = RLDataCreate(NULL, bytes, (RLIndex)size), reply = NULL;
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 7, data, 100, 100, MODE, &reply), kRLMessagePortSuccess);
    char text[64];
    snprintf(text, sizeof text, "%zu %lu", size, sum);
    ck_assert(is_text(reply, text));
    RLRelease(reply);
    RLRelease(data);
    snprintf(text, sizeof text, "%zu", size);
    ck_assert_int_eq(ask(remote, 2, text, 30, MODE, &reply), kRLMessagePortSuccess);
    ck_assert_int_eq(RLDataGetLength(reply), size);
    const uint8_t *received = RLDataGetBytePtr(reply);
    for (size_t index = 0; index < size; index++)
        require(received[index] == (uint8_t)(index * 31 >> 4));
    RLRelease(reply);
    free(bytes);
}

START_TEST(data_of_every_size)
{
    static const size_t sizes[] = {1, 63, 4096, 32767, 32768, 32769, 65536, 1 << 20, 64 << 20};
    check_size(1 << 20);
    check_size(1 << 20); /* now the loop has its own descriptors, and the connection the file that it keeps */
    int before = open_descriptors();
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
        check_size(sizes[index]);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

/* What comes in one packet and is long is kept where it was received: the next packet must not be received there. */
static void *release_all(void *replies)
{
    for (int index = 0; index < 8; index++)
        RLRelease(((RLDataRef *)replies)[index]);
    return NULL;
}

START_TEST(data_stays_what_it_is)
{
    enum { SIZE = 32768, COUNT = 16 };
    static uint8_t bytes[SIZE];
    RLDataRef replies[COUNT];
    for (int round = 0; round < 10; round++) {
        for (int index = 0; index < COUNT; index++) {
            RLIndex size = SIZE - index * 1500;
            memset(bytes, round * COUNT + index, (size_t)size);
            RLDataRef data = RLDataCreate(NULL, bytes, size);
            ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, data, 10, 10, MODE, &replies[index]),
                             kRLMessagePortSuccess);
            RLRelease(data);
        }
        for (int index = 0; index < COUNT; index++) {
            ck_assert_int_eq(RLDataGetLength(replies[index]), SIZE - index * 1500);
            for (RLIndex place = 0; place < RLDataGetLength(replies[index]); place++)
                require(RLDataGetBytePtr(replies[index])[place] == (uint8_t)(round * COUNT + index));
        }
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, release_all, replies), 0);
        release_all(replies + 8);
        pthread_join(thread, NULL);
    }
}
END_TEST

/* ---- requests that want no reply: this process serves, another has sent them all ---- */

static int received, seen_by_source;
static RLRunLoopSourceRef other_source;

static RLDataRef receive_in_order(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    require(id == received);
    received++;
    if (id == 10 || id == 99)
        RLRunLoopStop(RLRunLoopGetCurrent());
    if (id == 20)
        RLRunLoopSourceSignal(other_source);
    return NULL;
}

static void see_received(UNUSED void *info) { seen_by_source = received; }

static void send_hundred(UNUSED void *info)
{
    RLMessagePortRef own = RLMessagePortCreateRemote(NULL, RLSTR("com.example.own"));
    child_assert(own != NULL);
    for (int id = 0; id < 100; id++)
        child_assert(RLMessagePortSendRequest(own, id, NULL, 20, 0, NULL, NULL) == kRLMessagePortSuccess);
}

START_TEST(requests_without_reply_take_turns_with_others)
{
    struct server server;
    serve(&server, RLSTR("com.example.own"), receive_in_order, NULL);
    other_source = make_source(0, see_received, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), other_source, MODE);
    ck_assert_int_eq(run_in_child(send_hundred, NULL), 0);
    RLRunLoopRun();
    ck_assert_int_eq(received, 11);
    for (int more = 1; more <= 3; more++) {
        ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e9, true), kRLRunLoopRunHandledSource);
        ck_assert_int_eq(received, 11 + more);
    }
    RLRunLoopRun();
    ck_assert_int_eq(received, 100);
    ck_assert_int_eq(seen_by_source, 21);
    drop_source(other_source);
    end_server(&server);
}
END_TEST

static struct server leaving;

static RLDataRef receive_and_leave(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    require(id == received);
    if (received++ == 0)
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), leaving.source, MODE);
    return NULL;
}

START_TEST(requests_wait_when_the_source_leaves_the_mode)
{
    serve(&leaving, RLSTR("com.example.own"), receive_and_leave, NULL);
    if (_i)
        RLRunLoopAddSource(RLRunLoopGetCurrent(), leaving.source, RLSTR("other"));
    ck_assert_int_eq(run_in_child(send_hundred, NULL), 0);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e10, false), kRLRunLoopRunFinished);
    ck_assert_int_eq(received, 1);
    end_server(&leaving);
}
END_TEST

/* Large data both ways, which may go through one file: byte for byte. */
static RLDataRef pattern(size_t size, unsigned seed)
{
    uint8_t *bytes = malloc(size);
    for (size_t index = 0; index < size; index++)
        bytes[index] = (uint8_t)(index * 13 + (index >> 8) * 7 + seed);
    RLDataRef data = RLDataCreate(NULL, bytes, (RLIndex)size);
    free(bytes);
    return data;
}

static void check_answer(RLDataRef data, RLDataRef reply)
{
    RLIndex size = RLDataGetLength(data), length = RLDataGetLength(reply);
    const uint8_t *asked = RLDataGetBytePtr(data), *answered = RLDataGetBytePtr(reply);
    require(length == size * (1 << asked[0] % 3) / 2);
    for (RLIndex index = 0; index < length; index++)
        require(answered[index] == (uint8_t)~asked[index % size]);
}

static void ask_for_pattern(size_t size, unsigned seed, RLRunLoopMode mode)
{
    RLDataRef data = pattern(size, seed), reply = NULL;
    require(RLMessagePortSendRequest(remote, 10, data, 100, 100, mode, &reply) == kRLMessagePortSuccess);
    check_answer(data, reply);
    RLRelease(reply);
    RLRelease(data);
}

START_TEST(large_data_both_ways)
{
    static const size_t sizes[] = {33000, 70000, 200000, 1 << 20, 5 << 20, 9 << 20, 100000, 40000, 10};
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
        for (unsigned seed = 0; seed < SCALED(6); seed++)
            ask_for_pattern(sizes[index], seed, MODE);
    /* The file is given up meanwhile. */
    for (int round = 0; round < 100; round++)
        ask_for_pattern(10, 1, MODE);
    ask_for_pattern(100000, 1, MODE);
}
END_TEST

static void check_reply(UNUSED RLMessagePortRef port, int32_t result, RLDataRef reply, void *info)
{
    require(result == kRLMessagePortSuccess);
    check_answer(info, reply);
    RLRelease(info);
    note("r");
}

START_TEST(much_large_data_at_once)
{
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned index = 0; index < 8; index++) {
            RLDataRef data = pattern(40000 + 30000 * index, round + index);
            ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, 10, data, 100, 100, MODE, check_reply, (void *)data),
                             kRLMessagePortSuccess);
        }
        while (strcmp(notes, "r r r r r r r r") != 0)
            ck_assert_int_ne(RLRunLoopRunInMode(MODE, 100, true), kRLRunLoopRunFinished);
        notes[0] = 0;
    }
}
END_TEST

static void *ask_much_in_thread(void *info)
{
    for (unsigned round = 0; round < SCALED(60); round++)
        ask_for_pattern(30000 + 5000 * (round % 7), (unsigned)(intptr_t)info + round,
                        round & 1 ? MODE : kRLMessagePortPrivateReplyMode);
    return NULL;
}

START_TEST(threads_share_a_port_for_large_data) { on_threads(4, ask_much_in_thread); }
END_TEST

START_TEST(late_reply_is_dropped)
{
    RLDataRef reply = (RLDataRef)&child;
    ck_assert_int_eq(ask(remote, 4, "late", 0.01, MODE, &reply), kRLMessagePortReceiveTimeout);
    ck_assert_ptr_eq(reply, &child);
    ck_assert_int_eq(ask(remote, 1, "next", 10, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "next"));
    RLRelease(reply);
}
END_TEST

static void note_end(UNUSED RLMessagePortRef port, UNUSED void *info) { note("end"); }

START_TEST(server_is_killed_in_the_middle)
{
    RLMessagePortSetInvalidationCallBack(remote, note_end);
    double before = monotonic_seconds();
    ck_assert_int_eq(ask(remote, 5, "x", 1e9, MODE, NULL), kRLMessagePortBecameInvalidError);
    ck_assert(monotonic_seconds() - before < 10);
    assert_notes("end");
    ck_assert(!RLMessagePortIsValid(remote));
    ck_assert_int_eq(ask(remote, 1, "x", 1, MODE, NULL), kRLMessagePortIsInvalid);
    end_process(child, SIGKILL);
    child = 0;
    /* The name is free at once, whatever the crash left. */
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL);
    ck_assert_ptr_nonnull(port);
    RLRelease(port);
}
END_TEST

static void *wait_for_the_dead(void *info)
{
    RLRunLoopMode mode = (intptr_t)info & 1 ? MODE : kRLMessagePortPrivateReplyMode;
    require(ask(remote, 9, "x", 1e9, mode, NULL) == kRLMessagePortBecameInvalidError);
    return NULL;
}

/* Two threads share a connection, two processes have their own. */
START_TEST(server_is_killed_and_everybody_hears)
{
    pid_t others[2];
    for (intptr_t index = 0; index < 2; index++) {
        others[index] = fork();
        if (others[index] == 0) {
            remote = RLMessagePortCreateRemote(NULL, NAME);
            wait_for_the_dead((void *)index);
            _exit(0);
        }
    }
    on_threads(2, wait_for_the_dead);
    end_process(others[0], 0);
    end_process(others[1], 0);
    end_process(child, SIGKILL);
    child = 0;
}
END_TEST

START_TEST(server_ends_in_its_callback)
{
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, 8, "x", 1e9, MODE, &reply), kRLMessagePortBecameInvalidError);
    ck_assert_ptr_null(reply);
    end_process(child, 0);
    child = 0;
    ck_assert_int_eq(name_files(), 0);
}
END_TEST

static void stop_loop(UNUSED RLRunLoopTimerRef timer, UNUSED void *info) { RLRunLoopStop(RLRunLoopGetCurrent()); }

static void ask_in_vain(UNUSED void *info)
{
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, 4, "slow", 20, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "slow"));
    RLRelease(reply);
    note("answered");
}

/* A stop that comes meanwhile is for the run outside: the request gets its reply. */
START_TEST(loop_is_stopped_while_a_request_waits)
{
    RLRunLoopSourceRef source = make_source(0, ask_in_vain, NULL);
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 0.01, 0, stop_loop, NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e9, false), kRLRunLoopRunStopped);
    assert_notes("answered");
    drop_timer(timer);
    drop_source(source);
}
END_TEST

static RLRunLoopRef loop_to_stop;

static void stop_by_signal(UNUSED int number) { RLRunLoopStop(loop_to_stop); }

static void ask_alone(UNUSED void *info)
{
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    RLDataRef reply = NULL;
    ck_assert_int_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
    ck_assert_int_eq(ask(remote, 4, "slow", 20, kRLMessagePortPrivateReplyMode, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "slow"));
    RLRelease(reply);
    note("answered");
}

/* The only thread of a process waits in another system call than a loop: a signal ends that one, too. */
START_TEST(loop_is_stopped_by_a_signal_while_a_request_waits)
{
    struct sigaction action = {.sa_handler = stop_by_signal, .sa_flags = SA_RESTART};
    RLRunLoopSourceRef source = make_source(0, ask_alone, NULL);
    loop_to_stop = RLRunLoopGetCurrent();
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    RLRunLoopAddSource(loop_to_stop, source, MODE);
    RLRunLoopSourceSignal(source);
    ck_assert_int_eq(RLRunLoopRunInMode(MODE, 1e9, false), kRLRunLoopRunStopped);
    assert_notes("answered");
    drop_source(source);
}
END_TEST

START_TEST(death_is_noticed_by_a_running_loop)
{
    RLMessagePortSetInvalidationCallBack(remote, note_end);
    ck_assert_int_eq(ask(remote, 1, "x", 10, MODE, NULL), kRLMessagePortSuccess);
    end_process(child, SIGKILL);
    child = 0;
    atomic_int fired = 0;
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 10, 0, count_timer, &fired);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE);
    while (RLMessagePortIsValid(remote))
        RLRunLoopRunInMode(MODE, 0.05, false);
    assert_notes("end");
    drop_timer(timer);
}
END_TEST

/* What a stopped server does not read waits in the kernel until that is full. */
START_TEST(full_queue_is_a_send_timeout)
{
    kill(child, SIGSTOP);
    int sent = 0, result;
    while ((result = RLMessagePortSendRequest(remote, 1, NULL, 0, 0, NULL, NULL)) == kRLMessagePortSuccess)
        sent++;
    ck_assert_int_eq(result, kRLMessagePortSendTimeout);
    ck_assert_int_gt(sent, 10);
    ck_assert_int_eq(RLMessagePortSendRequest(remote, 1, NULL, 0.05, 1, MODE, NULL), kRLMessagePortSendTimeout);
    kill(child, SIGCONT);
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, 1, "after", 10, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "after"));
    RLRelease(reply);
}
END_TEST

static void use_in_child(UNUSED void *info)
{
    child_assert(!RLMessagePortIsValid(remote));
    child_assert(ask(remote, 1, "x", 1, MODE, NULL) == kRLMessagePortIsInvalid);
    RLMessagePortRef own = RLMessagePortCreateRemote(NULL, NAME);
    child_assert(own != NULL && own != remote);
    RLDataRef reply = NULL;
    child_assert(ask(own, 1, "child", 10, MODE, &reply) == kRLMessagePortSuccess);
    child_assert(is_text(reply, "child"));
    RLRelease(reply);
    RLRelease(own);
}

START_TEST(child_of_fork_has_to_ask_anew)
{
    RLDataRef reply = NULL;
    ck_assert_int_eq(ask(remote, 1, "x", 10, MODE, NULL), kRLMessagePortSuccess);
    for (int round = 0; round < 10; round++)
        ck_assert_int_eq(run_in_child(use_in_child, NULL), 0);
    ck_assert_int_eq(ask(remote, 1, "parent", 10, MODE, &reply), kRLMessagePortSuccess);
    ck_assert(is_text(reply, "parent"));
    RLRelease(reply);
}
END_TEST

/* Several threads with one remote port: each gets its own replies. */
static void *ask_in_thread(void *info)
{
    char text[32];
    for (int round = 0; round < SCALED(300); round++) {
        RLDataRef reply = NULL;
        snprintf(text, sizeof text, "%d-%d", (int)(intptr_t)info, round);
        require(ask(remote, 1, text, 20, round & 1 ? MODE : kRLMessagePortPrivateReplyMode, &reply) ==
                kRLMessagePortSuccess);
        require(is_text(reply, text));
        RLRelease(reply);
    }
    return NULL;
}

START_TEST(threads_share_a_remote_port) { on_threads(4, ask_in_thread); }
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-process");
    TCase *tcase = add_case(suite, "process", 60);
    tcase_add_checked_fixture(tcase, begin, end_child);
    tcase_add_test(tcase, request_and_reply);
    tcase_add_test(tcase, credentials_and_deadline_travel);
    tcase_add_test(tcase, data_of_every_size);
    tcase_add_test(tcase, data_stays_what_it_is);
    tcase_add_test(tcase, large_data_both_ways);
    tcase_add_test(tcase, much_large_data_at_once);
    tcase_add_test(tcase, threads_share_a_port_for_large_data);
    tcase_add_test(tcase, requests_without_reply_take_turns_with_others);
    tcase_add_loop_test(tcase, requests_wait_when_the_source_leaves_the_mode, 0, 2);
    tcase_add_test(tcase, late_reply_is_dropped);
    tcase_add_test(tcase, server_is_killed_in_the_middle);
    tcase_add_test(tcase, server_is_killed_and_everybody_hears);
    tcase_add_test(tcase, server_ends_in_its_callback);
    tcase_add_test(tcase, loop_is_stopped_while_a_request_waits);
    tcase_add_test(tcase, loop_is_stopped_by_a_signal_while_a_request_waits);
    tcase_add_test(tcase, death_is_noticed_by_a_running_loop);
    tcase_add_test(tcase, full_queue_is_a_send_timeout);
    tcase_add_test(tcase, child_of_fork_has_to_ask_anew);
    tcase_add_test(tcase, threads_share_a_remote_port);
    return suite;
}
