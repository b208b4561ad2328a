/* timeout.c - a timeout that each event postpones: one timer, armed again and again. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>

typedef struct Connection {
    RLRunLoopTimerRef timeout; /* stays in the loop, armed or not */
    int events, timeouts;
} Connection;

/* Called when the timer was armed and not postponed in time. The timer is still valid and can be armed again. */
static void timedOut(RLRunLoopTimerRef timer, void *info)
{
    Connection *connection = info;
    connection->timeouts++;
    printf("no data for a while, after %d events\n", connection->events);
    if (connection->timeouts == 2)
        RLRunLoopStop(RLRunLoopGetCurrent());
    else
        RLRunLoopTimerSetNextFireDelay(timer, 0.02); /* one more, shorter chance */
}

/* Stands for a read callback. */
static void eventCame(RLRunLoopTimerRef timer, void *info)
{
    Connection *connection = info;
    if (++connection->events == 20)
        RLRunLoopTimerInvalidate(timer);
    RLRunLoopTimerSetNextFireDelay(connection->timeout, 0.05); /* arms the timer, or postpones it */
}

int main(void)
{
    Connection connection = {0};
    RLRunLoopTimerContext context = {.info = &connection};
    connection.timeout = RLRunLoopTimerCreateRearmable(kRLAllocatorDefault, timedOut, &context);
    /* Twenty events, 1 ms apart, the first one immediately. */
    RLRunLoopTimerRef events = RLRunLoopTimerCreateWithDelay(kRLAllocatorDefault, 0, 0.001, eventCame, &context);
    if (connection.timeout == NULL || events == NULL) {
        perror("timeout");
        return 1;
    }
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), connection.timeout, kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), events, kRLRunLoopDefaultMode);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0);

    /* Nothing else is in the loop. If the timer does not keep the mode running, a run returns immediately, armed or
     * not. */
    RLRunLoopTimerSetKeepsModeRunning(connection.timeout, 0);
    int ends = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 0) == kRLRunLoopRunFinished;

    /* HUGE_VAL as the date would disarm the timer and leave it in the loop. Invalidating it is permanent. */
    RLRunLoopTimerInvalidate(connection.timeout);
    RLRelease(connection.timeout);
    RLRelease(events);
    printf("%d events, %d timeouts\n", connection.events, connection.timeouts);
    return ends && result == kRLRunLoopRunStopped && connection.events == 20 && connection.timeouts == 2 ? 0 : 1;
}
