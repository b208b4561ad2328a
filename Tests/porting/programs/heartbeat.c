/* Periodic work with a configuration: a CFDictionary of CFNumbers and CFBooleans, a repeating CFRunLoopTimer whose
   context owns its info, and an observer that counts the passes, modeled on the samples of "Run Loops" and
   "Collections Programming". */
#include <CoreFoundation/CFArray.h>
#include <CoreFoundation/CFDictionary.h>
#include <CoreFoundation/CFNumber.h>
#include <CoreFoundation/CFRunLoop.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int references;
    int beats;
    int wanted;
    CFMutableArrayRef intervals;
} Heart;

static const void *HeartRetain(const void *info)
{
    ((Heart *)info)->references++;
    return info;
}

static void HeartRelease(const void *info)
{
    Heart *heart = (Heart *)info;
    if (--heart->references == 0) {
        printf("freed after %d beats\n", heart->beats);
        CFRelease(heart->intervals);
        free(heart);
    }
}

static void Beat(CFRunLoopTimerRef timer, void *info)
{
    Heart *heart = (Heart *)info;
    double late =
        CFAbsoluteTimeGetCurrent() - (CFRunLoopTimerGetNextFireDate(timer) - CFRunLoopTimerGetInterval(timer));
    CFNumberRef number = CFNumberCreate(kCFAllocatorDefault, kCFNumberDoubleType, &late);
    CFArrayAppendValue(heart->intervals, number);
    CFRelease(number);
    printf("beat %d\n", ++heart->beats);
    if (heart->beats == heart->wanted)
        CFRunLoopTimerInvalidate(timer);
}

static void CountPass(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info)
{
    (void)observer;
    (void)activity;
    ++*(int *)info;
}

static CFDictionaryRef CopyConfiguration(void)
{
    int beats = 4;
    double interval = 0.02;
    const void *keys[] = {CFSTR("beats"), CFSTR("interval"), CFSTR("verbose")};
    CFNumberRef number = CFNumberCreate(kCFAllocatorDefault, kCFNumberIntType, &beats);
    CFNumberRef seconds = CFNumberCreate(kCFAllocatorDefault, kCFNumberDoubleType, &interval);
    const void *values[] = {number, seconds, kCFBooleanTrue};
    CFDictionaryRef configuration = CFDictionaryCreate(
        kCFAllocatorDefault, keys, values, 3, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFRelease(number);
    CFRelease(seconds);
    return configuration;
}

int main(void)
{
    CFDictionaryRef configuration = CopyConfiguration();
    Heart *heart = (Heart *)calloc(1, sizeof *heart);
    double interval = 0;
    int passes = 0;
    CFNumberGetValue((CFNumberRef)CFDictionaryGetValue(configuration, CFSTR("beats")), kCFNumberIntType,
                     &heart->wanted);
    CFNumberGetValue((CFNumberRef)CFDictionaryGetValue(configuration, CFSTR("interval")), kCFNumberDoubleType,
                     &interval);
    heart->references = 1;
    heart->intervals = CFArrayCreateMutable(kCFAllocatorDefault, 0, &kCFTypeArrayCallBacks);

    CFRunLoopTimerContext context = {0, heart, HeartRetain, HeartRelease, NULL};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + interval, interval,
                                                   0, 0, Beat, &context);
    CFRunLoopObserverContext observed = {0, &passes, NULL, NULL, NULL};
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreate(kCFAllocatorDefault, kCFRunLoopBeforeTimers, TRUE, 0, CountPass, &observed);
    CFStringRef mode = CFSTR("com.example.heartbeat");
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, mode);
    CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, mode);
    SInt32 result = CFRunLoopRunInMode(mode, 60.0, FALSE);
    printf("%s, %ld intervals kept, %s\n", result == kCFRunLoopRunFinished ? "finished" : "not finished",
           (long)CFArrayGetCount(heart->intervals),
           passes >= 4 && CFBooleanGetValue((CFBooleanRef)CFDictionaryGetValue(configuration, CFSTR("verbose")))
               ? "passes were counted"
               : "too few passes");
    HeartRelease(heart);
    CFRunLoopObserverInvalidate(observer);
    CFRelease(observer);
    CFRelease(timer);
    CFRelease(configuration);
    return 0;
}
