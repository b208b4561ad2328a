/* Listing 3-1, "Creating a run loop observer". */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>
#include <stdio.h>

typedef struct {
    CFOptionFlags seen;
    int entries, exits, fired;
} Thread;

static void myRunLoopObserver(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    Thread *self = info;
    (void)observer;
    self->seen |= activity;
    self->entries += activity == kCFRunLoopEntry;
    self->exits += activity == kCFRunLoopExit;
}

static void doFireTimer(CFRunLoopTimerRef timer, void *info)
{
    (void)timer;
    ((Thread *)info)->fired++;
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static void *threadMain(void *self)
{
    CFRunLoopRef myRunLoop = CFRunLoopGetCurrent();

    // Create a run loop observer and attach it to the run loop.
    CFRunLoopObserverContext context = {0, self, NULL, NULL, NULL};
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreate(kCFAllocatorDefault, kCFRunLoopAllActivities, TRUE, 0, &myRunLoopObserver, &context);

    if (observer) {
        CFRunLoopAddObserver(myRunLoop, observer, kCFRunLoopDefaultMode);
        CFRelease(observer);
    }

    // Create and schedule the timer.
    CFRunLoopTimerContext timerContext = {0, self, NULL, NULL, NULL};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + 0.01, 0.01, 0, 0,
                                                   &doFireTimer, &timerContext);
    CFRunLoopAddTimer(myRunLoop, timer, kCFRunLoopDefaultMode);
    CFRelease(timer);

    CFIndex loopCount = 10;
    do {
        // Run the run loop 10 times to let the timer fire.
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 100, FALSE);
        loopCount--;
    } while (loopCount);
    return NULL;
}

int main(void)
{
    Thread self = {0, 0, 0, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, threadMain, &self) != 0)
        return 1;
    pthread_join(thread, NULL);
    CFOptionFlags all = kCFRunLoopEntry | kCFRunLoopBeforeTimers | kCFRunLoopBeforeSources | kCFRunLoopBeforeWaiting |
                        kCFRunLoopAfterWaiting | kCFRunLoopExit;
    printf("%d entries, %d exits, fired %d times, %s\n", self.entries, self.exits, self.fired,
           self.seen == all ? "all activities seen" : "some activities not seen");
    return 0;
}
