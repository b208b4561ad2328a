/* A program that uses everything while one allocation fails, or all from one on; again and again, each time in a new
 * process, with the first, second, … allocation, until there was none left to fail. Then, with memory, it must work.
 *
 *     allocations one|all [N]     N: only that allocation, in this process (for a debugger)
 *
 * The allocation functions are this program's own: the library calls them like every other part of the process. */
#include "faults.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- allocations that fail ---- */

/* Only in the threads that ask for it, so not while libc or a sanitizer begins a thread. */
static __thread bool armed;
static atomic_long allocations, fail_at;
static atomic_int failures;
static bool fail_all;

static bool must_fail(void)
{
    long at = atomic_load(&fail_at);
    if (at == 0 || !armed)
        return false;
    long number = atomic_fetch_add(&allocations, 1) + 1;
    if (number != at && !(fail_all && number > at))
        return false;
    atomic_fetch_add(&failures, 1);
    errno = ENOMEM;
    return true;
}

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define LIBC(name) __interceptor_##name
#define LIBC_ALIGNED(alignment, size) __interceptor_aligned_alloc(alignment, size)
extern void *__interceptor_aligned_alloc(size_t alignment, size_t size);
#endif
#endif
#ifndef LIBC
#define LIBC(name) __libc_##name
#define LIBC_ALIGNED(alignment, size) __libc_memalign(alignment, size)
extern void *__libc_memalign(size_t alignment, size_t size);
#endif
extern void *LIBC(malloc)(size_t size);
extern void *LIBC(calloc)(size_t count, size_t size);
extern void *LIBC(realloc)(void *memory, size_t size);

