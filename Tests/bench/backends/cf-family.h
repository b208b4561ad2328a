/*
 * cf-family.h -- one program for the two libraries that have CFRunLoop's interface. It is written in CoreFoundation's
 * names; backends/runloop.c maps them to this library's.
 *
 *     <name>            version-0 sources, timers, version-1 sources for descriptors, posting by
 *                       the native call
 *     <name>-queue      "post" through a task queue of the program and a version-0 source
 *     <name>-eventfd    "wake" through an eventfd in a version-1 source
 *     <name>-socket     "chain" and "memory" through CFSocket's read callbacks
 *
 * A file that includes it first defines LIBRARY, the name, MOST_TIMERS, OWN_THREAD, MORE_VARIANTS and post_natively(),
 * and afterwards watched_perform() and add_descriptor().
 */
#include <sys/eventfd.h>

enum { NATIVE, QUEUE, EVENTFD, SOCKET, DESCRIPTOR };

static const struct variant variants[] = {
    [NATIVE]  = { LIBRARY, TAKES, .own_thread = OWN_THREAD, .most_timers = MOST_TIMERS },
    [QUEUE]   = { LIBRARY "-queue", POST, .own_thread = OWN_THREAD },
    [EVENTFD] = { LIBRARY "-eventfd", WAKE, .own_thread = OWN_THREAD },
    [SOCKET]  = { LIBRARY "-socket", DESCRIPTORS, .own_thread = OWN_THREAD },
    MORE_VARIANTS
    {0}
};

struct loop {
    CFRunLoopRef loop;
    CFRunLoopSourceRef source;
    int wake_fd;
};

static void loop_init(struct loop *l) { l->loop = CFRunLoopGetCurrent(); }
static void loop_run(struct loop *l) { (void)l; CFRunLoopRun(); }
static void loop_stop(struct loop *l) { CFRunLoopStop(l->loop); }

/* ---- sources ----------------------------------------------------------------------------------- */

static CFRunLoopSourceRef add_source(struct loop *l, void (*perform)(void *), void *info)
{
    CFRunLoopSourceContext context = { .info = info, .perform = perform };
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    CHECK(source != NULL);
    CFRunLoopAddSource(l->loop, source, kCFRunLoopDefaultMode);
    return source;
}

struct watched { int fd; size_t i; };

static int watched_fd(void *info) { return ((struct watched *)info)->fd; }

static void add_watched(struct loop *l, struct watched *info, void (*perform)(void *))
{
    CFRunLoopSourceContext1 context = { .version = 1, .info = info, .getPort = watched_fd,
                                        .perform = perform };
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
    CHECK(source != NULL);
    CFRunLoopAddSource(l->loop, source, kCFRunLoopDefaultMode);
    CFRelease(source);
}

#define HAS_SOURCES
static CFRunLoopSourceRef *many_sources;
static void on_signalled(size_t i);
static void many_perform(void *info) { on_signalled((size_t)info); }

static void sources_init(struct loop *l, size_t n)
{
    many_sources = allocate(n, sizeof *many_sources);
    for (size_t i = 0; i < n; i++)
        many_sources[i] = add_source(l, many_perform, (void *)i);
}

static void source_signal(struct loop *l, size_t i)
{
    (void)l;
    CFRunLoopSourceSignal(many_sources[i]);
}

/* ---- waking and posting -------------------------------------------------------------------------- */

static void wake_perform(void *info) { on_wake(info); }
static void wake_perform_watched(void *info) { on_wake(first_loop() + ((struct watched *)info)->i); }

static void wake_init(struct loop *l)
{
    if (chosen != EVENTFD) {
        l->source = add_source(l, wake_perform, l);
        return;
    }
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(l->wake_fd >= 0);
    struct watched *info = allocate(1, sizeof *info);
    *info = (struct watched){ l->wake_fd, (size_t)(l - first_loop()) };
    add_watched(l, info, wake_perform_watched);
}

static void wake_send(struct loop *l)
{
    uint64_t one = 1;
    if (chosen == EVENTFD) {
        CHECK(write(l->wake_fd, &one, sizeof one) == sizeof one);
        return;
    }
    CFRunLoopSourceSignal(l->source);
    CFRunLoopWakeUp(l->loop);
}

