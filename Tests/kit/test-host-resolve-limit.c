/* The time limit of RLHostResolve: the modes of its timers, memory that runs out, and threads that cancel or fork at the same time. */
#include "memory.h"

#include <sys/wait.h>

/* No object is submitted to workers, so each reaches its time limit unless it is cancelled. */
struct query {
    RLHostResolveRef object;
    struct lifetime life;
    atomic_int calls;
    atomic_bool is_in_callback;
    bool is_released_in_callback; /* by another thread */
};

static void *cancel_and_release(void *object)
{
    RLWorkCancel(object);
    RLRelease(object);
    return NULL;
}

static void timed_out(RLHostResolveRef resolve, RLArrayRef addresses, int error, void *info)
{
    struct query *query = info;
    query->is_in_callback = true;
    require(!RLRunLoopSourceIsValid(resolve) && addresses == NULL && error == kRLHostResolveTimedOut);
    query->calls++;
    if (query->is_released_in_callback)
        join_thread(start_thread(cancel_and_release, resolve));
    query->is_in_callback = false;
}
static const void *retain_query(const void *info)
{
    lifetime_retain(&((struct query *)(uintptr_t)info)->life);
    return info;
}
/* Uses the kit, which would deadlock if it called this with a lock held. */
static void release_query(const void *info)
{
    struct query *query = (struct query *)(uintptr_t)info;
    require(!query->is_in_callback);
    RLHostResolveRef other = RLHostResolveCreate(NULL, "a.host", NULL, NULL, 3600, timed_out, NULL);
    if (other != NULL) {
        RLRunLoopAddSource(RLRunLoopGetCurrent(), other, RLSTR("never run"));
        drop_source(other);
    }
    lifetime_release(&query->life);
}

static RLHostResolveRef make_query(struct query *query, double timeout)
{
    RLWorkContext context = {.info = query, .retain = retain_query, .release = release_query};
    return query->object = RLHostResolveCreate(NULL, "a.host", NULL, NULL, timeout, timed_out, &context);
}

static void run_until_called(struct query *query)
{
    while (query->calls == 0)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    ck_assert_int_eq(query->calls, 1);
}

/* -- Memory ------------------------------------------------------------------------------------------------------------ */

/* After a first addition that succeeds, each allocation of an addition fails in turn. An object that is then removed and added again
 * has its time limit. */
START_TEST(an_addition_without_memory_can_be_repeated)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    struct query query = {0};
    do {
        query.calls = 0;
        make_query(&query, 0);
        allocations = failures = 0;
        armed = true;
        RLRunLoopAddSource(rl, query.object, kRLRunLoopDefaultMode);
        armed = false;
        RLRunLoopRemoveSource(rl, query.object, kRLRunLoopDefaultMode);
        RLRunLoopAddSource(rl, query.object, kRLRunLoopDefaultMode);
        run_until_called(&query);
        RLRelease(query.object);
    } while (fail_at++ == 0 || failures > 0);
    ck_assert_int_gt(fail_at, 2);
    take_diagnostics();
    ck_assert_int_eq(lifetime_held(&query.life), 0);
}
END_TEST

/* Memory is reserved for an object's first loop only, and this is the second. */
static void *add_elsewhere_twice(void *info)
{
    struct query *query = info;
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    armed = true;
    RLRunLoopAddSource(rl, query->object, kRLRunLoopDefaultMode);
    armed = false;
    RLRunLoopRemoveSource(rl, query->object, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, query->object, kRLRunLoopDefaultMode);
    run_until_called(query);
    return NULL;
}
START_TEST(an_addition_to_another_loop_can_be_repeated)
{
    struct query query = {0};
    do {
        query.calls = 0;
        RLRunLoopAddSource(RLRunLoopGetCurrent(), make_query(&query, 0), RLSTR("never run"));
        allocations = failures = 0;
        join_thread(start_thread(add_elsewhere_twice, &query));
        RLRelease(query.object);
    } while (fail_at++ == 0 || failures > 0);
    ck_assert_int_gt(fail_at, 2);
    take_diagnostics();
    ck_assert_int_eq(lifetime_held(&query.life), 0);
}
END_TEST

/* -- Threads ----------------------------------------------------------------------------------------------------------- */

static bool records_timers;
static pthread_mutex_t timers_mutex = PTHREAD_MUTEX_INITIALIZER;
static RLRunLoopTimerRef timers[10000];
static int timer_count;

/* Called by the kit for each mode that it adds a timer to. */
void RLRunLoopAddTimer(RLRunLoopRef loop, RLRunLoopTimerRef timer, RLRunLoopMode mode)
{
    void (*real)(RLRunLoopRef, RLRunLoopTimerRef, RLRunLoopMode) = dlsym(RTLD_NEXT, "RLRunLoopAddTimer");
    if (records_timers) {
        pthread_mutex_lock(&timers_mutex);
        require(timer_count < (int)(sizeof timers / sizeof *timers));
        timers[timer_count++] = (RLRunLoopTimerRef)RLRetain(timer);
        pthread_mutex_unlock(&timers_mutex);
    }
    real(loop, timer, mode);
}

static struct query moving;
static RLRunLoopRef loops[2];
static RLRunLoopMode modes[2];

