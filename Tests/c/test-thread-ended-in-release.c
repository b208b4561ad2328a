/* Checks pthread_exit() in the invalidation callback of a port whose last reference is being released: the port is freed. */
#include "message-port.h"

static RLMessagePortRef remote;
static RLDataRef payload;

static RLDataRef take_over(RLMessagePortRef local, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    *(RLMessagePortRequestRef *)info = RLMessagePortCopyRequest(local);
    return NULL;
}

static void end_thread(UNUSED RLMessagePortRef port, UNUSED void *info) { pthread_exit(NULL); }

/* A thread without a loop. */
static void *release_remote(UNUSED void *info)
{
    RLRelease(remote);
    return NULL;
}

static void ignore_reply(UNUSED RLMessagePortRef port, UNUSED int32_t result, UNUSED RLDataRef reply, UNUSED void *info)
{
}

/* The request keeps the port until the thread's loop is torn down. */
static void *leave_port_to_request(UNUSED void *info)
{
    ck_assert_int_eq(RLMessagePortSendRequestAsync(remote, 1, payload, 60, 60, MODE, ignore_reply, NULL),
                     kRLMessagePortSuccess);
    RLRelease(remote);
    return NULL;
}

static void *(*const bodies[])(void *) = {release_remote, leave_port_to_request};
enum { BODIES = sizeof bodies / sizeof *bodies };

/* The port retains its name, which shows whether it was freed. */
START_TEST(a_port_is_freed_although_its_invalidation_callback_ends_the_thread)
{
    struct server server;
    RLMessagePortRequestRef taken = NULL;
    RLStringRef name = RLStringCreateWithCString(NULL, "com.example.released", kRLStringEncodingUTF8);
    use_own_directory();
    payload = text_data("payload");
    serve(&server, name, take_over, &taken);
    for (int round = 0; round < 3; round++) {
        RLIndex retained = RLGetRetainCount(name);
        remote = RLMessagePortCreateRemote(NULL, name);
        ck_assert_int_eq(RLGetRetainCount(name), retained + 1);
        RLMessagePortSetInvalidationCallBack(remote, end_thread);
        join_thread(start_thread(bodies[_i], NULL));
        RLRunLoopRunInMode(MODE, 0, false);
        if (taken)
            RLRelease(taken);
        taken = NULL;
        ck_assert_int_eq(RLGetRetainCount(name), retained);
    }
    ck_assert_int_eq(RLGetRetainCount(payload), 1);
    end_server(&server);
    RLRelease(payload);
    RLRelease(name);
    remove_own_directory();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread-ended-in-release");
    TCase *tcase = add_case(suite, "ended", 60);
    tcase_add_loop_test(tcase, a_port_is_freed_although_its_invalidation_callback_ends_the_thread, 0, BODIES);
    return suite;
}
