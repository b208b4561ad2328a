/* The kit when memory runs out on a thread that has no loop yet: an object needs one, and is not created without it. */
#include "memory.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int listening, connected[2];

static void caught(UNUSED RLSignalRef signal, UNUSED const RLSignalInfo *information, UNUSED void *info) {}
static void ended(UNUSED RLChildRef child, UNUSED const RLChildStatus *status, UNUSED void *info) {}
static void work(UNUSED RLWorkRef object, UNUSED void *info) {}
static void resolved(UNUSED RLHostResolveRef resolve, UNUSED RLArrayRef addresses, UNUSED int error, UNUSED void *info)
{
}
static void changed(UNUSED RLFileWatchRef watch, UNUSED RLIndex count, UNUSED const RLFileWatchEvent *events,
                    UNUSED void *info)
{
}
static void accepted(UNUSED RLListenerRef listener, UNUSED int descriptor, UNUSED void *info) {}
static void streamed(UNUSED RLStreamRef stream, UNUSED const RLStreamEvent *event, UNUSED void *info) {}

static void *create(int which)
{
    RLSignalContext for_signal = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLChildContext for_child = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLWorkContext for_work = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLFileWatchContext for_watch = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLListenerContext for_listener = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLStreamContext for_stream = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    const char *const arguments[] = {"true", NULL}, *const paths[] = {"/", NULL};
    RLChildSpawnOptions options = {.program = "/bin/true", .arguments = arguments, .output = kRLChildPipe};
    switch (which) {
    case 0:
        return (void *)RLSignalCreate(NULL, SIGUSR1, 0, caught, &for_signal);
    case 1:
        return (void *)RLChildCreateBySpawning(NULL, &options, ended, &for_child);
    case 2:
        return (void *)RLWorkCreate(NULL, 0, work, NULL, &for_work);
    case 3:
        return (void *)RLHostResolveCreate(NULL, "host", NULL, NULL, 1, resolved, &for_work);
    case 4:
        return (void *)RLFileWatchCreate(NULL, paths, 0, kRLFileWatchNotRecursive, changed, &for_watch);
    case 5:
        return (void *)RLListenerCreate(NULL, listening, 0, accepted, &for_listener);
    case 6:
        return (void *)RLStreamCreate(NULL, connected[0], 0, streamed, &for_stream);
    default:
        return (void *)RLWorkersCreate(NULL, 1);
    }
}

static void *create_on_thread(void *which)
{
    armed = true;
    void *created = MADE(create((int)(intptr_t)which));
    armed = false;
    if (created != NULL)
        RLRelease(created);
    return created;
}

START_TEST(without_memory_for_its_loop_a_thread_creates_nothing_and_leaks_nothing)
{
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(bind(listening, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)) == 0); /* any free name */
    require(listen(listening, 1) == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connected) == 0);
    int before = open_descriptors();
    bool has_failed = true;
    for (fail_at = 1; has_failed; fail_at++) {
        void *created;
        int failed_before = failures;
        allocations = 0;
        require(pthread_join(start_thread(create_on_thread, (void *)(intptr_t)_i), &created) == 0);
        has_failed = failures > failed_before;
        ck_assert(has_failed || created != NULL);
        ck_assert_msg(lifetime_held(&life) == 0, "allocation %ld", fail_at);
        ck_assert_int_eq(open_descriptors(), before);
    }
    ck_assert_int_gt(fail_at, THREAD_SANITIZED ? 0 : 5);
    close_pipe(connected);
    close(listening);
    while (waitpid(-1, NULL, 0) > 0) {}
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("memory threads");
    TCase *all = add_case(suite, "memory threads", 30);
    tcase_add_loop_test(all, without_memory_for_its_loop_a_thread_creates_nothing_and_leaks_nothing, 0, 8);
    return suite;
}
