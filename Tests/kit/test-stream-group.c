/* RLStreamGroup: who is a member, what one write sends to all of them, slow members, filters, mistakes. */
#include "stream-group.h"

#include <malloc.h>

/* -- Members ------------------------------------------------------------------------------------------------------- */

START_TEST(all_members_receive_it)
{
    make_members();
    ck_assert_int_eq(write_text("to all", NULL), 3);
    assert_taken("to all", "to all", "to all");
    ck_assert_int_eq(write_text("to the others", spies[1].stream), 2);
    assert_taken("to the others", "", "to the others");
    ck_assert_int_eq(RLStreamGroupWrite(group, NULL, 0, NULL), 0);
    ck_assert_int_eq(write_text("to all", group), 0); /* misuse: a group is not a stream */
    assert_misuse("RLStreamGroupWrite", "except", "expected RLStream, got RLStreamGroup");
    end_members();
}
END_TEST

START_TEST(streams_join_and_leave)
{
    make_members();
    RLStreamGroupRef other = RLStreamGroupCreate(NULL);
    ck_assert_int_eq(RLStreamGroupAdd(other, spies[1].stream), 1);
    ck_assert_int_eq(RLStreamGroupAdd(other, spies[1].stream), 1); /* is a member already */
    ck_assert_int_eq(RLStreamGroupAdd(other, spies[0].stream), 2);
    ck_assert_int_eq(RLStreamGroupWrite(other, "x", 1, NULL), 2);
    assert_taken("x", "x", "");
    ck_assert(RLStreamGroupRemove(group, spies[1].stream));
    ck_assert(!RLStreamGroupRemove(group, spies[1].stream));
    ck_assert(!RLStreamGroupRemove(other, spies[2].stream));
    ck_assert_int_eq(RLStreamGroupGetCount(group), 2);
    ck_assert_int_eq(write_text("y", NULL), 2);
    assert_taken("y", "", "y");
    end_spy(&spies[0]); /* leaves both */
    ck_assert_int_eq(RLStreamGroupGetCount(group), 1);
    ck_assert_int_eq(RLStreamGroupGetCount(other), 1);
    ck_assert_int_eq(RLStreamGroupAdd(group, spies[1].stream), 2);
    ck_assert_int_eq(write_text("z", NULL), 2);
    assert_taken("", "z", "z");
    RLStreamClose(spies[2].stream);
    ck_assert_int_eq(RLStreamGroupAdd(group, spies[2].stream), 0);
    ck_assert_int_eq(errno, EBADF);
    RLRelease(other);
    end_members();
}
END_TEST

/* Nothing but a group knows them: it does not keep them. */
START_TEST(streams_that_are_freed_leave)
{
    struct lifetime life = {0};
    RLStreamContext context = {0, &life, lifetime_retain, lifetime_release, NULL};
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    make_members();
    RLStreamRef stream = RLStreamCreate(NULL, ends[0], 1, spy_callback, &context);
    ck_assert_int_eq(RLStreamGroupAdd(group, stream), 4);
    RLRelease(stream);
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_eq(RLStreamGroupGetCount(group), 3);
    ck_assert(has_ended(ends[1]));
    ck_assert_int_eq(write_text("x", NULL), 3);
    close(ends[1]);
    end_members();
}
END_TEST

/* The program has no reference, and no member retains it as its info. */
START_TEST(members_keep_their_group)
{
    make_members();
    RLRelease(group);
    ck_assert_int_eq(write_text("x", NULL), 3);
    ck_assert(RLStreamGroupRemove(group, spies[1].stream));
    end_spy(&spies[0]);
    ck_assert_int_eq(RLStreamGroupGetCount(group), 1);
    RLRetain(group);
    end_members();
}
END_TEST

