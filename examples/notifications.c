/* notifications.c - a notification center: the poster does not know the observers.
 *
 * A thermometer posts its readings. A display observes all readings, an alarm those of one thermometer. The
 * callbacks run inside the post, on the posting thread. A second thread has the main loop perform a function that
 * posts, so that the observers need no locks. */
#include <RunLoop/RunLoop.h>
#include <pthread.h>
#include <stdio.h>

#define READING RLSTR("a reading")

static const char kitchen[] = "kitchen", cellar[] = "cellar";

static void post(const char *place, int degrees)
{
    const void *key = RLSTR("degrees");
    RLNumberRef number = RLNumberCreate(NULL, kRLNumberIntType, &degrees);
    RLDictionaryRef info = RLDictionaryCreate(NULL, &key, (const void **)&number, 1, &kRLTypeDictionaryKeyCallBacks,
                                              &kRLTypeDictionaryValueCallBacks);
    RLNotificationCenterPostNotification(RLNotificationCenterGetLocalCenter(), READING, place, info, 1);
    RLRelease(info);
    RLRelease(number);
}

static void hear(RLNotificationCenterRef center, void *observer, RLNotificationName name, const void *object,
                 RLDictionaryRef info)
{
    int degrees = 0;
    (void)center;
    if (info != NULL)
        RLNumberGetValue(RLDictionaryGetValue(info, RLSTR("degrees")), kRLNumberIntType, &degrees);
    printf("%s: %s, %s, %d degrees\n", (const char *)observer, RLStringGetCStringPtr(name, kRLStringEncodingUTF8),
           (const char *)object, degrees);
}

static void post_from_the_cellar(void *info)
{
    (void)info;
    post(cellar, 11);
}

static void *thermometer(void *loop)
{
    RLRunLoopPerformFunctionAndWait(loop, kRLRunLoopDefaultMode, post_from_the_cellar, NULL, 60);
    RLRunLoopStop(loop);
    return NULL;
}

static void keep(RLRunLoopTimerRef timer, void *info)
{
    (void)timer;
    (void)info;
}

int main(void)
{
    static char display[] = "display", alarm[] = "alarm";
    RLNotificationCenterRef center = RLNotificationCenterGetLocalCenter();
    RLNotificationCenterAddObserver(center, display, hear, READING, NULL,
                                    RLNotificationSuspensionBehaviorDeliverImmediately);
    RLNotificationCenterAddObserver(center, alarm, hear, NULL, cellar,
                                    RLNotificationSuspensionBehaviorDeliverImmediately);
    post(kitchen, 20);

    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, RLAbsoluteTimeGetCurrent() + 3600, 0, 0, 0, keep, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, kRLRunLoopDefaultMode);
    pthread_t thread;
    if (pthread_create(&thread, NULL, thermometer, RLRunLoopGetCurrent()) != 0)
        return 1;
    RLRunLoopRun();
    pthread_join(thread, NULL);

    RLNotificationCenterRemoveObserver(center, display, READING, NULL);
    RLNotificationCenterPostNotificationWithOptions(center, RLSTR("a flood"), cellar, NULL,
                                                    kRLNotificationDeliverImmediately);
    RLNotificationCenterRemoveEveryObserver(center, alarm);
    post(cellar, 12);
    printf("no observers are left; the center is %s\n",
           RLGetTypeID(center) == RLNotificationCenterGetTypeID() ? "still there" : "gone");
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
    return 0;
}
