/* Checks the timers of one loop against a model: random operations on timers and sources, inside and outside callbacks, in
 * virtual time. After each run the model says which timers had to fire and in which order, what the run had to return, and which
 * date is next. */
#include "guest.h"
#include <sys/syscall.h>
#include <time.h>

enum { SEEDS = SCALED(60), STEPS = 400, TIMERS = 380, SOURCES = 20 };

static uint64_t random_state;

static unsigned below(unsigned limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % limit;
}

/* -- Time, in microseconds. It advances only between steps. -------------------------------------------------------- */

enum { MILLISECOND = 1000, SECOND = 1000000, WALL = 1700000000, UPTIME = 100000 };
static long now; /* 0: the real time, for Check */

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (now == 0)
        return (int)syscall(SYS_clock_gettime, clock, time);
    bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    time->tv_sec = (is_wall ? WALL : UPTIME) + now / SECOND;
    time->tv_nsec = now % SECOND * 1000;
    return 0;
}

static RLAbsoluteTime date_of(long time) { return (WALL - kRLAbsoluteTimeIntervalSince1970) + (double)time * 1e-6; }

/* -- The model ----------------------------------------------------------------------------------------------------- */

enum { DEFAULT, FIRST, SECONDARY, THIRD, MODES, COMMON = MODES };
static RLStringRef names[MODES + 1];
static unsigned common_modes; /* bits of modes */

struct item {
    bool is_valid, is_unreferenced, is_in_common;
    unsigned modes;
};

static struct timer {
    struct item item;
    RLRunLoopTimerRef ref; /* NULL once it is freed */
    bool is_owned;         /* by the test */
    bool is_firing, counts_releases;
    int releases;
    long due, interval; /* no interval: fires once */
    unsigned arrival;   /* orders timers of one date */
} timers[TIMERS];

static struct source {
    struct item item;
    RLRunLoopSourceRef ref;
} sources[SOURCES];

static int timer_count, source_count;
static unsigned arrivals;
static RLRunLoopRef loop;

static bool is_in(const struct item *item, int mode) { return item->is_valid && item->modes >> mode & 1; }

/* An item may be in the common set even if it was removed from each common mode. */
static bool is_in_loop(const struct item *item) { return item->modes != 0 || item->is_in_common; }

static void model_add(struct item *item, int mode)
{
    item->is_in_common |= mode == COMMON;
    item->modes |= mode == COMMON ? common_modes : 1u << mode;
}

static void model_remove(struct item *item, int mode)
{
    if (mode == COMMON && !item->is_in_common)
        return;
    item->modes &= ~(mode == COMMON ? common_modes : 1u << mode);
    item->is_in_common &= mode != COMMON;
}

static void model_end(struct item *item) { *item = (struct item){.is_unreferenced = item->is_unreferenced}; }

/* A timer to which neither the test nor a loop refers is freed. */
static void forget_if_free(struct timer *timer)
{
    if (timer->is_owned || is_in_loop(&timer->item) || timer->is_firing)
        return;
    model_end(&timer->item);
    timer->ref = NULL;
}

/* -- What has to fire in the current run --------------------------------------------------------------------------- */

static struct timer *expected[TIMERS];
static int expected_count, next_expected, run_mode;

static int compare(const void *left, const void *right)
{
    const struct timer *a = *(struct timer *const *)left, *b = *(struct timer *const *)right;
    if (a->due != b->due)
        return a->due < b->due ? -1 : 1;
    return a->arrival < b->arrival ? -1 : 1;
}

static void expect_due_timers(int mode)
{
    run_mode = mode;
    expected_count = next_expected = 0;
    for (int i = 0; i < timer_count; i++)
        if (is_in(&timers[i].item, mode) && timers[i].due <= now)
            expected[expected_count++] = &timers[i];
    qsort(expected, (size_t)expected_count, sizeof *expected, compare);
}

/* Returns NULL if no more timers have to fire. Callbacks of other timers may have ended some. */
static struct timer *expected_timer(void)
{
    while (next_expected < expected_count && !is_in(&expected[next_expected]->item, run_mode))
        next_expected++;
    return next_expected < expected_count ? expected[next_expected] : NULL;
}

static bool is_expected(const struct timer *timer)
{
    for (int i = next_expected; i < expected_count; i++)
        if (expected[i] == timer)
            return true;
    return false;
}

/* -- Operations that callbacks make, too --------------------------------------------------------------------------- */

/* Returns a timer that may be used; NULL if none was found. */
static struct timer *any_timer(void)
{
    for (int tries = 0; tries < 20 && timer_count > 0; tries++) {
        struct timer *timer = &timers[below((unsigned)timer_count)];
        if (timer->is_owned && timer->item.is_valid)
            return timer;
    }
    return NULL;
}

static struct source *any_source(void) { return source_count > 0 ? &sources[below((unsigned)source_count)] : NULL; }

