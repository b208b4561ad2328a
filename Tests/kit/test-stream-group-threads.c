/* RLStreamGroup: members in loops of several threads, threads that write at the same time, thread exit, fork. */
#include "stream-group.h"

/* -- Loops and threads --------------------------------------------------------------------------------------------- */

/* What becomes of a member that is in no loop is told when it is in one. */
START_TEST(a_member_in_no_loop)
{
    make_members();
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), spies[0].stream, kRLRunLoopDefaultMode);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), spies[1].stream, kRLRunLoopDefaultMode);
    close(peers[1]);
    peers[1] = -1;
    ck_assert_int_eq(write_text("x", NULL), 2);
    assert_taken("x", "EBADF", "x");
    run_passes();
    assert_seen(&spies[1], "");
    add(spies[0].stream);
    add(spies[1].stream);
    run_passes();
    assert_seen(&spies[0], "");
    assert_seen(&spies[1], "!EPIPEE");
    end_members();
}
END_TEST

/* While a write is in the filter of the first member, a thread frees those that it would come to later. */
enum { many = 40 };
static RLStreamRef all_members[many];
static void *free_some(UNUSED void *info)
{
    for (int i = 30; i < 36; i++) {
        RLStreamClose(all_members[i]);
        RLRelease(all_members[i]);
    }
    return NULL;
}
static void free_some_elsewhere(RLStreamRef stream, const uint8_t *bytes, RLIndex length, void *info)
{
    framer_write(stream, bytes, length, info);
    join_thread(start_thread(free_some, NULL));
}
START_TEST(members_leave_during_a_write)
{
    static int sockets[many];
    struct framer framer = {0};
    RLStreamFilter filter = {0, &framer, NULL, framer_start, framer_receive, free_some_elsewhere, framer_shutdown};
    group = RLStreamGroupCreate(NULL);
    for (int i = 0; i < many; i++) {
        int ends[2];
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
        all_members[i] = add(RLStreamCreate(NULL, ends[0], 1, NULL, NULL));
        sockets[i] = ends[1];
        require(RLStreamGroupAdd(group, all_members[i]) == i + 1);
    }
    ck_assert(RLStreamSetFilter(all_members[0], &filter));
    RLStreamFilterOpen(all_members[0]);
    ck_assert_int_eq(write_text("x", NULL), many - 6);
    ck_assert_int_eq(RLStreamGroupGetCount(group), many - 6);
    for (int i = 0; i < many; i++) {
        if (i > 0)
            ck_assert_str_eq(take(sockets[i]), i < 30 || i >= 36 ? "x" : "");
        if (i < 30 || i >= 36) {
            RLStreamClose(all_members[i]);
            RLRelease(all_members[i]);
        }
        close(sockets[i]);
    }
    RLRelease(group);
}
END_TEST

static void *keep_one(void *ends)
{
    RLStreamRef stream = RLScheduleSource(RLStreamCreate(NULL, *(int *)ends, 1, NULL, NULL));
    require(RLStreamGroupAdd(group, stream) == 4);
    return NULL;
}
START_TEST(the_thread_of_a_member_ends)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    make_members();
    join_thread(start_thread(keep_one, ends));
    ck_assert_int_eq(RLStreamGroupGetCount(group), 3);
    ck_assert(has_ended(ends[1]));
    ck_assert_int_eq(write_text("x", NULL), 3);
    close(ends[1]);
    end_members();
}
END_TEST

enum { threads = 4, rounds = 20000, words = threads / 2 * rounds };
static atomic_int ready, running;
static void *serve_member(void *number)
{
    struct spy *spy = &spies[(intptr_t)number];
    add(spy->stream);
    ready++;
    while (running > 0 || RLStreamGetQueuedLength(spy->stream) > 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), spy->stream, kRLRunLoopDefaultMode);
    return NULL;
}
static void *write_words(void *number)
{
    while (ready < 2) {}
    for (int i = 0; i < SCALED(rounds); i++) {
        uint8_t word[2] = {(uint8_t)(intptr_t)number, (uint8_t)i};
        require(RLStreamGroupWrite(group, word, 2, NULL) == 3);
    }
    running--;
    return NULL;
}

