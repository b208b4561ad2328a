/* The kit when memory runs out: each allocation fails in turn, alone or with all that follow. Whatever cannot be
 * created is NULL with ENOMEM, nothing is leaked, and everything works once there is memory again. */
#include "memory.h"

#include <netdb.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int calls;

/* -- Uses of the kit -- */

static void caught(UNUSED RLSignalRef signal, UNUSED const RLSignalInfo *information, UNUSED void *info) { calls++; }

static bool use_signal(void)
{
    RLSignalContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLSignalRef signals[2] = {MADE(RLSignalCreate(NULL, SIGUSR1, 0, caught, &context)),
                              MADE(RLSignalCreate(NULL, SIGUSR1, 0, caught, &context))};
    int expected = 0;
    calls = 0;
    for (int i = 0; i < 2; i++) {
        if (signals[i] == NULL)
            continue;
        RLRunLoopAddSource(RLRunLoopGetCurrent(), signals[i], kRLRunLoopDefaultMode);
        expected += RLRunLoopContainsSource(RLRunLoopGetCurrent(), signals[i], kRLRunLoopDefaultMode);
    }
    armed = false; /* a run that finds no memory ends, and the next one continues: Tests/faults */
    if (expected > 0) {
        raise(SIGUSR1);
        run_passes();
    }
    for (int i = 0; i < 2; i++) {
        if (signals[i] != NULL)
            drop_source(signals[i]);
    }
    require(calls == expected);
    return expected == 2;
}

static void ended(UNUSED RLChildRef child, const RLChildStatus *status, UNUSED void *info)
{
    calls++;
    require(status->end == kRLChildExited && status->status == 0);
}

static bool use_child(void)
{
    static const char *const arguments[] = {"true", NULL};
    RLChildSpawnOptions options = {.program = "/bin/true", .arguments = arguments, .output = kRLChildPipe};
    RLChildContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLFileDescriptorContext pipe_context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    bool was_armed = armed;
    armed = false;
    int before = open_descriptors();
    armed = was_armed;
    RLChildRef spawned = MADE(RLChildCreateBySpawning(NULL, &options, ended, &context)), created = NULL;
    pid_t process = fork();
    if (process == 0)
        _exit(0);
    require(process > 0);
    created = MADE(RLChildCreate(NULL, process, ended, &context));
    RLFileDescriptorRef pipe = spawned == NULL ? NULL : MADE(RLChildCreatePipe(spawned, 1, NULL, &pipe_context));
    armed = false;
    calls = 0;
    if (spawned != NULL)
        RLRunLoopAddSource(RLRunLoopGetCurrent(), spawned, kRLRunLoopDefaultMode);
    if (created != NULL)
        RLRunLoopAddSource(RLRunLoopGetCurrent(), created, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0);
    require(calls == (spawned != NULL) + (created != NULL));
    if (created == NULL)
        require(waitpid(process, NULL, 0) == process);
    require(waitpid(-1, NULL, WNOHANG) == -1); /* no program is left running unknown to the kit */
    bool works = spawned != NULL && created != NULL && pipe != NULL;
    if (pipe != NULL) {
        RLFileDescriptorInvalidate(pipe);
        RLRelease(pipe);
    }
    if (spawned != NULL)
        RLRelease(spawned);
    if (created != NULL)
        RLRelease(created);
    require(open_descriptors() <= before + 2); /* those of the loop */
    return works;
}

static void work(UNUSED RLWorkRef object, UNUSED void *info) {}
static void worked(UNUSED RLWorkRef object, UNUSED void *info) { calls++; }

static bool use_workers(void)
{
    RLWorkContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLWorkersRef workers = MADE(RLWorkersCreate(NULL, 2));
    RLWorkRef works[2] = {MADE(RLWorkCreate(NULL, 0, work, worked, &context)),
                          MADE(RLWorkCreate(NULL, 0, work, worked, &context))};
    int expected = 0;
    calls = 0;
    for (int i = 0; i < 2; i++) {
        if (works[i] == NULL)
            continue;
        RLRunLoopAddSource(RLRunLoopGetCurrent(), works[i], kRLRunLoopDefaultMode);
        bool was_submitted = workers != NULL && RLWorkersSubmit(workers, works[i]);
        require(was_submitted || workers == NULL || errno == EAGAIN);
        expected += was_submitted && RLRunLoopContainsSource(RLRunLoopGetCurrent(), works[i], kRLRunLoopDefaultMode);
        if (!was_submitted)
            require(RLWorkCancel(works[i]));
    }
    armed = false;
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0);
    if (workers != NULL)
        RLRelease(workers);
    for (int i = 0; i < 2; i++) {
        if (works[i] != NULL)
            RLRelease(works[i]);
    }
    require(calls == expected);
    return expected == 2;
}

static void resolved(UNUSED RLHostResolveRef resolve, UNUSED RLArrayRef addresses, int error, UNUSED void *info)
{
    calls++;
    require(error == 0);
}

