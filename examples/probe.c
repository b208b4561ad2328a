/* probe.c - a probe that counts what the loop does and finds the longest callback. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* This program has one loop, so these need no lock. */
static int timers, functions, posts, sleeps;
static double began, longest;
static void (*longestFunction)(void);

static void willCall(const RLRunLoopProbeCall *call)
{
    timers += call->kind == kRLRunLoopProbeTimer;
    functions += call->kind == kRLRunLoopProbeFunction;
    began = now();
}

static void didCall(const RLRunLoopProbeCall *call)
{
    double seconds = now() - began;
    if (seconds > longest) {
        longest = seconds;
        longestFunction = call->function;
    }
}

static void willSleep(const void *loop, uint32_t kind, uint64_t until, void (*function)(void), const void *mode)
{
    (void)loop, (void)kind, (void)until, (void)function, (void)mode;
    sleeps++;
}

static void sent(const void *object, uint32_t kind, uint64_t number, void (*function)(void), const void *info)
{
    (void)object, (void)number, (void)function, (void)info;
    posts += kind == kRLRunLoopProbeFunction;
}

static void quick(void *info) { (void)info; }

static void slow(void *info)
{
    (void)info;
    double end = now() + 0.05;
    while (now() < end) {}
}

static void tick(RLRunLoopTimerRef timer, void *info)
{
    int *ticks = info;
    (void)timer;
    RLRunLoopPostFunction(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, *ticks == 1 ? slow : quick, NULL);
    if (++*ticks == 3)
        RLRunLoopTimerInvalidate(timer);
}

int main(void)
{
    /* The probe is not copied: it must live as long as the process. */
    static const RLRunLoopProbe probe = {
        .willCall = willCall, .didCall = didCall, .willSleep = willSleep, .sent = sent};
    int ticks = 0;
    RLRunLoopTimerContext context = {.info = &ticks};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(kRLAllocatorDefault, 0.02, 0.02, tick, &context);
    if (timer == NULL || !RLRunLoopSetProbe(&probe)) {
        perror("probe");
        return 1;
    }

    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    RLRunLoopRun(); /* until neither the timer nor a function is left */
    RLRunLoopSetProbe(NULL);
    RLRelease(timer);

    printf("%d timer callbacks, %d posts, %d functions called\n", timers, posts, functions);
    printf("the loop has slept: %s\n", sleeps > 0 ? "yes" : "no");
    printf("the longest callback is slow(): %s\n", longestFunction == (void (*)(void))slow ? "yes" : "no");
    return timers == 3 && posts == 3 && functions == 3 && sleeps > 0 ? 0 : 1;
}