void *malloc(size_t size) { return must_fail() ? NULL : LIBC(malloc)(size); }
void *calloc(size_t count, size_t size) { return must_fail() ? NULL : LIBC(calloc)(count, size); }
void *realloc(void *memory, size_t size) { return must_fail() ? NULL : LIBC(realloc)(memory, size); }
void *aligned_alloc(size_t alignment, size_t size) { return must_fail() ? NULL : LIBC_ALIGNED(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = must_fail() ? NULL : LIBC_ALIGNED(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

/* ---- complaints: what is not as the headers say ---- */

static char complaints[1 << 16];
static long attempted;
static atomic_int complaint_length;

static void complain(const char *format, const char *what, long value)
{
    char line[300];
    int length = snprintf(line, sizeof line, "allocation %ld: ", attempted);
    length += snprintf(line + length, sizeof line - (size_t)length, format, what, value);
    int at = atomic_fetch_add(&complaint_length, length);
    if (at + length < (int)sizeof complaints)
        memcpy(complaints + at, line, (size_t)length);
}

static void refused(const char *what, int error, int failures_before)
{
    if (failures_before == failures)
        complain("%s: failed though nothing was refused, errno %ld\n", what, error);
    else if (error != ENOMEM)
        complain("%s: failed with errno %ld instead of ENOMEM\n", what, error);
}

/* What it makes, or 0, and then errno is ENOMEM. */
#define MAKE(expression)                                  \
    ({                                                    \
        int failures_before = failures;                   \
        errno = 0;                                        \
        __typeof__(expression) made = (expression);       \
        if (!made)                                        \
            refused(#expression, errno, failures_before); \
        made;                                             \
    })
/* A call without a result; afterwards `holds`, or else errno is ENOMEM. */
#define ADD(call, holds)                            \
    do {                                            \
        int failures_before = failures;             \
        errno = 0;                                  \
        call;                                       \
        int error = errno;                          \
        if (!(holds))                               \
            refused(#call, error, failures_before); \
    } while (0)
/* A call that the headers do not allow to fail. */
#define MUST(call, holds)                                          \
    do {                                                           \
        call;                                                      \
        if (!(holds))                                              \
            complain("%s: had no effect\n", #call "; " #holds, 0); \
    } while (0)

/* ---- infos that are counted ---- */

static atomic_int retains, releases, schedules, cancels, owed_releases, performed;

static const void *retain(const void *info)
{
    atomic_fetch_add(&retains, 1);
    return info;
}
static void release(const void *info)
{
    (void)info;
    atomic_fetch_add(&releases, 1);
}
static void release_perform(void *info)
{
    (void)info;
    atomic_fetch_sub(&owed_releases, 1);
}
static void schedule(void *info, RLRunLoopRef loop, RLRunLoopMode mode)
{
    (void)info, (void)loop, (void)mode;
    atomic_fetch_add(&schedules, 1);
}
static void cancel(void *info, RLRunLoopRef loop, RLRunLoopMode mode)
{
    (void)info, (void)loop, (void)mode;
    atomic_fetch_add(&cancels, 1);
}
static RLStringRef describe(const void *info)
{
    (void)info;
    return RLStringCreateWithCString(NULL, "info", kRLStringEncodingUTF8);
}
static void release_object(const void *object)
{
    if (object)
        RLRelease(object);
}

/* ---- the scenario: each part leaves nothing behind ---- */

enum { source_count = 80, timer_count = 8 };
static RLRunLoopMode extra, second;
static const RLRunLoopMode *const modes[] = {&kRLRunLoopDefaultMode, &kRLRunLoopCommonModes, &extra};
enum { mode_count = sizeof modes / sizeof *modes };

static void use_values(void)
{
    RLStringRef string = MAKE(RLStringCreateWithCString(NULL, "a string", kRLStringEncodingUTF8));
    RLStringRef ascii = MAKE(RLStringCreateWithBytes(NULL, (const uint8_t *)"abc", 3, kRLStringEncodingASCII, 0));
    RLStringRef constant = MAKE(RLStringMakeConstant("a constant"));
    RLDataRef data = MAKE(RLDataCreate(NULL, (const uint8_t *)"data", 4));
    const void *values[] = {string, ascii, constant, data};
    if (string && ascii && constant && data) {
        RLArrayRef array = MAKE(RLArrayCreate(NULL, values, 4, &kRLTypeArrayCallBacks));
        if (array) {
            release_object(MAKE(RLCopyDescription(array)));
            CHECK(RLEqual(array, array) && RLArrayContainsValue(array, (RLRange){0, 4}, string));
            RLRelease(array);
        }
    }
    for (int i = 0; i < 4; i++) {
        if (values[i])
            release_object(MAKE(RLCopyDescription(values[i])));
        release_object(values[i]);
    }
}

static void hear(RLNotificationCenterRef center, void *observer, RLNotificationName name, const void *object,
                 RLDictionaryRef info)
{
    (void)center, (void)name, (void)object, (void)info;
    ++*(int *)observer;
}

/* Functions that change a collection return nothing: errno says that they did not. */
static void use_collections(void)
{
    RLMutableArrayRef array = MAKE(RLArrayCreateMutable(NULL, 0, &kRLTypeArrayCallBacks));
    RLMutableSetRef set = MAKE(RLSetCreateMutable(NULL, 0, &kRLTypeSetCallBacks));
    RLMutableDictionaryRef dictionary =
        MAKE(RLDictionaryCreateMutable(NULL, 0, &kRLTypeDictionaryKeyCallBacks, &kRLTypeDictionaryValueCallBacks));
    RLMutableDataRef data = MAKE(RLDataCreateMutable(NULL, 0));
    for (int i = 0; array && set && dictionary && data && i < 40; i++) {
        RLNumberRef number = MAKE(RLNumberCreate(NULL, kRLNumberIntType, &i));
        RLIndex before = RLArrayGetCount(array);
        if (number == NULL)
            continue;
        errno = 0;
        RLArrayAppendValue(array, number);
        CHECK(RLArrayGetCount(array) == before + (errno != ENOMEM));
        before = RLSetGetCount(set);
        errno = 0;
        RLSetAddValue(set, number);
        CHECK(RLSetGetCount(set) == before + (errno != ENOMEM));
        before = RLDictionaryGetCount(dictionary);
        errno = 0;
        RLDictionarySetValue(dictionary, number, number);
        CHECK(RLDictionaryGetCount(dictionary) == before + (errno != ENOMEM));
        before = RLDataGetLength(data);
        errno = 0;
        RLDataIncreaseLength(data, 5);
        CHECK(RLDataGetLength(data) == before + (errno != ENOMEM ? 5 : 0));
        RLRelease(number);
    }
    if (array && set && dictionary && data) {
        RLTypeRef copies[] = {MAKE(RLArrayCreateCopy(NULL, array)),
                              MAKE(RLArrayCreateMutableCopy(NULL, 0, array)),
                              MAKE(RLSetCreateCopy(NULL, set)),
                              MAKE(RLDictionaryCreateMutableCopy(NULL, 0, dictionary)),
                              MAKE(RLDataCreateCopy(NULL, data)),
                              MAKE(RLDateCreate(NULL, 1)),
                              MAKE(RLStringCreateWithFormat(NULL, NULL, kRLRunLoopDefaultMode))};
        CHECK(copies[0] == NULL || RLEqual(copies[0], array));
        CHECK(copies[2] == NULL || RLEqual(copies[2], set));
        CHECK(copies[3] == NULL || RLEqual(copies[3], dictionary));
        for (int i = 0; i < 7; i++)
            release_object(copies[i]);
        RLIndex before = RLArrayGetCount(array);
        errno = 0;
        RLArrayRemoveAllValues(array);
        CHECK(RLArrayGetCount(array) == (errno == ENOMEM ? before : 0));
        RLDictionaryRemoveAllValues(dictionary);
        CHECK(RLDictionaryGetCount(dictionary) == 0);
    }
    int heard = 0;
    errno = 0;
    RLNotificationCenterAddObserver(RLNotificationCenterGetLocalCenter(), &heard, hear, NULL, NULL, 0);
    int expected = errno != ENOMEM;
    RLNotificationCenterPostNotification(RLNotificationCenterGetLocalCenter(), kRLRunLoopDefaultMode, NULL, NULL, 0);
    CHECK(heard == expected);
    RLNotificationCenterRemoveEveryObserver(RLNotificationCenterGetLocalCenter(), &heard);
    release_object(array);
    release_object(set);
    release_object(dictionary);
    release_object(data);
}

static RLRunLoopSourceRef make_source(int order, int *info)
{
    RLRunLoopSourceContext context = {.info = info,
                                      .retain = retain,
                                      .release = release,
                                      .copyDescription = describe,
                                      .schedule = schedule,
                                      .cancel = cancel,
                                      .perform = count_up};
    int before = retains - releases;
    RLRunLoopSourceRef source = MAKE(RLRunLoopSourceCreate(NULL, order, &context));
    if (!source && retains - releases != before)
        complain("%s: failed and kept its info\n", "RLRunLoopSourceCreate", 0);
    return source;
}

static void use_sources(RLRunLoopRef loop)
{
    static int infos[source_count];
    RLRunLoopSourceRef sources[source_count];
    for (int i = 0; i < source_count; i++) {
        sources[i] = make_source(i, &infos[i]);
        if (!sources[i])
            continue;
        for (int m = 0; m < mode_count; m++) {
            if ((i >> m) % 2 == 0)
                ADD(RLRunLoopAddSource(loop, sources[i], *modes[m]),
                    RLRunLoopContainsSource(loop, sources[i], *modes[m]));
        }
        RLRunLoopSourceSignal(sources[i]);
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    RLRunLoopRunInMode(extra, 0, 1);
    for (int i = 0; i < source_count; i++) {
        if (!sources[i])
            continue;
        if (i == 0)
            release_object(MAKE(RLCopyDescription(sources[i])));
        for (int m = 0; m < mode_count; m++) {
            if (i % 4 == 0)
                ADD(RLRunLoopRemoveSource(loop, sources[i], *modes[m]),
                    !RLRunLoopContainsSource(loop, sources[i], *modes[m]));
        }
        RLRunLoopSourceInvalidate(sources[i]);
        for (int m = 0; m < mode_count; m++)
            CHECK(!RLRunLoopContainsSource(loop, sources[i], *modes[m]));
        RLRelease(sources[i]);
    }
}

static void use_descriptors(RLRunLoopRef loop)
{
    static struct watched watched[3];
    RLRunLoopSourceRef sources[3];
    for (int i = 0; i < 3; i++) {
        open_pipe(&watched[i]);
        write_byte(&watched[i]);
        RLRunLoopSourceContext1 context = {.version = 1,
                                           .info = &watched[i],
                                           .retain = retain,
                                           .release = release,
                                           .getPort = watched_port,
                                           .perform = watched_perform};
        sources[i] = MAKE(RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context));
        if (sources[i])
            ADD(RLRunLoopAddSource(loop, sources[i], *modes[i]), RLRunLoopContainsSource(loop, sources[i], *modes[i]));
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    RLRunLoopRunInMode(extra, 0.001, 1);
    for (int i = 0; i < 3; i++) {
        if (sources[i]) {
            RLRunLoopSourceInvalidate(sources[i]);
            RLRelease(sources[i]);
        }
        close(watched[i].reader);
        close(watched[i].writer);
    }
}

/* ---- descriptor objects and sockets ---- */

static void port_called(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    (void)types;
    char byte;
    CHECK(read(RLFileDescriptorGetNativeDescriptor(f), &byte, 1) == 1);
    count_up(info);
}

static void use_descriptor_objects(RLRunLoopRef loop)
{
    for (int i = 0; i < 3; i++) {
        struct watched watched;
        open_pipe(&watched);
        write_byte(&watched);
        RLFileDescriptorContext context = {.info = &performed, .retain = retain, .release = release};
        int before = retains - releases, called = performed;
        RLFileDescriptorRef f = MAKE(RLFileDescriptorCreate(NULL, watched.reader, true, port_called, &context));
        if (!f) {
            if (retains - releases != before)
                complain("%s: failed and kept its info\n", "RLFileDescriptorCreate", 0);
            CHECK(close(watched.reader) == 0); /* still ours */
        } else {
            RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
            RLRunLoopSourceRef source = MAKE(RLFileDescriptorCreateRunLoopSource(NULL, f, i - 1));
            if (source) {
                ADD(RLRunLoopAddSource(loop, source, *modes[i]), RLRunLoopContainsSource(loop, source, *modes[i]));
                bool added = RLRunLoopContainsSource(loop, source, *modes[i]);
                RLRunLoopMode mode = i == 2 ? extra : kRLRunLoopDefaultMode;
                int failures_before = failures;
                for (int run = 0; run < 100 && added && performed == called; run++)
                    RLRunLoopRunInMode(mode, 0.01, 1);
                if (added && performed == called)
                    complain("%s: not called, after %ld failures\n", "descriptor object", failures - failures_before);
                RLRelease(source);
            }
            release_object(MAKE(RLCopyDescription(f)));
            RLFileDescriptorInvalidate(f);
            CHECK(fcntl(watched.reader, F_GETFD) < 0);
            RLRelease(f);
        }
        close(watched.writer);
    }
}

static long received;
static int clients;
static void sock_called(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)s, (void)address;
    if (type == kRLSocketDataCallBack)
        received += RLDataGetLength(data);
    if (type == kRLSocketAcceptCallBack) {
        clients++;
        CHECK(close(*(const int *)data) == 0);
    }
    count_up(info);
}

static RLSocketRef made_socket(RLSocketRef socket, int before)
{
    if (!socket && retains - releases != before)
        complain("%s: failed and kept its info\n", "RLSocketCreate...", 0);
    return socket;
}

static void end_socket(RLSocketRef socket)
{
    if (socket) {
        RLSocketInvalidate(socket);
        RLRelease(socket);
    }
}

/* A server and its client in one loop; what could not be made is left out. */
static void use_sockets(RLRunLoopRef loop)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    RLSocketContext context = {.info = &performed, .retain = retain, .release = release};
    RLDataRef address = MAKE(RLDataCreate(NULL, (const uint8_t *)&any, sizeof any));
    if (!address)
        return;
    RLSocketSignature signature = {PF_INET, SOCK_STREAM, 0, address};
    int before = retains - releases, pair[2];
    RLSocketRef server = made_socket(
        MAKE(RLSocketCreateWithSocketSignature(NULL, &signature, kRLSocketAcceptCallBack, sock_called, &context)),
        before);
    RLDataRef own = server ? MAKE(RLSocketCopyAddress(server)) : NULL;
    signature.address = own;
    before = retains - releases;
    RLSocketRef client = own ? made_socket(MAKE(RLSocketCreateConnectedToSocketSignature(
                                               NULL, &signature, kRLSocketConnectCallBack, sock_called, &context, 10)),
                                           before)
                             : NULL;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    before = retains - releases;
    RLSocketRef reader = made_socket(
        MAKE(RLSocketCreateWithNative(NULL, pair[0], kRLSocketDataCallBack, sock_called, &context)), before);
    if (!reader)
        CHECK(close(pair[0]) == 0); /* still ours */
    RLSocketRef all[] = {server, client, reader};
    bool added[3] = {false};
    long bytes = received, accepted = clients;
    CHECK(!reader || write(pair[1], "x", 1) == 1);
    for (int i = 0; i < 3; i++) {
        RLRunLoopSourceRef source = all[i] ? MAKE(RLSocketCreateRunLoopSource(NULL, all[i], 0)) : NULL;
        if (!source)
            continue;
        ADD(RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode),
            RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode));
        added[i] = RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode);
        RLRelease(source);
    }
    for (int run = 0; run < 100; run++) {
        if ((!added[0] || !client || clients > accepted) && (!added[2] || received > bytes))
            break;
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    }
    if (added[2] && received == bytes && !fail_all)
        complain("%s: got nothing\n", "data socket", 0);
    if (client) {
        RLDataRef peer = MAKE(RLSocketCopyPeerAddress(client));
        CHECK(!peer || RLEqual(peer, own));
        release_object(peer);
    }
    for (int i = 0; i < 3; i++) {
        release_object(all[i] ? MAKE(RLCopyDescription(all[i])) : NULL);
        end_socket(all[i]);
    }
    release_object(own);
    RLRelease(address);
    close(pair[1]);
}

static void use_timers(RLRunLoopRef loop)
{
    RLRunLoopTimerRef timers[timer_count];
    for (int i = 0; i < timer_count; i++) {
        RLRunLoopTimerContext context = {
            .info = &performed, .retain = retain, .release = release, .copyDescription = describe};
        int before = retains - releases;
        double interval = i % 4 == 0 ? 0.001 : 0;
        timers[i] = i % 2 == 0 ? MAKE(RLRunLoopTimerCreate(NULL, 0, interval, 0, i, count_timer, &context))
                               : MAKE(RLRunLoopTimerCreate(NULL, 1e15, 0, 0, i, count_timer, NULL));
        if (!timers[i]) {
            if (retains - releases != before)
                complain("%s: failed and kept its info\n", "RLRunLoopTimerCreate", 0);
            continue;
        }
        ADD(RLRunLoopTimerSetTolerance(timers[i], 0.0001), RLRunLoopTimerGetTolerance(timers[i]) > 0);
        for (int m = 0; m < mode_count; m++)
            ADD(RLRunLoopAddTimer(loop, timers[i], *modes[m]), RLRunLoopContainsTimer(loop, timers[i], *modes[m]));
        RLRunLoopTimerSetNextFireDate(timers[i], 1e15);
        if (i % 2 == 0)
            RLRunLoopTimerSetNextFireDate(timers[i], 0);
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.002, 0);
    RLRunLoopRunInMode(extra, 0.001, 0);
    for (int i = 0; i < timer_count; i++) {
        if (!timers[i])
            continue;
        if (i < 2)
            release_object(MAKE(RLCopyDescription(timers[i])));
        for (int m = 0; m < mode_count; m++) {
            if (i % 4 == 1)
                ADD(RLRunLoopRemoveTimer(loop, timers[i], *modes[m]),
                    !RLRunLoopContainsTimer(loop, timers[i], *modes[m]));
        }
        RLRunLoopTimerInvalidate(timers[i]);
        RLRelease(timers[i]);
    }
}

static void observe(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer, (void)activity, (void)info;
    release_object(MAKE(RLRunLoopCopyCurrentMode(RLRunLoopGetCurrent())));
}

static void use_observers(RLRunLoopRef loop)
{
    for (int i = 0; i < 4; i++) {
        RLRunLoopObserverContext context = {
            .info = &performed, .retain = retain, .release = release, .copyDescription = describe};
        int before = retains - releases;
        RLRunLoopObserverRef observer = MAKE(
            RLRunLoopObserverCreate(NULL, kRLRunLoopAllActivities, i % 2 == 0, i, observe, i < 2 ? &context : NULL));
        if (!observer) {
            if (retains - releases != before)
                complain("%s: failed and kept its info\n", "RLRunLoopObserverCreate", 0);
            continue;
        }
        for (int m = 0; m < mode_count; m++)
            ADD(RLRunLoopAddObserver(loop, observer, *modes[m]), RLRunLoopContainsObserver(loop, observer, *modes[m]));
        RLRunLoopPerformFunction(loop, kRLRunLoopDefaultMode, count_up, &performed);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
        release_object(MAKE(RLCopyDescription(observer)));
        if (i % 2 == 0 && RLRunLoopObserverIsValid(observer)) {
            for (int m = 0; m < mode_count; m++)
                ADD(RLRunLoopRemoveObserver(loop, observer, *modes[m]),
                    !RLRunLoopContainsObserver(loop, observer, *modes[m]));
        }
        RLRunLoopObserverInvalidate(observer);
        RLRelease(observer);
    }
}

static void use_performs(RLRunLoopRef loop)
{
    const void *both[] = {kRLRunLoopDefaultMode, extra};
    RLArrayRef array = MAKE(RLArrayCreate(NULL, both, 2, &kRLTypeArrayCallBacks));
    int before = performed, wanted = 0, mine = 0;
    for (int i = 0; i < 300; i++) {
        wanted += MAKE(RLRunLoopPerformFunction(loop, kRLRunLoopDefaultMode, count_up, &performed));
        if (MAKE(RLRunLoopPerformFunctionWithRelease(loop, kRLRunLoopCommonModes, count_up, &performed,
                                                     release_perform))) {
            wanted++;
            atomic_fetch_add(&owed_releases, 1);
        }
    }
    if (array)
        wanted += MAKE(RLRunLoopPostFunction(loop, array, count_up, &performed));
    wanted += MAKE(RLRunLoopPerformFunctionAfterDelay(loop, array ? (RLTypeRef)array : extra, count_up, &performed, 0));
    if (MAKE(RLRunLoopPerformFunctionAfterDelay(loop, extra, count_up, &mine, 1000)))
        MUST(, RLRunLoopCancelPerformFunction(loop, NULL, &mine) == 1);
    if (MAKE(RLRunLoopPerformFunction(loop, extra, count_up, &mine)))
        MUST(, RLRunLoopCancelPerformFunction(loop, count_up, &mine) == 1);
    CHECK(RLRunLoopPerformFunctionAndWait(loop, extra, count_up, &mine, 0) && mine == 1);
    for (int i = 0; i < 3; i++) {
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
        RLRunLoopRunInMode(extra, 0, 0);
    }
    if (performed - before != wanted)
        complain("%s: not run as often as promised, by %ld\n", "performs", performed - before - wanted);
    release_object(array);
}

/* A function that runs the loop while functions for another mode wait behind it, and queues more of them. */
static void run_inside(void *info)
{
    int *wanted = info;
    for (int i = 0; i < 40; i++)
        *wanted += MAKE(RLRunLoopPerformFunction(RLRunLoopGetCurrent(), second, count_up, &performed));
    RLRunLoopRunInMode(extra, 0, 0);
}

static void use_nested_runs(RLRunLoopRef loop)
{
    int before = performed, wanted = 0;
    for (int i = 0; i < 20; i++)
        wanted += MAKE(RLRunLoopPerformFunction(loop, second, count_up, &performed));
    MAKE(RLRunLoopPerformFunction(loop, kRLRunLoopDefaultMode, run_inside, &wanted));
    for (int i = 0; i < 20; i++)
        wanted += MAKE(RLRunLoopPerformFunction(loop, extra, count_up, &performed));
    const RLRunLoopMode all[] = {kRLRunLoopDefaultMode, extra, second};
    for (int i = 0; i < 9; i++)
        RLRunLoopRunInMode(all[i % 3], 0, 0);
    if (performed - before != wanted)
        complain("%s: not run as often as promised, by %ld\n", "performs in nested runs", performed - before - wanted);
}

static void use_modes(RLRunLoopRef loop)
{
    static int info;
    RLRunLoopSourceRef source = make_source(0, &info);
    if (source) {
        ADD(RLRunLoopAddSource(loop, source, kRLRunLoopCommonModes),
            RLRunLoopContainsSource(loop, source, kRLRunLoopCommonModes));
        bool was_common = RLRunLoopContainsSource(loop, source, kRLRunLoopCommonModes);
        ADD(RLRunLoopAddCommonMode(loop, second), !was_common || RLRunLoopContainsSource(loop, source, second));
        RLRunLoopSourceSignal(source);
        RLRunLoopRunInMode(second, 0, 0);
        ADD(RLRunLoopRemoveSource(loop, source, kRLRunLoopCommonModes),
            !RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode));
        RLRunLoopSourceInvalidate(source);
        RLRelease(source);
    }
    release_object(MAKE(RLRunLoopCopyAllModes(loop)));
    release_object(MAKE(RLCopyDescription(loop)));
}

/* Another thread with a loop of its own, which it leaves full. */
static RLRunLoopRef main_loop;
static void *use_from_thread(void *unused)
{
    static int infos[4];
    armed = true;
    RLRunLoopRef loop = MAKE(RLRunLoopGetCurrent());
    if (!loop)
        return unused;
    RLRunLoopSourceRef source = make_source(0, &infos[0]);
    if (source) {
        ADD(RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode),
            RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode));
        ADD(RLRunLoopAddSource(main_loop, source, kRLRunLoopDefaultMode),
            RLRunLoopContainsSource(main_loop, source, kRLRunLoopDefaultMode));
        RLRunLoopSourceSignal(source);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    }
    RLRunLoopSourceRef left = make_source(0, &infos[1]);
    if (left) {
        for (int m = 0; m < 2; m++)
            ADD(RLRunLoopAddSource(loop, left, *modes[m]), RLRunLoopContainsSource(loop, left, *modes[m]));
        RLRelease(left);
    }
    RLRunLoopTimerContext context = {.info = &performed, .retain = retain, .release = release};
    RLRunLoopTimerRef timer = MAKE(RLRunLoopTimerCreate(NULL, 1e15, 0, 0, 0, count_timer, &context));
    if (timer) {
        ADD(RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode),
            RLRunLoopContainsTimer(loop, timer, kRLRunLoopDefaultMode));
        RLRelease(timer);
    }
    if (MAKE(RLRunLoopPerformFunctionWithRelease(loop, extra, count_up, &performed, release_perform)))
        atomic_fetch_add(&owed_releases, 1);
    int run = 0;
    bool ran = MAKE(RLRunLoopPerformFunctionAndWait(main_loop, kRLRunLoopDefaultMode, count_up, &run, 1e10));
    CHECK(ran == run);
    if (source) {
        RLRunLoopSourceInvalidate(source);
        RLRelease(source);
    }
    return unused;
}

