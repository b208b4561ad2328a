/* A thread exits in a callback of the kit: nothing is leaked, and nothing is called again. */
#include "kit.h"

#include <signal.h>
#include <sys/socket.h>

static struct lifetime life;
static atomic_int calls;
static RLWorkersRef workers;

static void end_thread(void)
{
    calls++;
    pthread_exit(NULL);
}
static void in_signal(UNUSED RLSignalRef signal, UNUSED const RLSignalInfo *information, UNUSED void *info)
{
    end_thread();
}
static void in_child(UNUSED RLChildRef child, UNUSED const RLChildStatus *status, UNUSED void *info) { end_thread(); }
static void in_work(UNUSED RLWorkRef work, UNUSED void *info) { end_thread(); }
static void in_resolve(UNUSED RLHostResolveRef resolve, UNUSED RLArrayRef addresses, UNUSED int error,
                       UNUSED void *info)
{
    end_thread();
}
static void in_stream(UNUSED RLStreamRef stream, UNUSED const RLStreamEvent *event, UNUSED void *info) { end_thread(); }
static void in_flush(UNUSED RLStreamRef stream, UNUSED RLStreamResult result, UNUSED int error, UNUSED void *info)
{
    end_thread();
}
static void work_on(UNUSED RLWorkRef work, UNUSED void *info) {}

static RLSignalContext signal_context = {0, &life, lifetime_retain, lifetime_release, NULL};
static RLChildContext child_context = {0, &life, lifetime_retain, lifetime_release, NULL};
static RLWorkContext work_context = {0, &life, lifetime_retain, lifetime_release, NULL};

static RLRunLoopSourceRef watch_signal(void)
{
    RLSignalRef signal = add(RLSignalCreate(NULL, SIGUSR1, 0, in_signal, &signal_context));
    require(kill(getpid(), SIGUSR1) == 0);
    return signal;
}

static RLRunLoopSourceRef watch_child(void)
{
    static const char *const arguments[] = {"true", NULL};
    RLChildSpawnOptions options = {.program = "/bin/true", .arguments = arguments, .output = kRLChildPipe};
    return add(RLChildCreateBySpawning(NULL, &options, in_child, &child_context));
}

static RLRunLoopSourceRef watch_work(void)
{
    RLWorkRef work = add(RLWorkCreate(NULL, 0, work_on, in_work, &work_context));
    require(RLWorkersSubmit(workers, work));
    return work;
}

static RLRunLoopSourceRef resolve(const char *host, double timeout)
{
    RLHostResolveRef resolve = add(RLHostResolveCreate(NULL, host, NULL, NULL, timeout, in_resolve, &work_context));
    require(timeout <= 0 || RLWorkersSubmit(workers, resolve));
    return resolve;
}
static RLRunLoopSourceRef watch_addresses(void) { return resolve("127.0.0.1", 100); }
static RLRunLoopSourceRef watch_time(void) { return resolve("127.0.0.1", 0); }

static int peer_end = -1;
static RLStreamContext stream_context = {0, &life, lifetime_retain, lifetime_release, NULL};
static RLRunLoopSourceRef watch_stream(const char *text)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    RLStreamRef stream = add(RLStreamCreate(NULL, pair[0], 1, in_stream, &stream_context));
    require(write(pair[1], text, strlen(text)) == (ssize_t)strlen(text));
    if (text[0] == 0)
        require(RLStreamFlush(stream, in_flush, NULL));
    peer_end = pair[1];
    return stream;
}
static RLRunLoopSourceRef watch_reading(void) { return watch_stream("x"); }
static RLRunLoopSourceRef watch_flushing(void) { return watch_stream(""); }

static void in_listener(UNUSED RLListenerRef listener, int descriptor, UNUSED void *info)
{
    close(descriptor);
    end_thread();
}
static RLRunLoopSourceRef connect_to(RLListenerRef listener)
{
    RLDataRef address = RLListenerCopyAddress(listener);
    peer_end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(connect(peer_end, (const void *)RLDataGetBytePtr(address), (socklen_t)RLDataGetLength(address)) == 0);
    RLRelease(address);
    return listener;
}

static RLRunLoopSourceRef watch_connections(void)
{
    RLListenerContext context = {0, &life, lifetime_retain, lifetime_release, NULL};
    return connect_to(add(RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, in_listener, &context)));
}

static void in_server(UNUSED RLListenerRef server, UNUSED RLStreamRef stream, UNUSED void *info) { end_thread(); }
static RLRunLoopSourceRef watch_server(void)
{
    return connect_to(add(RLServerCreateWithHost(NULL, "127.0.0.1", NULL, in_server, in_stream, &stream_context)));
}

static RLRunLoopSourceRef (*const watches[])(void) = {watch_signal,    watch_child,       watch_work,
                                                      watch_addresses, watch_time,        watch_reading,
                                                      watch_flushing,  watch_connections, watch_server};

static RLRunLoopSourceRef object;
static void *run_loop(void *number)
{
    object = watches[(intptr_t)number]();
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0);
    require(false);
    return NULL;
}

START_TEST(a_callback_that_ends_the_thread_leaks_nothing)
{
    workers = RLWorkersCreate(NULL, 1);
    int before = open_descriptors();
    for (int round = 1; round <= 3; round++) {
        join_thread(start_thread(run_loop, (void *)(intptr_t)_i));
        ck_assert_int_eq(calls, round);
        add(object); /* a signal object is still valid, the others are not */
        run_passes();
        ck_assert_int_eq(calls, round);
        drop_source(object);
        if (peer_end >= 0)
            close(peer_end);
        await_count(&life.releases, life.retains); /* a worker may hold the last reference */
    }
    RLRelease(workers);
    ck_assert_int_le(open_descriptors(), before + (peer_end >= 0 ? 2 : 0)); /* a stream is also watched by this loop */
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("thread ends");
    TCase *all = add_case(suite, "thread ends", 30);
    tcase_add_loop_test(all, a_callback_that_ends_the_thread_leaks_nothing, 0, (int)(sizeof watches / sizeof *watches));
    return suite;
}