static void *add_and_remove(void *info)
{
    static atomic_uint seeds;
    uint32_t random = 4 * seeds++ + (uint32_t)(intptr_t)info;
    for (int i = 0; i < 20; i++) {
        random = random * 1664525 + 1013904223;
        if ((random >> 24 & 1) != 0)
            RLRunLoopAddSource(loops[random >> 20 & 1], moving.object, modes[random >> 28 & 1]);
        else
            RLRunLoopRemoveSource(loops[random >> 20 & 1], moving.object, modes[random >> 28 & 1]);
    }
    return NULL;
}

/* Whether one of the timers is in a mode. */
static bool has_timer(RLRunLoopRef loop, RLRunLoopMode mode)
{
    bool found = false;
    for (int i = 0; i < timer_count; i++)
        found |= RLRunLoopContainsTimer(loop, timers[i], mode);
    return found;
}

static void begin_moving(struct looper *looper)
{
    looper_start(looper);
    loops[0] = RLRunLoopGetCurrent();
    loops[1] = looper->loop;
    for (int i = 0; i < 2; i++)
        modes[i] = RLStringCreateWithCString(NULL, i == 0 ? "one" : "other", kRLStringEncodingUTF8);
    make_query(&moving, 3600);
}
static void end_moving(struct looper *looper)
{
    drop_source(moving.object);
    looper_stop(looper);
    for (int i = 0; i < 2; i++)
        RLRelease(modes[i]);
    ck_assert_int_eq(lifetime_held(&moving.life), 0);
}

START_TEST(the_timers_are_where_the_object_is)
{
    struct looper looper;
    begin_moving(&looper);
    records_timers = true;
    for (int round = 0; round < SCALED(1000); round++) {
        on_threads(4, add_and_remove);
        for (int i = 0; i < 4; i++) {
            bool is_there = RLRunLoopContainsSource(loops[i / 2], moving.object, modes[i % 2]);
            ck_assert_int_eq(has_timer(loops[i / 2], modes[i % 2]), is_there);
        }
        for (int i = 0; i < 4; i++)
            RLRunLoopRemoveSource(loops[i / 2], moving.object, modes[i % 2]);
        while (timer_count > 0)
            RLRelease(timers[--timer_count]);
    }
    end_moving(&looper);
}
END_TEST

START_TEST(cancelled_while_the_time_limit_is_reached)
{
    for (int round = 0; round < SCALED(2000); round++) {
        struct query query = {0};
        RLRunLoopAddSource(RLRunLoopGetCurrent(), make_query(&query, 0), kRLRunLoopDefaultMode);
        pthread_t thread = start_thread(cancel_and_release, query.object);
        for (int i = round % 50; i > 0; i--)
            sched_yield();
        ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0), kRLRunLoopRunFinished);
        join_thread(thread);
        ck_assert(query.calls <= 1 && lifetime_held(&query.life) == 0);
    }
}
END_TEST

START_TEST(the_loop_has_the_last_reference)
{
    struct query query = {0};
    RLRunLoopAddSource(RLRunLoopGetCurrent(), make_query(&query, 0), kRLRunLoopDefaultMode);
    RLRelease(query.object);
    run_until_called(&query);
    ck_assert_int_eq(lifetime_held(&query.life), 0);
}
END_TEST

START_TEST(another_thread_releases_it_in_its_callback)
{
    struct query query = {.is_released_in_callback = true};
    RLRunLoopAddSource(RLRunLoopGetCurrent(), make_query(&query, 0), kRLRunLoopDefaultMode);
    run_until_called(&query);
    ck_assert_int_eq(lifetime_held(&query.life), 0);
}
END_TEST

/* -- fork -------------------------------------------------------------------------------------------------------------- */

static atomic_bool is_over;
static void *add_until_over(UNUSED void *info)
{
    while (!is_over)
        add_and_remove(info);
    return NULL;
}

static void use_in_child(UNUSED void *info)
{
    struct query query = {0};
    alarm(60);
    RLRunLoopAddSource(loops[0], moving.object, modes[0]);
    drop_source(moving.object);
    RLRunLoopAddSource(loops[0], make_query(&query, 0), kRLRunLoopDefaultMode);
    run_until_called(&query);
    RLRelease(query.object);
}

/* The first object is one of the kit's, so the kit registers its fork() handlers before librunloop, and fork() takes the kit's lock
 * last. */
START_TEST(fork_while_threads_add_and_remove_it)
{
    RLRelease(RLWorkersCreate(NULL, 1));
    struct looper looper;
    begin_moving(&looper);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = start_thread(add_until_over, NULL);
    for (int i = 0; i < SCALED(100); i++)
        ck_assert_int_eq(run_in_child(use_in_child, NULL), 0);
    is_over = true;
    for (int i = 0; i < 2; i++)
        join_thread(threads[i]);
    end_moving(&looper);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("host resolve limit");
    TCase *all = add_case(suite, "limit", 60);
    if (!THREAD_SANITIZED) {
        tcase_add_test(all, an_addition_without_memory_can_be_repeated);
        tcase_add_test(all, an_addition_to_another_loop_can_be_repeated);
    }
    tcase_add_test(all, the_timers_are_where_the_object_is);
    tcase_add_test(all, cancelled_while_the_time_limit_is_reached);
    tcase_add_test(all, the_loop_has_the_last_reference);
    tcase_add_test(all, another_thread_releases_it_in_its_callback);
    tcase_add_test(all, fork_while_threads_add_and_remove_it);
    return suite;
}
