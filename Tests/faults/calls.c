/* Scenarios in which strace makes system calls fail; see test_calls.py. Each one prints what happened.
 *
 *     calls SCENARIO [SECONDS]    SECONDS: time limit after which the program counts as hanging */
#include "faults.h"

#include <netinet/in.h>
#include <sys/socket.h>

enum { rounds = 20 };

static atomic_int waits;
static void count_wait(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer;
    (void)activity;
    count_up(info);
}

static void observe_waits(RLRunLoopRef loop)
{
    RLRunLoopObserverContext context = {.info = &waits};
    RLRunLoopObserverRef observer = RLRunLoopObserverCreate(NULL, kRLRunLoopBeforeWaiting, 1, 0, count_wait, &context);
    CHECK(observer != NULL);
    RLRunLoopAddObserver(loop, observer, kRLRunLoopDefaultMode);
    RLRelease(observer);
}

/* A run of 20 ms in which nothing happens. */
static void idle(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    observe_waits(loop);
    RLAbsoluteTime before = RLAbsoluteTimeGetCurrent();
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.02, 0);
    printf("result %d early %d waits %d\n", result, RLAbsoluteTimeGetCurrent() - before < 0.02, waits);
}

static void idle_without_descriptors(void)
{
    static atomic_int performed;
    new_source(&performed, RLRunLoopGetCurrent());
    idle();
}

static struct watched watched;
static void idle_with_descriptors(void)
{
    open_pipe(&watched);
    watch(&watched, RLRunLoopGetCurrent());
    idle();
}

/* Wakes another thread's sleeping loop repeatedly, in every possible way. */
static void wake(struct looper *looper, bool watches)
{
    atomic_int posted = 0, waited = 0, performed = 0;
    RLRunLoopSourceRef source = new_source(&performed, looper->loop);
    for (int i = 1; i <= rounds; i++) {
        until_asleep(looper->loop);
        CHECK(RLRunLoopPostFunction(looper->loop, kRLRunLoopDefaultMode, count_up, &posted));
        until(&posted, i);
        until_asleep(looper->loop);
        RLRunLoopSourceSignal(source);
        RLRunLoopWakeUp(looper->loop);
        until(&performed, i);
        CHECK(RLRunLoopPerformFunctionAndWait(looper->loop, kRLRunLoopDefaultMode, count_up, &waited, 1e10));
        if (watches) {
            until_asleep(looper->loop);
            write_byte(&watched);
            until(&watched.performed, i);
        }
    }
    printf("posted %d performed %d waited %d read %d\n", posted, performed, waited, watched.performed);
    end_source(source);
}

static void wake_without_descriptors(void)
{
    struct looper looper;
    start_looper(&looper);
    wake(&looper, false);
    stop_looper(&looper);
}

static void wake_with_descriptors(void)
{
    struct looper looper;
    start_looper(&looper);
    open_pipe(&watched);
    RLRunLoopSourceRef source = watch(&watched, looper.loop);
    wake(&looper, true);
    end_source(source);
    stop_looper(&looper);
}

/* A repeating timer in addition to a descriptor: every wait has a timeout. */
static void timer_with_descriptors(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    atomic_int fired = 0;
    RLRunLoopTimerContext context = {.info = &fired};
    RLAbsoluteTime begin = RLAbsoluteTimeGetCurrent();
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, begin + 0.001, 0.001, 0, 0, count_timer, &context);
    open_pipe(&watched);
    watch(&watched, loop);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    int early = 0;
    for (int i = 0; i < rounds; i++) {
        RLAbsoluteTime before = RLAbsoluteTimeGetCurrent();
        RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.002, 0);
        CHECK(result == kRLRunLoopRunTimedOut);
        early += RLAbsoluteTimeGetCurrent() - before < 0.002;
        write_byte(&watched);
        CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1) == kRLRunLoopRunHandledSource);
    }
    double passed = RLAbsoluteTimeGetCurrent() - begin;
    printf("read %d fired %d too-often %d early %d\n", watched.performed, fired > 0, fired > passed / 0.001 + 1, early);
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
}

/* Five runs with a readable descriptor, and their results; then whether the loop continues to work by itself. */
static void set_up(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    int before = open_descriptors();
    open_pipe(&watched);
    write_byte(&watched);
    RLRunLoopSourceRef source = watch(&watched, loop);
    CHECK(RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode));
    for (int i = 0; i < 5; i++) {
        errno = 0;
        RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.002, 1);
        printf("%d/%d ", result, result == kRLRunLoopRunFinished ? errno : 0);
        if (result == kRLRunLoopRunHandledSource)
            write_byte(&watched);
    }
    /* Whatever needs no descriptor works all the time. */
    atomic_int posted = 0;
    CHECK(RLRunLoopPostFunction(loop, RLSTR("quiet"), count_up, &posted));
    RLRunLoopRunInMode(RLSTR("quiet"), 0, 0);
    printf("posted %d ", posted);
    end_source(source);
    printf("descriptors %d\n", open_descriptors() - before - 2);
}

