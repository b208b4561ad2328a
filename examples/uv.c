/* uv.c - a run loop inside libuv, and libuv inside a run loop: adapters/uv.h. */
#include <RunLoop/adapters/uv.h>
#include <stdio.h>

static RLRunLoopRef rl;

static void tick(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    (void)info;
    printf("a timer of the run loop\n");
}

static void uvTick(uv_timer_t *timer)
{
    (void)timer;
    printf("a timer of libuv\n");
    RLRunLoopStop(rl);
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
    rl = RLRunLoopGetCurrent();
    uv_timer_init(loop, &timer);

    /* libuv waits, the run loop is its guest. */
    RLUvGuest *guest = RLUvAttach(loop, kRLRunLoopDefaultMode, stopped, loop);
    if (guest == NULL) {
        perror("uv");
        return 1;
    }
    RLRunLoopTimerRef soon = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0, tick, NULL);
    RLRunLoopAddTimer(rl, soon, kRLRunLoopDefaultMode);
    RLRelease(soon);
    uv_timer_start(&timer, uvTick, 20, 0);
    uv_run(loop, UV_RUN_DEFAULT);
    RLUvDetach(guest);

    /* The run loop waits, libuv is its guest. */
    RLUvLoopRef uv = RLUvLoopAdd(loop, kRLRunLoopCommonModes);
    if (uv == NULL) {
        perror("uv");
        return 1;
    }
    soon = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0, tick, NULL);
    RLRunLoopAddTimer(rl, soon, kRLRunLoopDefaultMode);
    RLRelease(soon);
    uv_timer_start(&timer, uvTick, 20, 0);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10, 0);
    RLUvLoopRemove(uv);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && result == kRLRunLoopRunStopped ? 0 : 1;
}
