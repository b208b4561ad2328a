/** @file RLString.h
 *  Strings: immutable text, used for the names of modes, in descriptions and as messages.
 *  Examples: examples/values.c, examples/strings.c, examples/modes.c
 *
 *  A string holds UTF-8 and never changes, so threads may share it freely. It is always followed by a 0 byte in memory:
 *  RLStringGetCStringPtr() costs nothing and lives as long as the string. A string created with
 *  RLStringCreateWithBytes() may contain 0 bytes itself.
 *
 *  RLSTR("text") is the string of a literal. There is one object per text in the process, it is never freed, and it
 *  need not be retained or released. It is a function call with a look-up: not an initialiser of a static variable, and
 *  better kept in a variable than repeated in a loop that must be fast.
 *
 *  Modes are compared by their text, not by their handle: any string with the same bytes names the same mode.
 *  `encoding` is one of the kRLStringEncoding constants; another is misuse. Bytes that are not valid in an encoding,
 *  and characters that an encoding does not have, are input and no misuse: functions that create an object set errno
 *  to EILSEQ; those that return 0, NULL or a count (RLStringGetCString() and so on) leave errno alone.
 *
 *  Deliberate differences from CFString
 *  ------------------------------------
 *  1. Ten encodings; CF has some hundred. Half of a surrogate pair is no character: it is neither accepted nor
 *     produced.
 *  2. RLStringGetCStringPtr() always succeeds for UTF-8. In CF it may return NULL at any time.
 *  3. Equality, RLStringCompare() and RLStringFind() look at code points only, and know the case of ASCII letters
 *     alone. CF knows that of all, and finds no letter without a combining accent that follows it. With
 *     kRLCompareNumerically, numbers may have any length; in CF 2^64 and 0 are the same.
 *  4. RLStringGetByteCount() is new. RLStringGetLength() counts UTF-16 code units, as CFStringGetLength does.
 *  5. RLStringGetDoubleValue() also reads hexadecimal numbers, `inf` and `nan`, as strtod(3). CF returns 0 for them.
 *  Not a difference from CFString on Linux, though one from that of a Mac: numbers in formats and for
 *  RLStringGetDoubleValue() have the decimal point of the program's locale (LC_NUMERIC; a dot before setlocale(3)). */
#ifndef RUNLOOP_RLSTRING_H
#define RUNLOOP_RLSTRING_H
#include <RunLoop/RLArray.h>
#include <RunLoop/RLBase.h>
#include <RunLoop/RLData.h>
#include <RunLoop/RLDictionary.h>
#include <stdarg.h>
RL_EXTERN_C_BEGIN

/** How characters are written as bytes: one of the constants below. */
typedef uint32_t RLStringEncoding;
/** The known encodings; the values are CF's. */
enum {
    kRLStringEncodingMacRoman = 0,         /**< One byte per character: 256 of a Mac's first encoding. */
    kRLStringEncodingISOLatin1 = 0x0201,   /**< One byte per character: the first 256. */
    kRLStringEncodingASCII = 0x0600,       /**< One byte per character, all below 0x80. */
    kRLStringEncodingUTF8 = 0x08000100,    /**< UTF-8: no surrogates, no overlong forms, at most U+10FFFF. */
    kRLStringEncodingUTF16 = 0x0100,       /**< Units of two bytes, in the machine's order or as a mark says. */
    kRLStringEncodingUTF16BE = 0x10000100, /**< Units of two bytes, the high one first. */
    kRLStringEncodingUTF16LE = 0x14000100, /**< Units of two bytes, the low one first. */
    kRLStringEncodingUTF32 = 0x0C000100,   /**< Four bytes, in the machine's order or as a mark says. */
    kRLStringEncodingUTF32BE = 0x18000100, /**< Four bytes per character, the highest first. */
    kRLStringEncodingUTF32LE = 0x1C000100  /**< Four bytes per character, the lowest first. */
};

