/* sd-event.c - a run loop inside sd-event, and sd-event inside a run loop: adapters/sd-event.h. */
#include <RunLoop/adapters/sd-event.h>
#include <stdio.h>
#include <time.h>

static RLRunLoopRef rl;

static int sdTick(sd_event_source *source, uint64_t date, void *info)
{
    (void)source;
    (void)date;
    (void)info;
    printf("a timer of sd-event\n");
    RLRunLoopStop(rl);
    return 0;
}

static void tick(RLRunLoopTimerRef timer, void *event)
{
    (void)timer;
    printf("a timer of the run loop\n");
    sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, 1000, 1, sdTick, NULL);
}

/* Called after RLRunLoopStop(): what a stop means is up to the host. */
static void stopped(void *event)
{
    printf("stopped\n");
    sd_event_exit(event, 0);
}

static void startTimer(sd_event *event)
{
    RLRunLoopTimerContext context = {.info = event};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0, tick, &context);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    RLRelease(timer);
}

int main(void)
{
    rl = RLRunLoopGetCurrent();

    /* sd-event waits, with the run loop as its guest. */
    sd_event *event;
    RLSdEventGuest *guest;
    if (sd_event_new(&event) < 0 || (guest = RLSdEventAttach(event, kRLRunLoopDefaultMode, stopped, event)) == NULL) {
        perror("sd-event");
        return 1;
    }
    startTimer(event);
    int result = sd_event_loop(event);
    RLSdEventDetach(guest);
    sd_event_unref(event);

    /* The run loop waits, with sd-event as its guest. */
    RLSdEventRef sd;
    if (result < 0 || sd_event_new(&event) < 0 || (sd = RLSdEventAdd(event, kRLRunLoopCommonModes)) == NULL) {
        perror("sd-event");
        return 1;
    }
    startTimer(event);
    RLRunLoopRunResult how = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0);
    RLSdEventRemove(sd);
    sd_event_unref(event);
    return how == kRLRunLoopRunStopped ? 0 : 1;
}