static bool use_host_resolve(void)
{
    RLWorkContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLHostResolveRef resolve = MADE(RLHostResolveCreate(NULL, "127.0.0.1", "80", NULL, 100, resolved, &context));
    bool is_in_loop = false;
    calls = 0;
    if (resolve != NULL) {
        RLRunLoopAddSource(RLRunLoopGetCurrent(), resolve, kRLRunLoopDefaultMode);
        is_in_loop = RLRunLoopContainsSource(RLRunLoopGetCurrent(), resolve, kRLRunLoopDefaultMode);
    }
    armed = false;
    RLWorkersRef workers = RLWorkersCreate(NULL, 1);
    require(resolve == NULL || RLWorkersSubmit(workers, resolve));
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0);
    RLRelease(workers);
    if (resolve != NULL)
        RLRelease(resolve);
    require(calls == is_in_loop);
    return is_in_loop;
}

static int flushes;
static void flushed(UNUSED RLStreamRef stream, RLStreamResult result, int error, UNUSED void *info)
{
    flushes++;
    require(result == kRLStreamSuccess || result == kRLStreamCancelled || error == ENOMEM);
}
static void streamed(RLStreamRef stream, const RLStreamEvent *event, UNUSED void *info)
{
    if (event->type == kRLStreamEventHasBytesAvailable)
        calls += (int)event->length;
    else
        RLStreamClose(stream);
    require(event->type != kRLStreamEventErrorOccurred || (event->error == ENOMEM && failures > 0));
}

/* The callback for a single numeric address. Either nothing listens there, or lack of memory is reported first. */
static void refused(UNUSED RLStreamRef stream, const RLStreamEvent *event, UNUSED void *info)
{
    require(event->type == kRLStreamEventErrorOccurred);
    calls += event->error == ECONNREFUSED ? 100 : 1;
}
static bool use_connecting(void)
{
    RLStreamContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLWorkersRef own = MADE(RLWorkersCreate(NULL, 1));
    RLStreamRef stream = MADE(RLStreamCreateConnectedToHost(NULL, "127.0.0.1", "1", own, 1000, refused, &context));
    calls = 0;
    if (stream != NULL) {
        RLRunLoopAddSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
        bool is_in_loop = RLRunLoopContainsSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
        run_passes();
        armed = false;
        while (is_in_loop && calls == 0)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
        RLStreamClose(stream);
        RLRelease(stream);
    }
    armed = false;
    if (own != NULL)
        RLRelease(own);
    return calls == 100;
}

/* Looks up a host with two addresses, tried while the stream is in a loop. The worker's thread needs memory, too. */
static bool use_look_up(void)
{
    RLStreamContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    bool was_armed = armed;
    armed = false;
    RLWorkersRef own = RLWorkersCreate(NULL, 1);
    RLStreamRef stream = add(RLStreamCreateConnectedToHost(NULL, "twice", "1", own, 1000, refused, &context));
    calls = 0;
    armed = was_armed;
    for (int i = 0; i < 20 && calls == 0; i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    armed = false;
    while (calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    RLStreamClose(stream);
    RLRelease(stream);
    RLRelease(own);
    return calls == 100;
}

/* Returns this machine's address, twice, for one name; interposes libc's getaddrinfo(). */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **answer)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        dlsym(RTLD_NEXT, "getaddrinfo");
    if (host == NULL || strcmp(host, "twice") != 0 || (hints->ai_flags & AI_NUMERICHOST) != 0)
        return real(host, service, hints, answer);
    int error = real("127.0.0.1", service, hints, answer);
    return error != 0 ? error : real("127.0.0.1", service, hints, &(*answer)->ai_next);
}

/* Receives lines in two parts, and writes more than the socket accepts. */
static bool use_stream(void)
{
    static uint8_t bytes[300000];
    int pair[2], expected = 0;
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    RLStreamContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLStreamRef stream = MADE(RLStreamCreate(NULL, pair[0], 1, streamed, &context));
    bool works = stream != NULL;
    calls = flushes = 0;
    if (works) {
        works = RLStreamSetReadDelimiter(stream, "\n", 1, 100);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
        RLStreamSetIdleLimit(stream, 1000);
        require(write(pair[1], "ab\nc", 4) == 4);
        run_passes();
        works &= RLStreamAppend(stream, "x", 1) && RLStreamWrite(stream, bytes, sizeof bytes);
        expected = RLStreamFlush(stream, flushed, NULL);
        require(send(pair[1], "d\n", 2, MSG_NOSIGNAL) == 2 || (failures > 0 && errno == EPIPE));
        run_passes();
        ssize_t count;
        while ((count = read(pair[1], bytes, sizeof bytes)) > 0)
            run_passes();
        works &= expected && flushes == 1 && calls == 6 && RLRunLoopSourceIsValid(stream);
        armed = false;
        RLStreamClose(stream);
        RLRelease(stream);
    } else {
        close(pair[0]);
    }
    armed = false;
    close(pair[1]);
    run_passes();
    require(flushes == expected);
    return works;
}

static void accepted(UNUSED RLListenerRef listener, int descriptor, UNUSED void *info)
{
    close(descriptor);
    calls++;
}

