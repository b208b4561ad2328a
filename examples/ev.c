/* ev.c - a run loop inside libev: adapters/ev.h. */
#include <RunLoop/adapters/ev.h>
#include <pthread.h>
#include <stdio.h>

static RLRunLoopRef rl;

static void greet(void *info)
{
    printf("%s\n", (const char *)info);
    RLRunLoopStop(rl);
}

/* To wake libev itself from a thread, a program would need an ev_async. */
static void *post(void *info)
{
    RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, greet, "a function from a thread");
    return info;
}

static void evTick(struct ev_loop *loop, ev_timer *timer, int events)
{
    pthread_t thread;
    (void)loop;
    (void)timer;
    (void)events;
    printf("a timer of libev\n");
    if (pthread_create(&thread, NULL, post, NULL) == 0)
        pthread_join(thread, NULL);
}

static void tick(RLRunLoopTimerRef timer, void *loop)
{
    static ev_timer soon;
    (void)timer;
    printf("a timer of the run loop\n");
    ev_timer_init(&soon, evTick, 0.001, 0);
    ev_timer_start(loop, &soon);
}

/* Called after RLRunLoopStop(): what a stop means is up to the host. */
static void stopped(void *loop)
{
    printf("stopped\n");
    ev_break(loop, EVBREAK_ONE);
}

int main(void)
{
    struct ev_loop *loop = ev_default_loop(EVFLAG_AUTO);
    RLEvGuest *guest = loop != NULL ? RLEvAttach(loop, kRLRunLoopDefaultMode, stopped, loop) : NULL;
    if (guest == NULL) {
        perror("ev");
        return 1;
    }
    rl = RLRunLoopGetCurrent();
    RLRunLoopTimerContext context = {.info = loop};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0, tick, &context);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    int isActive = ev_run(loop, 0); /* true: the loop was stopped while watchers were still active */

    RLRelease(timer);
    RLEvDetach(guest);
    return isActive ? 0 : 1;
}
