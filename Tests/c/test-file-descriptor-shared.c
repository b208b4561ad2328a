/* Checks several objects, sources and sockets on one descriptor: order, modes, nested runs, removal in callbacks, and descriptor
 * numbers that are reused. */
#include "descriptor.h"

static RLRunLoopRef rl;
static RLRunLoopSourceRef keeper;
static int ends[2];

static void set_up(void)
{
    rl = RLRunLoopGetCurrent();
    keeper = make_source(0, do_nothing, &keeper);
    RLRunLoopAddSource(rl, keeper, kRLRunLoopDefaultMode);
    make_pipe(ends);
}

static void tear_down(void)
{
    drop_source(keeper);
    close_pipe(ends);
}

static int by_name(const void *left, const void *right) { return *(const char *)left - *(const char *)right; }
/* Reduces each note to its first letter, which says who was called, and sorts the letters alphabetically. */
static void sort_notes(void)
{
    char sorted[64] = "";
    for (char *word = strtok(notes, " "); word; word = strtok(NULL, " "))
        strncat(sorted, word, 1);
    qsort(sorted, strlen(sorted), 1, by_name);
    strcpy(notes, sorted);
}

/* -- One descriptor -- */

START_TEST(two_descriptor_objects_on_one_descriptor_are_both_called)
{
    struct port a = {.name = "a"}, b = {.name = "b"};
    port_open(&a, ends[0], READ);
    port_open(&b, ends[0], READ);
    put(ends[1]);
    while (poll_once()) {}
    sort_notes();
    assert_notes("ab");
    RLFileDescriptorEnableCallBacks(b.object, READ);
    while (poll_once()) {}
    assert_notes("br");
    port_drop(&a);
    RLFileDescriptorEnableCallBacks(b.object, READ);
    while (poll_once()) {}
    assert_notes("br");
    port_drop(&b);
}
END_TEST

START_TEST(a_reader_and_a_writer_share_a_descriptor)
{
    int pair[2];
    struct port reader = {.name = "a"}, writer = {.name = "b"};
    make_pair(pair, SOCK_STREAM);
    port_open(&reader, pair[0], READ);
    port_open(&writer, pair[0], WRITE);
    while (poll_once()) {}
    assert_notes("bw");
    ck_assert_int_le(passes_while_idle(), 3);
    put(pair[1]);
    while (poll_once()) {}
    assert_notes("ar");
    ck_assert_int_le(passes_while_idle(), 3);
    port_drop(&reader);
    port_drop(&writer);
    close_pipe(pair);
}
END_TEST

START_TEST(a_descriptor_object_a_socket_and_a_source_share_a_descriptor)
{
    int pair[2];
    struct port object = {.name = "a"};
    struct sock socket = {.name = "b"};
    struct watch source = {.name = "c"};
    make_pair(pair, SOCK_STREAM);
    port_open(&object, pair[0], READ);
    sock_open(&socket, pair[0], kRLSocketReadCallBack);
    RLSocketSetSocketFlags(socket.object, 0); /* once, and it stays open */
    watch_fd(&source, pair[0], 0);
    put(pair[1]);
    for (int i = 0; i < 4; i++)
        poll_once();
    ck_assert_int_eq(object.calls, 1);
    ck_assert_int_eq(socket.calls, 1);
    ck_assert_int_ge(source.performed, 2);
    take(pair[0]);
    notes[0] = 0;
    ck_assert(!poll_once());
    drop_source(source.source);
    sock_drop(&socket);
    RLFileDescriptorEnableCallBacks(object.object, READ);
    put(pair[1]);
    ck_assert(poll_once());
    assert_notes("ar");
    port_drop(&object);
    close_pipe(pair);
}
END_TEST

