/*
 * counts-items.h -- operations for counts.c: timers, runs, descriptors, and what is made on first use.
 * Each calls begin() once, does its work many times, and calls end(how often, own system calls).
 */

/* ---- timers --------------------------------------------------------------------------------------------- */

enum { ALIVE = 1000, BATCHES = 10 };
static RLRunLoopTimerRef timers[ALIVE];

static void never_called(RLRunLoopTimerRef timer, void *info) { (void)timer; (void)info; CHECK(!"due"); }

static void add_timers(void)
{
    RLAbsoluteTime far = RLAbsoluteTimeGetCurrent() + 3600;
    for (int i = 0; i < ALIVE; i++) {
        timers[i] = RLRunLoopTimerCreate(NULL, far + (i * 7919) % ALIVE, 0, 0, 0, never_called, NULL);
        RLRunLoopAddTimer(loop, timers[i], kRLRunLoopDefaultMode);
    }
}

static void churn_in_loop(void)
{
    for (int batch = 0; batch <= BATCHES; batch++) {
        if (batch == 1)
            begin();
        add_timers();
        for (int i = 0; i < ALIVE; i++) {
            RLRunLoopTimerInvalidate(timers[i]);
            RLRelease(timers[i]);
        }
    }
    end(BATCHES * ALIVE, 0);
    RLRunLoopStop(loop);
}

/* Cancels timers that are among the next to fire, as request timeouts are when everything else is later. */
static void cancel_near_in_loop(void)
{
    add_timers();
    RLAbsoluteTime near = RLAbsoluteTimeGetCurrent() + 60;
    CHECK(RLRunLoopGetNextTimerFireDate(loop, kRLRunLoopDefaultMode) > near); /* sorts the first ones */
    for (int i = 0; i <= BATCHES * ALIVE; i++) {
        if (i == 1)
            begin();
        RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, near, 0, 0, 0, never_called, NULL);
        RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
        RLRunLoopTimerInvalidate(timer);
        RLRelease(timer);
    }
    end(BATCHES * ALIVE, 0);
    RLRunLoopStop(loop);
}

static void rearm_in_loop(void)
{
    add_timers();
    RLAbsoluteTime far = RLAbsoluteTimeGetCurrent() + 3600;
    begin();
    for (int i = 0; i < BATCHES * ALIVE; i++)
        RLRunLoopTimerSetNextFireDate(timers[i % ALIVE], far + (i * 104729) % ALIVE);
    end(BATCHES * ALIVE, 0);
    RLRunLoopStop(loop);
}

static void run_once(void (*in_loop)(void))
{
    prepare_loop();
    on_source = in_loop;
    RLRunLoopSourceSignal(source);
    RLRunLoopRun();
    CHECK(operations > 0);
}

static void timer_churn(void) { run_once(churn_in_loop); }
static void timer_near(void) { run_once(cancel_near_in_loop); }
static void timer_rearm(void) { run_once(rearm_in_loop); }

static void tick(RLRunLoopTimerRef timer, void *info)
{
    (void)timer; (void)info;
    long n = atomic_fetch_add(&done, 1) + 1;
    if (n == 10)
        begin();
    if (n == 60) {
        end(50, 0);
        RLRunLoopStop(loop);
    }
}

static void timer_fire(void)
{
    prepare_loop();
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent(), 0.002, 0, 0, tick,
                                                   NULL);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopRun();
}

/* ---- runs --------------------------------------------------------------------------------------------------- */

static void many_runs(RLTimeInterval seconds)
{
    prepare_loop();
    for (int i = 0; i < 60; i++) {
        if (i == 10)
            begin();
        CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, seconds, false) == kRLRunLoopRunTimedOut);
    }
    end(50, 0);
}

static void run_idle(void) { many_runs(0.002); }
static void run_poll(void) { many_runs(0); }

/* ---- descriptors ---------------------------------------------------------------------------------------------- */

enum { PIPES = 64, ROUNDS = 50 };
static struct watched pipes[PIPES];
static long events;

static void fill(int count)
{
    for (int i = 0; i < count; i++)
        CHECK(write(pipes[i].writer, "x", 1) == 1);
}

static void empty(struct watched *watched)
{
    char byte;
    CHECK(read(watched->reader, &byte, 1) == 1);
    events++;
}

static void one_event(void *info)
{
    empty(info);
    if (events == ROUNDS)
        begin();
    if (events == 3 * ROUNDS) {
        end(2 * ROUNDS, 2 * 2 * ROUNDS);              /* a read and a write each */
        RLRunLoopStop(loop);
        return;
    }
    fill(1);
}

static void descriptor_one(void)
{
    prepare_loop();
    watch(&pipes[0], kRLRunLoopDefaultMode, one_event);
    fill(1);
    RLRunLoopRun();
}

static void file_descriptor_event(RLFileDescriptorRef f, RLOptionFlags types, void *info)
{
    (void)types;
    one_event(info);
    RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
}

static void socket_event(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)s; (void)type; (void)address; (void)data;
    one_event(info);
}

