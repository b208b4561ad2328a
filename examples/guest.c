/* guest.c - a run loop inside another event loop. Here the host is the program's own poll(2) loop. */
#include <RunLoop/RunLoop.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ticks, isOver;

static void tick(RLRunLoopTimerRef timer, void *info)
{
    (void)info;
    printf("tick %d\n", ++ticks);
    if (ticks == 3)
        RLRunLoopTimerInvalidate(timer);
}

static void greet(void *info)
{
    printf("%s\n", (const char *)info);
    RLRunLoopStop(RLRunLoopGetCurrent());
}

/* A thread posts a function, just as it would if the loop were running. */
static void *post(void *loop)
{
    RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, greet, "hello from a thread");
    return NULL;
}

int main(void)
{
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.001, 0.001, tick, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    int own[2]; /* a descriptor that the host polls for its own purposes */
    RLRunLoopGuestState guest = {.version = 0};
    if (pipe(own) < 0 || write(own[1], "x", 1) != 1 ||
        !RLRunLoopPrepareGuest(kRLRunLoopDefaultMode, kRLRunLoopGuestTimerInDescriptor, &guest)) {
        perror("guest");
        return 1;
    }

    while (!isOver) {
        struct pollfd looks[] = {{.fd = own[0], .events = POLLIN}, {.fd = guest.fd, .events = guest.events}};
        poll(looks, 2, -1);
        if (looks[0].revents) {
            char byte;
            printf("the host's own descriptor: %zd byte\n", read(own[0], &byte, 1));
        }
        /* The result is Stopped after RLRunLoopStop(). The host decides what that means. */
        if (looks[1].revents && RLRunLoopDispatchGuest(kRLRunLoopDefaultMode) == kRLRunLoopRunStopped)
            isOver = 1;
        pthread_t thread;
        if (ticks == 3 && !isOver && pthread_create(&thread, NULL, post, RLRunLoopGetCurrent()) == 0)
            pthread_join(thread, NULL);
    }
    RLRunLoopLeaveGuest();
    RLRelease(timer);
    close(own[0]);
    close(own[1]);
    return ticks == 3 ? 0 : 1;
}