static void invalidate_timer(struct timer *timer)
{
    model_end(&timer->item);
    RLRunLoopTimerInvalidate(timer->ref);
}

static void release_timer(struct timer *timer)
{
    RLRunLoopTimerRef ref = timer->ref;
    timer->is_owned = false;
    forget_if_free(timer);
    RLRelease(ref);
}

static void remove_timer(struct timer *timer)
{
    if (timer->is_firing || is_expected(timer))
        return;
    int mode = (int)below(MODES + 1);
    RLRunLoopRemoveTimer(loop, timer->ref, names[mode]);
    model_remove(&timer->item, mode);
}

static void unreference_timer(struct timer *timer)
{
    timer->item.is_unreferenced = below(2);
    RLRunLoopTimerSetKeepsModeRunning(timer->ref, !timer->item.is_unreferenced);
}

static void set_tolerance(struct timer *timer)
{
    RLRunLoopTimerSetTolerance(timer->ref, below(2) ? 0 : 0.001 * below(100));
}

static void change_source(struct source *source)
{
    int mode = (int)below(MODES + 1);
    switch (below(4)) {
    case 0:
        RLRunLoopAddSource(loop, source->ref, names[mode]);
        if (source->item.is_valid)
            model_add(&source->item, mode);
        break;
    case 1:
        RLRunLoopRemoveSource(loop, source->ref, names[mode]);
        model_remove(&source->item, mode);
        break;
    case 2:
        source->item.is_unreferenced = below(2);
        RLRunLoopSourceSetKeepsModeRunning(source->ref, !source->item.is_unreferenced);
        break;
    default:
        if (below(8) == 0) {
            RLRunLoopSourceInvalidate(source->ref);
            model_end(&source->item);
        }
    }
}

static void change_something(void)
{
    static void (*const changes[])(struct timer *) = {invalidate_timer, release_timer, remove_timer, unreference_timer,
                                                      set_tolerance};
    unsigned choice = below(9);
    struct timer *timer = choice < 5 ? any_timer() : NULL;
    struct source *source = choice < 5 ? NULL : any_source();
    if (timer != NULL)
        changes[choice](timer);
    if (source != NULL)
        change_source(source);
}

/* -- The callback of all timers ------------------------------------------------------------------------------------ */

static int number(const struct timer *timer) { return timer ? (int)(timer - timers) : -1; }

static void fire(RLRunLoopTimerRef ref, void *info)
{
    struct timer *timer = info, *wanted = expected_timer();
    if (timer != wanted || ref != timer->ref)
        ck_abort_msg("timer %d fires, not %d", number(timer), number(wanted));
    next_expected++;
    timer->is_firing = true;
    for (unsigned changes = below(3); changes > 0; changes--)
        change_something();
    timer->is_firing = false;
    if (timer->item.is_valid && timer->interval == 0)
        model_end(&timer->item);
    while (timer->item.is_valid && timer->due <= now)
        timer->due += timer->interval;
    timer->arrival = ++arrivals;
    forget_if_free(timer);
}

static void count_release(const void *info) { ((struct timer *)info)->releases++; }

/* -- Operations outside of callbacks ------------------------------------------------------------------------------- */

static long random_distance(void)
{
    switch (below(6)) {
    case 0:
        return below(50);
    case 1:
        return below(10000);
    case 2:
        return below(1000000000);
    case 3:
        return -(long)below(5000);
    case 4:
        return 7; /* several timers on one date */
    default:
        return 1000L * below(100);
    }
}

static void make_random_timer(void)
{
    if (timer_count == TIMERS)
        return;
    struct timer *timer = &timers[timer_count];
    long distance = random_distance();
    timer->due = now - now % MILLISECOND + distance * MILLISECOND;
    timer->counts_releases = below(3) == 0;
    if (timer->counts_releases && distance > 0 && below(3) == 0) {
        timer->interval = (1 + below(160)) * 125L * MILLISECOND;
        timer->due += 1 + timer_count; /* not on any other timer's date, because its dates are rounded */
    }
    RLRunLoopTimerContext context = {.info = timer, .release = timer->counts_releases ? count_release : NULL};
    timer->ref = RLRunLoopTimerCreate(NULL, date_of(timer->due), (double)timer->interval * 1e-6, 0, 0, fire, &context);
    timer->is_owned = timer->item.is_valid = true;
    timer->arrival = ++arrivals;
    int mode = (int)below(8);
    mode = mode > COMMON ? DEFAULT : mode;
    RLRunLoopAddTimer(loop, timer->ref, names[mode]);
    model_add(&timer->item, mode);
    timer_count++;
}

static void add_timer(struct timer *timer)
{
    int mode = (int)below(MODES + 1);
    if (!is_in_loop(&timer->item))
        timer->arrival = ++arrivals;
    RLRunLoopAddTimer(loop, timer->ref, names[mode]);
    model_add(&timer->item, mode);
}

