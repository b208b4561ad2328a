/* One RLRelease() too many, while the library still has references of its own to an object: that is reported once, and nothing is used
 * after it was freed. What was released too often may stay allocated for ever. */
#include "over-release.h"
#include "stream.h"

static struct spy spy, other;
static int peer, other_peer;

/* Two streams that only their loop refers to, as after RLScheduleSource(). */
static void make_streams(void)
{
    IGNORE_LEAKS();
    peer = spy_on_pair(&spy);
    other_peer = spy_on_pair(&other);
    RLRelease(spy.stream);
    RLRelease(other.stream);
}

static void assert_closed(int fd)
{
    char byte;
    ck_assert_int_eq(read(fd, &byte, 1), 0);
    close(fd);
}

static void end_other(void)
{
    RLStreamClose(other.stream);
    assert_closed(other_peer);
}

static void close_it(UNUSED struct spy *e, UNUSED const RLStreamEvent *event)
{
    RLStreamClose(spy.stream);
    RLRunLoopSourceRef others[8]; /* these may reuse the memory of the handle */
    for (int i = 0; i < 8; i++)
        others[i] = make_source(0, do_nothing, NULL);
    for (int i = 0; i < 8; i++)
        drop_source(others[i]);
}
static void release_and_close_it(struct spy *e, const RLStreamEvent *event)
{
    RLRelease(spy.stream);
    close_it(e, event);
}
static void remove_it(UNUSED struct spy *e, UNUSED const RLStreamEvent *event)
{
    RLRunLoopRemoveSource(RLRunLoopGetCurrent(), spy.stream, kRLRunLoopDefaultMode);
}

START_TEST(a_stream_that_closes_itself)
{
    make_streams();
    RLRelease(spy.stream);
    spy.action = close_it;
    send_text(peer, "x");
    run_passes();
    assert_over_release();
    assert_closed(peer);
    end_other();
}
END_TEST

START_TEST(a_stream_that_is_released_in_its_callback)
{
    make_streams();
    spy.action = release_and_close_it;
    send_text(peer, "x");
    run_passes();
    assert_over_release();
    assert_closed(peer);
    end_other();
}
END_TEST

START_TEST(a_stream_that_leaves_its_loop_in_its_callback)
{
    make_streams();
    RLRelease(spy.stream);
    spy.action = remove_it;
    send_text(peer, "x");
    run_passes();
    assert_over_release();
    assert_closed(peer);
    end_other();
}
END_TEST

START_TEST(a_stream_that_leaves_its_loop)
{
    make_streams();
    RLRelease(spy.stream);
    remove_it(&spy, NULL);
    assert_over_release();
    assert_closed(peer);
    end_other();
}
END_TEST

START_TEST(a_stream_that_is_invalidated)
{
    make_streams();
    RLRelease(spy.stream);
    RLRunLoopSourceInvalidate(spy.stream);
    ck_assert_int_le(take_diagnostics(), 1);
    assert_closed(peer);
    end_other();
}
END_TEST

START_TEST(a_stream_that_is_released_twice_too_often)
{
    make_streams();
    RLRelease(spy.stream);
    RLRelease(spy.stream);
    assert_over_release();
    RLStreamClose(spy.stream);
    assert_over_release();
    assert_closed(peer);
    end_other();
}
END_TEST

START_TEST(the_target_of_a_forwarding)
{
    make_streams();
    ck_assert(RLStreamForward(other.stream, spy.stream));
    RLRelease(spy.stream);
    RLStreamClose(spy.stream);
    assert_over_release();
    assert_closed(peer);
    send_text(other_peer, "x");
    run_passes();
    assert_seen(&other, "(x)");
    end_other();
}
END_TEST

START_TEST(a_partner)
{
    make_streams();
    ck_assert(RLStreamForwardBoth(other.stream, spy.stream));
    send_text(other_peer, "x");
    run_passes();
    ck_assert_str_eq(take(peer), "x");
    RLRelease(spy.stream);
    RLStreamClose(other.stream);
    run_passes();
    ck_assert_int_eq(take_diagnostics(), 1);
    assert_closed(peer);
    assert_closed(other_peer);
}
END_TEST

START_TEST(a_group_with_members)
{
    make_streams();
    RLStreamGroupRef group = RLStreamGroupCreate(NULL);
    ck_assert_int_eq(RLStreamGroupAdd(group, spy.stream), 1);
    ck_assert_int_eq(RLStreamGroupAdd(group, other.stream), 2);
    for (int i = 0; i < 3; i++)
        RLRelease(group);
    assert_over_release();
    RLStreamClose(spy.stream);
    assert_closed(peer);
    end_other();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("over-release");
    TCase *all = add_case(suite, "over-release", 20);
    tcase_add_test(all, a_stream_that_closes_itself);
    tcase_add_test(all, a_stream_that_is_released_in_its_callback);
    tcase_add_test(all, a_stream_that_leaves_its_loop_in_its_callback);
    tcase_add_test(all, a_stream_that_leaves_its_loop);
    tcase_add_test(all, a_stream_that_is_invalidated);
    tcase_add_test(all, a_stream_that_is_released_twice_too_often);
    tcase_add_test(all, the_target_of_a_forwarding);
    tcase_add_test(all, a_partner);
    tcase_add_test(all, a_group_with_members);
    return suite;
}