/* Two sources, and faults that affect the second one: the first must not suffer. */
static void second_source(void)
{
    static struct watched second;
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    open_pipe(&watched);
    open_pipe(&second);
    watch(&watched, loop);
    watch(&second, loop);
    write_byte(&watched);
    write_byte(&second);
    for (int i = 0; i < 5; i++)
        printf("%d ", RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.002, 1));
    printf("first %d second %d\n", watched.performed, second.performed);
}

/* A descriptor is closed before its source is removed, while a duplicate is ready. To get rid of its reports, the
 * loop starts over with a new epoll instance. The other watched descriptors, and waking, continue to work. */
static void write_late(RLRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    write_byte(&watched);
}

static void stop_this(void *loop) { RLRunLoopStop(loop); }

static void *stop_when_asleep(void *loop)
{
    until_asleep(loop);
    CHECK(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, stop_this, loop));
    return NULL;
}

static void stale_events(void)
{
    struct watched ghost;
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    open_pipe(&ghost);
    open_pipe(&watched);
    RLRunLoopSourceRef source = watch(&ghost, loop);
    watch(&watched, loop);
    CHECK(dup(ghost.reader) >= 0 && close(ghost.reader) == 0);
    end_source(source);
    write_byte(&ghost);
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + 0.02, 0, 0, 0, write_late, NULL);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopRunResult first = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, stop_when_asleep, loop) == 0);
    RLRunLoopRunResult second = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    CHECK(pthread_join(thread, NULL) == 0);
    printf("results %d %d read %d\n", first, second, watched.performed);
    RLRelease(timer);
}

/* Many threads, each with a loop, use each other's loops. */
enum { thread_count = 4 };
static struct looper loopers[thread_count];
static atomic_int sent, ended;

static void *use_all(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++) {
        RLRunLoopRef loop = loopers[i % thread_count].loop;
        atomic_int performed = 0;
        RLRunLoopSourceRef source = new_source(&performed, loop);
        RLRunLoopTimerContext context = {.info = &performed};
        RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 1e15, 0, 0, 0, count_timer, &context);
        RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
        RLRunLoopSourceSignal(source);
        RLRunLoopWakeUp(loop);
        until(&performed, 1);
        CHECK(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, count_up, &sent));
        CHECK(RLRunLoopPerformFunctionAndWait(loop, kRLRunLoopDefaultMode, count_up, &sent, 1e10));
        RLRunLoopTimerSetNextFireDate(timer, 0);
        until(&performed, 2);
        RLRunLoopTimerInvalidate(timer);
        RLRelease(timer);
        RLRunLoopRemoveSource(loop, source, kRLRunLoopDefaultMode);
        CHECK(!RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode));
        RLRelease(source);
    }
    atomic_fetch_add(&ended, 1);
    return NULL;
}

static void threads(void)
{
    pthread_t users[thread_count];
    for (int i = 0; i < thread_count; i++)
        start_looper(&loopers[i]);
    for (int i = 0; i < thread_count; i++)
        CHECK(pthread_create(&users[i], NULL, use_all, NULL) == 0);
    for (int i = 0; i < thread_count; i++)
        CHECK(pthread_join(users[i], NULL) == 0);
    for (int i = 0; i < thread_count; i++)
        stop_looper(&loopers[i]);
    printf("ended %d sent %d\n", ended, sent);
}

/* Timers with dates in the last hour, created in any order: they fire by date, whenever the machine was started. */
static double last_date;
static int out_of_order;
static void check_date(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    out_of_order += *(double *)info < last_date;
    last_date = *(double *)info;
}

static void past_dates(void)
{
    static double dates[100];
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent();
    for (int i = 0; i < 100; i++) {
        dates[i] = now - 36 * (double)(i * 37 % 100 + 1);
        RLRunLoopTimerContext context = {.info = &dates[i]};
        RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, dates[i], 0, 0, 0, check_date, &context);
        RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
        RLRelease(timer);
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    printf("last %d out of order %d\n", (int)(now - last_date + 0.5), out_of_order);
}

/* So many timers that their memory is allocated in huge pages. */
static void many_timers(void)
{
    static RLRunLoopTimerRef timers[30000];
    enum { count = sizeof timers / sizeof *timers };
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    atomic_int fired = 0;
    RLRunLoopTimerContext context = {.info = &fired};
    errno = E2BIG;
    for (int i = 0; i < count; i++) {
        timers[i] = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, count_timer, &context);
        CHECK(timers[i] != NULL && errno == E2BIG);
        RLRunLoopAddTimer(loop, timers[i], kRLRunLoopDefaultMode);
    }
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0);
    for (int i = 0; i < count; i++)
        RLRelease(timers[i]);
    printf("result %d fired %d\n", result, fired);
}

/* ---- descriptor objects and sockets ---- */

