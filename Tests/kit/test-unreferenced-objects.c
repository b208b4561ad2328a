/* Objects that do not keep a run going (RLRunLoopSourceSetKeepsModeRunning): the kit's internal sources and timers
 * do not, either. */
#include "stream.h"

static int calls;

static void on_signal(UNUSED RLSignalRef signal, UNUSED const RLSignalInfo *information, UNUSED void *info) { calls++; }
static void on_end(UNUSED RLChildRef child, UNUSED const RLChildStatus *status, UNUSED void *info) { calls++; }
static void on_addresses(UNUSED RLHostResolveRef resolve, UNUSED RLArrayRef addresses, UNUSED int error,
                         UNUSED void *info)
{
    calls++;
}
static void on_bytes(UNUSED RLStreamRef stream, UNUSED const RLStreamEvent *event, UNUSED void *info) { calls++; }
static void on_client(UNUSED RLListenerRef listener, int descriptor, UNUSED void *info)
{
    close(descriptor);
    calls++;
}
static void on_files(UNUSED RLFileWatchRef watch, UNUSED RLIndex count, UNUSED const RLFileWatchEvent *events,
                     UNUSED void *info)
{
    calls++;
}

static RLListenerRef listener;
static int peer;

static RLRunLoopSourceRef make_signal(void) { return RLSignalCreate(NULL, SIGUSR1, 0, on_signal, NULL); }
static RLRunLoopSourceRef make_child(void)
{
    static const char *const arguments[] = {"cat", NULL};
    RLChildSpawnOptions options = {
        .program = "cat", .arguments = arguments, .flags = kRLChildSearchPath, .input = kRLChildPipe};
    return RLChildCreateBySpawning(NULL, &options, on_end, NULL);
}
static RLRunLoopSourceRef make_resolve(void)
{
    return RLHostResolveCreate(NULL, "127.0.0.1", NULL, NULL, 1000, on_addresses, NULL);
}
static RLRunLoopSourceRef make_stream(void)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    peer = ends[1];
    RLStreamRef stream = RLStreamCreate(NULL, ends[0], 1, on_bytes, NULL);
    RLStreamSetIdleLimit(stream, 1000);
    return stream;
}
static RLRunLoopSourceRef make_listener(void)
{
    return RLListenerCreateWithHost(NULL, "127.0.0.1", NULL, on_client, NULL);
}
static RLRunLoopSourceRef make_connecting(void)
{
    listener = make_listener();
    char port[16];
    snprintf(port, sizeof port, "%d", RLListenerGetPort(listener));
    return RLStreamCreateConnectedToHost(NULL, "127.0.0.1", port, NULL, 1000, on_bytes, NULL);
}
static RLRunLoopSourceRef make_watch(void)
{
    const char *paths[] = {getenv("TMPDIR"), NULL};
    return RLFileWatchCreate(NULL, paths, 0, 0, on_files, NULL);
}

static void cause_signal(UNUSED RLRunLoopSourceRef object) { require(kill(getpid(), SIGUSR1) == 0); }
static void cause_end(RLRunLoopSourceRef object) { require(RLChildSendSignal(object, SIGKILL)); }
static void cause_cancel(RLRunLoopSourceRef object)
{
    RLWorkCancel(object);
    calls++; /* cancellation has no callback */
}
static void cause_bytes(UNUSED RLRunLoopSourceRef object) { send_text(peer, "x"); }
static void cause_client(RLRunLoopSourceRef object)
{
    RLDataRef address = RLListenerCopyAddress(object);
    peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(connect(peer, (const void *)RLDataGetBytePtr(address), (socklen_t)RLDataGetLength(address)) == 0);
    RLRelease(address);
}
static void cause_nothing(UNUSED RLRunLoopSourceRef object) {} /* it is being connected anyway */
static void cause_event(UNUSED RLRunLoopSourceRef object)
{
    char path[300];
    snprintf(path, sizeof path, "%s/file", getenv("TMPDIR"));
    int file = open(path, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
    require(file >= 0 && close(file) == 0 && unlink(path) == 0);
}

static const struct kind {
    RLRunLoopSourceRef (*make)(void);
    void (*cause)(RLRunLoopSourceRef object);
} kinds[] = {
    {make_signal, cause_signal}, {make_child, cause_end},       {make_resolve, cause_cancel},
    {make_stream, cause_bytes},  {make_listener, cause_client}, {make_connecting, cause_nothing},
    {make_watch, cause_event},
};
enum { kind_count = sizeof kinds / sizeof kinds[0] };

START_TEST(an_unreferenced_object_keeps_no_run_going)
{
    const struct kind *kind = &kinds[_i / 2];
    bool is_late = _i % 2;
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopSourceRef object = kind->make();
    ck_assert_ptr_nonnull(object);
    if (!is_late)
        RLRunLoopSourceSetKeepsModeRunning(object, 0);
    RLRunLoopAddSource(loop, object, kRLRunLoopDefaultMode);
    if (is_late) {
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunTimedOut);
        RLRunLoopSourceSetKeepsModeRunning(object, 0);
    }
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);

    /* The callback is called as usual while something else keeps the run going. */
    RLRunLoopSourceRef keeper = add(make_source(0, do_nothing, NULL));
    kind->cause(object);
    while (calls == 0)
        require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
    drop_source(keeper);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
    RLRunLoopSourceSetKeepsModeRunning(object, 1);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0),
                     RLRunLoopSourceIsValid(object) ? kRLRunLoopRunTimedOut : kRLRunLoopRunFinished);
    RLRunLoopSourceInvalidate(object);
    RLRelease(object);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
    if (listener != NULL)
        RLRelease(listener);
    if (peer > 0)
        close(peer);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("unreferenced");
    TCase *tcase = add_case(suite, "unreferenced", 30);
    tcase_add_loop_test(tcase, an_unreferenced_object_keeps_no_run_going, 0, 2 * kind_count);
    return suite;
}
