/* wakeups SECONDS [THREADS]: threads cause events of every kind in one loop, which sleeps in between. Each thread
 * waits until its event was served before it causes the next one. So a lost event stays lost: no other event of that
 * thread wakes the loop. In addition, signal handlers wake the loop, and half of the time a message port keeps it
 * busy. */
#include "stress.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

enum event {
    SIGNAL,
    HANDLER,
    READABLE,
    TIMER_SET,
    TIMER_ADDED,
    POST,
    WAIT,
    DELAYED,
    PORT,
    REQUEST,
    DESCRIPTOR,
    SOCKET,
    ADDED,
    EVENTS
};
static const char *const names[EVENTS] = {"signal",
                                          "signal in a handler",
                                          "readable descriptor",
                                          "timer set",
                                          "timer added",
                                          "post",
                                          "function waited for",
                                          "delayed function",
                                          "port",
                                          "request",
                                          "descriptor object",
                                          "socket",
                                          "source added"};
enum { MOST = 16 };

/* A thread that causes events, and its item of each kind. */
struct cause {
    int index;
    pthread_t thread;
    uint64_t dice;
    sem_t served;
    RLRunLoopSourceRef source, readable, added;
    RLRunLoopTimerRef timer;
    RLPortRef port;
    RLFileDescriptorRef descriptor;
    RLSocketRef socket;
    RLMessagePortRef remote;
    int event_fd, pipe[2], pair[2];
    long counts[EVENTS];
};

static RLRunLoopRef loop;
static struct cause causes[MOST];
static int cause_count;
static atomic_bool is_over, is_busy;
static atomic_bool is_served; /* no event is left: the loop may return */

static void serve(void *info) { sem_post(&((struct cause *)info)->served); }
static void serve_timer(UNUSED RLRunLoopTimerRef timer, void *info) { serve(info); }
static int port_of(void *info) { return ((struct cause *)info)->event_fd; }
static void serve_readable(void *info)
{
    uint64_t value;
    if (read(((struct cause *)info)->event_fd, &value, sizeof value) == sizeof value)
        serve(info);
}
static void serve_port(UNUSED RLPortRef port, UNUSED RLPortMessageRef message, void *info) { serve(info); }
static void serve_descriptor(RLFileDescriptorRef f, UNUSED RLOptionFlags types, void *info)
{
    char byte;
    if (read(RLFileDescriptorGetNativeDescriptor(f), &byte, 1) == 1)
        serve(info);
}
static void serve_socket(UNUSED RLSocketRef s, UNUSED RLSocketCallBackType type, UNUSED RLDataRef address,
                         const void *data, void *info)
{
    if (RLDataGetLength((RLDataRef)data) > 0)
        serve(info);
}
static RLDataRef serve_request(UNUSED RLMessagePortRef local, int32_t id, UNUSED RLDataRef data, UNUSED void *info)
{
    if (id >= 0)
        serve(&causes[id]);
    return NULL;
}

/* ---- The loop ---- */

static void stop(UNUSED void *info) { RLRunLoopStop(loop); }

static void *run_loop(void *ready)
{
    loop = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    RLMessagePortRef local = RLMessagePortCreateLocal(NULL, RLSTR("stress"), serve_request, NULL, NULL);
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, local, 0);
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
    RLRelease(source);
    sem_post(ready);
    while (!is_served)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, HUGE_VAL, 0);
    RLMessagePortInvalidate(local);
    RLRelease(local);
    return NULL;
}

/* ---- The causes ---- */

static void make_items(struct cause *cause)
{
    RLRunLoopSourceContext context = {.info = cause, .perform = serve};
    RLRunLoopSourceContext1 readable = {.version = 1, .info = cause, .getPort = port_of, .perform = serve_readable};
    RLRunLoopTimerContext timer = {.info = cause};
    RLPortContext port = {.info = cause};
    RLFileDescriptorContext descriptor = {.info = cause};
    RLSocketContext socket = {.info = cause};
    require((cause->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
    require(pipe2(cause->pipe, O_NONBLOCK | O_CLOEXEC) == 0);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, cause->pair) == 0);
    cause->source = RLRunLoopSourceCreate(NULL, 0, &context);
    cause->readable = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&readable);
    cause->timer = RLRunLoopTimerCreate(NULL, HUGE_VAL, 1e6, 0, 0, serve_timer, &timer);
    cause->port = RLPortCreate(NULL, serve_port, &port, NULL);
    cause->descriptor = RLFileDescriptorCreate(NULL, cause->pipe[0], 0, serve_descriptor, &descriptor);
    cause->socket = RLSocketCreateWithNative(NULL, cause->pair[0], kRLSocketDataCallBack, serve_socket, &socket);
    require((cause->remote = RLMessagePortCreateRemote(NULL, RLSTR("stress"))) != NULL);
}