/* No callback is enabled on a descriptor that is still watched, and then the peer hangs up. */
START_TEST(a_hang_up_without_enabled_callbacks_does_not_spin_the_loop)
{
    struct port idle = {.name = "a"}, busy = {.name = "b", .reads = true, .reenables = READ}, late = {.name = "c"};
    port_open(&idle, ends[0], READ);
    port_open(&busy, ends[0], READ);
    for (int i = 0; i < 3; i++) { /* `idle` is called for the first byte only */
        put(ends[1]);
        while (poll_once()) {}
    }
    port_drop(&busy);
    port_open(&late, ends[0], 0);
    close(ends[1]);
    ends[1] = -1;
    ck_assert_int_le(passes_while_idle(), 5);
    notes[0] = 0;
    RLFileDescriptorEnableCallBacks(late.object, READ);
    ck_assert(poll_once());
    assert_notes("cr");
    port_drop(&idle);
    port_drop(&late);
}
END_TEST

/* -- Order, modes, nested runs -- */

START_TEST(descriptor_objects_are_called_by_the_order_of_their_sources)
{
    struct port ports[5];
    int pipes[5][2];
    static const RLIndex orders[5] = {3, -1, 0, 9, -7};
    static const char *const names[5] = {"d", "b", "c", "e", "a"};
    for (int i = 0; i < 5; i++) {
        make_pipe(pipes[i]);
        put(pipes[i][1]);
        ports[i] = (struct port){.name = names[i]};
        port_make(&ports[i], pipes[i][0], true);
        port_add(&ports[i], rl, kRLRunLoopDefaultMode, orders[i]);
        RLFileDescriptorEnableCallBacks(ports[i].object, READ);
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0);
    assert_notes("ar br cr dr er");
    for (int i = 0; i < 5; i++) {
        port_drop(&ports[i]);
        close(pipes[i][1]);
    }
}
END_TEST

/* Only the orders of sources that are in the mode are compared. */
START_TEST(orders_of_sources_in_other_modes_are_ignored)
{
    struct port ports[3] = {{.name = "c"}, {.name = "a"}, {.name = "x"}};
    int other[2];
    make_pipe(other);
    put(ends[1]);
    put(other[1]);
    port_make(&ports[0], ends[0], false);
    port_make(&ports[1], other[0], true);
    port_make(&ports[2], ends[0], false);
    port_add(&ports[0], rl, kRLRunLoopDefaultMode, 5);
    port_add(&ports[1], rl, kRLRunLoopDefaultMode, 0);
    port_add(&ports[2], rl, RLSTR("other"), -5);
    for (int i = 0; i < 3; i++)
        RLFileDescriptorEnableCallBacks(ports[i].object, READ);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0);
    assert_notes("ar cr");
    for (int i = 0; i < 3; i++)
        port_drop(&ports[i]);
    close(other[1]);
}
END_TEST

START_TEST(a_descriptor_object_is_called_only_in_the_modes_of_its_source)
{
    struct port port = {.name = "a"};
    port_make(&port, ends[0], false);
    port_add(&port, rl, RLSTR("first"), 0);
    port_add(&port, rl, RLSTR("second"), 0);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    put(ends[1]);
    ck_assert(!poll_once());
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("first"), 1e9, 1), kRLRunLoopRunHandledSource);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("second"), 0.1, 1), kRLRunLoopRunTimedOut);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert_int_le(passes_while_idle(), 3);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("second"), 1e9, 1), kRLRunLoopRunHandledSource);
    RLRunLoopRemoveSource(rl, port.source, RLSTR("second"));
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("second"), 0, 1), kRLRunLoopRunFinished);
    RLRunLoopAddSource(rl, port.source, kRLRunLoopCommonModes);
    ck_assert(poll_once());
    port_drop(&port);
}
END_TEST

static void run_inner(struct port *port, UNUSED RLOptionFlags types)
{
    port->action = NULL;
    note("(");
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1); /* `port` is disabled: only the other one can be called */
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
    RLFileDescriptorEnableCallBacks(port->object, READ);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
    note(")");
}

