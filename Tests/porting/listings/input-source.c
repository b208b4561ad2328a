/* Listings 3-3 to 3-9: a custom input source, which registers itself with the main thread. */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>
#include <stdio.h>

/* ---- 3-3: the custom input source object definition ---- */

typedef struct {
    CFRunLoopSourceRef runLoopSource;
    CFMutableArrayRef commands; /* of numbers */
    pthread_mutex_t lock;
    int done;
} RunLoopSource;

void RunLoopSourceScheduleRoutine(void *info, CFRunLoopRef rl, CFStringRef mode);
void RunLoopSourcePerformRoutine(void *info);
void RunLoopSourceCancelRoutine(void *info, CFRunLoopRef rl, CFStringRef mode);

/* RunLoopContext is a container object used during registration of the input source. */
typedef struct {
    CFRunLoopRef runLoop;
    RunLoopSource *source;
} RunLoopContext;

/* ---- 3-8: registering and removing an input source with the application delegate, on the main thread ---- */

static CFMutableArrayRef sourcesToPing;

static void registerSource(RunLoopContext *sourceInfo)
{
    CFArrayAppendValue(sourcesToPing, sourceInfo);
    printf("registered\n");
}

static void removeSource(RunLoopContext *sourceInfo)
{
    for (CFIndex i = 0; i < CFArrayGetCount(sourcesToPing); i++) {
        RunLoopContext *context = (RunLoopContext *)CFArrayGetValueAtIndex(sourcesToPing, i);
        if (context->source == sourceInfo->source && context->runLoop == sourceInfo->runLoop) {
            CFArrayRemoveValueAtIndex(sourcesToPing, i);
            CFAllocatorDeallocate(NULL, context);
            printf("removed\n");
            break;
        }
    }
    CFAllocatorDeallocate(NULL, sourceInfo);
}

/* Stands for Cocoa's performSelectorOnMainThread, for one function at a time. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    CFRunLoopSourceRef source;
    void (*function)(RunLoopContext *);
    RunLoopContext *context;
} mainThread = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL, NULL};

static void performOnMainThread(void (*function)(RunLoopContext *), RunLoopContext *context, Boolean waitUntilDone)
{
    pthread_mutex_lock(&mainThread.lock);
    while (mainThread.function != NULL)
        pthread_cond_wait(&mainThread.changed, &mainThread.lock);
    mainThread.function = function;
    mainThread.context = context;
    CFRunLoopSourceSignal(mainThread.source);
    CFRunLoopWakeUp(CFRunLoopGetMain());
    while (waitUntilDone && mainThread.function == function)
        pthread_cond_wait(&mainThread.changed, &mainThread.lock);
    pthread_mutex_unlock(&mainThread.lock);
}

static void performFunctions(void *info)
{
    (void)info;
    pthread_mutex_lock(&mainThread.lock);
    mainThread.function(mainThread.context);
    mainThread.function = NULL;
    pthread_cond_broadcast(&mainThread.changed);
    pthread_mutex_unlock(&mainThread.lock);
}

static RunLoopContext *initWithSource(RunLoopSource *src, CFRunLoopRef loop)
{
    RunLoopContext *context = CFAllocatorAllocate(NULL, sizeof *context, 0);
    context->runLoop = loop;
    context->source = src;
    return context;
}

/* ---- 3-4: scheduling a run loop source ---- */

void RunLoopSourceScheduleRoutine(void *info, CFRunLoopRef rl, CFStringRef mode)
{
    RunLoopSource *obj = (RunLoopSource *)info;
    RunLoopContext *theContext = initWithSource(obj, rl);

    printf("scheduled in %s\n", CFEqual(mode, kCFRunLoopDefaultMode) ? "the default mode" : "another mode");
    performOnMainThread(registerSource, theContext, FALSE);
}

/* ---- 3-5: performing work in the input source ---- */

