/* hello.c - a timer that ticks three times and then stops the loop. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>

static void tick(RLRunLoopTimerRef timer, void *info)
{
    int *ticks = info;
    (void)timer;
    printf("tick %d\n", ++*ticks);
    if (*ticks == 3)
        RLRunLoopStop(RLRunLoopGetCurrent());
}

int main(void)
{
    int ticks = 0;
    RLRunLoopTimerContext context = {.info = &ticks};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent(), 0.1, 0, 0, tick, &context);
    if (timer == NULL) {
        perror("hello: timer");
        return 1;
    }

    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    RLRunLoopRun(); /* sleeps between the ticks, returns when tick() stops it */
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer); /* we created it, so we release it */
    return ticks == 3 ? 0 : 1;
}
