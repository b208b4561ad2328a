/*
 * counts-waking.h -- operations for counts.c: passes of one loop, and other threads that wake it. Each
 * operation calls begin() once, does its work many times, and calls end(how often, own system calls).
 */

/* ---- passes ------------------------------------------------------------------------------------------ */

enum { WARM = 200, PASSES = 10000 };
static long passes;

static void next_pass(void)
{
    passes++;
    if (passes == WARM)
        begin();
    if (passes == WARM + PASSES) {
        end(PASSES, 0);
        RLRunLoopStop(loop);
        return;
    }
    RLRunLoopSourceSignal(source);
}

static void pass_nothing(void)
{
    prepare_loop();
    on_source = next_pass;
    RLRunLoopSourceSignal(source);
    RLRunLoopRun();
    CHECK(passes == WARM + PASSES);
}

static void never(void *info) { (void)info; CHECK(!"ready"); }

static void pass_descriptor(void)
{
    struct watched quiet;
    prepare_loop();
    watch(&quiet, kRLRunLoopDefaultMode, never);
    on_source = next_pass;
    RLRunLoopSourceSignal(source);
    RLRunLoopRun();
    CHECK(passes == WARM + PASSES);
}

/* ---- other threads ------------------------------------------------------------------------------------ */

enum { BURST = 1000, LOCK_STEPS = 200 };
static atomic_long go;

static void count_post(void *info) { (void)info; atomic_fetch_add(&done, 1); }

static void post(RLRunLoopFunction function)
{
    CHECK(RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, function, NULL));
}

static void end_posts(void *info)
{
    (void)info;
    if (atomic_fetch_add(&done, 1) + 1 == 2 * BURST)
        end(BURST, 0);
}

/* Called in the loop: keeps it awake until the other thread has posted. Called twice, first to warm up. */
static void hold_while_posting(void)
{
    long burst = atomic_load(&go) + 1;
    if (burst == 3)
        begin();
    atomic_store(&go, burst);
    until(&go, burst + 1);
}

static void wake_once(void)
{
    RLRunLoopSourceSignal(source);
    RLRunLoopWakeUp(loop);
}

static void post_awake(void)
{
    start_loop_thread();
    on_source = hold_while_posting;
    for (long burst = 1; burst <= 3; burst += 2) {
        wake_once();
        until(&go, burst);
        for (int i = 0; i < BURST; i++)
            post(end_posts);
        atomic_store(&go, burst + 1);
        until(&done, (burst + 1) / 2 * BURST);
        until_asleep();
    }
    stop_loop_thread();
}

static void hold(void)
{
    atomic_store(&go, 1);
    until(&go, 2);
}

static void wake_awake(void)
{
    start_loop_thread();
    on_source = hold;
    wake_once();
    until(&go, 1);
    for (int i = 0; i < 2 * BURST; i++) {
        if (i == BURST)
            begin();
        wake_once();
    }
    end(BURST, 0);
    on_source = NULL;                                 /* the loop is still kept awake */
    atomic_store(&go, 2);
    stop_loop_thread();
}

static void count_source(void) { atomic_fetch_add(&done, 1); }

static void post_once(void) { post(count_post); }
static void call_once(void)
{
    CHECK(RLRunLoopPerformFunctionAndWait(loop, kRLRunLoopDefaultMode, count_post, NULL, 10));
}

/* Each time, the loop sleeps first, and does the work and sleeps again afterwards. */
static void in_lock_step(void (*once)(void))
{
    start_loop_thread();
    on_source = count_source;
    for (long i = 0; i < 2 * LOCK_STEPS; i++) {
        if (i == LOCK_STEPS)
            begin();
        once();
        until(&done, i + 1);
        until_asleep();
    }
    end(LOCK_STEPS, 0);
    stop_loop_thread();
}

static void post_asleep(void) { in_lock_step(post_once); }
static void wake_asleep(void) { in_lock_step(wake_once); }
static void call_asleep(void) { in_lock_step(call_once); }