static void write_to_info(UNUSED RLStreamRef stream, UNUSED RLStreamResult result, UNUSED int error, void *info)
{
    ck_assert_int_eq(RLStreamGroupWrite(info, "x", 1, NULL), 0);
    note("flush");
}
static void leave_and_write(RLStreamRef stream, UNUSED const RLStreamEvent *event, void *info)
{
    require(RLStreamFlush(stream, write_to_info, info));
    RLStreamClose(stream);
    ck_assert_int_eq(RLStreamGroupGetCount(info), 0);
    note("callback");
}
static void count_at_end(const void *info)
{
    ck_assert_int_eq(RLStreamGroupGetCount((RLStreamGroupRef)info), 0);
    note("release");
}

/* The last member is closed: its functions may still use the group, which is their info. */
START_TEST(a_group_lives_until_its_members_are_freed)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    group = RLStreamGroupCreate(NULL);
    RLStreamContext context = {.info = group, .release = count_at_end};
    RLStreamRef stream = RLScheduleSource(RLStreamCreate(NULL, ends[0], 1, leave_and_write, &context));
    ck_assert_int_eq(RLStreamGroupAdd(group, stream), 1);
    RLRelease(group);
    send_text(ends[1], "x");
    run_passes();
    assert_notes("flush callback release");
    close(ends[1]);
}
END_TEST

START_TEST(what_cannot_be_written_is_skipped)
{
    make_members();
    RLStreamShutdown(spies[0].stream);
    close(peers[1]);
    peers[1] = -1;
    ck_assert(!RLStreamWrite(spies[1].stream, "x", 1) && errno == EPIPE);
    errno = 0;
    ck_assert_int_eq(write_text("x", NULL), 1);
    ck_assert_int_eq(errno, 0);
    ck_assert_int_eq(RLStreamGroupGetCount(group), 3); /* they are not closed */
    run_passes();
    assert_seen(&spies[1], "!EPIPEE");
    ck_assert_str_eq(take(peers[2]), "x");
    end_members();
}
END_TEST

/* One that fails by a write to all is told so as by its own. */
START_TEST(members_fail_one_by_one)
{
    make_members();
    close(peers[1]);
    peers[1] = -1;
    ck_assert_int_eq(write_text("x", NULL), 2);
    run_passes();
    assert_seen(&spies[1], "!EPIPEE");
    assert_seen(&spies[0], "");
    ck_assert_str_eq(take(peers[2]), "x");
    end_members();
}
END_TEST

static void close_and_tell(struct spy *spy, const RLStreamEvent *event)
{
    RLStreamClose(spy->stream);
    require(RLStreamGroupWrite(group, event->bytes, event->length, NULL) == 2);
    RLStreamClose(spies[2].stream);
    require(RLStreamGroupWrite(group, "two", 3, NULL) == 1);
}
START_TEST(they_are_closed_in_a_callback)
{
    make_members();
    spies[0].action = close_and_tell;
    send_text(peers[0], "one");
    run_passes();
    assert_taken("", "onetwo", "one");
    ck_assert_int_eq(RLStreamGroupGetCount(group), 1);
    end_members();
}
END_TEST

/* -- Slow members -------------------------------------------------------------------------------------------------- */

static void close_it(struct spy *spy, const RLStreamEvent *event)
{
    if (event->type == kRLStreamEventErrorOccurred)
        RLStreamClose(spy->stream);
}
START_TEST(a_slow_member_fails)
{
    make_members();
    small_buffers(RLStreamGetNativeDescriptor(spies[1].stream));
    RLStreamSetHighWaterMark(spies[1].stream, 1000);
    spies[1].action = close_it;
    size_t taken[2] = {0};
    int writes = 0;
    while (write_text("some twenty bytes…\n", NULL) == 3) {
        writes++;
        taken[0] += drain(peers[0]);
        taken[1] += drain(peers[2]);
        ck_assert_int_lt(RLStreamGetQueuedLength(spies[1].stream), 1000 + 21);
    }
    ck_assert_int_eq(RLStreamGetQueuedLength(spies[1].stream), 0); /* has failed: nothing is kept */
    ck_assert_int_eq(RLStreamGroupGetCount(group), 3);
    assert_seen(&spies[1], ""); /* its loop tells it */
    run_passes();
    assert_seen(&spies[1], "!ENOBUFS");
    ck_assert_int_eq(spies[1].result, kRLStreamFailed);
    ck_assert_int_eq(RLStreamGroupGetCount(group), 2);
    ck_assert_uint_eq(taken[0] + drain(peers[0]), (size_t)(writes + 1) * 21);
    ck_assert_uint_eq(taken[1] + drain(peers[2]), (size_t)(writes + 1) * 21);
    end_members();
}
END_TEST

