/*
 * scenarios-wake.h -- passes of one loop, and several threads around a loop:
 *     pass      a handler asks to be called again in the next pass
 *     signal    one of N sources is signalled and performed
 *     post      N threads hand functions to one loop
 *     wake      two loops on two threads wake each other in turn
 *     call      a thread has a loop call a function and waits until it has
 */

/* ---- pass: parameter "nothing" or "descriptor" (a quiet one is watched, so a pass must poll) --- */

static struct { uint64_t warm, total, done, deadline; } passes;

static void start_passes(void)
{
    passes.warm = 1000;
    uint64_t fixed = fixed_operations();
    passes.total = fixed ? passes.warm + fixed : UINT64_MAX;
    passes.deadline = fixed ? UINT64_MAX : now_ns() + scaled(200000000);
}

/* Counts one pass; returns false for the last one. The clock is read only every 256 passes. */
static inline bool another_pass(void)
{
    passes.done++;
    if (passes.done == passes.warm)
        measure_begin();
    if (passes.done % 256 == 0 && passes.done > passes.warm && now_ns() >= passes.deadline)
        passes.total = passes.done;
    if (passes.done < passes.total)
        return true;
    measure_end();
    result.operations = passes.done - passes.warm;
    loop_stop(first_loop());
    return false;
}

static bool on_again(void) { return another_pass(); }

static void quiet_descriptor_open(struct loop *loop);
static void quiet_descriptor_poke(void);
static bool quiet_descriptor_served(void);

static void pass(const char *parameter)
{
    bool watching = strcmp(parameter, "descriptor") == 0;
    CHECK(watching || strcmp(parameter, "nothing") == 0);
    loop_init(first_loop());
    if (watching)
        quiet_descriptor_open(first_loop());
    start_passes();
    again_start(first_loop());
    if (watching)
        quiet_descriptor_poke();
    loop_run(first_loop());
    CHECK(!watching || quiet_descriptor_served());  /* the passes did check it */
}

/* ---- signal: parameter = number of sources in the mode ------------------------------------------- */

#ifdef HAS_SOURCES
static struct { size_t count, expected; } sources_;

static void on_signalled(size_t i)
{
    CHECK(i == sources_.expected);
    if (!another_pass())
        return;
    sources_.expected = (size_t)random_below(sources_.count);
    source_signal(first_loop(), sources_.expected);
}

static void signal_one(const char *parameter)
{
    sources_.count = strtoul(parameter, NULL, 10);
    CHECK(sources_.count > 0);
    loop_init(first_loop());
    sources_init(first_loop(), sources_.count);
    start_passes();
    passes.warm = 10;                                 /* a pass may take a millisecond */
    source_signal(first_loop(), sources_.expected);
    loop_run(first_loop());
}
#endif

/* ---- post: parameter = number of threads ----------------------------------------------------------- */

static struct {
    uint64_t total, per_thread;
    pthread_barrier_t go;
    _Alignas(128) uint64_t done, sum;               /* used by the loop: no posting thread reads this line */
} posts;

static void run_posted(void *argument)
{
    posts.sum += (uintptr_t)argument;
    if (++posts.done == posts.total) {
        measure_end();
        loop_stop(first_loop());
    }
}

static void *post_many(void *argument)
{
    uintptr_t first = (uintptr_t)argument * posts.per_thread;
    pthread_barrier_wait(&posts.go);
    for (uintptr_t i = 0; i < posts.per_thread; i++)
        post_send(first_loop(), run_posted, (void *)(first + i));
    return NULL;
}

/* A task queue for libraries that have only a wake-up: mutex and double buffer, woken when it was
   empty. This is what an expert writes, and it is faster than most native calls. */
static struct task *queue_in, *queue_out;
static size_t queue_count, queue_in_size, queue_out_size;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

static inline MAYBE_UNUSED void post_by_wake(struct loop *loop, task_function function, void *argument)
{
    pthread_mutex_lock(&queue_lock);
    if (queue_count == queue_in_size) {
        queue_in_size = queue_in_size ? 2 * queue_in_size : 1024;
        queue_in = realloc(queue_in, queue_in_size * sizeof *queue_in);
        CHECK(queue_in != NULL);
    }
    bool was_empty = queue_count == 0;
    queue_in[queue_count++] = (struct task){ function, argument };
    pthread_mutex_unlock(&queue_lock);
    if (was_empty)
        wake_send(loop);
}

static void drain_queue(struct loop *loop)
{
    (void)loop;
    pthread_mutex_lock(&queue_lock);
    struct task *tasks = queue_in;
    size_t count = queue_count, size = queue_in_size;
    queue_in = queue_out;
    queue_in_size = queue_out_size;
    queue_count = 0;
    queue_out = tasks;
    queue_out_size = size;
    pthread_mutex_unlock(&queue_lock);
    for (size_t i = 0; i < count; i++)
        tasks[i].function(tasks[i].argument);
}