START_TEST(a_nested_run_calls_other_objects_and_the_caller_if_reenabled)
{
    int other[2];
    struct port a = {.name = "a", .action = run_inner}, b = {.name = "b"};
    make_pipe(other);
    put(ends[1]);
    put(other[1]);
    port_make(&a, ends[0], false);
    port_add(&a, rl, kRLRunLoopDefaultMode, -1);
    RLFileDescriptorEnableCallBacks(a.object, READ);
    port_open(&b, other[0], READ);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0);
    assert_notes("ar ( br ar )");
    port_drop(&a);
    port_drop(&b);
    close_pipe(other);
}
END_TEST

/* -- What one callback does to another object that is ready, too -- */

static struct port victim;
static enum { removes, invalidates, source_invalidates, disables, replaces } what;
static int replacement[2];
static struct port successor = {.name = "successor "};

static void act_on_victim(UNUSED struct port *port, UNUSED RLOptionFlags types)
{
    switch (what) {
    case removes:
        RLRunLoopRemoveSource(rl, victim.source, kRLRunLoopDefaultMode);
        break;
    case invalidates:
        RLFileDescriptorInvalidate(victim.object);
        break;
    case source_invalidates:
        RLRunLoopSourceInvalidate(victim.source);
        break;
    case disables:
        RLFileDescriptorDisableCallBacks(victim.object, READ);
        break;
    case replaces:
        RLFileDescriptorInvalidate(victim.object); /* closes */
        make_pipe(replacement);
        if (replacement[0] != victim.fd) {
            require(dup2(replacement[0], victim.fd) == victim.fd);
            close(replacement[0]);
        }
        port_open(&successor, victim.fd, READ);
        break;
    }
}

START_TEST(an_item_invalidated_in_the_same_batch_is_not_called)
{
    int other[2];
    struct port first = {.name = "first ", .action = act_on_victim};
    what = (int)_i;
    victim = (struct port){.name = "victim "};
    make_pipe(other);
    put(ends[1]);
    put(other[1]);
    port_make(&first, ends[0], false);
    port_add(&first, rl, kRLRunLoopDefaultMode, -1);
    RLFileDescriptorEnableCallBacks(first.object, READ);
    port_make(&victim, other[0], true);
    port_add(&victim, rl, kRLRunLoopDefaultMode, 0);
    RLFileDescriptorEnableCallBacks(victim.object, READ);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0);
    assert_notes("first r");
    ck_assert_int_le(passes_while_idle(), 3);
    if (what == replaces) {
        put(replacement[1]);
        run_once();
        assert_notes("successor r");
        RLFileDescriptorInvalidate(successor.object);
        RLRelease(successor.object);
        close(victim.fd);
        close(replacement[1]);
    }
    port_drop(&first);
    port_drop(&victim);
    close(other[1]);
}
END_TEST

/* -- A descriptor that is closed while its object is valid -- */

START_TEST(closing_before_invalidation_is_reported_once)
{
    int fd = dup(ends[0]);
    struct port port = {.name = "a"};
    port_open(&port, fd, 0);
    ck_assert(!poll_once());
    close(fd);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert_int_le(passes_while_idle(), 3);
    poll_once();
    assert_misuse("RLRunLoop", "source", NULL);
    RLFileDescriptorEnableCallBacks(port.object, READ | WRITE);
    ck_assert_int_le(passes_while_idle(), 3);
    poll_once();
    ck_assert_int_eq(take_diagnostics(), 0);
    ck_assert_int_eq(port.calls, 0);
    port_drop(&port);
}
END_TEST

/* A descriptor that is open only as a path, and therefore cannot be polled. */
START_TEST(a_descriptor_that_cannot_be_polled_is_reported_once)
{
    struct port port = {.name = "a"};
    int fd = open("/", O_PATH | O_CLOEXEC);
    port_open(&port, fd, READ);
    ck_assert_int_le(passes_while_idle(), 3);
    poll_once();
    char line[128];
    snprintf(line, sizeof line,
             "its descriptor %d can no longer be watched; it may have been closed before the source was invalidated",
             fd);
    assert_misuse("RLRunLoop", "source", line);
    ck_assert_int_eq(port.calls, 0);
    port_drop(&port);
}
END_TEST

