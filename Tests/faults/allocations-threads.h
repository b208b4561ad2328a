/* Part of allocations.c: loops of several threads. */
#ifndef RUNLOOP_TESTS_FAULTS_ALLOCATIONS_THREADS_H
#define RUNLOOP_TESTS_FAULTS_ALLOCATIONS_THREADS_H

/* Another thread with its own loop, which still contains items when the thread exits. */
static RLRunLoopRef main_loop;
static void *use_from_thread(void *unused)
{
    static int infos[4];
    armed = true;
    RLRunLoopRef loop = MAKE(RLRunLoopGetCurrent());
    if (!loop)
        return unused;
    RLRunLoopSourceRef source = make_source(0, &infos[0]);
    if (source) {
        ADD(RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode),
            RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode));
        ADD(RLRunLoopAddSource(main_loop, source, kRLRunLoopDefaultMode),
            RLRunLoopContainsSource(main_loop, source, kRLRunLoopDefaultMode));
        RLRunLoopSourceSignal(source);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    }
    RLRunLoopSourceRef left = make_source(0, &infos[1]);
    if (left) {
        for (int m = 0; m < 2; m++)
            ADD(RLRunLoopAddSource(loop, left, *modes[m]), RLRunLoopContainsSource(loop, left, *modes[m]));
        RLRelease(left);
    }
    RLRunLoopTimerContext context = {.info = &performed, .retain = retain, .release = release};
    RLRunLoopTimerRef timer = MAKE(RLRunLoopTimerCreate(NULL, 1e15, 0, 0, 0, count_timer, &context));
    if (timer) {
        ADD(RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode),
            RLRunLoopContainsTimer(loop, timer, kRLRunLoopDefaultMode));
        RLRelease(timer);
    }
    if (MAKE(RLRunLoopPerformFunctionWithRelease(loop, extra, count_up, &performed, release_perform)))
        atomic_fetch_add(&owed_releases, 1);
    if (MAKE(RLRunLoopPostFunctionWithRelease(loop, extra, count_up, &performed, release_perform)))
        atomic_fetch_add(&owed_releases, 1);
    int run = 0;
    bool ran = MAKE(RLRunLoopPerformFunctionAndWait(main_loop, kRLRunLoopDefaultMode, count_up, &run, 1e10));
    CHECK(ran == run);
    if (source) {
        RLRunLoopSourceInvalidate(source);
        RLRelease(source);
    }
    return unused;
}

static void start_thread(pthread_t *thread, void *(*body)(void *))
{
    armed = false;
    CHECK(pthread_create(thread, NULL, body, NULL) == 0);
    armed = true;
}

/* A thread whose loop does not run: a caller that waits for it waits until its time limit. */
static atomic_int idler_has_loop, idler_may_end;
static RLRunLoopRef idle_loop;
static void *be_idle(void *unused)
{
    armed = true;
    idle_loop = MAKE(RLRunLoopGetCurrent());
    atomic_store(&idler_has_loop, 1);
    until(&idler_may_end, 1);
    return unused;
}

static void wait_in_vain(void)
{
    pthread_t thread;
    int run = 0;
    start_thread(&thread, be_idle);
    until(&idler_has_loop, 1);
    if (idle_loop) {
        errno = 0;
        CHECK(!RLRunLoopPerformFunctionAndWait(idle_loop, kRLRunLoopDefaultMode, count_up, &run, 0.0001) && run == 0);
        if (errno != ETIMEDOUT && errno != ENOMEM)
            complain("%s: failed with errno %ld\n", "RLRunLoopPerformFunctionAndWait", errno);
    }
    atomic_store(&idler_may_end, 1);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void use_threads(RLRunLoopRef loop)
{
    pthread_t thread;
    main_loop = loop;
    start_thread(&thread, use_from_thread);
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.0005, 0);
        usleep(50);
    }
}

#endif