static RLFileDescriptorRef watch_as_file_descriptor(struct watched *watched)
{
    RLFileDescriptorContext context = { .info = watched };
    RLFileDescriptorRef f = RLFileDescriptorCreate(NULL, watched->reader, false, file_descriptor_event, &context);
    RLRunLoopSourceRef new = f ? RLFileDescriptorCreateRunLoopSource(NULL, f, 0) : NULL;
    CHECK(new != NULL);
    RLRunLoopAddSource(loop, new, kRLRunLoopDefaultMode);
    RLRelease(new);
    RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
    return f;
}

static RLSocketRef watch_as_socket(struct watched *watched)
{
    RLSocketContext context = { .info = watched };
    RLSocketRef s = RLSocketCreateWithNative(NULL, watched->reader, kRLSocketReadCallBack, socket_event, &context);
    RLRunLoopSourceRef new = s ? RLSocketCreateRunLoopSource(NULL, s, 0) : NULL;
    CHECK(new != NULL);
    RLRunLoopAddSource(loop, new, kRLRunLoopDefaultMode);
    RLRelease(new);
    return s;
}

static void open_pipes(int count)
{
    for (int i = 0; i < count; i++) {
        int ends[2];
        CHECK(pipe(ends) == 0);
        pipes[i] = (struct watched){ ends[0], ends[1] };
    }
}

static void file_descriptor_one(void)
{
    prepare_loop();
    open_pipes(1);
    watch_as_file_descriptor(&pipes[0]);
    fill(1);
    RLRunLoopRun();
}

static void socket_one(void)
{
    prepare_loop();
    open_pipes(1);
    watch_as_socket(&pipes[0]);
    fill(1);
    RLRunLoopRun();
}

/* Creates descriptor objects, watches them in a loop that waits once, and invalidates them; the descriptors stay
 * open. */
static void file_descriptor_register(void)
{
    prepare_loop();
    open_pipes(PIPES);
    for (int round = 0; round <= ROUNDS; round++) {
        if (round == 1)
            begin();
        RLFileDescriptorRef watched[PIPES];
        for (int i = 0; i < PIPES; i++)
            watched[i] = watch_as_file_descriptor(&pipes[i]);
        CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false) == kRLRunLoopRunTimedOut);
        for (int i = 0; i < PIPES; i++) {
            RLFileDescriptorInvalidate(watched[i]);
            RLRelease(watched[i]);
        }
    }
    end(ROUNDS * PIPES, 0);
}

static void socket_register(void)
{
    prepare_loop();
    open_pipes(PIPES);
    for (int round = 0; round <= ROUNDS; round++) {
        if (round == 1)
            begin();
        RLSocketRef watched[PIPES];
        for (int i = 0; i < PIPES; i++) {
            watched[i] = watch_as_socket(&pipes[i]);
            RLSocketSetSocketFlags(watched[i], kRLSocketAutomaticallyReenableReadCallBack);    /* does not close */
        }
        CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, false) == kRLRunLoopRunTimedOut);
        for (int i = 0; i < PIPES; i++) {
            RLSocketInvalidate(watched[i]);
            RLRelease(watched[i]);
        }
    }
    end(ROUNDS * PIPES, 0);
}

static void batch_event(void *info)
{
    empty(info);
    if (events % PIPES)
        return;
    if (events == 10 * PIPES)
        begin();
    if (events == (10 + ROUNDS) * PIPES) {
        end(ROUNDS * PIPES, 2 * ROUNDS * PIPES);
        RLRunLoopStop(loop);
        return;
    }
    fill(PIPES);
}

static void descriptor_batch(void)
{
    prepare_loop();
    for (int i = 0; i < PIPES; i++)
        watch(&pipes[i], kRLRunLoopDefaultMode, batch_event);
    fill(PIPES);
    RLRunLoopRun();
}

/* ---- first use --------------------------------------------------------------------------------------------------- */

static void ignore(void *info) { (void)info; }
static void ignore_timer(RLRunLoopTimerRef timer, void *info) { (void)timer; (void)info; }

static void use_loop(void)
{
    prepare_loop();
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent(), 0, 0, 0,
                                                   ignore_timer, NULL);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRelease(timer);
    RLRunLoopSourceSignal(source);
    CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, false) == kRLRunLoopRunTimedOut);
}

static void first_use(void)
{
    begin();
    use_loop();
    end(1, 1);                                        /* the mark in prepare_loop */
}

static void first_descriptor(void)
{
    use_loop();
    begin();
    watch(&pipes[0], kRLRunLoopDefaultMode, ignore);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, false);
    end(1, 1);                                        /* pipe() */
    descriptors_opened -= 2;
}

static void extra_mode(void)
{
    use_loop();
    watch(&pipes[0], kRLRunLoopDefaultMode, ignore);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.001, false);
    begin();
    watch(&pipes[1], kRLRunLoopModalPanelMode, ignore);
    RLRunLoopRunInMode(kRLRunLoopModalPanelMode, 0.001, false);
    end(1, 1);
    descriptors_opened -= 2;
}

static void *short_lived(void *unused)
{
    (void)unused;
    struct watched watched;
    loop = RLRunLoopGetCurrent();
    watch(&watched, kRLRunLoopDefaultMode, ignore);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.0001, false);
    close(watched.reader);
    close(watched.writer);
    return NULL;
}

static void thread_exit(void)
{
    mark("thread other");
    for (int i = 0; i < 40; i++) {
        if (i == 10)
            begin();
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, short_lived, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    end(30, 0);
}
