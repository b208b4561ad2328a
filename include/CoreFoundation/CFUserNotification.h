/** @file CFUserNotification.h
 *  User notifications: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFUSERNOTIFICATION__
#define __COREFOUNDATION_CFUSERNOTIFICATION__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFUserNotificationRef, __CF_NO_DESKTOP);
__CF_NO_FUNCTION(CFUserNotificationGetTypeID, __CF_NO_DESKTOP);
__CF_NO_FUNCTION(CFUserNotificationCreate, __CF_NO_DESKTOP);
__CF_NO_FUNCTION(CFUserNotificationReceiveResponse, __CF_NO_DESKTOP);
__CF_NO_FUNCTION(CFUserNotificationGetResponseValue, __CF_NO_DESKTOP);
__CF_NO_FUNCTION(CFUserNotificationGetResponseDictionary, __CF_NO_DESKTOP);
__CF_NO_FUNCTION(CFUserNotificationUpdate, __CF_NO_DESKTOP);
__CF_NO_FUNCTION(CFUserNotificationCancel, __CF_NO_DESKTOP);
__CF_NO_FUNCTION(CFUserNotificationCreateRunLoopSource, __CF_NO_DESKTOP);
__CF_NO_FUNCTION(CFUserNotificationDisplayNotice, __CF_NO_DESKTOP);
__CF_NO_FUNCTION(CFUserNotificationDisplayAlert, __CF_NO_DESKTOP);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFUSERNOTIFICATION__ */
