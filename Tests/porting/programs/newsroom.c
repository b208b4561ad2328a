/* Notifications by name and object, with user information, from the main loop and from another thread's timer,
   modeled on "Notification Programming Topics" in its C form. Only the local center is used. */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>

static const char kDesk[] = "desk", kArchive[] = "archive";
static CFMutableSetRef seen;

static void Received(CFNotificationCenterRef center, void *observer, CFNotificationName name, const void *object,
                     CFDictionaryRef userInfo)
{
    CFStringRef line =
        CFStringCreateWithFormat(kCFAllocatorDefault, NULL, CFSTR("%s: %@ about %s, %ld of information"),
                                 (const char *)observer, name, object == NULL ? "nothing" : (const char *)object,
                                 userInfo == NULL ? 0L : (long)CFDictionaryGetCount(userInfo));
    (void)center;
    printf("%s\n", CFStringGetCStringPtr(line, kCFStringEncodingUTF8));
    CFRelease(line);
    CFSetAddValue(seen, name);
}

static void PostLate(CFRunLoopTimerRef timer, void *info)
{
    (void)timer;
    CFNotificationCenterPostNotification(CFNotificationCenterGetLocalCenter(), CFSTR("late news"), info, NULL, TRUE);
}

static void *Correspondent(void *info)
{
    CFRunLoopTimerContext context = {0, info, NULL, NULL, NULL};
    CFRunLoopTimerRef timer =
        CFRunLoopTimerCreate(kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + 0.01, 0, 0, 0, PostLate, &context);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    CFRunLoopRun(); /* returns when the timer ends */
    CFRelease(timer);
    return NULL;
}

int main(void)
{
    CFNotificationCenterRef center = CFNotificationCenterGetLocalCenter();
    char editor[] = "editor", librarian[] = "librarian";
    pthread_t thread;
    int page = 7;
    seen = CFSetCreateMutable(kCFAllocatorDefault, 0, &kCFTypeSetCallBacks);
    CFNotificationCenterAddObserver(center, editor, Received, CFSTR("news"), NULL,
                                    CFNotificationSuspensionBehaviorDeliverImmediately);
    CFNotificationCenterAddObserver(center, editor, Received, CFSTR("late news"), NULL,
                                    CFNotificationSuspensionBehaviorDeliverImmediately);
    CFNotificationCenterAddObserver(center, librarian, Received, NULL, kArchive,
                                    CFNotificationSuspensionBehaviorDeliverImmediately);

    CFMutableDictionaryRef info = CFDictionaryCreateMutable(kCFAllocatorDefault, 0, &kCFTypeDictionaryKeyCallBacks,
                                                            &kCFTypeDictionaryValueCallBacks);
    CFNumberRef number = CFNumberCreate(kCFAllocatorDefault, kCFNumberIntType, &page);
    CFDictionarySetValue(info, CFSTR("page"), number);
    CFRelease(number);
    CFNotificationCenterPostNotification(center, CFSTR("news"), kDesk, info, TRUE);
    CFNotificationCenterPostNotification(center, CFSTR("a loan"), kArchive, NULL, TRUE);
    CFNotificationCenterPostNotification(center, CFSTR("rumours"), kDesk, NULL, TRUE);
    if (pthread_create(&thread, NULL, Correspondent, (void *)kArchive) != 0)
        return 1;
    pthread_join(thread, NULL);
    CFNotificationCenterRemoveObserver(center, editor, CFSTR("news"), NULL);
    CFNotificationCenterRemoveEveryObserver(center, librarian);
    CFNotificationCenterPostNotification(center, CFSTR("news"), kArchive, info, TRUE);
    printf("%ld kinds of news were heard\n", (long)CFSetGetCount(seen));
    CFRelease(info);
    CFRelease(seen);
    return 0;
}
