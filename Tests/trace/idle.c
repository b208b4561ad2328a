/* A loop whose timer fires every few milliseconds, until the end of standard input. Prints its process ID when it
 * first fires. */
#include <RunLoop/RunLoop.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int ticks, most;

static void tick(RLRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    if (ticks == 0) {
        printf("%d\n", getpid());
        fflush(stdout);
    }
    if (++ticks == most)
        kill(getpid(), SIGKILL);
}

static void ended(RLFileDescriptorRef input, RLOptionFlags types, void *info)
{
    (void)input, (void)types, (void)info;
    RLRunLoopStop(RLRunLoopGetCurrent());
}

/* idle [KILL-AFTER-TICKS] */
int main(int count, char **arguments)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithDelay(NULL, 0.002, 0.002, tick, NULL);
    RLFileDescriptorRef input = RLFileDescriptorCreate(NULL, STDIN_FILENO, 0, ended, NULL);
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, input, 0);
    most = count > 1 ? atoi(arguments[1]) : 0;
    RLFileDescriptorEnableCallBacks(input, kRLFileDescriptorReadCallBack);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode);
    RLRunLoopRun();
    return 0;
}