static void add_source(RLRunLoopSourceRef source, bool releases)
{
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
    if (releases)
        RLRelease(source);
}

static void add_items(struct cause *cause)
{
    add_source(cause->source, false);
    add_source(cause->readable, false);
    RLRunLoopAddTimer(loop, cause->timer, kRLRunLoopDefaultMode);
    add_source(RLPortCreateRunLoopSource(NULL, cause->port, 0), true);
    add_source(RLFileDescriptorCreateRunLoopSource(NULL, cause->descriptor, 0), true);
    add_source(RLSocketCreateRunLoopSource(NULL, cause->socket, 0), true);
}

static void drop_items(struct cause *cause)
{
    RLRunLoopSourceInvalidate(cause->source);
    RLRunLoopSourceInvalidate(cause->readable);
    RLRunLoopTimerInvalidate(cause->timer);
    RLPortInvalidate(cause->port);
    RLFileDescriptorInvalidate(cause->descriptor);
    RLSocketInvalidate(cause->socket);
    RLTypeRef all[] = {cause->source,     cause->readable, cause->timer, cause->port,
                       cause->descriptor, cause->socket,   cause->remote};
    for (size_t index = 0; index < sizeof all / sizeof *all; index++)
        RLRelease(all[index]);
    close(cause->event_fd);
    close(cause->pipe[0]);
    close(cause->pipe[1]);
    close(cause->pair[1]);
}

/* Used in the handler of SIGUSR1: these functions may be called there. */
static _Thread_local struct cause *own;
static void handle(UNUSED int signal)
{
    if (own == NULL)
        return;
    RLRunLoopSourceSignal(own->source);
    RLRunLoopWakeUp(loop);
}

static void add_timer_once(struct cause *cause)
{
    RLRunLoopTimerContext context = {.info = cause};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, serve_timer, &context);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRelease(timer);
}

static void add_signalled_source(struct cause *cause)
{
    RLRunLoopSourceContext context = {.info = cause, .perform = serve};
    cause->added = RLRunLoopSourceCreate(NULL, 1, &context);
    RLRunLoopSourceSignal(cause->added);
    RLRunLoopAddSource(loop, cause->added, kRLRunLoopDefaultMode);
}

static void bring_about(struct cause *cause, enum event event)
{
    uint64_t one = 1;
    switch (event) {
    case SIGNAL:
        RLRunLoopSourceSignal(cause->source);
        RLRunLoopWakeUp(loop);
        break;
    case HANDLER:
        pthread_kill(pthread_self(), SIGUSR1);
        break;
    case READABLE:
        require(write(cause->event_fd, &one, sizeof one) == sizeof one);
        break;
    case TIMER_SET:
        RLRunLoopTimerSetNextFireDate(cause->timer,
                                      RLAbsoluteTimeGetCurrent() + 1e-6 * (double)roll(&cause->dice, 300));
        break;
    case TIMER_ADDED:
        add_timer_once(cause);
        break;
    case POST:
        require(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, serve, cause));
        break;
    case WAIT:
        require(RLRunLoopPerformFunctionAndWait(loop, kRLRunLoopDefaultMode, serve, cause, PATIENCE));
        break;
    case DELAYED:
        require(RLRunLoopPerformFunctionAfterDelay(loop, kRLRunLoopDefaultMode, serve, cause,
                                                   1e-6 * (double)roll(&cause->dice, 300)));
        break;
    case PORT: {
        RLPortMessageRef message = RLPortMessageCreate(NULL, cause->port, NULL, NULL);
        require(RLPortMessageSendBeforeDate(message, HUGE_VAL));
        RLRelease(message);
        break;
    }
    case REQUEST:
        require(RLMessagePortSendRequest(cause->remote, cause->index, NULL, PATIENCE, 0, NULL, NULL) ==
                kRLMessagePortSuccess);
        break;
    case DESCRIPTOR:
        RLFileDescriptorEnableCallBacks(cause->descriptor, kRLFileDescriptorReadCallBack);
        require(write(cause->pipe[1], "x", 1) == 1);
        break;
    case SOCKET:
        require(write(cause->pair[1], "x", 1) == 1);
        break;
    default:
        add_signalled_source(cause);
    }
}