/* Creates a listener. Afterwards nothing is left at its path, whether it was created or not. */
static bool use_listener(void)
{
    RLListenerContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    char name[108];
    require(snprintf(name, sizeof name, "%s/listener-%d", getenv("TMPDIR"), getpid()) < (int)sizeof name);
    RLListenerRef listener = MADE(RLListenerCreateWithPath(NULL, name, accepted, &context));
    bool is_in_loop = false;
    calls = 0;
    if (listener != NULL) {
        RLRunLoopAddSource(RLRunLoopGetCurrent(), listener, kRLRunLoopDefaultMode);
        int client = connect_to(listener);
        run_passes();
        is_in_loop = calls == 1;
        armed = false;
        close(client);
        RLListenerClose(listener);
        RLRelease(listener);
    }
    armed = false;
    require(access(name, F_OK) != 0);
    return is_in_loop;
}

static void changed(UNUSED RLFileWatchRef watch, UNUSED RLIndex count, UNUSED const RLFileWatchEvent *events,
                    UNUSED void *info)
{
    calls++;
}

/* Watches a tree. Whatever there is no memory for is reported somehow: as not watched, or as to be read again. */
static bool use_file_watch(void)
{
    RLFileWatchContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    const char *paths[] = {base, NULL};
    bool was_armed = armed;
    armed = false;
    make_tree();
    make_directory(in_tree("a"));
    make_directory(in_tree("a/b"));
    armed = was_armed;
    calls = 0;
    RLFileWatchRef watch = MADE(RLFileWatchCreate(NULL, paths, 0, 0, changed, &context));
    bool is_in_loop = false;
    if (watch != NULL) {
        RLRunLoopAddSource(RLRunLoopGetCurrent(), watch, kRLRunLoopDefaultMode);
        is_in_loop = RLRunLoopContainsSource(RLRunLoopGetCurrent(), watch, kRLRunLoopDefaultMode);
        require(mkdir(in_tree("a/c"), 0700) == 0 && rename(in_tree("a"), in_tree("longer")) == 0);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    }
    armed = false;
    while (is_in_loop && calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    if (watch != NULL) {
        RLRunLoopSourceInvalidate(watch);
        RLRelease(watch);
    }
    drop_tree();
    return is_in_loop;
}

/* Schedules a stream. If the loop cannot keep it, it is freed, and the caller is notified. */
static bool use_schedule(void)
{
    RLStreamContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    RLStreamRef stream = MADE(RLScheduleSource(RLStreamCreate(NULL, ends[0], 0, NULL, &context)));
    armed = false;
    require(lifetime_held(&life) == (stream != NULL));
    if (stream != NULL)
        RLStreamClose(stream);
    close(ends[0]), close(ends[1]);
    return stream != NULL;
}

/* -- The tests -- */

static bool (*const uses[])(void) = {use_signal,     use_child,    use_workers,    use_host_resolve, use_stream,
                                     use_file_watch, use_listener, use_connecting, use_look_up,      use_schedule};

START_TEST(any_allocation_may_fail) { try_without_memory(uses[_i / 2], _i % 2); }
END_TEST

/* Without fork handlers, the child of a fork() might find a lock of the kit held, so nothing can be created. */
START_TEST(nothing_is_created_if_fork_handlers_cannot_be_registered)
{
    RLSignalContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLRunLoopGetCurrent();
    refuses_fork_handlers = true;
    ck_assert_ptr_null(RLSignalCreate(NULL, SIGUSR1, 0, caught, &context));
    ck_assert_int_eq(errno, ENOMEM);
    errno = 0;
    ck_assert_ptr_null(RLWorkersCreate(NULL, 1));
    ck_assert_int_eq(errno, ENOMEM);
    refuses_fork_handlers = false;
    ck_assert(use_signal() && lifetime_held(&life) == 0);
}
END_TEST

/* A listener that can neither accept a connection nor create a timer does not block the loop. */
START_TEST(a_listener_without_descriptors_and_memory_does_not_block_the_loop)
{
    char name[32];
    snprintf(name, sizeof name, "@runloop-%d", getpid());
    RLListenerRef listener = add(RLListenerCreateWithPath(NULL, name, accepted, NULL));
    run_passes(); /* the loop opens all that it needs */
    int client = connect_to(listener);
    struct rlimit limit, none;
    require(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    none = limit;
    none.rlim_cur = 0;
    require(setrlimit(RLIMIT_NOFILE, &none) == 0);
    fail_at = 1;
    fail_all = armed = true;
    for (int i = 0; i < 5; i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1);
    armed = false;
    ck_assert(calls == 0 && failures > 0);
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    close(client);
    drop_source(listener);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("memory");
    TCase *all = add_case(suite, "memory", 60);
    tcase_add_loop_test(all, any_allocation_may_fail, 0, 2 * (int)(sizeof uses / sizeof *uses));
    if (!THREAD_SANITIZED) {
        tcase_add_test(all, nothing_is_created_if_fork_handlers_cannot_be_registered);
        tcase_add_test(all, a_listener_without_descriptors_and_memory_does_not_block_the_loop);
    }
    return suite;
}
