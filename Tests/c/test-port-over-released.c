/* Checks ports that a callback releases once more while their last reference is being released: this is reported, and the port is
 * freed only once. If the callback retains the port instead, the port stays alive. */
#include "message-port.h"

enum { PORT, LOCAL, REMOTE, KINDS };

static struct server server;
static RLTypeRef port;
static int calls;
static bool keeps;

static void release_again(void)
{
    calls++;
    if (keeps) {
        RLRetain(port);
        return;
    }
    RLRelease(RLRetain(port));
    ck_assert_int_eq(take_diagnostics(), 0);
    RLRelease(port);
    assert_misuse("RLRelease", "object", "released more often than retained");
}

static void port_ends(UNUSED RLPortRef own, UNUSED void *info) { release_again(); }
static void message_port_ends(UNUSED RLMessagePortRef own, UNUSED void *info) { release_again(); }
static void release_info(UNUSED const void *info) { release_again(); }

static void ignore_message(UNUSED RLPortRef own, UNUSED RLPortMessageRef message, UNUSED void *info) {}
static RLDataRef ignore_request(UNUSED RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data,
                                UNUSED void *info)
{
    return NULL;
}

/* Creates a port of this kind, with an invalidation callback or, if `by_context`, a release callback. */
static void make_port(int kind, bool by_context)
{
    RLPortContext context = {.release = by_context ? release_info : NULL};
    RLMessagePortContext local_context = {.release = by_context ? release_info : NULL};
    if (kind == PORT)
        port = RLPortCreate(NULL, ignore_message, &context, NULL);
    else if (kind == LOCAL)
        port = RLMessagePortCreateLocal(NULL, NULL, ignore_request, &local_context, NULL);
    else
        port = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_nonnull(port);
    if (by_context)
        return;
    if (kind == PORT)
        RLPortSetInvalidationCallBack((RLPortRef)port, port_ends);
    else
        RLMessagePortSetInvalidationCallBack((RLMessagePortRef)port, message_port_ends);
}

static void begin(void)
{
    use_own_directory();
    serve(&server, NAME, ignore_request, NULL);
}

static void end(void)
{
    end_server(&server);
    remove_own_directory();
}

/* Not under AddressSanitizer, which reports leaks itself, and accesses to freed memory as errors. */
static void assert_freed(void)
{
    if (SANITIZED)
        return;
    RLGetTypeID(port);
    assert_misuse("RLGetTypeID", "object", NULL);
}

START_TEST(one_release_too_many_in_an_invalidation_callback_is_reported)
{
    make_port(_i, false);
    RLRelease(port);
    ck_assert_int_eq(calls, 1);
    assert_freed();
}
END_TEST

START_TEST(one_release_too_many_in_the_release_of_the_info_is_reported)
{
    make_port(_i, true);
    RLRelease(port);
    ck_assert_int_eq(calls, 1);
    assert_freed();
}
END_TEST

START_TEST(a_port_that_its_invalidation_callback_retains_is_freed_later)
{
    make_port(_i, false);
    keeps = true;
    RLRelease(port);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(RLGetRetainCount(port), 1);
    RLRelease(port);
    ck_assert_int_eq(calls, 1);
    assert_freed();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("port-over-released");
    TCase *tcase = add_case(suite, "over-released", 20);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_loop_test(tcase, one_release_too_many_in_an_invalidation_callback_is_reported, 0, KINDS);
    tcase_add_loop_test(tcase, one_release_too_many_in_the_release_of_the_info_is_reported, 0, REMOTE);
    tcase_add_loop_test(tcase, a_port_that_its_invalidation_callback_retains_is_freed_later, 0, KINDS);
    return suite;
}