static void start_thread(pthread_t *thread, void *(*body)(void *))
{
    armed = false;
    CHECK(pthread_create(thread, NULL, body, NULL) == 0);
    armed = true;
}

/* A thread with a loop that does not run: who waits for it waits until the time is over. */
static atomic_int idler_has_loop, idler_may_end;
static RLRunLoopRef idle_loop;
static void *be_idle(void *unused)
{
    armed = true;
    idle_loop = MAKE(RLRunLoopGetCurrent());
    atomic_store(&idler_has_loop, 1);
    until(&idler_may_end, 1);
    return unused;
}

static void wait_in_vain(void)
{
    pthread_t thread;
    int run = 0;
    start_thread(&thread, be_idle);
    until(&idler_has_loop, 1);
    if (idle_loop) {
        errno = 0;
        CHECK(!RLRunLoopPerformFunctionAndWait(idle_loop, kRLRunLoopDefaultMode, count_up, &run, 0.0001) && run == 0);
        if (errno != ETIMEDOUT && errno != ENOMEM)
            complain("%s: failed with errno %ld\n", "RLRunLoopPerformFunctionAndWait", errno);
    }
    atomic_store(&idler_may_end, 1);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void use_threads(RLRunLoopRef loop)
{
    pthread_t thread;
    main_loop = loop;
    start_thread(&thread, use_from_thread);
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.0005, 0);
        usleep(50);
    }
}