#define post_init wake_init                 /* keeps the mode from being empty */

static void post_send(struct loop *l, task_function function, void *argument)
{
    if (chosen == QUEUE)
        post_by_wake(l, function, argument);
    else
        post_natively(l->loop, function, argument);
}

/* A source signalled in its own callback is performed in the next pass, without a wake-up. */
static void again_perform(void *info)
{
    struct loop *l = info;
    if (on_again())
        CFRunLoopSourceSignal(l->source);
}

static void again_start(struct loop *l)
{
    l->source = add_source(l, again_perform, l);
    CFRunLoopSourceSignal(l->source);
}

/* ---- timers --------------------------------------------------------------------------------------- */

static CFRunLoopTimerRef *timers;
static CFAbsoluteTime timers_base;

static void timer_call(CFRunLoopTimerRef timer, void *info) { (void)timer; on_timer((size_t)info); }
static void idle_perform(void *info) { (void)info; }

static void timers_init(struct loop *l, size_t n)
{
    timers_base = CFAbsoluteTimeGetCurrent();
    if (timers)
        return;
    timers = malloc(n * sizeof *timers);
    CHECK(timers != NULL);
    l->source = add_source(l, idle_perform, NULL);
}

static CFRunLoopTimerRef timer_new(struct loop *l, size_t i, uint64_t delay_ns)
{
    CFRunLoopTimerContext context = { .info = (void *)i };
    CFAbsoluteTime date = timers_base + (double)delay_ns * 1e-9;
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, date, 0, 0, 0, timer_call, &context);
    CFRunLoopAddTimer(l->loop, timer, kCFRunLoopDefaultMode);
    return timer;
}

static void timer_add(struct loop *l, size_t i, uint64_t delay_ns)
{
    timers[i] = timer_new(l, i, delay_ns);
}

static void timer_rearm(struct loop *l, size_t i, uint64_t delay_ns)
{
    (void)l;
    CFRunLoopTimerSetNextFireDate(timers[i], timers_base + (double)delay_ns * 1e-9);
}

static void timer_cancel(struct loop *l, size_t i)
{
    (void)l;
    CFRunLoopTimerInvalidate(timers[i]);
    CFRelease(timers[i]);
}

static void timers_settle(struct loop *l) { (void)l; }

static void timer_once(struct loop *l, size_t i, uint64_t delay_ns)
{
    CFRelease(timer_new(l, i, delay_ns));
}

static void tick(CFRunLoopTimerRef timer, void *info) { (void)timer; (void)info; on_tick(); }

static uint64_t ticker_start(struct loop *l, uint64_t period_ns, enum schedule *schedule)
{
    *schedule = ON_GRID;
    double period = (double)period_ns * 1e-9;
    uint64_t now = now_ns();
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + period,
                                                   period, 0, 0, tick, NULL);
    CFRunLoopAddTimer(l->loop, timer, kCFRunLoopDefaultMode);
    return now + period_ns;
}

/* ---- descriptors ------------------------------------------------------------------------------------ */

static struct watched *watched;

static void watched_perform(void *info);
static void add_descriptor(struct loop *l, struct watched *info);

static void socket_call(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    (void)s; (void)type; (void)address; (void)data;
    on_readable(((struct watched *)info)->i);       /* unlike CF, this library does not read the descriptor */
}

static void add_socket(struct loop *l, struct watched *info)
{
    CFSocketContext context = { .info = info };
    CFSocketRef s = CFSocketCreateWithNative(NULL, info->fd, kCFSocketReadCallBack, socket_call, &context);
    CFRunLoopSourceRef source = s ? CFSocketCreateRunLoopSource(NULL, s, 0) : NULL;
    CHECK(source != NULL);
    CFRunLoopAddSource(l->loop, source, kCFRunLoopDefaultMode);
    CFRelease(source);
}

static void descriptors_init(struct loop *l, size_t n)
{
    (void)l;
    watched = malloc(n * sizeof *watched);
    CHECK(watched != NULL);
    message_size = MESSAGE_SIZE;
}

static void descriptor_add(struct loop *l, size_t i, int fd)
{
    watched[i] = (struct watched){ fd, i };
    if (chosen == SOCKET)
        add_socket(l, &watched[i]);
    else
        add_descriptor(l, &watched[i]);
}
