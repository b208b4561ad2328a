/** @file CFString.h
 *  Immutable strings: the part of CFString that deals with bytes in the encodings below, formats and substrings.
 *  Part of the source compatibility headers: see CoreFoundation.h, and RunLoop/RLString.h for the documentation. */
#ifndef __COREFOUNDATION_CFSTRING__
#define __COREFOUNDATION_CFSTRING__ 1

#include <CoreFoundation/CFArray.h>
#include <CoreFoundation/CFBase.h>
#include <CoreFoundation/CFData.h>
#include <CoreFoundation/CFDictionary.h>
#include <stdarg.h>

CF_EXTERN_C_BEGIN

typedef UInt32 CFStringEncoding;

typedef CF_ENUM(CFStringEncoding, CFStringBuiltInEncodings) {
    kCFStringEncodingMacRoman = 0,
    kCFStringEncodingISOLatin1 = 0x0201,
    kCFStringEncodingASCII = 0x0600,
    kCFStringEncodingUnicode = 0x0100,
    kCFStringEncodingUTF8 = 0x08000100,
    kCFStringEncodingUTF16 = 0x0100,
    kCFStringEncodingUTF16BE = 0x10000100,
    kCFStringEncodingUTF16LE = 0x14000100,
    kCFStringEncodingUTF32 = 0x0c000100,
    kCFStringEncodingUTF32BE = 0x18000100,
    kCFStringEncodingUTF32LE = 0x1c000100
};

typedef CF_OPTIONS(CFOptionFlags, CFStringCompareFlags) {
    kCFCompareCaseInsensitive = 1, /* of ASCII letters */
    kCFCompareBackwards = 4,
    kCFCompareAnchored = 8,
    kCFCompareNonliteral = 16,
    kCFCompareNumerically = 64,
    /* These have no effect except that they are reported: RunLoop/RLString.h. */
    kCFCompareLocalized = 32,
    kCFCompareDiacriticInsensitive = 128,
    kCFCompareWidthInsensitive = 256,
    kCFCompareForcedOrdering = 512
};

/* The string object of a literal. With clang it is a constant expression: an object that the compiler lays out, whose
 * class reference is defined here as the word with which this library's strings begin. (The definition is weak and
 * hidden: it has the same value in every object file that uses it, and exports no symbol from the program.) Other
 * compilers call a function (CFBase.h), which returns one object per text for the life of the process; there CFSTR
 * cannot initialize a static variable. */
#if defined(__clang__) && defined(__CONSTANT_CFSTRINGS__) && defined(__ELF__) && defined(__LP64__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
__asm__(".weak __CFConstantStringClassReference\n"
        ".hidden __CFConstantStringClassReference\n"
        ".set __CFConstantStringClassReference, 0x80000000524C0001");
#define CFSTR(cStr) ((CFStringRef)__builtin___CFStringMakeConstantString("" cStr ""))
#else
#define CFSTR(cStr) __CFStringMakeConstantString("" cStr "")
#endif

CF_EXPORT CFTypeID CFStringGetTypeID(void) __asm__("RLStringGetTypeID");
CF_EXPORT CFStringRef CFStringCreateWithCString(CFAllocatorRef allocator, const char *cStr,
                                                CFStringEncoding encoding) __asm__("RLStringCreateWithCString");
CF_EXPORT CFStringRef CFStringCreateWithBytes(CFAllocatorRef allocator, const UInt8 *bytes, CFIndex numBytes,
                                              CFStringEncoding encoding,
                                              Boolean isExternalRepresentation) __asm__("RLStringCreateWithBytes");
CF_EXPORT CFStringRef CFStringCreateWithBytesNoCopy(
    CFAllocatorRef alloc, const UInt8 *bytes, CFIndex numBytes, CFStringEncoding encoding,
    Boolean isExternalRepresentation, CFAllocatorRef contentsDeallocator) __asm__("RLStringCreateWithBytesNoCopy");
