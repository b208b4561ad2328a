/* Descriptors that are closed before their object is invalidated, and whose numbers mean other files by then: the mistake
 * is reported once, and who comes with the new file is not disturbed. */
#include "descriptor.h"

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;
static int ends[2], later[2]; /* of the old connection and of the new one */

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    make_pair(ends, SOCK_STREAM);
    make_pair(later, SOCK_STREAM);
}

static void tear_down(void)
{
    drop_source(keeper);
    close_pipe(ends);
    close_pipe(later);
}

/* The number of ends[0] means the new file from now on. */
static void reuse_number(void)
{
    close(ends[0]);
    require(dup3(later[0], ends[0], O_CLOEXEC) == ends[0]);
}

/* -- Sockets -- */

static struct lifetime life;

static RLSocketRef make_old(RLOptionFlags types)
{
    RLSocketContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    life = (struct lifetime){0};
    RLSocketRef s = RLSocketCreateWithNative(NULL, ends[0], types, NULL, &context);
    require(s != NULL);
    return s;
}

/* What the old socket went through before its descriptor was closed. */
enum past { UNUSED_YET, ADDED, LOOKED_AT, DISABLED, REMOVED, RELEASED, PASTS };

START_TEST(a_socket_on_a_number_that_was_closed_is_a_new_one)
{
    enum past past = (enum past)_i;
    struct sock new = {.name = "n"};
    RLSocketRef old = make_old(kRLSocketReadCallBack | kRLSocketWriteCallBack);
    RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(NULL, old, 0);
    if (past >= ADDED)
        RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    if (past >= LOOKED_AT)
        while (poll_once()) {}
    if (past == DISABLED)
        RLSocketDisableCallBacks(old, kRLSocketReadCallBack | kRLSocketWriteCallBack);
    if (past >= REMOVED)
        RLRunLoopRemoveSource(rl, source, kRLRunLoopDefaultMode);
    if (past == RELEASED) { /* without invalidating: the descriptor keeps the object alive */
        RLRelease(source);
        RLRelease(old);
    }
    reuse_number();
    sock_open(&new, ends[0], kRLSocketDataCallBack);
    assert_misuse("RLSocketCreateWithNative", "socket",
                  "another socket had this descriptor, which was closed before that socket was invalidated");
    ck_assert_int_eq(lifetime_held(&life), 0);
    if (past != RELEASED) {
        ck_assert_ptr_ne(new.object, old);
        ck_assert(!RLSocketIsValid(old));
        RLSocketInvalidate(old);
        RLRelease(source);
        RLRelease(old);
    }
    ck_assert(is_open(ends[0]));
    ck_assert(!poll_once());
    put(later[1]);
    run_once();
    assert_notes("nd");
    ck_assert_int_eq(new.bytes, 1);
    sock_drop(&new);
    ck_assert(!is_open(ends[0]));
    ends[0] = -1;
}
END_TEST

START_TEST(a_socket_on_the_same_file_is_the_same)
{
    RLSocketRef old = make_old(kRLSocketReadCallBack);
    int copy = dup(ends[0]);
    for (int i = 0; i < 2; i++) {
        RLSocketRef same = RLSocketCreateWithNative(NULL, ends[0], kRLSocketWriteCallBack, NULL, NULL);
        ck_assert_ptr_eq(same, old);
        RLRelease(same);
        require(dup3(copy, ends[0], O_CLOEXEC) == ends[0]); /* closed and opened, but the same file */
    }
    RLSocketRef other = RLSocketCreateWithNative(NULL, copy, kRLSocketWriteCallBack, NULL, NULL);
    ck_assert_ptr_ne(other, old);
    RLSocketInvalidate(other);
    RLRelease(other);
    RLSocketInvalidate(old);
    RLRelease(old);
    ends[0] = -1;
}
END_TEST

/* The old file is a socket, the new one a pipe, and the other way round. */
START_TEST(the_new_file_may_be_of_another_kind)
{
    int pipe_ends[2];
    make_pipe(pipe_ends);
    RLSocketRef old = make_old(kRLSocketDataCallBack);
    close(ends[0]);
    require(dup3(pipe_ends[0], ends[0], O_CLOEXEC) == ends[0]);
    struct sock second = {.name = "p"};
    sock_open(&second, ends[0], kRLSocketDataCallBack);
    ck_assert_int_eq(take_diagnostics(), 1);
    put(pipe_ends[1]);
    run_once();
    assert_notes("pd");
    reuse_number();
    struct sock third = {.name = "s"};
    sock_open(&third, ends[0], kRLSocketDataCallBack);
    ck_assert_int_eq(take_diagnostics(), 1);
    put(later[1]);
    run_once();
    assert_notes("sd");
    sock_drop(&third);
    sock_drop(&second);
    RLRelease(old);
    close_pipe(pipe_ends);
    ends[0] = -1;
}
END_TEST

/* -- Descriptor objects and sources of version 1 -- */

START_TEST(a_descriptor_object_is_not_notified_of_the_next_file)
{
    struct port old = {.name = "old "}, new = {.name = "new "};
    port_open(&old, ends[0], READ);
    ck_assert(!poll_once()); /* what the loop has never waited for, it cannot miss */
    reuse_number();
    port_open(&new, ends[0], READ);
    ck_assert(!poll_once());
    poll_once();
    ck_assert_int_eq(take_diagnostics(), 1);
    put(later[1]);
    run_once();
    assert_notes("new r");
    RLFileDescriptorEnableCallBacks(old.object, READ | WRITE);
    ck_assert_int_le(passes_while_idle(), 4);
    RLFileDescriptorEnableCallBacks(new.object, WRITE);
    run_once();
    assert_notes("new w");
    port_drop(&old);
    RLFileDescriptorEnableCallBacks(new.object, READ);
    run_once();
    assert_notes("new r");
    port_drop(&new);
}
END_TEST

START_TEST(a_version_1_source_is_not_notified_of_the_next_file)
{
    struct watch old = {.name = "old", .reads = true}, new = {.name = "new", .reads = true}, newer = {.name = "newer"};
    watch_fd(&old, ends[0], 0);
    ck_assert(!poll_once());
    reuse_number();
    watch_fd(&new, ends[0], 0);
    ck_assert(!poll_once());
    poll_once();
    ck_assert_int_eq(take_diagnostics(), 1);
    watch_fd(&newer, ends[0], 0);
    put(later[1]);
    run_once();
    assert_notes("new");
    drop_source(old.source);
    put(later[1]);
    run_once();
    assert_notes("new");
    drop_source(new.source);
    put(later[1]);
    run_once();
    assert_notes("newer");
    drop_source(newer.source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("descriptor-reuse");
    TCase *tcase = add_case(suite, "reuse", 10);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, a_socket_on_a_number_that_was_closed_is_a_new_one, 0, PASTS);
    tcase_add_test(tcase, a_socket_on_the_same_file_is_the_same);
    tcase_add_test(tcase, the_new_file_may_be_of_another_kind);
    tcase_add_test(tcase, a_descriptor_object_is_not_notified_of_the_next_file);
    tcase_add_test(tcase, a_version_1_source_is_not_notified_of_the_next_file);
    return suite;
}
