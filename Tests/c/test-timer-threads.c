/* Stress test: threads make, move, cancel and release timers at random while two loops fire them. */
#include "harness.h"
#include <math.h>

enum { LOOPS = 2, THREADS = 4, SLOTS = 150, STEPS = SCALED(40000) };

/* What happened to a timer. This is also its info, which may be used only while it is held if the context has functions. */
struct life {
    atomic_int calls, held;
    bool repeats, counts;
};
static struct life lives[THREADS * STEPS];

/* A timer that any thread may use. The slot has a reference to it. */
static struct slot {
    pthread_mutex_t mutex;
    RLRunLoopTimerRef timer;
} slots[SLOTS];

static RLRunLoopRef loops[LOOPS];
static pthread_barrier_t barrier;
static _Thread_local unsigned chance;

static int draw(int below)
{
    chance = chance * 1664525u + 1013904223u;
    return (int)((chance >> 8) % (unsigned)below);
}

static RLAbsoluteTime draw_date(void)
{
    static const double delays[] = {-1, -1e-6, 0, 2e-5, 1e-3, 3600, HUGE_VAL};
    return RLAbsoluteTimeGetCurrent() + delays[draw(7)] * (1 + draw(3));
}

static const void *hold(const void *info)
{
    atomic_fetch_add(&((struct life *)info)->held, 1);
    return info;
}

static void drop_hold(const void *info) { require(atomic_fetch_sub(&((struct life *)info)->held, 1) > 0); }

/* Puts a timer with its reference, or NULL, into a slot, and releases the old timer. */
static void put(struct slot *slot, RLRunLoopTimerRef timer)
{
    pthread_mutex_lock(&slot->mutex);
    RLRunLoopTimerRef old = slot->timer;
    slot->timer = timer;
    pthread_mutex_unlock(&slot->mutex);
    if (old == NULL)
        return;
    if (draw(2) == 0)
        RLRunLoopTimerInvalidate(old);
    RLRelease(old);
}

static void change_one(void)
{
    struct slot *slot = &slots[draw(SLOTS)];
    pthread_mutex_lock(&slot->mutex);
    RLRunLoopTimerRef timer = slot->timer == NULL ? NULL : (RLRunLoopTimerRef)RLRetain(slot->timer);
    pthread_mutex_unlock(&slot->mutex);
    if (timer == NULL)
        return;
    RLRunLoopRef loop = loops[draw(LOOPS)];
    switch (draw(8)) {
    case 0:
        RLRunLoopTimerInvalidate(timer);
        break;
    case 1:
        RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
        break;
    case 2:
        RLRunLoopRemoveTimer(loop, timer, kRLRunLoopDefaultMode);
        break;
    case 3:
        RLRunLoopTimerSetTolerance(timer, draw(2) * 1e-3);
        break;
    case 4:
        RLRunLoopGetNextTimerFireDate(loop, kRLRunLoopDefaultMode);
        break;
    default:
        RLRunLoopTimerSetNextFireDate(timer, draw_date());
    }
    RLRelease(timer);
}

static void fire(RLRunLoopTimerRef timer, void *info)
{
    struct life *life = info;
    require(atomic_fetch_add(&life->calls, 1) == 0 || life->repeats);
    require(!life->counts || atomic_load(&life->held) > 0);
    for (int i = draw(3); i > 0; i--)
        change_one();
    if (draw(100) == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    if (draw(10) == 0)
        RLRunLoopTimerInvalidate(timer);
}

/* Eight of ten timers are one-shots without functions in their context. */
static void make_one(struct life *life)
{
    RLRunLoopTimerContext context = {.info = life};
    int kind = draw(10);
    life->repeats = kind == 8;
    life->counts = kind == 9;
    if (life->counts)
        context.retain = hold, context.release = drop_hold;
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, draw_date(), life->repeats ? 1e-4 : 0, 0, 0, fire, &context);
    if (draw(8) > 0)
        RLRunLoopAddTimer(loops[draw(LOOPS)], timer, kRLRunLoopDefaultMode);
    if (draw(3) == 0)
        RLRelease(timer);
    else
        put(&slots[draw(SLOTS)], timer);
}

static void *use_timers(void *info)
{
    int number = (int)(intptr_t)info;
    chance = (unsigned)number;
    if (number < LOOPS)
        loops[number] = (RLRunLoopRef)RLRetain(RLRunLoopGetCurrent());
    pthread_barrier_wait(&barrier);
    for (int step = 0; step < STEPS; step++) {
        draw(3) == 0 ? make_one(&lives[number * STEPS + step]) : change_one();
        if (number < LOOPS && draw(20) == 0)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    }
    pthread_barrier_wait(&barrier);
    return NULL;
}

START_TEST(timers_live_as_long_as_loops_and_clients_need_them)
{
    require(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    for (int i = 0; i < SLOTS; i++)
        require(pthread_mutex_init(&slots[i].mutex, NULL) == 0);
    on_threads(THREADS, use_timers);
    for (int i = 0; i < SLOTS; i++)
        put(&slots[i], NULL);
    for (int i = 0; i < LOOPS; i++)
        RLRelease(loops[i]);
    int calls = 0, held = 0;
    for (int i = 0; i < THREADS * STEPS; i++) {
        calls += lives[i].calls;
        held += lives[i].held;
    }
    ck_assert_int_gt(calls, 0);
    ck_assert_int_eq(held, 0);
}
END_TEST

enum { ROUNDS = SCALED(3000) };
static _Atomic(RLRunLoopTimerRef) released; /* to be released by the other thread; NULL once it has done so */
static atomic_bool is_over;

static void *release_what_is_given(UNUSED void *info)
{
    while (!atomic_load(&is_over)) {
        RLRunLoopTimerRef timer = atomic_load(&released);
        if (timer != NULL) {
            RLRelease(timer);
            atomic_store(&released, NULL);
        }
        sched_yield();
    }
    return NULL;
}

/* The loop keeps the timer during the callback. */
static void keep(RLRunLoopTimerRef timer, void *info)
{
    atomic_store(&released, timer);
    *(RLRunLoopTimerRef *)info = (RLRunLoopTimerRef)RLRetain(timer);
}

START_TEST(a_timer_can_be_retained_in_its_callback_while_a_thread_releases_it)
{
    pthread_t thread;
    RLRunLoopTimerRef kept = NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, release_what_is_given, NULL), 0);
    for (int round = 0; round < ROUNDS; round++) {
        RLRunLoopAddTimer(RLRunLoopGetCurrent(), make_timer(0, 0, keep, &kept), kRLRunLoopDefaultMode);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
        while (atomic_load(&released) != NULL)
            sched_yield();
        ck_assert(!RLRunLoopTimerIsValid(kept));
        ck_assert_int_eq(RLGetRetainCount(kept), 1);
        RLRelease(kept);
    }
    atomic_store(&is_over, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("timer-threads");
    TCase *tcase = add_case(suite, "threads", 60);
    tcase_add_test(tcase, timers_live_as_long_as_loops_and_clients_need_them);
    tcase_add_test(tcase, a_timer_can_be_retained_in_its_callback_while_a_thread_releases_it);
    return suite;
}