static void scenario(void)
{
    RLRunLoopRef loop = MAKE(RLRunLoopGetCurrent());
    if (!loop)
        loop = MAKE(RLRunLoopGetMain());
    if (!loop || !RLRunLoopGetCurrent())
        return;
    use_values();
    use_collections();
    extra = MAKE(RLStringCreateWithCString(NULL, "extra", kRLStringEncodingUTF8));
    second = MAKE(RLStringCreateWithCString(NULL, "second", kRLStringEncodingUTF8));
    if (extra && second) {
        use_modes(loop);
        use_sources(loop);
        use_descriptors(loop);
        use_descriptor_objects(loop);
        use_sockets(loop);
        use_timers(loop);
        use_observers(loop);
        use_performs(loop);
        use_nested_runs(loop);
        wait_in_vain();
        use_threads(loop);
    }
    release_object(extra);
    release_object(second);
}

/* ---- with memory again ---- */

static void works(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    CHECK(loop != NULL && RLRunLoopGetMain() == loop);
    static atomic_int performs, timers, posts;
    struct watched watched;
    open_pipe(&watched);
    write_byte(&watched);
    RLRunLoopSourceRef port = watch(&watched, loop), source = new_source(&performs, loop);
    RLRunLoopTimerContext context = {.info = &timers};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, count_timer, &context);
    CHECK(timer != NULL);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopCommonModes);
    RLRunLoopAddCommonMode(loop, RLSTR("afterwards"));
    CHECK(RLRunLoopContainsTimer(loop, timer, RLSTR("afterwards")));
    RLRunLoopSourceSignal(source);
    CHECK(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, count_up, &posts));
    for (int i = 0; i < 1000 && (watched.performed == 0 || performs == 0 || timers == 0 || posts == 0); i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, 0);
    CHECK(watched.performed == 1 && performs == 1 && timers == 1 && posts == 1);
    struct looper looper;
    start_looper(&looper);
    CHECK(RLRunLoopPerformFunctionAndWait(looper.loop, kRLRunLoopDefaultMode, count_up, &posts, 1e10) && posts == 2);
    stop_looper(&looper);
    end_source(source);
    end_source(port);
    RLRelease(timer);
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0) == kRLRunLoopRunFinished);
}