static void await(struct cause *cause, enum event event)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    for (end.tv_sec += PATIENCE; sem_timedwait(&cause->served, &end) != 0;) {
        require(errno == EINTR || errno == ETIMEDOUT);
        if (errno == ETIMEDOUT)
            fail("an event is lost: %s (thread %d)", names[event], cause->index);
    }
}

static void *cause_events(void *info)
{
    struct cause *cause = own = info;
    while (!is_over) {
        enum event event = (enum event)roll(&cause->dice, EVENTS);
        bring_about(cause, event);
        await(cause, event);
        if (event == ADDED) {
            RLRunLoopSourceInvalidate(cause->added);
            RLRelease(cause->added);
        }
        cause->counts[event]++;
        for (unsigned pauses = roll(&cause->dice, 3) == 0 ? roll(&cause->dice, 2000) : 0; pauses > 0; pauses--)
            atomic_signal_fence(memory_order_seq_cst);
    }
    return NULL;
}

/* Sends requests without waiting, as many as the port accepts, in bursts. */
static void *keep_busy(UNUSED void *unused)
{
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, RLSTR("stress"));
    require(remote != NULL);
    while (!is_over) {
        if (is_busy)
            RLMessagePortSendRequest(remote, -1, NULL, 0.001, 0, NULL, NULL);
        else
            usleep(1000);
    }
    RLRelease(remote);
    return NULL;
}

/* Occasionally stops the loop: pending events must be served by the next run. */
static void *stop_often(UNUSED void *unused)
{
    for (unsigned pass = 0; !is_over; pass++) {
        usleep(1000 + pass % 7 * 300);
        RLRunLoopStop(loop);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    char directory[OWN_DIRECTORY_SIZE];
    double seconds = count > 1 ? atof(arguments[1]) : 10;
    cause_count = count > 2 ? atoi(arguments[2]) : 4;
    require(cause_count >= 1 && cause_count <= MOST);
    make_directory_for_names(directory);
    signal(SIGUSR1, handle);
    sem_t ready;
    sem_init(&ready, 0, 0);
    pthread_t loop_thread = start_thread(run_loop, &ready);
    while (sem_wait(&ready) != 0)
        continue;
    for (int index = 0; index < cause_count; index++) {
        causes[index].index = index;
        causes[index].dice = (uint64_t)index + 1;
        sem_init(&causes[index].served, 0, 0);
        make_items(&causes[index]);
        add_items(&causes[index]);
    }
    for (int index = 0; index < cause_count; index++)
        causes[index].thread = start_thread(cause_events, &causes[index]);
    pthread_t busy = start_thread(keep_busy, NULL), stopper = start_thread(stop_often, NULL);
    for (double end = now() + seconds; now() < end; is_busy = !is_busy)
        usleep((useconds_t)(seconds > 4 ? 1e6 : seconds * 0.25e6));
    is_over = true;
    for (int index = 0; index < cause_count; index++)
        pthread_join(causes[index].thread, NULL);
    pthread_join(busy, NULL);
    pthread_join(stopper, NULL);
    is_served = true;
    // Posted, because a stop between two runs would be lost. The loop's thread may already have exited.
    require(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, stop, NULL) || errno == ESRCH);
    pthread_join(loop_thread, NULL);
    for (int event = 0; event < EVENTS; event++) {
        long sum = 0;
        for (int index = 0; index < cause_count; index++)
            sum += causes[index].counts[event];
        printf("%-20s %ld\n", names[event], sum);
        require(sum > 0 || seconds < 1);
    }
    for (int index = 0; index < cause_count; index++)
        drop_items(&causes[index]);
    RLRelease(loop);
    remove_directory(directory);
    return 0;
}
