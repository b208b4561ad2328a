/* Part of allocations.c: sources, timers, observers, performed functions, nested runs, modes. */
#ifndef RUNLOOP_TESTS_FAULTS_ALLOCATIONS_ITEMS_H
#define RUNLOOP_TESTS_FAULTS_ALLOCATIONS_ITEMS_H

static RLRunLoopSourceRef make_source(int order, int *info)
{
    RLRunLoopSourceContext context = {.info = info,
                                      .retain = retain,
                                      .release = release,
                                      .copyDescription = describe,
                                      .schedule = schedule,
                                      .cancel = cancel,
                                      .perform = count_up};
    int before = retains - releases;
    RLRunLoopSourceRef source = MAKE(RLRunLoopSourceCreate(NULL, order, &context));
    if (!source && retains - releases != before)
        complain("%s: failed and kept its info\n", "RLRunLoopSourceCreate", 0);
    return source;
}

static void use_sources(RLRunLoopRef loop)
{
    static int infos[source_count];
    RLRunLoopSourceRef sources[source_count];
    for (int i = 0; i < source_count; i++) {
        sources[i] = make_source(i, &infos[i]);
        if (!sources[i])
            continue;
        for (int m = 0; m < mode_count; m++) {
            if ((i >> m) % 2 == 0)
                ADD(RLRunLoopAddSource(loop, sources[i], *modes[m]),
                    RLRunLoopContainsSource(loop, sources[i], *modes[m]));
        }
        RLRunLoopSourceSignal(sources[i]);
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    RLRunLoopRunInMode(extra, 0, 1);
    for (int i = 0; i < source_count; i++) {
        if (!sources[i])
            continue;
        if (i == 0)
            release_object(MAKE(RLCopyDescription(sources[i])));
        for (int m = 0; m < mode_count; m++) {
            if (i % 4 == 0)
                ADD(RLRunLoopRemoveSource(loop, sources[i], *modes[m]),
                    !RLRunLoopContainsSource(loop, sources[i], *modes[m]));
        }
        RLRunLoopSourceInvalidate(sources[i]);
        for (int m = 0; m < mode_count; m++)
            CHECK(!RLRunLoopContainsSource(loop, sources[i], *modes[m]));
        RLRelease(sources[i]);
    }
}

static void use_timers(RLRunLoopRef loop)
{
    RLRunLoopTimerRef timers[timer_count];
    for (int i = 0; i < timer_count; i++) {
        RLRunLoopTimerContext context = {
            .info = &performed, .retain = retain, .release = release, .copyDescription = describe};
        int before = retains - releases;
        double interval = i % 4 == 0 ? 0.001 : 0;
        timers[i] = i % 2 == 0   ? MAKE(RLRunLoopTimerCreate(NULL, 0, interval, 0, i, count_timer, &context))
                    : i % 4 == 1 ? MAKE(RLRunLoopTimerCreate(NULL, 1e15, 0, 0, i, count_timer, NULL))
                                 : MAKE(RLRunLoopTimerCreateRearmable(NULL, count_timer, &context));
        if (!timers[i]) {
            if (retains - releases != before)
                complain("%s: failed and kept its info\n", "RLRunLoopTimerCreate", 0);
            continue;
        }
        ADD(RLRunLoopTimerSetTolerance(timers[i], 0.0001), RLRunLoopTimerGetTolerance(timers[i]) > 0);
        for (int m = 0; m < mode_count; m++)
            ADD(RLRunLoopAddTimer(loop, timers[i], *modes[m]), RLRunLoopContainsTimer(loop, timers[i], *modes[m]));
        RLRunLoopTimerSetNextFireDate(timers[i], 1e15);
        if (i % 2 == 0)
            RLRunLoopTimerSetNextFireDate(timers[i], 0);
    }
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.002, 0);
    RLRunLoopRunInMode(extra, 0.001, 0);
    for (int i = 0; i < timer_count; i++) {
        if (!timers[i])
            continue;
        if (i < 2)
            release_object(MAKE(RLCopyDescription(timers[i])));
        for (int m = 0; m < mode_count; m++) {
            if (i % 4 == 1)
                ADD(RLRunLoopRemoveTimer(loop, timers[i], *modes[m]),
                    !RLRunLoopContainsTimer(loop, timers[i], *modes[m]));
        }
        RLRunLoopTimerInvalidate(timers[i]);
        RLRelease(timers[i]);
    }
}

static void observe(RLRunLoopObserverRef observer, RLRunLoopActivity activity, void *info)
{
    (void)observer, (void)activity, (void)info;
    release_object(MAKE(RLRunLoopCopyCurrentMode(RLRunLoopGetCurrent())));
}