/* However long it is: what counts is what waited before. */
START_TEST(one_long_write_makes_no_member_slow)
{
    static char text[5000000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = pattern_at(i);
    make_members();
    ck_assert_int_eq(RLStreamGroupWrite(group, text, sizeof text, NULL), 3);
    memset(text, 0, sizeof text); /* it is copied */
    for (int i = 0; i < count; i++) {
        ck_assert_int_gt(RLStreamGetQueuedLength(spies[i].stream), 1000000);
        for (size_t heard = 0; heard < sizeof text; run_passes())
            heard = check_pattern(peers[i], heard, 5000);
        ck_assert_int_eq(RLStreamGetQueuedLength(spies[i].stream), 0);
        assert_seen(&spies[i], "");
    }
    end_members();
}
END_TEST

/* Short and long pieces, part of which has to wait: they stay in order. */
START_TEST(pieces_of_all_lengths)
{
    static char text[400000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = pattern_at(i);
    make_members();
    size_t said = 0, heard[count] = {0};
    for (int i = 0; i < count; i++) {
        small_buffers(RLStreamGetNativeDescriptor(spies[i].stream));
        RLStreamSetHighWaterMark(spies[i].stream, sizeof text);
    }
    for (size_t length = 1; said < sizeof text; length = length * 7 % 4093) {
        size_t piece = length < sizeof text - said ? length : sizeof text - said;
        ck_assert_int_eq(RLStreamGroupWrite(group, text + said, (RLIndex)piece, NULL), 3);
        said += piece;
        heard[1] = check_pattern(peers[1], heard[1], 2000);
    }
    for (int i = 0; i < count; i++) {
        for (; heard[i] < said; run_passes())
            heard[i] = check_pattern(peers[i], heard[i], 5000);
        assert_seen(&spies[i], "");
    }
    end_members();
}
END_TEST

/* All members together hold one copy. (With a sanitizer there is nothing to be seen.) */
START_TEST(long_bytes_are_copied_once)
{
    enum { many = 100, length = 1000000 };
    static RLStreamRef streams[many];
    static int others[many];
    uint8_t *bytes = calloc(1, length);
    group = RLStreamGroupCreate(NULL);
    for (int i = 0; i < many; i++) {
        int ends[2];
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        streams[i] = add(RLStreamCreate(NULL, ends[0], 1, NULL, NULL));
        others[i] = ends[1];
        RLStreamGroupAdd(group, streams[i]);
    }
    struct mallinfo2 before = mallinfo2();
    ck_assert_int_eq(RLStreamGroupWrite(group, bytes, length, NULL), many);
    struct mallinfo2 after = mallinfo2();
    ck_assert_uint_lt(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + 2 * length);
    free(bytes);
    for (int i = 0; i < many; i++) {
        ck_assert_int_gt(RLStreamGetQueuedLength(streams[i]), length / 2);
        RLStreamClose(streams[i]);
        RLRelease(streams[i]);
        close(others[i]);
    }
    after = mallinfo2();
    ck_assert_uint_lt(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + length);
    RLRelease(group);
}
END_TEST

/* -- Filters ------------------------------------------------------------------------------------------------------- */

static void write_again(RLStreamRef stream, const uint8_t *bytes, RLIndex length, UNUSED void *info)
{
    errno = 0;
    require(RLStreamGroupWrite(group, bytes, length, NULL) == 0 && errno == EDEADLK);
    framer_write(stream, bytes, length, NULL);
}
START_TEST(members_with_filters)
{
    struct framer framers[2] = {{0}};
    RLStreamFilter again = {0, &framers[1], NULL, framer_start, framer_receive, write_again, framer_shutdown};
    make_members();
    ck_assert(set_framer(spies[0].stream, &framers[0]));
    ck_assert(RLStreamSetFilter(spies[1].stream, &again));
    ck_assert_int_eq(write_text("a", spies[1].stream), 2); /* waits for the filter */
    assert_taken("HI", "HI", "a");
    send_text(peers[0], "HI");
    send_text(peers[1], "HI");
    run_passes();
    ck_assert_int_eq(write_text("b", NULL), 3);
    assert_taken("\x01\x9e\x01\x9d", "\x01\x9d", "b");
    end_members();
}
END_TEST

/* -- Mistakes ------------------------------------------------------------------------------------------------------ */

static RLRunLoopSourceRef plain;
static void add_to_stream(void) { ck_assert_int_eq(RLStreamGroupAdd(spies[0].stream, spies[1].stream), 0); }
static void add_source(void) { ck_assert_int_eq(RLStreamGroupAdd(group, plain), 0); }
static void add_null(void) { ck_assert_int_eq(RLStreamGroupAdd(group, NULL), 0); }
static void remove_null(void) { ck_assert(!RLStreamGroupRemove(group, NULL)); }
static void count_null(void) { ck_assert_int_eq(RLStreamGroupGetCount(NULL), 0); }
static void write_to_source(void) { ck_assert_int_eq(RLStreamGroupWrite(plain, "x", 1, NULL), 0); }
static void write_no_bytes(void) { ck_assert_int_eq(RLStreamGroupWrite(group, NULL, 1, NULL), 0); }
static void write_negative(void) { ck_assert_int_eq(RLStreamGroupWrite(group, "x", -1, NULL), 0); }

START_TEST(mistakes_are_reported)
{
    make_members();
    plain = make_source(0, do_nothing, NULL);
    assert_reports(add_to_stream, "runloop: RLStreamGroupAdd: group: expected RLStreamGroup, got RLStream");
    assert_reports(add_source, "runloop: RLStreamGroupAdd: stream: expected RLStream, got another source");
    assert_reports(add_null, "runloop: RLStreamGroupAdd: stream: expected RLStream, got NULL");
    assert_reports(remove_null, "runloop: RLStreamGroupRemove: stream: expected RLStream, got NULL");
    assert_reports(count_null, "runloop: RLStreamGroupGetCount: group: expected RLStreamGroup, got NULL");
    assert_reports(write_to_source, "runloop: RLStreamGroupWrite: group: expected RLStreamGroup, got another source");
    assert_reports(write_no_bytes, "runloop: RLStreamGroupWrite: bytes: expected bytes, got NULL");
    assert_reports(write_negative, "runloop: RLStreamGroupWrite: length: negative");
    RLStringRef text = RLCopyDescription(group);
    ck_assert_ptr_nonnull(strstr(RLStringGetCStringPtr(text, kRLStringEncodingUTF8), "RLStreamGroup"));
    RLRelease(text);
    ck_assert_int_eq(write_text("x", NULL), 3); /* none has done harm */
    drop_source(plain);
    end_members();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream group");
    TCase *all = add_case(suite, "stream group", 30);
    tcase_add_test(all, all_members_receive_it);
    tcase_add_test(all, streams_join_and_leave);
    tcase_add_test(all, streams_that_are_freed_leave);
    tcase_add_test(all, members_keep_their_group);
    tcase_add_test(all, a_group_lives_until_its_members_are_freed);
    tcase_add_test(all, what_cannot_be_written_is_skipped);
    tcase_add_test(all, members_fail_one_by_one);
    tcase_add_test(all, they_are_closed_in_a_callback);
    tcase_add_test(all, a_slow_member_fails);
    tcase_add_test(all, one_long_write_makes_no_member_slow);
    tcase_add_test(all, pieces_of_all_lengths);
    tcase_add_test(all, long_bytes_are_copied_once);
    tcase_add_test(all, members_with_filters);
    tcase_add_test(all, mistakes_are_reported);
    return suite;
}
