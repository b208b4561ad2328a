/* timers.c - ways to create a timer, and moving it (listings 3-10 and 3-11 of the guide). */
#include <RunLoop/RunLoop.h>
#include <stdio.h>

/* The state of a timer's callback. It is passed as the context's info, so no globals are needed. */
typedef struct Ticker {
    const char *name;
    int fired, limit;
    int *running; /* how many tickers are still running; the last one stops the loop */
} Ticker;

static void tick(RLRunLoopTimerRef timer, void *info)
{
    Ticker *ticker = info;
    if (++ticker->fired < ticker->limit)
        return;
    RLRunLoopTimerInvalidate(timer); /* it never fires again and leaves every mode */
    if (--*ticker->running == 0)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

/* The convenient way: create the timer, add it to the current loop, and let the loop hold the only reference. */
static int scheduleTimer(RLTimeInterval interval, RLRunLoopTimerCallBack callback, void *info)
{
    RLRunLoopTimerContext context = {.info = info};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, interval, interval, callback, &context);
    if (timer == NULL)
        return 0;
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    RLRelease(timer); /* the loop retains it until it is invalidated */
    return 1;
}

static int runTwoTimers(void)
{
    int running = 2;
    Ticker first = {"first", 0, 3, &running}, second = {"second", 0, 2, &running};

    /* Listing 3-10, first timer: create it with any fire date, then add it. */
    RLRunLoopTimerContext context = {.info = &first};
    RLAbsoluteTime fireDate = RLAbsoluteTimeGetCurrent() + 0.1;
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(kRLAllocatorDefault, fireDate, 0.05, 0, 0, tick, &context);
    if (timer == NULL)
        return 0;
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    /* Second timer: one call. */
    int ok = scheduleTimer(0.08, tick, &second);

    RLRunLoopTimerContext copy = {.version = 0};
    RLRunLoopTimerGetContext(timer, &copy);
    ok = ok && RLRunLoopContainsTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode) &&
         RLRunLoopTimerGetInterval(timer) == 0.05 && RLRunLoopTimerGetOrder(timer) == 0 && copy.info == &first;

    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0);
    ok = ok && !RLRunLoopTimerIsValid(timer);
    RLRelease(timer);
    printf("two timers in one loop: the %s fired %d times, the %s %d times\n", first.name, first.fired, second.name,
           second.fired);
    return ok && running == 0;
}

static int runPastDate(void)
{
    int running = 1;
    Ticker ticker = {"past", 0, 1, &running};
    RLRunLoopTimerContext context = {.info = &ticker};
    /* Listing 3-11: 0.1 is a date in 2001. A timer with a past date fires in the next pass, then every 0.3 s from
     * then on. */
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(kRLAllocatorDefault, 0.1, 0.3, 0, 0, tick, &context);
    if (timer == NULL)
        return 0;
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopCommonModes);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0);
    RLRelease(timer);
    printf("a timer whose date is past fires at once: %d time\n", ticker.fired);
    return running == 0;
}

static int runTolerance(void)
{
    int running = 1;
    Ticker ticker = {"tolerant", 0, 2, &running};
    RLRunLoopTimerContext context = {.info = &ticker};
    RLAbsoluteTime start = RLAbsoluteTimeGetCurrent();
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(kRLAllocatorDefault, start + 0.05, 0.05, 0, 0, tick, &context);
    if (timer == NULL)
        return 0;
    /* The timer may be up to 10 ms late, so that one wake-up can serve it together with others. */
    RLRunLoopTimerSetTolerance(timer, 0.01);
    RLTimeInterval small = RLRunLoopTimerGetTolerance(timer);
    RLRunLoopTimerSetTolerance(timer, 5.0); /* too much: a repeating timer gets at most half its interval */
    RLTimeInterval large = RLRunLoopTimerGetTolerance(timer);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0);
    RLRelease(timer);

    /* A timer may be late, but never early. (One millisecond is tolerated because two clocks are compared.) */
    int early = RLAbsoluteTimeGetCurrent() < start + 0.1 - 0.001;
    printf("tolerance: asked for 10 ms, got %.0f ms; asked for 5 s, got %.0f ms; fired %d times, %s\n", small * 1e3,
           large * 1e3, ticker.fired, early ? "too early" : "never early");
    return running == 0 && !early;
}

static void pullForward(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    RLRunLoopTimerSetNextFireDate(info, RLAbsoluteTimeGetCurrent() + 0.05);
    puts("moving a timer: one timer gives the other, which was an hour away, a new date");
}

static int runMovedTimer(void)
{
    int running = 1;
    Ticker ticker = {"moved", 0, 1, &running};
    RLRunLoopTimerContext context = {.info = &ticker};
    RLAbsoluteTime inAnHour = RLAbsoluteTimeGetCurrent() + 3600.0;
    /* Interval 0: fires once. */
    RLRunLoopTimerRef moved = RLRunLoopTimerCreate(kRLAllocatorDefault, inAnHour, 0, 0, 0, tick, &context);
    RLRunLoopTimerContext moverContext = {.info = moved};
    RLRunLoopTimerRef mover = RLRunLoopTimerCreateWithDelay(NULL, 0.05, 0, pullForward, &moverContext);
    if (moved == NULL || mover == NULL)
        return 0;
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopAddTimer(loop, mover, kRLRunLoopDefaultMode);
    RLRunLoopRemoveTimer(loop, mover, kRLRunLoopDefaultMode); /* still valid: it can be added again */
    RLRunLoopAddTimer(loop, moved, kRLRunLoopDefaultMode);
    RLTimeInterval difference =
        RLRunLoopGetNextTimerFireDate(loop, kRLRunLoopDefaultMode) - RLRunLoopTimerGetNextFireDate(moved);
    int alone = difference > -0.001 && difference < 0.001; /* no other timer is in the loop */
    RLRunLoopAddTimer(loop, mover, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0);
    int once = !RLRunLoopTimerDoesRepeat(moved) && !RLRunLoopTimerIsValid(mover);
    RLRelease(mover);
    RLRelease(moved);
    printf("the moved timer fired %d time; a one-shot timer is invalid afterwards\n", ticker.fired);
    return running == 0 && once && alone;
}

int main(void) { return runTwoTimers() && runPastDate() && runTolerance() && runMovedTimer() ? 0 : 1; }
