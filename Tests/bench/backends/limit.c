/*
 * limit.c -- the limits of the machine: hand-written loops directly on the kernel, each suitable for one scenario only.
 *     limit          epoll, an edge-triggered eventfd that is never read, a timing wheel, a timerfd; send and recv on a
 *                    socket pair, with packets up to 128 KB (ask: without a time limit)
 *     limit-futex    a futex word instead of epoll (wake, call)
 *     limit-spin     two threads that spin on a word (wake spinning)
 *     limit-ring     a lock-free ring and the eventfd (post)
 *     limit-nopoll   passes that only check a stop flag (pass nothing)
 *     limit-slack    epoll_pwait2 with a timer slack of 1 ns instead of a timerfd (lateness)
 */
#include "../loop.h"
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

enum { EPOLL, FUTEX, SPIN, RING, NO_POLL, SLACK };

static const struct variant variants[] = {
    [EPOLL]   = { "limit",        .takes = ORDINARY | ASK | ECHO_SERVER },
    [FUTEX]   = { "limit-futex",  .takes = WAKE | CALL },
    [SPIN]    = { "limit-spin",   .takes = WAKE_SPINNING },
    [RING]    = { "limit-ring",   .takes = POST },
    [NO_POLL] = { "limit-nopoll", .takes = PASS },
    [SLACK]   = { "limit-slack",  .takes = LATENESS },
    {0}
};

struct loop {
    int epoll, wake_fd, ticker_fd;
    volatile bool stop;
    bool again;
    _Atomic int word;                   /* futex: IDLE, WOKEN, ASLEEP, or call_and_wait's    */
    _Atomic(task_function) function;    /* call_and_wait                                     */
    void *argument;
    uint64_t tick_due, tick_period;     /* limit-slack                                       */
};

enum { IDLE = 0, WOKEN = 1, ASLEEP = -1 };
enum { TAG_WAKE = -1, TAG_TICK = -2 };  /* epoll data; otherwise the index of a descriptor   */

#include "limit-wheel.h"
#include "limit-ring.h"

