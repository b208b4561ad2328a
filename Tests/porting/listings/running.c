/* Listing 3-2, "Running a run loop". */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>
#include <stdio.h>

static CFRunLoopRef loop;
static CFRunLoopSourceRef source;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int handled;

static void perform(void *info)
{
    (void)info;
    pthread_mutex_lock(&lock);
    if (++handled == 3)
        CFRunLoopSourceInvalidate(source);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void *skeletonThreadMain(void *info)
{
    // Set up an autorelease pool here if not using garbage collection.
    Boolean done = FALSE;
    int handledSource = 0;
    (void)info;

    // Add your sources or timers to the run loop and do any other setup.
    CFRunLoopSourceContext context = {0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, perform};
    pthread_mutex_lock(&lock);
    source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    loop = CFRunLoopGetCurrent();
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);

    do {
        // Start the run loop but return after each source is handled.
        SInt32 result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, TRUE);
        handledSource += result == kCFRunLoopRunHandledSource;

        // If a source explicitly stopped the run loop, or if there are no
        // sources or timers, go ahead and exit.
        if ((result == kCFRunLoopRunStopped) || (result == kCFRunLoopRunFinished))
            done = TRUE;

        // Check for any other exit conditions here and set the
        // done variable as needed.
    } while (!done);

    // Clean up code here. Be sure to release any allocated autorelease pools.
    CFRelease(source);
    printf("left after %d handled sources\n", handledSource);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, skeletonThreadMain, NULL) != 0)
        return 1;
    pthread_mutex_lock(&lock);
    while (loop == NULL)
        pthread_cond_wait(&changed, &lock);
    for (int i = 0; i < 3; i++) {
        CFRunLoopSourceSignal(source);
        CFRunLoopWakeUp(loop);
        while (handled == i)
            pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
