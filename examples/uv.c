/* uv.c - a run loop inside libuv, and libuv inside a run loop: adapters/uv.h. */
#include <RunLoop/adapters/uv.h>
#include <stdio.h>

static RLRunLoopRef rl;

static void uvTick(uv_timer_t *timer)
{
    (void)timer;
    printf("a timer of libuv\n");
    RLRunLoopStop(rl);
}

static void tick(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    printf("a timer of the run loop\n");
    uv_timer_start(info, uvTick, 1, 0);
}

/* Called after RLRunLoopStop(): what a stop means is up to the host. */
static void stopped(void *info)
{
    printf("stopped\n");
    uv_stop((uv_loop_t *)info);
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    uv_timer_t timer;
    RLRunLoopTimerContext context = {.info = &timer};
    rl = RLRunLoopGetCurrent();
    uv_timer_init(loop, &timer);

    /* libuv waits, with the run loop as its guest. */
    RLUvGuest *guest = RLUvAttach(loop, kRLRunLoopDefaultMode, stopped, loop);
    if (guest == NULL) {
        perror("uv");
        return 1;
    }
    RLRunLoopTimerRef soon = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0, tick, &context);
    RLRunLoopAddTimer(rl, soon, kRLRunLoopDefaultMode);
    RLRelease(soon);
    uv_run(loop, UV_RUN_DEFAULT);
    RLUvDetach(guest);

    /* The run loop waits, with libuv as its guest. */
    RLUvLoopRef uv = RLUvLoopAdd(loop, kRLRunLoopCommonModes);
    if (uv == NULL) {
        perror("uv");
        return 1;
    }
    soon = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0, tick, &context);
    RLRunLoopAddTimer(rl, soon, kRLRunLoopDefaultMode);
    RLRelease(soon);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0);
    RLUvLoopRemove(uv);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && result == kRLRunLoopRunStopped ? 0 : 1;
}
