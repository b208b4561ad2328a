/*
 * scenarios-timers.h
 *     churn      N timers for one to two hours ahead, cancelled in another order: one add + cancel
 *     rearm      N such timers, each moved to another time: one move
 *     fire       N one-shot timers within one millisecond, run until all have been called: one timer
 *     lateness   a timer with a period of 1 ms: mean lateness of its calls
 *     memory     bytes per pending timer
 */

static struct {
    size_t count, expected, called;
    bool *seen;
    uint64_t due;                                   /* of the only timer expected, in "rearm" */
} timers_;

static void on_timer(size_t i)
{
    CHECK(timers_.expected > 0);                    /* a cancelled or far timer fired       */
    CHECK(i < timers_.count && !timers_.seen[i]);   /* called twice                         */
    CHECK(now_ns() >= timers_.due);                 /* called early                         */
    timers_.seen[i] = true;
    if (++timers_.called == timers_.expected) {
        measure_end();
        loop_stop(first_loop());
    }
}

static uint64_t far_delay(void) { return 3600000000000u + random_below(3600000000000u); }

/* Small batches are repeated for some time. */
static bool enough_for(uint64_t nanoseconds)
{
    uint64_t fixed = fixed_operations();
    return fixed ? result.operations >= fixed : now_ns() - result.begin >= scaled(nanoseconds);
}
static bool enough(void) { return enough_for(150000000); }

static void expect_timers(size_t count, size_t expected)
{
    timers_.count = count;
    timers_.expected = expected;
    timers_.seen = allocate(count, sizeof *timers_.seen);
    memset(timers_.seen, 0, count * sizeof *timers_.seen);    /* fault the pages in now */
}

static size_t timer_count(const char *parameter)
{
    size_t n = strtoul(parameter, NULL, 10), most = variants[chosen].most_timers;
    CHECK(n > 0);
    if (most && n > most)
        _exit(EXIT_UNSUPPORTED);
    return n;
}

static uint32_t *shuffled(size_t n)
{
    uint32_t *order = allocate(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        size_t j = (size_t)random_below(i + 1);
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
    return order;
}

static void churn(const char *parameter)
{
    size_t n = timer_count(parameter);
    uint64_t *delay = allocate(n, sizeof *delay);
    for (size_t i = 0; i < n; i++)
        delay[i] = far_delay();
    uint32_t *order = shuffled(n);
    loop_init(first_loop());
    measure_begin();
    do { /* three times if that is fast: the first batch's memory is new, which may take as long as the rest */
        timers_init(first_loop(), n);
        for (size_t i = 0; i < n; i++)
            timer_add(first_loop(), i, delay[i]);
        for (size_t i = 0; i < n; i++)
            timer_cancel(first_loop(), order[i]);
        timers_settle(first_loop());
        result.operations += n;
    } while (!enough() || (result.operations < 3 * n && !enough_for(600000000)));
    measure_end();
    CHECK(timers_.called == 0);
}

static void rearm(const char *parameter)
{
    size_t n = timer_count(parameter);
    uint64_t *delay = allocate(n, sizeof *delay);
    uint32_t *order = shuffled(n);
    loop_init(first_loop());
    timers_init(first_loop(), n);
    for (size_t i = 0; i < n; i++)
        timer_add(first_loop(), i, delay[i] = far_delay());
    measure_begin();
    do {
        timers_init(first_loop(), n);
        for (size_t i = 0; i < n; i++)
            timer_rearm(first_loop(), order[i], delay[i]);
        result.operations += n;
    } while (!enough());
    measure_end();

    /* One is moved close: only that one fires, and not early. */
    uint64_t end = result.end;
    expect_timers(n, 1);
    timers_init(first_loop(), n);
    timers_.due = now_ns() + 9000000;               /* some count from a cached millisecond */
    timer_rearm(first_loop(), order[0], 10000000);
    loop_run(first_loop());
    CHECK(timers_.called == 1 && timers_.seen[order[0]]);
    result.end = end;
}

static void fire(const char *parameter)
{
    size_t n = timer_count(parameter);
    uint64_t *delay = allocate(n, sizeof *delay);
    for (size_t i = 0; i < n; i++)
        delay[i] = 1 + random_below(1000000);
    expect_timers(n, n);
    loop_init(first_loop());
    measure_begin();
    do {
        timers_.called = 0;
        memset(timers_.seen, 0, n * sizeof *timers_.seen);
        timers_init(first_loop(), n);
        for (size_t i = 0; i < n; i++)
            timer_once(first_loop(), i, delay[i]);
        loop_run(first_loop());
        CHECK(timers_.called == n);
        result.operations += n;
    } while (!enough());
}

static void timer_memory(const char *parameter)
{
    (void)parameter;
    size_t n = 100000;
    expect_timers(n + 1, 1);
    loop_init(first_loop());
    uint64_t before = resident_bytes();
    timers_init(first_loop(), n + 1);
    for (size_t i = 0; i < n; i++)
        timer_add(first_loop(), i, far_delay());
    timer_add(first_loop(), n, 1000000);            /* makes the loop take note of all of them */
    loop_run(first_loop());
    CHECK(timers_.called == 1);
    result.operations = n;
    result.value = ((double)resident_bytes() - (double)before) / (double)n;
}

/* ---- lateness ---------------------------------------------------------------------------------- */

static struct { uint64_t period, end, *at; size_t count, room; } ticks;

static void on_tick(void)
{
    uint64_t now = now_ns();
    if (ticks.count < ticks.room)
        ticks.at[ticks.count++] = now;
    if (now >= ticks.end)
        loop_stop(first_loop());
}

/* Mean lateness relative to what the library promises; calls merged on the grid count as missed, not late. */
static double mean_lateness(uint64_t first, enum schedule schedule)
{
    double sum = 0, due = 0, period = (double)ticks.period;
    for (size_t i = 0; i < ticks.count; i++) {
        double at = (double)ticks.at[i] - (double)first;
        if (schedule == ON_GRID)
            due = (double)(int64_t)(at / period + 0.1) * period;
        sum += at - due;
        double next = due + period;
        due = schedule == AFTER_CALL                          ? at + period
            : schedule == RESTARTED_WHEN_LATE && next < at    ? at + period
            : schedule == DUE_OR_NOW && next < at             ? at
                                                              : next;
    }
    return sum / (double)ticks.count;
}

static void lateness(const char *parameter)
{
    (void)parameter;
    uint64_t length = scaled(400000000);
    enum schedule schedule;
    ticks.period = 1000000;
    ticks.room = 2 * length / ticks.period + 100;
    ticks.at = allocate(ticks.room, sizeof *ticks.at);
    memset(ticks.at, 0xff, ticks.room * sizeof *ticks.at);    /* fault the pages in now */
    loop_init(first_loop());
    ticks.end = now_ns() + length;
    uint64_t first = ticker_start(first_loop(), ticks.period, &schedule);
    loop_run(first_loop());
    CHECK(ticks.count > length / ticks.period / 2);
    result.operations = ticks.count;
    result.value = mean_lateness(first, schedule);
    CHECK(schedule != ON_GRID || result.value > 0);           /* never early */
}