static void watch(struct loop *l, int fd, uint32_t events, int64_t tag)
{
    struct epoll_event event = { .events = events, .data.u64 = (uint64_t)tag };
    CHECK(epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}

static void loop_init(struct loop *l)
{
    if (chosen == NO_POLL && strcmp(result.parameter, "nothing") != 0)
        _exit(EXIT_UNSUPPORTED);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(l->epoll >= 0 && l->wake_fd >= 0);
    watch(l, l->wake_fd, EPOLLIN | EPOLLET, TAG_WAKE);
}

static void loop_stop(struct loop *l) { l->stop = true; }

/* ---- waking ---------------------------------------------------------------------------------------- */

static void futex(_Atomic int *word, int operation, int value)
{
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static void sleep_on(_Atomic int *word)
{
    int expected = IDLE;
    if (atomic_compare_exchange_strong(word, &expected, ASLEEP))
        do
            futex(word, FUTEX_WAIT_PRIVATE, ASLEEP);
        while (atomic_load(word) == ASLEEP);
    atomic_store(word, IDLE);
}

static void wake_word(_Atomic int *word)
{
    if (atomic_exchange(word, WOKEN) == ASLEEP)
        futex(word, FUTEX_WAKE_PRIVATE, 1);
}

static void wake_init(struct loop *l) { (void)l; }

static void wake_send(struct loop *l)
{
    if (chosen == SPIN) {
        atomic_store_explicit(&l->word, WOKEN, memory_order_release);
    } else if (chosen == FUTEX) {
        wake_word(&l->word);
    } else {
        uint64_t one = 1;
        CHECK(write(l->wake_fd, &one, sizeof one) == sizeof one);
    }
}

static void run_on_word(struct loop *l)
{
    while (!l->stop) {
        if (chosen == SPIN) {
            while (atomic_load_explicit(&l->word, memory_order_acquire) == IDLE)
                ;
            atomic_store_explicit(&l->word, IDLE, memory_order_relaxed);
        } else {
            sleep_on(&l->word);
        }
        task_function function = atomic_exchange(&l->function, NULL);
        if (function) {
            function(l->argument);
            wake_word(&l[1].word);      /* the caller waits on the unused second loop's word */
        } else {
            on_wake(l);
        }
    }
}

#define HAS_SPINNING
static void loop_spin(struct loop *l) { (void)l; }

#define HAS_CALL
static void call_and_wait(struct loop *l, task_function function, void *argument)
{
    l->argument = argument;
    atomic_store(&l->function, function);
    wake_word(&l->word);
    sleep_on(&l[1].word);
}

/* ---- requests and replies --------------------------------------------------------------------------- */

#define HAS_ASK
static int ask_ends[2];

static void ask_prepare(size_t size)
{
    CHECK(socketpair(AF_UNIX, size > 131072 ? SOCK_STREAM : SOCK_SEQPACKET, 0, ask_ends) == 0);
}

static int ask_watch(int fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
    return epoll;
}

static size_t ask_receive(int epoll, int fd, char *bytes, size_t size)
{
    struct epoll_event event;
    size_t done = 0;
    while (done < size) {
        epoll_wait(epoll, &event, 1, -1);
        for (ssize_t some; done < size && (some = recv(fd, bytes + done, size - done, MSG_DONTWAIT)) != -1;) {
            CHECK(some > 0);
            done += (size_t)some;
        }
    }
    return done;
}

static void ask_send(int fd, const char *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t some = send(fd, bytes + done, size - done, MSG_NOSIGNAL);
        CHECK(some > 0);
        done += (size_t)some;
    }
}

static void ask_serve(size_t size)
{
    char *bytes = allocate(1, size);
    int epoll = ask_watch(ask_ends[1]);
    for (;;) {
        ask_receive(epoll, ask_ends[1], bytes, size);
        ask_send(ask_ends[1], bytes, size);
    }
}

static size_t ask_once(size_t size)
{
    static char *bytes;
    static int epoll;
    if (!bytes) {
        bytes = allocate(1, size);
        epoll = ask_watch(ask_ends[0]);
    }
    ask_send(ask_ends[0], bytes, size);
    return ask_receive(epoll, ask_ends[0], bytes, size);
}

/* ---- the loop and its descriptors ------------------------------------------------------------------- */

static struct handler { void (*function)(size_t i); size_t i; } *handlers;

static void descriptors_init(struct loop *l, size_t n)
{
    (void)l;
    handlers = malloc(n * sizeof *handlers);
    CHECK(handlers != NULL);
}

static void descriptor_add(struct loop *l, size_t i, int fd)
{
    handlers[i] = (struct handler){ on_readable, i };
    watch(l, fd, EPOLLIN, (int64_t)i);
}

static void ready(struct loop *l, const struct epoll_event *event)
{
    int64_t tag = (int64_t)event->data.u64;
    uint64_t expirations;
    if (tag >= 0) {
        handlers[tag].function(handlers[tag].i);
    } else if (tag == TAG_WAKE) {
        if (chosen == RING)
            ring_drain();
        else
            on_wake(l);
    } else {
        CHECK(read(l->ticker_fd, &expirations, sizeof expirations) == sizeof expirations);
        on_tick();
    }
}

/* Sets the time to wait; returns false if nothing is ever due. */
static bool until_due(struct loop *l, struct timespec *wait)
{
    uint64_t due = l->tick_due, now = now_ns();
    int level, slot;
    if (wheel.pending) {
        CHECK(wheel_next(&due, &level, &slot));
        due <<= TICK_SHIFT;
    }
    uint64_t left = due > now ? due - now : 0;
    *wait = (struct timespec){ (time_t)(left / 1000000000u), (long)(left % 1000000000u) };
    return due != 0;
}

static void run_due(struct loop *l)
{
    uint64_t now = now_ns();
    if (wheel.pending)
        wheel_expire(now);
    if (!l->tick_due || now < l->tick_due)
        return;
    while (l->tick_due <= now)
        l->tick_due += l->tick_period;
    on_tick();
}

static void loop_run(struct loop *l)
{
    l->stop = false;
    if (chosen == FUTEX || chosen == SPIN) {
        run_on_word(l);
        return;
    }
    while (chosen == NO_POLL && !l->stop)
        on_again();
    struct epoll_event events[256];
    struct timespec wait;
    while (!l->stop) {
        int n;
        if (l->again || !(wheel.pending || l->tick_due))
            n = epoll_wait(l->epoll, events, 256, l->again ? 0 : -1);
        else
            n = epoll_pwait2(l->epoll, events, 256, until_due(l, &wait) ? &wait : NULL, NULL);
        CHECK(n >= 0);
        for (int i = 0; i < n; i++)
            ready(l, &events[i]);
        if (wheel.pending || l->tick_due)
            run_due(l);
        if (l->again)
            l->again = on_again();
    }
}

static void again_start(struct loop *l) { l->again = true; }

static uint64_t ticker_start(struct loop *l, uint64_t period_ns, enum schedule *schedule)
{
    *schedule = ON_GRID;
    uint64_t first = now_ns() + period_ns;
    if (chosen == SLACK) {
        prctl(PR_SET_TIMERSLACK, 1);
        l->tick_due = first;
        l->tick_period = period_ns;
        return first;
    }
    l->ticker_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    CHECK(l->ticker_fd >= 0);
    struct itimerspec times = {
        .it_value    = { (time_t)(first / 1000000000u), (long)(first % 1000000000u) },
        .it_interval = { (time_t)(period_ns / 1000000000u), (long)(period_ns % 1000000000u) },
    };
    CHECK(timerfd_settime(l->ticker_fd, TFD_TIMER_ABSTIME, &times, NULL) == 0);
    watch(l, l->ticker_fd, EPOLLIN, TAG_TICK);
    return first;
}

/* ---- posting ----------------------------------------------------------------------------------------------- */

static void post_init(struct loop *l)
{
    if (chosen == RING)
        ring_init();
    wake_init(l);
}

static void post_send(struct loop *l, task_function function, void *argument)
{
    if (chosen != RING)
        post_by_wake(l, function, argument);
    else if (ring_push(function, argument))
        wake_send(l);
}

/* ---- an echo server: a separate loop, which does nothing else ---------------------------------------- */

#define HAS_ECHO
static void echo_serve(struct loop *l, const int *fds, size_t n)
{
    static char bytes[65536];
    for (size_t i = 0; i < n; i++)
        watch(l, fds[i], EPOLLIN, fds[i]);
    while (!l->stop) {
        struct epoll_event events[256];
        int ready = epoll_wait(l->epoll, events, 256, -1);
        for (int e = 0; e < ready; e++) {
            int fd = (int)events[e].data.u64;
            ssize_t count = recv(fd, bytes, sizeof bytes, 0);
            for (ssize_t sent = 0; sent < count;) {
                ssize_t more = send(fd, bytes + sent, (size_t)(count - sent), MSG_NOSIGNAL);
                CHECK(more > 0);        /* the client reads each reply before its next request */
                sent += more;
            }
            if (count <= 0) {
                close(fd);
                on_echo_end();
            }
        }
    }
}

#include "../scenarios.h"