START_TEST(a_descriptor_number_found_closed_is_watched_again_for_a_new_object)
{
    int fd = dup(ends[0]);
    struct port old = {.name = "old "}, new = {.name = "new "};
    port_open(&old, fd, 0);
    ck_assert(!poll_once());
    close(fd);
    RLFileDescriptorEnableCallBacks(old.object, READ);
    for (int i = 0; i < 2; i++)
        poll_once();
    ck_assert_int_eq(take_diagnostics(), 1);
    ck_assert_int_eq(dup2(ends[0], fd), fd);
    port_open(&new, fd, READ);
    put(ends[1]);
    while (poll_once()) {}
    ck_assert_int_eq(new.calls, 1);
    port_drop(&old);
    port_drop(&new);
    close(fd);
}
END_TEST

START_TEST(a_pipe_that_reuses_the_number_of_a_file_is_not_always_ready)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct port old = {.name = "old "}, new = {.name = "new "};
    port_open(&old, fd, READ);
    ck_assert(poll_once());
    ck_assert_int_eq(dup2(ends[0], fd), fd); /* misuse, as `old` is still valid: the library copes with it */
    port_open(&new, fd, READ);
    ck_assert(!poll_once());
    put(ends[1]);
    ck_assert(poll_once());
    assert_notes("old r new r");
    port_drop(&old);
    port_drop(&new);
    close(fd);
}
END_TEST

START_TEST(closing_before_invalidation_with_an_open_duplicate_does_not_spin)
{
    int fd = dup(ends[0]);
    struct port port = {.name = "a"}, idle = {.name = "b"};
    int other[2];
    make_pipe(other);
    port_open(&port, fd, READ);
    port_open(&idle, other[0], READ);
    ck_assert(!poll_once());
    close(fd); /* ends[0] stays open */
    put(ends[1]);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0);
    ck_assert_int_le(port.calls, 1); /* epoll may still report the file */
    ck_assert_int_le(passes_while_idle(), 8);
    RLFileDescriptorEnableCallBacks(port.object, READ);
    ck_assert_int_le(passes_while_idle(), 8);
    ck_assert_int_le(port.calls, 1);
    poll_once();
    ck_assert_int_eq(take_diagnostics(), 1);
    port_drop(&port);
    ck_assert_int_le(passes_while_idle(), 8);
    put(other[1]);
    ck_assert(poll_once());
    port_drop(&idle);
    close_pipe(other);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("file-descriptor-shared");
    TCase *tcase = add_case(suite, "shared", 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, two_descriptor_objects_on_one_descriptor_are_both_called);
    tcase_add_test(tcase, a_reader_and_a_writer_share_a_descriptor);
    tcase_add_test(tcase, a_descriptor_object_a_socket_and_a_source_share_a_descriptor);
    tcase_add_test(tcase, a_hang_up_without_enabled_callbacks_does_not_spin_the_loop);
    tcase_add_test(tcase, descriptor_objects_are_called_by_the_order_of_their_sources);
    tcase_add_test(tcase, orders_of_sources_in_other_modes_are_ignored);
    tcase_add_test(tcase, a_descriptor_object_is_called_only_in_the_modes_of_its_source);
    tcase_add_test(tcase, a_nested_run_calls_other_objects_and_the_caller_if_reenabled);
    tcase_add_loop_test(tcase, an_item_invalidated_in_the_same_batch_is_not_called, removes, replaces + 1);
    tcase_add_test(tcase, closing_before_invalidation_is_reported_once);
    tcase_add_test(tcase, a_descriptor_that_cannot_be_polled_is_reported_once);
    tcase_add_test(tcase, a_descriptor_number_found_closed_is_watched_again_for_a_new_object);
    tcase_add_test(tcase, a_pipe_that_reuses_the_number_of_a_file_is_not_always_ready);
    tcase_add_test(tcase, closing_before_invalidation_with_an_open_duplicate_does_not_spin);
    return suite;
}