/* Two threads serve members, and two write: all members receive the same. */
START_TEST(all_members_receive_one_order)
{
    static uint8_t heard[count][2 * words];
    make_members();
    for (int i = 0; i < 2; i++)
        RLRunLoopRemoveSource(RLRunLoopGetCurrent(), spies[i].stream, kRLRunLoopDefaultMode);
    for (int i = 0; i < count; i++)
        RLStreamSetHighWaterMark(spies[i].stream, 2 * words); /* none is too slow */
    running = 2;
    pthread_t all[threads];
    for (intptr_t i = 0; i < threads; i++)
        all[i] = start_thread(i < 2 ? serve_member : write_words, (void *)i);
    size_t lengths[count] = {0}, wanted = (size_t)SCALED(rounds) * 4;
    for (int done = 0; done < count;) {
        done = 0;
        for (int i = 0; i < count; i++) {
            ssize_t length = read(peers[i], heard[i] + lengths[i], sizeof heard[i] - lengths[i]);
            lengths[i] += length > 0 ? (size_t)length : 0;
            done += lengths[i] == wanted;
        }
        run_passes();
    }
    for (int i = 0; i < threads; i++)
        join_thread(all[i]);
    ck_assert_int_eq(memcmp(heard[0], heard[1], wanted), 0);
    ck_assert_int_eq(memcmp(heard[0], heard[2], wanted), 0);
    uint8_t next[threads] = {0};
    for (size_t i = 0; i < wanted; i += 2)
        ck_assert_uint_eq(heard[0][i + 1], next[heard[0][i]]++);
    end_members();
}
END_TEST

static void *come_and_go(void *number)
{
    for (int i = 0; i < SCALED(rounds / 20); i++) {
        int ends[2];
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
        RLStreamRef stream = RLStreamCreate(NULL, ends[0], 1, NULL, NULL);
        if (i % 2)
            add(stream);
        require(RLStreamGroupAdd(group, stream) > 0);
        RLStreamGroupWrite(group, number, 1, i % 3 ? stream : NULL);
        if (i % 5 == 0)
            require(RLStreamGroupRemove(group, stream));
        if (i % 2)
            RLStreamClose(stream);
        RLRelease(stream);
        if (i % 3 == 0) {
            char byte = 0;
            require(read(ends[1], &byte, 1) == 1 && byte != 0); /* its own, or another's that came before */
        }
        close(ends[1]);
    }
    return NULL;
}
START_TEST(streams_come_and_go_while_others_write)
{
    pthread_t all[threads];
    group = RLStreamGroupCreate(NULL);
    for (int i = 0; i < threads; i++)
        all[i] = start_thread(come_and_go, (void *)&"abcd"[i]);
    for (int i = 0; i < threads; i++)
        join_thread(all[i]);
    ck_assert_int_eq(RLStreamGroupGetCount(group), 0);
    RLRelease(group);
}
END_TEST

/* -- Fork ---------------------------------------------------------------------------------------------------------- */

static void write_in_child(UNUSED void *info)
{
    require(write_text("child", NULL) == 3);
    RLStreamClose(spies[0].stream);
    require(RLStreamGroupGetCount(group) == 2 && write_text("!", NULL) == 2);
}
static atomic_bool is_over;
static void *write_on(UNUSED void *info)
{
    while (!is_over)
        write_text("x", NULL);
    return NULL;
}
static void *drain_all(UNUSED void *info)
{
    while (!is_over)
        for (int i = 0; i < count; i++)
            drain(peers[i]);
    return NULL;
}
static void write_while_others_did(UNUSED void *info)
{
    /* The stream that the other thread was writing to has failed here. */
    require(write_text("child", NULL) >= 2 && RLStreamGroupGetCount(group) == 3);
    for (int i = 0; i < count; i++)
        RLStreamClose(spies[i].stream);
    require(RLStreamGroupGetCount(group) == 0 && write_text("child", NULL) == 0);
}

START_TEST(the_child_of_a_fork_writes_too)
{
    make_members();
    ck_assert_int_eq(run_in_child(write_in_child, NULL), 0);
    ck_assert_int_eq(write_text(" parent", NULL), 3);
    assert_taken("child parent", "child! parent", "child! parent");
    for (int i = 0; i < count; i++)
        RLStreamSetHighWaterMark(spies[i].stream, 1 << 30);
    pthread_t writer = start_thread(write_on, NULL), reader = start_thread(drain_all, NULL);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(run_in_child(write_while_others_did, NULL), 0);
    is_over = true;
    join_thread(writer);
    join_thread(reader);
    end_members();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream group and threads");
    TCase *all = add_case(suite, "stream group and threads", 30);
    tcase_add_test(all, a_member_in_no_loop);
    tcase_add_test(all, members_leave_during_a_write);
    tcase_add_test(all, the_thread_of_a_member_ends);
    tcase_add_test(all, all_members_receive_one_order);
    tcase_add_test(all, streams_come_and_go_while_others_write);
    tcase_add_test(all, the_child_of_a_fork_writes_too);
    return suite;
}
