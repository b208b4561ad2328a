/** @file CFUnavailable.h
 *  What Apple's CoreFoundation has and this library lacks. The names are declared here, and in headers with Apple's
 *  names (CFURL.h, CFStream.h and so on), so that the compiler reports at each use that a name is unavailable, and why.
 *  Part of the source compatibility headers: see CoreFoundation.h.
 *
 *  Compile a program that brings its own declarations of such names with -DCF_ALLOW_UNAVAILABLE. */
#ifndef __COREFOUNDATION_CFUNAVAILABLE__
#define __COREFOUNDATION_CFUNAVAILABLE__ 1

#ifndef CF_ALLOW_UNAVAILABLE

#include <CoreFoundation/CFBase.h>

CF_EXTERN_C_BEGIN

#define __CF_NO_TYPE(name, why) \
    typedef const struct __CFUnavailable *name __CF_DECLINED("not provided by librunloop: " why)
#define __CF_NO_FUNCTION(name, why) extern void name(void) __CF_DECLINED("not provided by librunloop: " why)

#define __CF_NO_STREAMS "use CFSocket or CFFileDescriptor for byte streams"
#define __CF_NO_URLS "use paths, open() and getaddrinfo() instead of URLs"
#define __CF_NO_BUNDLES "Linux has no bundles; use dlopen() and files"
#define __CF_NO_PREFERENCES "Linux has no preferences service; use a file"
#define __CF_NO_MACH "Linux has no Mach ports; use CFMessagePort, CFFileDescriptor, or RLPort between threads"
#define __CF_NO_TEXT "strings are immutable; build text in a buffer and use CFStringCreateWithCString()"
#define __CF_NO_FILE_NAMES "file names are UTF-8: use CFStringCreateWithCString() and CFStringGetCString()"
#define __CF_NO_LOCALES "locales, calendars and time zones are not supported; use <time.h> and <locale.h>"
#define __CF_NO_COLLECTION "use CFArray, CFSet or CFDictionary"
#define __CF_NO_ERRORS "functions that fail return NULL or 0 and set errno"
#define __CF_NO_UUIDS "use uuid_generate() from libuuid"
#define __CF_NO_DESKTOP "there is no desktop to display notifications on"
#define __CF_NO_PROPERTY_LISTS "property lists are not supported; write the objects in your own format"
#define __CF_NO_ALLOCATORS "malloc is the only allocator; pass NULL"
#define __CF_NO_CENTER "there is only the local notification center; use CFMessagePort between processes"

__CF_NO_TYPE(CFMachPortRef, __CF_NO_MACH);
__CF_NO_FUNCTION(CFMachPortCreate, __CF_NO_MACH);
__CF_NO_FUNCTION(CFMachPortCreateWithPort, __CF_NO_MACH);
__CF_NO_FUNCTION(CFMachPortCreateRunLoopSource, __CF_NO_MACH);

__CF_NO_TYPE(CFMutableStringRef, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringCreateMutable, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringCreateMutableCopy, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringAppend, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringAppendCString, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringAppendFormat, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringCreateWithCharacters, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringGetCharacterAtIndex, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringGetCharacters, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringCreateWithSubstring, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringCreateByCombiningStrings, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringFindAndReplace, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringReplace, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringTrimWhitespace, __CF_NO_TEXT);
__CF_NO_FUNCTION(CFStringCreateWithFileSystemRepresentation, __CF_NO_FILE_NAMES);
__CF_NO_FUNCTION(CFStringGetFileSystemRepresentation, __CF_NO_FILE_NAMES);
__CF_NO_FUNCTION(CFStringGetMaximumSizeOfFileSystemRepresentation, __CF_NO_FILE_NAMES);

__CF_NO_TYPE(CFTimeZoneRef, __CF_NO_LOCALES);
__CF_NO_TYPE(CFGregorianDate, __CF_NO_LOCALES);
__CF_NO_FUNCTION(CFAbsoluteTimeGetGregorianDate, __CF_NO_LOCALES);

__CF_NO_FUNCTION(CFAllocatorCreate, __CF_NO_ALLOCATORS);
__CF_NO_FUNCTION(CFAllocatorSetDefault, __CF_NO_ALLOCATORS);
__CF_NO_FUNCTION(CFAllocatorGetContext, __CF_NO_ALLOCATORS);
__CF_NO_FUNCTION(CFAllocatorGetPreferredSizeForSize, __CF_NO_ALLOCATORS);
__CF_NO_FUNCTION(CFNotificationCenterGetDarwinNotifyCenter, __CF_NO_CENTER);
__CF_NO_FUNCTION(CFNotificationCenterGetDistributedCenter, __CF_NO_CENTER);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFUNAVAILABLE__ */