/** Options of comparing and finding; the values are CF's. Others of CF's are reported and have no effect. */
enum {
    kRLCompareCaseInsensitive = 1, /**< Capital and small letters of ASCII are the same. */
    kRLCompareBackwards = 4,       /**< Finding: the last one. */
    kRLCompareAnchored = 8,        /**< Finding: only at the beginning, or, backwards, at the end. */
    kRLCompareNonliteral = 16,     /**< Accepted, without effect. */
    kRLCompareNumerically = 64     /**< Comparing: digits are the numbers they stand for, so a2 is before a10. */
};

/** Returns the kind of strings, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLStringGetTypeID(void);

/** Creates a string from a C string.
 *  @param cString   0-terminated characters, not NULL; copied.
 *  @param encoding  that of cString.
 *  @return the string, or NULL.
 *  Errors: NULL with errno EILSEQ, ENOMEM, or EOVERFLOW from 4 GiB on.  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithCString(RLAllocatorRef allocator, const char *cString,
                                                RLStringEncoding encoding);

/** Creates a string from a number of bytes, which may include 0 bytes.
 *  @param bytes     the characters; copied. May be NULL if count is 0.
 *  @param count     number of bytes, not negative; 0 creates an empty string.
 *  @param encoding  that of bytes.
 *  @param isExternalRepresentation  1: with kRLStringEncodingUTF16 and kRLStringEncodingUTF32 a byte-order mark decides
 *                                   and is left out; without one it is big-endian. 0: the machine's order.
 *  @return the string, or NULL.
 *  Errors: NULL with errno EILSEQ, ENOMEM, or EOVERFLOW from 4 GiB on.  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithBytes(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex count,
                                              RLStringEncoding encoding, RLBoolean isExternalRepresentation);

/** Creates a string from a number of bytes, and frees them if requested.
 *  @param bytes     the characters; they are copied in spite of the name. May be NULL if count is 0.
 *  @param count     number of bytes, not negative.
 *  @param encoding  that of bytes.
 *  @param isExternalRepresentation  as for RLStringCreateWithBytes().
 *  @param contentsDeallocator  what becomes of bytes: NULL means that they are freed with free(), kRLAllocatorNull that
 *                              they stay yours.
 *  @return the string, or NULL; then bytes are still yours.
 *  Ownership: unless contentsDeallocator is kRLAllocatorNull, bytes are freed before the function returns.
 *  Errors: those of RLStringCreateWithBytes().  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithBytesNoCopy(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex count,
                                                    RLStringEncoding encoding, RLBoolean isExternalRepresentation,
                                                    RLAllocatorRef contentsDeallocator);

/** Returns the constant string with these characters: what RLSTR() calls.
 *  Equal texts yield the same object, from every thread and library of the process. It is kept until the process ends:
 *  meant for literals, not for input.
 *  @param cString  0-terminated UTF-8, not NULL; copied.
 *  Ownership: Get rule; never freed, retaining and releasing it has no effect.
 *  Errors: NULL with errno EILSEQ or ENOMEM.  Cost: O(bytes) for a look-up; the first call for a text allocates. */
RL_EXPORT RLStringRef RLStringMakeConstant(const char *cString);

/** The constant string of a literal, in an expression: RLSTR("a mode"). See RLStringMakeConstant(). */
#define RLSTR(literal) RLStringMakeConstant("" literal "")

/** Returns the length of a string in UTF-16 code units, as CFStringGetLength does.
 *  A character above U+FFFF counts as two. For the number of bytes see RLStringGetByteCount().
 *  Cost: at most O(bytes). */
RL_EXPORT RLIndex RLStringGetLength(RLStringRef string);

/** Returns the length of a string in bytes of UTF-8, without the final 0. */
RL_EXPORT RLIndex RLStringGetByteCount(RLStringRef string);

/** Returns the 0-terminated characters of a string without copying, or NULL if they are not stored in this encoding.
 *  Characters after an embedded 0 byte are there, too: RLStringGetByteCount() of them.
 *  @param encoding  kRLStringEncodingUTF8: always succeeds. Others of one byte per character: succeed if the string is
 *                   ASCII. The rest: never.
 *  Ownership: the bytes belong to the string and are valid as long as it.  Cost: at most O(bytes). */
RL_EXPORT const char *RLStringGetCStringPtr(RLStringRef string, RLStringEncoding encoding);