static void use_observers(RLRunLoopRef loop)
{
    for (int i = 0; i < 4; i++) {
        RLRunLoopObserverContext context = {
            .info = &performed, .retain = retain, .release = release, .copyDescription = describe};
        int before = retains - releases;
        RLRunLoopObserverRef observer = MAKE(
            RLRunLoopObserverCreate(NULL, kRLRunLoopAllActivities, i % 2 == 0, i, observe, i < 2 ? &context : NULL));
        if (!observer) {
            if (retains - releases != before)
                complain("%s: failed and kept its info\n", "RLRunLoopObserverCreate", 0);
            continue;
        }
        for (int m = 0; m < mode_count; m++)
            ADD(RLRunLoopAddObserver(loop, observer, *modes[m]), RLRunLoopContainsObserver(loop, observer, *modes[m]));
        RLRunLoopPerformFunction(loop, kRLRunLoopDefaultMode, count_up, &performed);
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
        release_object(MAKE(RLCopyDescription(observer)));
        if (i % 2 == 0 && RLRunLoopObserverIsValid(observer)) {
            for (int m = 0; m < mode_count; m++)
                ADD(RLRunLoopRemoveObserver(loop, observer, *modes[m]),
                    !RLRunLoopContainsObserver(loop, observer, *modes[m]));
        }
        RLRunLoopObserverInvalidate(observer);
        RLRelease(observer);
    }
}

static void use_performs(RLRunLoopRef loop)
{
    const void *both[] = {kRLRunLoopDefaultMode, extra};
    RLArrayRef array = MAKE(RLArrayCreate(NULL, both, 2, &kRLTypeArrayCallBacks));
    int before = performed, wanted = 0, mine = 0;
    for (int i = 0; i < 300; i++) {
        wanted += MAKE(RLRunLoopPerformFunction(loop, kRLRunLoopDefaultMode, count_up, &performed));
        if (MAKE(RLRunLoopPerformFunctionWithRelease(loop, kRLRunLoopCommonModes, count_up, &performed,
                                                     release_perform))) {
            wanted++;
            atomic_fetch_add(&owed_releases, 1);
        }
    }
    if (array)
        wanted += MAKE(RLRunLoopPostFunction(loop, array, count_up, &performed));
    wanted += MAKE(RLRunLoopPerformFunctionAfterDelay(loop, array ? (RLTypeRef)array : extra, count_up, &performed, 0));
    if (MAKE(RLRunLoopPerformFunctionAfterDelay(loop, extra, count_up, &mine, 1000)))
        MUST(, RLRunLoopCancelPerformFunction(loop, NULL, &mine) == 1);
    if (MAKE(RLRunLoopPerformFunctionAfterDelayWithRelease(loop, kRLRunLoopCommonModes, count_up, &performed, 0,
                                                           release_perform))) {
        wanted++;
        atomic_fetch_add(&owed_releases, 1);
    }
    if (MAKE(RLRunLoopPerformFunction(loop, extra, count_up, &mine)))
        MUST(, RLRunLoopCancelPerformFunction(loop, count_up, &mine) == 1);
    CHECK(RLRunLoopPerformFunctionAndWait(loop, extra, count_up, &mine, 0) && mine == 1);
    for (int i = 0; i < 3; i++) {
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
        RLRunLoopRunInMode(extra, 0, 0);
    }
    if (performed - before != wanted)
        complain("%s: not run as often as promised, by %ld\n", "performs", performed - before - wanted);
    release_object(array);
}

/* Runs the loop inside a posted function while functions for another mode wait behind it, and queues more of them. */
static void run_inside(void *info)
{
    int *wanted = info;
    for (int i = 0; i < 40; i++)
        *wanted += MAKE(RLRunLoopPerformFunction(RLRunLoopGetCurrent(), second, count_up, &performed));
    RLRunLoopRunInMode(extra, 0, 0);
}

static void use_nested_runs(RLRunLoopRef loop)
{
    int before = performed, wanted = 0;
    for (int i = 0; i < 20; i++)
        wanted += MAKE(RLRunLoopPerformFunction(loop, second, count_up, &performed));
    MAKE(RLRunLoopPerformFunction(loop, kRLRunLoopDefaultMode, run_inside, &wanted));
    for (int i = 0; i < 20; i++)
        wanted += MAKE(RLRunLoopPerformFunction(loop, extra, count_up, &performed));
    const RLRunLoopMode all[] = {kRLRunLoopDefaultMode, extra, second};
    for (int i = 0; i < 9; i++)
        RLRunLoopRunInMode(all[i % 3], 0, 0);
    if (performed - before != wanted)
        complain("%s: not run as often as promised, by %ld\n", "performs in nested runs", performed - before - wanted);
}

static void use_modes(RLRunLoopRef loop)
{
    static int info;
    RLRunLoopSourceRef source = make_source(0, &info);
    if (source) {
        ADD(RLRunLoopAddSource(loop, source, kRLRunLoopCommonModes),
            RLRunLoopContainsSource(loop, source, kRLRunLoopCommonModes));
        bool was_common = RLRunLoopContainsSource(loop, source, kRLRunLoopCommonModes);
        ADD(RLRunLoopAddCommonMode(loop, second), !was_common || RLRunLoopContainsSource(loop, source, second));
        RLRunLoopSourceSignal(source);
        RLRunLoopRunInMode(second, 0, 0);
        ADD(RLRunLoopRemoveSource(loop, source, kRLRunLoopCommonModes),
            !RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode));
        RLRunLoopSourceInvalidate(source);
        RLRelease(source);
    }
    release_object(MAKE(RLRunLoopCopyAllModes(loop)));
    release_object(MAKE(RLCopyDescription(loop)));
}

#endif
