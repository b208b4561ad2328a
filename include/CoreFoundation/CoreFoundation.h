/** @file CoreFoundation.h
 *  Source compatibility: a C program written for Apple's CFRunLoop compiles unchanged and links with -lrunloop.
 *
 *  These headers declare CF names for the functions of this library. A CF name is an assembler label for the RL symbol
 *  (`CFRunLoopRun` calls `RLRunLoopRunAsCF`), so the library exports no CF symbol and can coexist in one process with
 *  Apple's CoreFoundation. Constants, struct layouts and calling conventions are those of Apple's headers for Linux.
 *
 *  Available are: all of CFRunLoop, CFFileDescriptor, CFArray, CFData, CFSet, CFDictionary, CFNumber and CFBoolean;
 *  CFSocket without its name registry; CFMessagePort without dispatch queues; CFByteOrder and the null object; the part
 *  of CFString that deals with C strings, and formats; CFDate and absolute times without calendars; the local
 *  CFNotificationCenter; CFRetain and related functions; and, beside this directory, AssertMacros.h. CFUnavailable.h
 *  lists what is not available, and what to use instead; the compiler says so at each use.
 *
 *  The behavior, and the differences from Apple's, are documented in RunLoop/RLRunLoop.h and its neighbors, under the
 *  names with RL in place of CF. Both sets of headers may be included in one file; the handles are the same objects,
 *  but of different C types, so a cast is needed to pass one to the other.
 *  CFSTR("…") is a constant expression with clang, and a function call with other compilers.
 *  Programs that do not use headers but bind CF's names themselves can use librunloop-cf.so: docs/PORTING.md. */
#ifndef __COREFOUNDATION_COREFOUNDATION__
#define __COREFOUNDATION_COREFOUNDATION__ 1
#define __COREFOUNDATION__ 1

/* Apple's umbrella header includes these, fcntl.h and unistd.h through libdispatch's header. Programs rely on it. */
#ifndef CF_EXCLUDE_CSTD_HEADERS
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#endif

#include <CoreFoundation/CFArray.h>
#include <CoreFoundation/CFAttributedString.h>
#include <CoreFoundation/CFBag.h>
#include <CoreFoundation/CFBase.h>
#include <CoreFoundation/CFBinaryHeap.h>
#include <CoreFoundation/CFBitVector.h>
#include <CoreFoundation/CFBundle.h>
#include <CoreFoundation/CFByteOrder.h>
#include <CoreFoundation/CFCalendar.h>
#include <CoreFoundation/CFCharacterSet.h>
#include <CoreFoundation/CFData.h>
#include <CoreFoundation/CFDate.h>
#include <CoreFoundation/CFDateFormatter.h>
#include <CoreFoundation/CFDictionary.h>
#include <CoreFoundation/CFError.h>
#include <CoreFoundation/CFFileDescriptor.h>
#include <CoreFoundation/CFFileSecurity.h>
#include <CoreFoundation/CFLocale.h>
#include <CoreFoundation/CFMachPort.h>
#include <CoreFoundation/CFMessagePort.h>
#include <CoreFoundation/CFNotificationCenter.h>
#include <CoreFoundation/CFNumber.h>
#include <CoreFoundation/CFNumberFormatter.h>
#include <CoreFoundation/CFPlugIn.h>
#include <CoreFoundation/CFPreferences.h>
#include <CoreFoundation/CFPropertyList.h>
#include <CoreFoundation/CFRunLoop.h>
#include <CoreFoundation/CFSet.h>
#include <CoreFoundation/CFSocket.h>
#include <CoreFoundation/CFStream.h>
#include <CoreFoundation/CFString.h>
#include <CoreFoundation/CFStringEncodingExt.h>
#include <CoreFoundation/CFStringTokenizer.h>
#include <CoreFoundation/CFTargetConditionals.h>
#include <CoreFoundation/CFTimeZone.h>
#include <CoreFoundation/CFTree.h>
#include <CoreFoundation/CFURL.h>
#include <CoreFoundation/CFURLAccess.h>
#include <CoreFoundation/CFUUID.h>
#include <CoreFoundation/CFUnavailable.h>
#include <CoreFoundation/CFUserNotification.h>
#include <CoreFoundation/CFUtilities.h>
#include <CoreFoundation/CFXMLNode.h>
#include <CoreFoundation/CFXMLParser.h>

#endif /* __COREFOUNDATION_COREFOUNDATION__ */
