/** @file CFString.h
 *  Immutable strings: the part of CFString that deals with C strings, in UTF-8 and ASCII.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLString.h for the documentation. */
#ifndef __COREFOUNDATION_CFSTRING__
#define __COREFOUNDATION_CFSTRING__ 1

#include <CoreFoundation/CFArray.h>
#include <CoreFoundation/CFBase.h>
#include <CoreFoundation/CFData.h>
#include <stdarg.h>

CF_EXTERN_C_BEGIN

typedef UInt32 CFStringEncoding;

typedef CF_ENUM(CFStringEncoding, CFStringBuiltInEncodings) {
    kCFStringEncodingASCII = 0x0600,
    kCFStringEncodingUTF8 = 0x08000100
};

typedef CF_OPTIONS(CFOptionFlags, CFStringCompareFlags) {
    kCFCompareNoOptions = 0 /* not Apple's: the library compares by code points only, so the options must be 0 */
};

/* The object of a literal: one per text for the life of the process. Not a constant expression: use it in functions,
 * not as the initialiser of a static variable. */
CF_EXPORT CFStringRef __CFStringMakeConstantString(const char *cStr) __asm__("RLStringMakeConstant");
#define CFSTR(cStr) __CFStringMakeConstantString("" cStr "")

CF_EXPORT CFTypeID CFStringGetTypeID(void) __asm__("RLStringGetTypeID");
CF_EXPORT CFStringRef CFStringCreateWithCString(CFAllocatorRef allocator, const char *cStr,
                                                CFStringEncoding encoding) __asm__("RLStringCreateWithCString");
CF_EXPORT CFStringRef CFStringCreateWithBytes(CFAllocatorRef allocator, const UInt8 *bytes, CFIndex numBytes,
                                              CFStringEncoding encoding,
                                              Boolean isExternalRepresentation) __asm__("RLStringCreateWithBytes");
CF_EXPORT CFIndex CFStringGetLength(CFStringRef theString) __asm__("RLStringGetLength");
CF_EXPORT const char *CFStringGetCStringPtr(CFStringRef theString,
                                            CFStringEncoding encoding) __asm__("RLStringGetCStringPtr");
CF_EXPORT Boolean CFStringGetCString(CFStringRef theString, char *buffer, CFIndex bufferSize,
                                     CFStringEncoding encoding) __asm__("RLStringGetCString");
CF_EXPORT CFComparisonResult CFStringCompare(CFStringRef theString1, CFStringRef theString2,
                                             CFStringCompareFlags compareOptions) __asm__("RLStringCompare");

CF_EXPORT void CFShow(CFTypeRef obj) __asm__("RLShow");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFSTRING__ */