/* The exit status: 0 something failed and all was well, 1 something did not work, 3 complaints, 4 nothing failed. */
static int attempt(long n)
{
    alarm(6);
    RLSetErrorHandler(no_mistake, NULL);
    attempted = n;
    atomic_store(&fail_at, n);
    armed = true;
    scenario();
    atomic_store(&fail_at, 0);
    if (retains != releases)
        complain("%s: %ld are left\n", "infos", retains - releases);
    if (schedules != cancels)
        complain("%s: %ld without a cancel\n", "schedules", schedules - cancels);
    if (owed_releases != 0)
        complain("%s: %ld not released\n", "infos of performs", owed_releases);
    works();
    if (complaint_length > 0)
        return write(1, complaints, strlen(complaints)) < 0 ? 1 : 3;
    return failures > 0 ? 0 : 4;
}

/* Most of the time of an attempt is waiting. */
enum { at_once = 4 };

/* Whether something was left to fail. */
static bool report(long n, int status)
{
    if (WIFSIGNALED(status))
        dprintf(1, "allocation %ld: ended by signal %d (%s)\n", n, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3 && WEXITSTATUS(status) != 4)
        dprintf(1, "allocation %ld: exit status %d\n", n, WEXITSTATUS(status));
    return !WIFEXITED(status) || WEXITSTATUS(status) != 4;
}

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    fail_all = strcmp(argv[1], "all") == 0;
    if (argc > 2)
        return attempt(atol(argv[2]));
    long next = 1, running = 0, numbers[at_once];
    pid_t children[at_once] = {0};
    bool more = true;
    while (more || running > 0) {
        for (int i = 0; more && i < at_once; i++) {
            if (children[i] != 0)
                continue;
            numbers[i] = next++;
            children[i] = fork();
            CHECK(children[i] >= 0);
            if (children[i] == 0)
                _exit(attempt(numbers[i]));
            running++;
        }
        int status;
        pid_t child = wait(&status);
        CHECK(child > 0);
        for (int i = 0; i < at_once; i++) {
            if (children[i] == child) {
                more = report(numbers[i], status) && more;
                children[i] = 0;
                running--;
            }
        }
    }
    dprintf(1, "tried %ld\n", next - 1);
    return 0;
}