static atomic_int object_calls;
static void object_called(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    (void)types;
    char byte;
    if (read(RLFileDescriptorGetNativeDescriptor(f), &byte, 1) == 1)
        count_up(info);
    RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
}

/* A descriptor object in a running loop: if it could not be watched, it is watched a little later, automatically. */
static void descriptor_object(void)
{
    open_pipe(&watched);
    write_byte(&watched);
    write_byte(&watched);
    RLFileDescriptorContext context = {.info = &object_calls};
    RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, watched.reader, true, object_called, &context);
    CHECK(f != NULL);
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, f, 0);
    CHECK(source != NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    observe_waits(RLRunLoopGetCurrent());
    RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    printf("result %d called %d spins %d\n", result, object_calls, waits > 20);
    RLFileDescriptorInvalidate(f);
    RLRelease(f);
    RLRelease(source);
}

static long socket_bytes;
static int socket_clients, socket_ends;
static void socket_called(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)s, (void)address, (void)info;
    if (type == kRLSocketAcceptCallBack) {
        socket_clients++;
        CHECK(close(*(const int *)data) == 0);
    } else if (type == kRLSocketDataCallBack) {
        socket_bytes += RLDataGetLength(data);
        socket_ends += RLDataGetLength(data) == 0;
    }
}

static void add_socket(RLSocketRef s)
{
    RLRunLoopSourceRef source = RLSocketCreateRunLoopSource(NULL, s, 0);
    CHECK(source != NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
}

static void end_socket(RLSocketRef s)
{
    RLSocketInvalidate(s);
    RLRelease(s);
}

/* A run with an unconnected socket, which epoll would report constantly. */
static void unconnected(void)
{
    RLSocketRef s = RLSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, kRLSocketReadCallBack, socket_called, NULL);
    CHECK(s != NULL);
    add_socket(s);
    printf("result %d\n", RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.2, 0));
    end_socket(s);
}

/* Three clients connect, and each is accepted eventually. */
static void accept_clients(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    RLDataRef address = RLDataCreate(NULL, (const uint8_t *)&any, sizeof any);
    RLSocketSignature signature = {PF_INET, SOCK_STREAM, 0, address};
    RLSocketRef server =
                    RLSocketCreateWithSocketSignature(NULL, &signature, kRLSocketAcceptCallBack, socket_called, NULL),
                clients[3];
    CHECK(server != NULL);
    signature.address = RLSocketCopyAddress(server);
    for (int i = 0; i < 3; i++)
        CHECK((clients[i] = RLSocketCreateConnectedToSocketSignature(NULL, &signature, 0, NULL, NULL, 5)) != NULL);
    add_socket(server);
    observe_waits(RLRunLoopGetCurrent());
    while (socket_clients < 3)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    printf("clients %d spins %d\n", socket_clients, waits > 30);
    for (int i = 0; i < 3; i++)
        end_socket(clients[i]);
    end_socket(server);
    RLRelease(signature.address);
    RLRelease(address);
}

/* A socket sends data to another one in the same loop; all of it arrives. */
static void send_and_receive(void)
{
    static uint8_t bytes[300]; /* so little that there is always room: only a fault makes the sender wait */
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    RLDataRef data = RLDataCreate(NULL, bytes, sizeof bytes);
    RLSocketRef sender = RLSocketCreateWithNative(NULL, pair[0], 0, NULL, NULL);
    RLSocketRef receiver = RLSocketCreateWithNative(NULL, pair[1], kRLSocketDataCallBack, socket_called, NULL);
    add_socket(receiver);
    observe_waits(RLRunLoopGetCurrent());
    int sent = 0;
    for (int i = 0; i < rounds; i++)
        sent += RLSocketSendData(sender, NULL, data, 5) == kRLSocketSuccess;
    while (socket_bytes < sent * (long)sizeof bytes)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    printf("sent %d received %ld ends %d\n", sent, socket_bytes / (long)sizeof bytes, socket_ends);
    end_socket(sender);
    end_socket(receiver);
    RLRelease(data);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"idle-without-descriptors", idle_without_descriptors},
    {"idle-with-descriptors", idle_with_descriptors},
    {"wake-without-descriptors", wake_without_descriptors},
    {"wake-with-descriptors", wake_with_descriptors},
    {"timer-with-descriptors", timer_with_descriptors},
    {"set-up", set_up},
    {"second-source", second_source},
    {"stale-events", stale_events},
    {"threads", threads},
    {"many-timers", many_timers},
    {"past-dates", past_dates},
    {"descriptor-object", descriptor_object},
    {"unconnected", unconnected},
    {"accept", accept_clients},
    {"send", send_and_receive},
};

static void on_signal(int number) { (void)number; }

int main(int argc, char **argv)
{
    alarm(argc > 2 ? (unsigned)atoi(argv[2]) : 30);
    RLSetErrorHandler(no_mistake, NULL);
    /* Without SA_RESTART a signal ends every wait with EINTR. */
    CHECK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL) == 0);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    }
    return 2;
}