CF_EXPORT CFIndex CFStringGetBytes(CFStringRef theString, CFRange range, CFStringEncoding encoding, UInt8 lossByte,
                                   Boolean isExternalRepresentation, UInt8 *buffer, CFIndex maxBufLen,
                                   CFIndex *usedBufLen) __asm__("RLStringGetBytes");
CF_EXPORT CFRange CFStringFind(CFStringRef theString, CFStringRef stringToFind,
                               CFStringCompareFlags compareOptions) __asm__("RLStringFind");
CF_EXPORT CFArrayRef
CFStringCreateArrayBySeparatingStrings(CFAllocatorRef alloc, CFStringRef theString,
                                       CFStringRef separatorString) __asm__("RLStringCreateArrayBySeparatingStrings");
CF_EXPORT CFIndex CFStringGetLength(CFStringRef theString) __asm__("RLStringGetLength");
CF_EXPORT const char *CFStringGetCStringPtr(CFStringRef theString,
                                            CFStringEncoding encoding) __asm__("RLStringGetCStringPtr");
CF_EXPORT Boolean CFStringGetCString(CFStringRef theString, char *buffer, CFIndex bufferSize,
                                     CFStringEncoding encoding) __asm__("RLStringGetCString");
CF_EXPORT CFComparisonResult CFStringCompare(CFStringRef theString1, CFStringRef theString2,
                                             CFStringCompareFlags compareOptions) __asm__("RLStringCompare");

CF_EXPORT CFStringRef CFStringCreateCopy(CFAllocatorRef allocator, CFStringRef theString) __asm__("RLStringCreateCopy");
CF_EXPORT CFStringRef
CFStringCreateWithCStringNoCopy(CFAllocatorRef allocator, const char *cString, CFStringEncoding encoding,
                                CFAllocatorRef contentsDeallocator) __asm__("RLStringCreateWithCStringNoCopy");
CF_EXPORT CFStringRef CFStringCreateWithFormat(CFAllocatorRef allocator, CFDictionaryRef formatOptions,
                                               CFStringRef format, ...) __asm__("RLStringCreateWithFormat");
CF_EXPORT CFStringRef
CFStringCreateWithFormatAndArguments(CFAllocatorRef allocator, CFDictionaryRef formatOptions, CFStringRef format,
                                     va_list arguments) __asm__("RLStringCreateWithFormatAndArguments");
CF_EXPORT CFStringRef
CFStringCreateFromExternalRepresentation(CFAllocatorRef allocator, CFDataRef data,
                                         CFStringEncoding encoding) __asm__("RLStringCreateFromExternalRepresentation");
CF_EXPORT CFDataRef
CFStringCreateExternalRepresentation(CFAllocatorRef allocator, CFStringRef theString, CFStringEncoding encoding,
                                     UInt8 lossByte) __asm__("RLStringCreateExternalRepresentation");
CF_EXPORT CFIndex CFStringGetMaximumSizeForEncoding(CFIndex length, CFStringEncoding encoding) __asm__(
    "RLStringGetMaximumSizeForEncoding");
CF_EXPORT CFStringEncoding CFStringGetSystemEncoding(void) __asm__("RLStringGetSystemEncoding");
CF_EXPORT Boolean CFStringHasPrefix(CFStringRef theString, CFStringRef prefix) __asm__("RLStringHasPrefix");
CF_EXPORT Boolean CFStringHasSuffix(CFStringRef theString, CFStringRef suffix) __asm__("RLStringHasSuffix");
CF_EXPORT SInt32 CFStringGetIntValue(CFStringRef theString) __asm__("RLStringGetIntValue");
CF_EXPORT double CFStringGetDoubleValue(CFStringRef theString) __asm__("RLStringGetDoubleValue");

CF_EXPORT void CFShow(CFTypeRef obj) __asm__("RLShow");

CF_EXTERN_C_END

#endif /* __COREFOUNDATION_CFSTRING__ */
