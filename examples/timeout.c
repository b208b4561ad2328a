/* timeout.c - a timeout that each event puts off: one timer, armed again and again. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>

typedef struct Connection {
    RLRunLoopTimerRef timeout; /* stays in the loop, armed or not */
    int events, timeouts;
} Connection;

/* Called once each time the timer was armed and not put off. It is still valid: it waits to be armed again. */
static void timedOut(RLRunLoopTimerRef timer, void *info)
{
    Connection *connection = info;
    connection->timeouts++;
    printf("nothing came for a while, after %d events\n", connection->events);
    if (connection->timeouts == 2)
        RLRunLoopStop(RLRunLoopGetCurrent());
    else
        RLRunLoopTimerSetNextFireDelay(timer, 0.02); /* a last chance, shorter */
}

/* As a read callback would be. */
static void eventCame(RLRunLoopTimerRef timer, void *info)
{
    Connection *connection = info;
    if (++connection->events == 20)
        RLRunLoopTimerInvalidate(timer);
    RLRunLoopTimerSetNextFireDelay(connection->timeout, 0.05); /* arms it, or puts it off */
}

int main(void)
{
    Connection connection = {0};
    RLRunLoopTimerContext context = {.info = &connection};
    connection.timeout = RLRunLoopTimerCreateRearmable(kRLAllocatorDefault, timedOut, &context);
    /* Twenty events, 1 ms apart, the first at once. */
    RLRunLoopTimerRef events = RLRunLoopTimerCreateWithDelay(kRLAllocatorDefault, 0, 0.001, eventCame, &context);
    if (connection.timeout == NULL || events == NULL) {
        perror("timeout");
        return 1;
    }
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), connection.timeout, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), events, kRLRunLoopDefaultMode);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0);

    /* Nothing else is in the loop: a run that the timer is not to keep going ends at once, armed or not. */
    RLRunLoopTimerSetKeepsModeRunning(connection.timeout, 0);
    int ends = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0) == kRLRunLoopRunFinished;

    /* HUGE_VAL would disarm it and leave it in the loop; this is the end of it. */
    RLRunLoopTimerInvalidate(connection.timeout);
    RLRelease(connection.timeout);
    RLRelease(events);
    printf("%d events, %d timeouts\n", connection.events, connection.timeouts);
    return ends && result == kRLRunLoopRunStopped && connection.events == 20 && connection.timeouts == 2 ? 0 : 1;
}