static void move_timer(struct timer *timer)
{
    if (timer->interval > 0)
        return;
    timer->due = now - now % MILLISECOND + (below(2) ? below(100) : below(1000000)) * (long)MILLISECOND;
    timer->arrival = ++arrivals;
    RLRunLoopTimerSetNextFireDate(timer->ref, date_of(timer->due));
}

static void make_random_source(void)
{
    if (source_count == SOURCES)
        return;
    struct source *source = &sources[source_count++];
    source->item.is_valid = true;
    source->ref = make_source(0, do_nothing, source);
}

static void make_mode_common(void)
{
    unsigned mode = below(MODES);
    if (common_modes >> mode & 1 || below(4) > 0)
        return;
    RLRunLoopAddCommonMode(loop, names[mode]);
    common_modes |= 1u << mode;
    for (int i = 0; i < timer_count; i++)
        timers[i].item.modes |= timers[i].item.is_in_common ? 1u << mode : 0;
    for (int i = 0; i < source_count; i++)
        sources[i].item.modes |= sources[i].item.is_in_common ? 1u << mode : 0;
}

/* The host may wait until the next run. */
static void be_guest(void)
{
    require(RLRunLoopPrepareGuest(names[below(MODES)], below(2), &state) == 1);
    if (below(2))
        RLRunLoopLeaveGuest();
}

static void do_something(void)
{
    unsigned choice = below(18);
    struct timer *timer = choice == 13 || choice == 14 ? any_timer() : NULL;
    if (choice < 9)
        change_something();
    else if (choice < 13)
        make_random_timer();
    else if (timer != NULL)
        (choice == 13 ? add_timer : move_timer)(timer);
    else if (choice == 15)
        make_mode_common();
    else if (choice == 16)
        be_guest();
    else if (choice == 17)
        make_random_source();
}

/* -- Steps --------------------------------------------------------------------------------------------------------- */

static void run(void)
{
    int mode = (int)below(MODES);
    bool is_empty = true;
    for (int i = 0; i < timer_count; i++)
        is_empty &= !is_in(&timers[i].item, mode) || timers[i].item.is_unreferenced;
    for (int i = 0; i < source_count; i++)
        is_empty &= !is_in(&sources[i].item, mode) || sources[i].item.is_unreferenced;
    expect_due_timers(mode);
    int wanted = is_empty ? kRLRunLoopRunFinished : kRLRunLoopRunTimedOut;
    int result = RLRunLoopRunInMode(names[mode], 0, 0);
    if (result != wanted)
        ck_abort_msg("the run returns %d, not %d", result, wanted);
    if (!is_empty && expected_timer() != NULL)
        ck_abort_msg("timer %d does not fire", number(expected_timer()));
    expected_count = 0;
}

static void compare_next_date(void)
{
    int mode = (int)below(MODES);
    const struct timer *first = NULL;
    for (int i = 0; i < timer_count; i++)
        if (is_in(&timers[i].item, mode) && (first == NULL || timers[i].due < first->due))
            first = &timers[i];
    double date = RLRunLoopGetNextTimerFireDate(loop, names[mode]), wanted = first ? date_of(first->due) : 0;
    if (fabs(date - wanted) > 1e-5)
        ck_abort_msg("the next date is %.6f, not %.6f", date, wanted);
}

static void let_time_pass(void)
{
    static const unsigned most[] = {3, 100, 100, 20000, 100000000, 1, 1, 1}; /* milliseconds */
    now += (long)below(most[below(8)]) * MILLISECOND;
}

static void end_all(void)
{
    for (int i = 0; i < timer_count; i++) {
        if (timers[i].item.is_valid)
            invalidate_timer(&timers[i]);
        if (timers[i].is_owned)
            release_timer(&timers[i]);
        if (timers[i].releases != timers[i].counts_releases)
            ck_abort_msg("timer %d has released its info %d times", i, timers[i].releases);
    }
    for (int i = 0; i < source_count; i++)
        drop_source(sources[i].ref);
}

START_TEST(random_timers_agree_with_the_model)
{
    random_state = (uint64_t)(_i + 1) * 7919 + 1;
    /* In the middle of a millisecond, when no timer is due. */
    now = 10 * SECOND + 500;
    names[DEFAULT] = kRLRunLoopDefaultMode;
    names[FIRST] = RLSTR("first");
    names[SECONDARY] = RLSTR("second");
    names[THIRD] = RLSTR("third");
    names[COMMON] = kRLRunLoopCommonModes;
    common_modes = 1u << DEFAULT;
    loop = RLRunLoopGetCurrent();
    for (int step = 0; step < STEPS; step++) {
        for (unsigned operations = 1 + below(6); operations > 0; operations--)
            do_something();
        let_time_pass();
        if (below(3) == 0)
            continue;
        run();
        compare_next_date();
    }
    end_all();
    now = 0;
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("timer-random");
    TCase *tcase = add_case(suite, "random", 20);
    tcase_add_loop_test(tcase, random_timers_agree_with_the_model, 0, SEEDS);
    return suite;
}
