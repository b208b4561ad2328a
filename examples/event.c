/* event.c - a run loop inside libevent: adapters/event.h. */
#include <RunLoop/adapters/event.h>
#include <pthread.h>
#include <stdio.h>

static RLRunLoopRef rl;

static void greet(void *info)
{
    printf("%s\n", (const char *)info);
    RLRunLoopStop(rl);
}

/* To wake libevent itself from a thread, a program would have to call evthread_use_pthreads() first. */
static void *post(void *info)
{
    RLRunLoopPostFunction(rl, kRLRunLoopDefaultMode, greet, "a function from a thread");
    return info;
}

static void eventTick(evutil_socket_t fd, short events, void *info)
{
    pthread_t thread;
    (void)fd;
    (void)events;
    (void)info;
    printf("a timer of libevent\n");
    if (pthread_create(&thread, NULL, post, NULL) == 0)
        pthread_join(thread, NULL);
}

static void tick(RLRunLoopTimerRef timer, void *base)
{
    struct timeval soon = {.tv_usec = 1000};
    (void)timer;
    printf("a timer of the run loop\n");
    event_base_once(base, -1, EV_TIMEOUT, eventTick, NULL, &soon);
}

/* Called after RLRunLoopStop(): what a stop means is up to the host. */
static void stopped(void *base)
{
    printf("stopped\n");
    event_base_loopbreak(base);
}

int main(void)
{
    struct event_base *base = event_base_new();
    RLEventGuest *guest = base != NULL ? RLEventAttach(base, kRLRunLoopDefaultMode, stopped, base) : NULL;
    if (guest == NULL) {
        perror("event");
        return 1;
    }
    rl = RLRunLoopGetCurrent();
    RLRunLoopTimerContext context = {.info = base};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0, tick, &context);
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    event_base_dispatch(base);

    int wasBroken = event_base_got_break(base);
    RLRelease(timer);
    RLEventDetach(guest);
    event_base_free(base);
    return wasBroken ? 0 : 1;
}