static void sourceFired(RunLoopSource *self)
{
    pthread_mutex_lock(&self->lock);
    CFArrayRef commands = CFArrayCreateCopy(NULL, self->commands);
    CFArrayRemoveAllValues(self->commands);
    pthread_mutex_unlock(&self->lock);
    for (CFIndex i = 0; i < CFArrayGetCount(commands); i++) {
        int command = 0;
        CFNumberGetValue(CFArrayGetValueAtIndex(commands, i), kCFNumberIntType, &command);
        printf("command %d\n", command);
        if (command == 0)
            CFRunLoopSourceInvalidate(self->runLoopSource);
    }
    CFRelease(commands);
}

void RunLoopSourcePerformRoutine(void *info)
{
    RunLoopSource *obj = (RunLoopSource *)info;
    sourceFired(obj);
}

/* ---- 3-6: invalidating an input source ---- */

void RunLoopSourceCancelRoutine(void *info, CFRunLoopRef rl, CFStringRef mode)
{
    RunLoopSource *obj = (RunLoopSource *)info;
    RunLoopContext *theContext = initWithSource(obj, rl);

    (void)mode;
    performOnMainThread(removeSource, theContext, TRUE);
}

/* ---- 3-7: installing the run loop source ---- */

static void init(RunLoopSource *self)
{
    CFRunLoopSourceContext context = {0,
                                      self,
                                      NULL,
                                      NULL,
                                      NULL,
                                      NULL,
                                      NULL,
                                      &RunLoopSourceScheduleRoutine,
                                      RunLoopSourceCancelRoutine,
                                      RunLoopSourcePerformRoutine};

    self->runLoopSource = CFRunLoopSourceCreate(NULL, 0, &context);
    self->commands = CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks);
    pthread_mutex_init(&self->lock, NULL);
}

static void addToCurrentRunLoop(RunLoopSource *self)
{
    CFRunLoopRef runLoop = CFRunLoopGetCurrent();
    CFRunLoopAddSource(runLoop, self->runLoopSource, kCFRunLoopDefaultMode);
}

/* ---- 3-9: waking up the run loop ---- */

static void addCommand(RunLoopSource *self, int command)
{
    CFNumberRef number = CFNumberCreate(NULL, kCFNumberIntType, &command);
    pthread_mutex_lock(&self->lock);
    CFArrayAppendValue(self->commands, number);
    pthread_mutex_unlock(&self->lock);
    CFRelease(number);
}

static void fireCommandsOnRunLoop(RunLoopSource *self, CFRunLoopRef runloop)
{
    CFRunLoopSourceSignal(self->runLoopSource);
    CFRunLoopWakeUp(runloop);
}

static void *workerMain(void *info)
{
    RunLoopSource *source = info;
    addToCurrentRunLoop(source);
    CFRunLoopRun(); /* until the source is invalidated */
    CFRelease(source->runLoopSource);
    CFRelease(source->commands);
    return NULL;
}

int main(void)
{
    RunLoopSource source;
    pthread_t worker;
    CFRunLoopSourceContext context = {0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, performFunctions};
    mainThread.source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(CFRunLoopGetMain(), mainThread.source, kCFRunLoopDefaultMode);
    sourcesToPing = CFArrayCreateMutable(NULL, 0, NULL);
    init(&source);
    if (pthread_create(&worker, NULL, workerMain, &source) != 0)
        return 1;
    while (CFArrayGetCount(sourcesToPing) == 0)
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, TRUE);

    const RunLoopContext *registered = CFArrayGetValueAtIndex(sourcesToPing, 0);
    addCommand(registered->source, 1);
    addCommand(registered->source, 2);
    addCommand(registered->source, 0);
    fireCommandsOnRunLoop(registered->source, registered->runLoop);
    while (CFArrayGetCount(sourcesToPing) > 0)
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, TRUE);
    pthread_join(worker, NULL);
    CFRunLoopSourceInvalidate(mainThread.source);
    CFRelease(mainThread.source);
    CFRelease(sourcesToPing);
    return 0;
}
