/** @file CFNotificationCenter.h
 *  The notification center of the process. There are no distributed and no Darwin notifications.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLNotificationCenter.h for the
 *  documentation. */
#ifndef __COREFOUNDATION_CFNOTIFICATIONCENTER__
#define __COREFOUNDATION_CFNOTIFICATIONCENTER__ 1

#include <CoreFoundation/CFBase.h>
#include <CoreFoundation/CFDictionary.h>

CF_EXTERN_C_BEGIN

typedef CFStringRef CFNotificationName;
typedef struct __CFNotificationCenter *CFNotificationCenterRef;
typedef void (*CFNotificationCallback)(CFNotificationCenterRef center, void *observer, CFNotificationName name,
                                       const void *object, CFDictionaryRef userInfo);

typedef CF_ENUM(CFIndex, CFNotificationSuspensionBehavior) {
    CFNotificationSuspensionBehaviorDrop = 1,
    CFNotificationSuspensionBehaviorCoalesce = 2,
    CFNotificationSuspensionBehaviorHold = 3,
    CFNotificationSuspensionBehaviorDeliverImmediately = 4
};

CF_ENUM(CFOptionFlags){kCFNotificationDeliverImmediately = 1UL << 0, kCFNotificationPostToAllSessions = 1UL << 1};

CF_EXPORT CFTypeID CFNotificationCenterGetTypeID(void) __asm__("RLNotificationCenterGetTypeID");
CF_EXPORT CFNotificationCenterRef
CFNotificationCenterGetLocalCenter(void) __asm__("RLNotificationCenterGetLocalCenter");
CF_EXPORT void CFNotificationCenterAddObserver(
    CFNotificationCenterRef center, const void *observer, CFNotificationCallback callBack, CFStringRef name,
    const void *object, CFNotificationSuspensionBehavior suspensionBehavior) __asm__("RLNotificationCenterAddObserver");
CF_EXPORT void CFNotificationCenterRemoveObserver(CFNotificationCenterRef center, const void *observer,
                                                  CFNotificationName name,
                                                  const void *object) __asm__("RLNotificationCenterRemoveObserver");
CF_EXPORT void
CFNotificationCenterRemoveEveryObserver(CFNotificationCenterRef center,
                                        const void *observer) __asm__("RLNotificationCenterRemoveEveryObserver");
CF_EXPORT void
CFNotificationCenterPostNotification(CFNotificationCenterRef center, CFNotificationName name, const void *object,
                                     CFDictionaryRef userInfo,
                                     Boolean deliverImmediately) __asm__("RLNotificationCenterPostNotification");
CF_EXPORT void CFNotificationCenterPostNotificationWithOptions(
    CFNotificationCenterRef center, CFNotificationName name, const void *object, CFDictionaryRef userInfo,
    CFOptionFlags options) __asm__("RLNotificationCenterPostNotificationWithOptions");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFNOTIFICATIONCENTER__ */
