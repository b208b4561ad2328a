/* blocks.c - the functions that take a block (clang -fblocks, linked with -lBlocksRuntime).
 *
 * They are inline functions in the headers, a thin layer above the functions that take a callback, so the library
 * itself needs no blocks runtime. A block that outlives the call is copied, and released when it is no longer
 * needed. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>

#ifdef __BLOCKS__
#include <math.h>
#include <pthread.h>

typedef struct Request {
    RLRunLoopRef loop;       /* main's */
    RLRunLoopTimerRef timer; /* main's; has no fire date yet */
    int answer;
} Request;

static void *askMain(void *argument)
{
    Request *request = argument;
    int number = 6; /* the block gets a copy of it */
    RLRunLoopPostBlock(request->loop, kRLRunLoopDefaultMode,
                       ^{ printf("a block posted by another thread knows the number %d\n", number); });
    number = 7;
    __block int product = 0; /* shared with the block, which has returned before the call does */
    RLRunLoopPerformBlockAndWait(
        request->loop, kRLRunLoopDefaultMode,
        ^{
            product = 6 * number;
            RLRunLoopTimerSetNextFireDate(request->timer, RLAbsoluteTimeGetCurrent() + 0.05);
        },
        10.0);
    request->answer = product;
    return NULL;
}

int main(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    __block int ticks = 0, activities = 0, performed = 0;

    RLRunLoopPerformBlock(loop, kRLRunLoopDefaultMode, ^{
        performed = 1;
        puts("a block is performed by the loop");
    });
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.0, 0);
    RLRunLoopPerformBlockAfterDelay(
        loop, kRLRunLoopDefaultMode, ^{ puts("a block is performed 0.01 s later"); }, 0.01);
    RLRunLoopRun(); /* until there is nothing left to do */

    RLRunLoopTimerRef timer = RLRunLoopTimerCreateWithHandler(NULL, HUGE_VAL, 0.05, 0, 0, ^(RLRunLoopTimerRef self) {
        printf("a timer calls its block: tick %d\n", ++ticks);
        if (ticks == 3) {
            RLRunLoopTimerInvalidate(self); /* the block is released after it has returned */
            RLRunLoopStop(loop);
        }
    });
    RLRunLoopObserverRef observer = RLRunLoopObserverCreateWithHandler(
        NULL, kRLRunLoopEntry | kRLRunLoopExit, 1, 0, ^(RLRunLoopObserverRef self, RLRunLoopActivity activity) {
            (void)self;
            activities++;
            puts(activity == kRLRunLoopEntry ? "an observer's block: entry" : "an observer's block: exit");
        });
    if (timer == NULL || observer == NULL) {
        perror("blocks");
        return 1;
    }
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopAddObserver(loop, observer, kRLRunLoopDefaultMode);

    Request request = {.loop = loop, .timer = timer};
    pthread_t thread;
    if (pthread_create(&thread, NULL, askMain, &request) != 0) {
        fputs("blocks: cannot start the thread\n", stderr);
        return 1;
    }
    RLRunLoopRun();

    pthread_join(thread, NULL);
    RLRunLoopObserverInvalidate(observer);
    RLRelease(observer);
    RLRelease(timer);
    printf("the other thread waited for its answer: %d\n", request.answer);
    return performed && ticks == 3 && activities == 2 && request.answer == 42 ? 0 : 1;
}

#else

int main(void)
{
    puts("blocks: built without blocks; use clang -fblocks");
    return 77; /* skipped */
}

#endif