static void post(const char *parameter)
{
    unsigned threads = (unsigned)atoi(parameter);
    CHECK(threads > 0 && threads <= 16);
    posts.per_thread = scaled(500000) / threads;
    posts.total = posts.per_thread * threads;
    on_wake = drain_queue;
    loop_init(first_loop());
    post_init(first_loop());
    pthread_barrier_init(&posts.go, NULL, threads + 1);
    pthread_t thread[16];
    for (unsigned i = 0; i < threads; i++)
        CHECK(pthread_create(&thread[i], NULL, post_many, (void *)(uintptr_t)i) == 0);
    measure_begin();
    pthread_barrier_wait(&posts.go);
    loop_run(first_loop());
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    CHECK(posts.done == posts.total);
    CHECK(posts.sum == posts.total * (posts.total - 1) / 2);      /* each exactly once */
    result.operations = posts.total;
}

/* ---- wake: parameter "one" CPU for both, "cross" a CPU each, "spinning" a CPU each, busy ------------ */

static struct {
    uint64_t warm, total, a, b;
    bool two_cpus;
    pthread_barrier_t ready;
} waking;

static void count_wake(struct loop *self)
{
    if (self == &loops[1]) {
        waking.b++;
        wake_send(&loops[0]);
        if (waking.b == waking.total)
            loop_stop(&loops[1]);
        return;
    }
    waking.a++;
    if (waking.a == waking.warm)
        measure_begin();
    if (waking.a < waking.total) {
        wake_send(&loops[1]);
    } else {
        measure_end();
        loop_stop(&loops[0]);
    }
}

static void wake_prepare(struct loop *loop, int cpu)
{
    if (waking.two_cpus)
        pin_to(nth_cpu(cpu));
    loop_init(loop);
    wake_init(loop);
#ifdef HAS_SPINNING
    if (strcmp(result.parameter, "spinning") == 0)
        loop_spin(loop);
#endif
    pthread_barrier_wait(&waking.ready);
}

static void *second_loop(void *unused)
{
    (void)unused;
    wake_prepare(&loops[1], 1);
    loop_run(&loops[1]);
    return NULL;
}

static void wake(const char *parameter)
{
    bool one = strcmp(parameter, "one") == 0;
    waking.two_cpus = !one;
    if (waking.two_cpus && (variants[chosen].not_a_thread || usable_cpus() < 2))
        _exit(EXIT_UNSUPPORTED);
    if (one)
        pin_to(sched_getcpu());
    uint64_t rounds = scaled(strcmp(parameter, "spinning") == 0 ? 200000 : 5000);
    waking.warm = rounds / 10 + 1;
    waking.total = waking.warm + rounds;
    on_wake = count_wake;
    pthread_barrier_init(&waking.ready, NULL, 2);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, second_loop, NULL) == 0);
    wake_prepare(&loops[0], 0);
    wake_send(&loops[1]);
    loop_run(&loops[0]);
    pthread_join(thread, NULL);
    CHECK(waking.a == waking.total && waking.b == waking.total);
    result.operations = rounds;
}

/* ---- call: parameter "one" or "cross" --------------------------------------------------------------- */

#ifdef HAS_CALL
static struct {
    bool two_cpus;
    uint64_t called;
    pthread_barrier_t ready;
} calls;

static void count_call(void *argument) { calls.called += argument == &calls; }
static void stop_loop(void *argument) { loop_stop(argument); }
static void never_woken(struct loop *loop) { (void)loop; CHECK(!"woken"); }

static void *called_loop(void *unused)
{
    (void)unused;
    if (calls.two_cpus)
        pin_to(nth_cpu(1));
    on_wake = never_woken;
    loop_init(first_loop());
    wake_init(first_loop());                          /* keeps the loop running */
    pthread_barrier_wait(&calls.ready);
    loop_run(first_loop());
    return NULL;
}

static void call(const char *parameter)
{
    calls.two_cpus = strcmp(parameter, "cross") == 0;
    if (calls.two_cpus && usable_cpus() < 2)
        _exit(EXIT_UNSUPPORTED);
    uint64_t warm = 100, total = warm + scaled(5000);
    pthread_barrier_init(&calls.ready, NULL, 2);
    if (!calls.two_cpus)
        pin_to(sched_getcpu());
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, called_loop, NULL) == 0);
    if (calls.two_cpus)
        pin_to(nth_cpu(0));
    pthread_barrier_wait(&calls.ready);
    for (uint64_t i = 1; i <= total; i++) {
        call_and_wait(first_loop(), count_call, &calls);
        CHECK(calls.called == i);                     /* it has run when the call returns */
        if (i == warm)
            measure_begin();
    }
    measure_end();
    call_and_wait(first_loop(), stop_loop, first_loop());
    pthread_join(thread, NULL);
    result.operations = total - warm;
}
#endif
