/* A custom input source in CoreFoundation's C, modeled on "Threading Programming Guide", "Defining a Custom Input
   Source": a worker thread lives in its run loop; clients put commands into a buffer, signal the source and wake the
   loop. */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    CFMutableArrayRef commands; /* of CFString */
    CFRunLoopRef runLoop;       /* set by the schedule routine */
    CFRunLoopSourceRef source;
    CFIndex done;
} Worker;

static void RunLoopSourceScheduleRoutine(void *info, CFRunLoopRef rl, CFStringRef mode)
{
    Worker *worker = (Worker *)info;
    pthread_mutex_lock(&worker->lock);
    worker->runLoop = (CFRunLoopRef)CFRetain(rl);
    printf("scheduled in %s\n",
           CFStringCompare(mode, kCFRunLoopDefaultMode, 0) == kCFCompareEqualTo ? "the default mode" : "?");
    pthread_cond_signal(&worker->ready);
    pthread_mutex_unlock(&worker->lock);
}

static void RunLoopSourceCancelRoutine(void *info, CFRunLoopRef rl, CFStringRef mode)
{
    Worker *worker = (Worker *)info;
    (void)mode;
    printf("cancelled%s\n", rl == worker->runLoop ? "" : " in another loop");
}

static void RunLoopSourcePerformRoutine(void *info)
{
    Worker *worker = (Worker *)info;
    pthread_mutex_lock(&worker->lock);
    CFArrayRef batch = CFArrayCreateCopy(kCFAllocatorDefault, worker->commands);
    CFArrayRemoveAllValues(worker->commands);
    pthread_mutex_unlock(&worker->lock);

    for (CFIndex i = 0; i < CFArrayGetCount(batch); i++) {
        CFStringRef command = (CFStringRef)CFArrayGetValueAtIndex(batch, i);
        char text[64];
        if (CFStringGetCString(command, text, sizeof text, kCFStringEncodingUTF8))
            printf("command: %s\n", text);
        worker->done++;
        if (CFStringHasPrefix(command, CFSTR("quit")))
            CFRunLoopSourceInvalidate(worker->source); /* the loop is empty, so its run returns */
    }
    CFRelease(batch);
}

static void *WorkerMain(void *info)
{
    Worker *worker = (Worker *)info;
    CFRunLoopSourceContext context = {0,
                                      worker,
                                      NULL,
                                      NULL,
                                      NULL,
                                      NULL,
                                      NULL,
                                      RunLoopSourceScheduleRoutine,
                                      RunLoopSourceCancelRoutine,
                                      RunLoopSourcePerformRoutine};
    worker->source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), worker->source, kCFRunLoopDefaultMode);
    CFRunLoopRun();
    CFRelease(worker->source);
    return NULL;
}

static void FireCommand(Worker *worker, CFStringRef command)
{
    pthread_mutex_lock(&worker->lock);
    CFArrayAppendValue(worker->commands, command);
    pthread_mutex_unlock(&worker->lock);
    CFRunLoopSourceSignal(worker->source);
    CFRunLoopWakeUp(worker->runLoop);
}

int main(void)
{
    Worker worker;
    pthread_t thread;
    memset(&worker, 0, sizeof worker);
    pthread_mutex_init(&worker.lock, NULL);
    pthread_cond_init(&worker.ready, NULL);
    worker.commands = CFArrayCreateMutable(kCFAllocatorDefault, 0, &kCFTypeArrayCallBacks);
    if (pthread_create(&thread, NULL, WorkerMain, &worker) != 0)
        return 1;

    pthread_mutex_lock(&worker.lock);
    while (worker.runLoop == NULL)
        pthread_cond_wait(&worker.ready, &worker.lock);
    pthread_mutex_unlock(&worker.lock);

    for (int i = 1; i <= 3; i++) {
        CFStringRef command = CFStringCreateWithFormat(kCFAllocatorDefault, NULL, CFSTR("draw line %d"), i);
        FireCommand(&worker, command);
        CFRelease(command);
    }
    FireCommand(&worker, CFSTR("quit"));
    pthread_join(thread, NULL);
    printf("%ld commands done\n", (long)worker.done);
    CFRelease(worker.runLoop);
    CFRelease(worker.commands);
    return 0;
}