/** Copies the characters of a string, and a final 0, into a buffer: all of them or none.
 *  @param buffer      not NULL; room for bufferSize bytes.
 *  @param bufferSize  size of buffer in bytes; in UTF-8, RLStringGetByteCount() + 1 are needed.
 *  @param encoding    that to write.
 *  @return 1 if everything was copied; 0 if it does not fit or cannot be written in the encoding: the buffer then holds
 *  an empty string, if it has room for one.
 *  Cost: O(bytes). */
RL_EXPORT RLBoolean RLStringGetCString(RLStringRef string, char *buffer, RLIndex bufferSize, RLStringEncoding encoding);

/** Writes a part of a string into a buffer in an encoding, as far as it fits; no final 0.
 *  @param range       which part, in UTF-16 code units: see RLStringGetLength().
 *  @param encoding    that to write.
 *  @param lossByte    an ASCII character to write for each code unit the encoding does not have; 0: stop there.
 *  @param isExternalRepresentation  1: UTF-16 and UTF-32 without a byte order in their name begin with a mark.
 *  @param buffer      room for maxBufLen bytes; NULL to learn how many are needed.
 *  @param maxBufLen   size of buffer in bytes; ignored if that is NULL.
 *  @param usedBufLen  receives the number of bytes; may be NULL.
 *  @return how many UTF-16 code units were written: less than range.length if something did not fit or the encoding
 *  does not have it. Half of a surrogate pair, where the range cuts one, is written in UTF-16 only; UTF-8 stops at it.
 *  Cost: O(bytes). */
RL_EXPORT RLIndex RLStringGetBytes(RLStringRef string, RLRange range, RLStringEncoding encoding, uint8_t lossByte,
                                   RLBoolean isExternalRepresentation, uint8_t *buffer, RLIndex maxBufLen,
                                   RLIndex *usedBufLen);

/** Compares two strings code point by code point: an order that is the same everywhere, not one for people.
 *  @param options  0, or kRLCompareCaseInsensitive, kRLCompareNumerically (leading zeros do not count) and
 *                  kRLCompareNonliteral; others are reported and have no effect.
 *  @return kRLCompareLessThan, kRLCompareEqualTo or kRLCompareGreaterThan.
 *  Cost: O(bytes). */
RL_EXPORT RLComparisonResult RLStringCompare(RLStringRef string1, RLStringRef string2, RLOptionFlags options);

/** Returns the string itself, retained: strings never change. */
RL_EXPORT RLStringRef RLStringCreateCopy(RLAllocatorRef allocator, RLStringRef string);

/** Creates a string from a C string, and frees that if requested.
 *  @param cString   0-terminated characters, not NULL; they are copied in spite of the name.
 *  @param encoding  that of cString.
 *  @param contentsDeallocator  what becomes of cString: NULL means that it is freed with free(), kRLAllocatorNull that
 *                              it stays yours.
 *  @return the string, or NULL; then cString is still yours.
 *  Ownership: unless contentsDeallocator is kRLAllocatorNull, cString is freed before the function returns.
 *  Errors: those of RLStringCreateWithCString().  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithCStringNoCopy(RLAllocatorRef allocator, const char *cString,
                                                      RLStringEncoding encoding, RLAllocatorRef contentsDeallocator);

/** Creates a string as printf(3) would print it.
 *  @param formatOptions  NULL; ignored.
 *  @param format         as for printf(3), and %@ for an object: the characters of a string, the RLCopyDescription() of
 *                        others. Not NULL. Positional arguments (%1$d) and %n are not supported.
 *  @return the string, or NULL.
 *  Re-entrancy: %@ may call copyDescription callbacks.
 *  Errors: NULL with errno ENOMEM, EINVAL for an unknown conversion, or EILSEQ if a %s is not UTF-8.  Cost:
 *  O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithFormat(RLAllocatorRef allocator, RLDictionaryRef formatOptions,
                                               RLStringRef format, ...);

/** RLStringCreateWithFormat() with a va_list.
 *  @param formatOptions  NULL; ignored.
 *  @param format         as for RLStringCreateWithFormat().
 *  @param arguments      what the format asks for; not to be used again after the call.
 *  @return the string, or NULL.
 *  Re-entrancy: %@ may call copyDescription callbacks.  Errors: those of RLStringCreateWithFormat().  Cost:
 *  O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithFormatAndArguments(RLAllocatorRef allocator, RLDictionaryRef formatOptions,
                                                           RLStringRef format, va_list arguments);

/** Creates a string from the bytes of a data object.
 *  In kRLStringEncodingUTF16 and kRLStringEncodingUTF32 a byte-order mark decides and is left out; without one they are
 *  big-endian.
 *  @param data      the characters.
 *  @param encoding  that of data.
 *  @return the string, or NULL.
 *  Errors: NULL with errno EILSEQ or ENOMEM.  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateFromExternalRepresentation(RLAllocatorRef allocator, RLDataRef data,
                                                               RLStringEncoding encoding);

/** Creates a data object from the characters of a string, without a final 0: for messages.
 *  In kRLStringEncodingUTF16 and kRLStringEncodingUTF32 they begin with a byte-order mark.
 *  @param encoding  that to write.
 *  @param lossByte  an ASCII character to write for each UTF-16 code unit that the encoding does not have; 0, or 0x80
 *                   and more: such a string returns NULL.
 *  @return the data, or NULL.
 *  Errors: NULL with errno EILSEQ if a character is not in the encoding and lossByte is none, or ENOMEM.  Cost:
 *  O(bytes). */
