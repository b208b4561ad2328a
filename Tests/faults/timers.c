/* Some hundred timers, near and far, while one allocation fails, or all from one on. This is repeated, each time in
 * a new process, with the first, second, … allocation, until none is left to fail. Every timer in the loop must be
 * called once, in order.
 *
 *     timers one|all [N]      N: only that allocation, in this process (for a debugger) */
#include "faults.h"

#include <sys/wait.h>

static bool armed, fail_all;
static long allocations, fail_at, failures;

static bool must_fail(void)
{
    if (!armed || fail_at == 0)
        return false;
    allocations++;
    if (allocations != fail_at && !(fail_all && allocations > fail_at))
        return false;
    failures++;
    errno = ENOMEM;
    return true;
}

#include "failing-memory.h"

enum { most = 2100 };

static struct timer {
    RLRunLoopTimerRef timer;
    RLAbsoluteTime date;
    long arrival; /* 0: it is in no loop, or was called */
} timers[most];
static int timer_count;
static long arrivals, waiting;
static RLStringRef mode, far_modes[3]; /* each mode has its own queue; timers are added to `mode` */

static bool precedes(const struct timer *left, const struct timer *right)
{
    return left->date < right->date || (left->date == right->date && left->arrival < right->arrival);
}

/* Checks that each timer is called once, and not before one that arrived earlier. */
static void call(RLRunLoopTimerRef timer, void *info)
{
    struct timer *called = info;
    CHECK(called->timer == timer && called->arrival != 0);
    for (int i = 0; i < timer_count; i++)
        CHECK(timers[i].arrival == 0 || called == &timers[i] || precedes(called, &timers[i]));
    called->arrival = 0;
    waiting--;
}

static void leave(struct timer *timer)
{
    waiting -= timer->arrival != 0;
    timer->arrival = 0;
}

/* Adds a timer to the loop, or checks that errno is set. */
static void add(RLAbsoluteTime date)
{
    struct timer *new = &timers[timer_count];
    RLRunLoopTimerContext context = {.info = new};
    CHECK(timer_count < most);
    errno = 0;
    new->timer = RLRunLoopTimerCreate(NULL, date, 0, 0, 0, call, &context);
    if (new->timer == NULL) {
        CHECK(errno == ENOMEM && failures > 0);
        return;
    }
    new->date = date;
    timer_count++;
    errno = 0;
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), new->timer, mode);
    if (!RLRunLoopContainsTimer(RLRunLoopGetCurrent(), new->timer, mode)) {
        CHECK(errno == ENOMEM && failures > 0);
        return;
    }
    new->arrival = ++arrivals;
    waiting++;
}

static void move(struct timer *timer, RLAbsoluteTime date)
{
    if (timer->arrival == 0)
        return;
    RLRunLoopTimerSetNextFireDate(timer->timer, date);
    timer->date = date;
    timer->arrival = ++arrivals;
}

/* Calls all due timers; those that cannot be called for lack of memory stay due. */
static void run_until(long left)
{
    for (int i = 0; i < 10 && waiting > left; i++)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    CHECK(waiting == left || fail_all);
    armed = false;
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    armed = true;
    CHECK(waiting == left);
}

/* Returns how many timers have a date that is not due. */
static long far(RLAbsoluteTime now)
{
    long count = 0;
    for (int i = 0; i < timer_count; i++)
        count += timers[i].arrival != 0 && timers[i].date > now;
    return count;
}

/* Adds so many far timers that their bucket grows: with dates that are spread, all equal, or due; and then timers between
   or behind them. Whatever fails, the loop knows the earliest one. */
static void add_far(int kind)
{
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent(), hour = now + 3600, first = hour + 1000;
    int begin = timer_count;
    mode = far_modes[kind];
    for (int i = 0; i < 300; i++)
        add(i >= 256 ? hour + 128 + kind : kind == 0 ? hour + (i * 7919) % 256 : kind == 1 ? hour : now - 1 - i);
    for (int i = begin; i < timer_count; i++)
        if (timers[i].arrival != 0 && timers[i].date < first)
            first = timers[i].date;
    RLAbsoluteTime next = RLRunLoopGetNextTimerFireDate(RLRunLoopGetCurrent(), mode);
    CHECK(first > hour + 500 ? next == 0 : next > first - 0.001 && next < first + 0.001);
    for (int i = begin; i < timer_count; i++) {
        leave(&timers[i]);
        RLRunLoopTimerInvalidate(timers[i].timer);
    }
}

static void scenario(void)
{
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent() - 1, hour = now + 3600;
    /* The farthest bucket grows and is split, and near timers are called. */
    for (int i = 0; i < 300; i++) {
        add(hour + (i * 7919) % 300);
        add(now - (i * 104729) % 300);
    }
    run_until(far(now));
    /* New timers replace cancelled far timers. */
    for (int i = 0; i < 300; i += 2)
        if (timers[i].date > now) {
            leave(&timers[i]);
            RLRunLoopTimerInvalidate(timers[i].timer);
        }
    for (int i = 0; i < 150; i++)
        add(hour + (i * 7919) % 300);
    run_until(far(now));
    /* More timers than the heap keeps, each before all others: the later half becomes a bucket. */
    for (int i = 0; i < 400; i++)
        add(now - i * 0.5);
    run_until(far(now));
    /* Timers move from bucket to bucket, into the heap, and out. */
    for (int i = 0; i < timer_count; i++) {
        if (i % 3 == 0)
            move(&timers[i], i % 2 ? now - i % 50 : hour + i * 60.0);
        if (i % 7 == 0) {
            leave(&timers[i]);
            RLRunLoopTimerInvalidate(timers[i].timer);
        }
    }
    run_until(far(now));
    for (int i = 0; i < timer_count; i++)
        move(&timers[i], i % 5 == 0 ? now : now - (i * 31) % 97);
    run_until(0);
    for (int kind = 0; kind < 3; kind++)
        add_far(kind);
}

/* Returns the exit status: 0 an allocation failed and all was well, 4 none failed; otherwise something did not work. */
static int attempt(long n)
{
    alarm(60);
    RLSetErrorHandler(no_mistake, NULL);
    CHECK(RLRunLoopGetCurrent() != NULL);
    mode = kRLRunLoopDefaultMode;
    far_modes[0] = RLSTR("spread");
    far_modes[1] = RLSTR("equal");
    far_modes[2] = RLSTR("due");
    fail_at = n;
    armed = true;
    scenario();
    fail_at = 0;
    fail_all = false;
    for (int i = 0; i < timer_count; i++)
        RLRelease(timers[i].timer);
    /* With memory again. */
    mode = kRLRunLoopDefaultMode;
    timer_count = 0;
    for (int i = 0; i < 200; i++)
        add(i % 10);
    CHECK(waiting == 200);
    run_until(0);
    return failures > 0 ? 0 : 4;
}

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    fail_all = strcmp(argv[1], "all") == 0;
    if (argc > 2)
        return attempt(atol(argv[2]));
    for (long n = 1;; n++) {
        int status;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(attempt(n));
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 4) {
            dprintf(1, "tried %ld\n", n - 1);
            return 0;
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            dprintf(1, "allocation %ld: status %#x\n", n, status);
    }
}