RL_EXPORT RLDataRef RLStringCreateExternalRepresentation(RLAllocatorRef allocator, RLStringRef string,
                                                         RLStringEncoding encoding, uint8_t lossByte);

/** Returns how many bytes a string of some length can need, without a final 0 and a byte-order mark; -1 if that
 *  overflows.
 *  @param length    a number of UTF-16 code units, as returned by RLStringGetLength(); not negative.
 *  @param encoding  that to write.
 *  Errors: misuse returns -1. */
RL_EXPORT RLIndex RLStringGetMaximumSizeForEncoding(RLIndex length, RLStringEncoding encoding);

/** Returns the encoding that C strings have here: kRLStringEncodingUTF8. */
RL_EXPORT RLStringEncoding RLStringGetSystemEncoding(void);

/** Returns whether a string begins with the characters of another.
 *  @param prefix  as in CF no string begins with the empty one.
 *  Cost: O(bytes). */
RL_EXPORT RLBoolean RLStringHasPrefix(RLStringRef string, RLStringRef prefix);

/** Returns whether a string ends with the characters of another.
 *  @param suffix  as in CF no string ends with the empty one.
 *  Cost: O(bytes). */
RL_EXPORT RLBoolean RLStringHasSuffix(RLStringRef string, RLStringRef suffix);

/** Finds a string in another.
 *  @param stringToFind  as in CF the empty string is in none.
 *  @param options       0, or kRLCompareCaseInsensitive, kRLCompareBackwards, kRLCompareAnchored, kRLCompareNonliteral;
 *                       others are reported and have no effect.
 *  @return the first occurrence (the last one, backwards), in UTF-16 code units; {kRLNotFound, 0} if there is none.
 *  Errors: misuse returns {kRLNotFound, 0}.  Cost: O(bytes), as a rule. */
RL_EXPORT RLRange RLStringFind(RLStringRef string, RLStringRef stringToFind, RLOptionFlags options);

/** Splits a string at each occurrence of another.
 *  @param separatorString  the empty string separates nothing.
 *  @return an array of the strings before, between and behind the separators, one at least, empty ones too; or NULL.
 *  Cost: O(bytes). */
RL_EXPORT RLArrayRef RLStringCreateArrayBySeparatingStrings(RLAllocatorRef allocator, RLStringRef string,
                                                            RLStringRef separatorString);

/** Returns the decimal integer at the beginning of a string, after spaces; 0 if there is none.
 *  It is INT32_MAX or INT32_MIN if the number is beyond them.
 *  Cost: O(digits). */
RL_EXPORT int32_t RLStringGetIntValue(RLStringRef string);

/** Returns the number at the beginning of a string, after spaces, as strtod(3) does; 0 if there is none.
 *  Cost: O(digits). */
RL_EXPORT double RLStringGetDoubleValue(RLStringRef string);

RL_EXTERN_C_END
#endif
