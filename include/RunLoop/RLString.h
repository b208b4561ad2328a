/** @file RLString.h
 *  Strings: immutable text, used for the names of modes, in descriptions and as messages.
 *
 *  A string holds UTF-8 and never changes, so it may be shared between threads without care. It is always followed by a
 *  0 byte in memory: RLStringGetCStringPtr() costs nothing and lives as long as the string. A string made with
 *  RLStringCreateWithBytes() may contain 0 bytes itself.
 *
 *  RLSTR("text") gives the string of a literal. There is one object per text in the process, it is never freed, and it
 *  need not be retained or released. It is a function call with a look-up: not an initialiser of a static variable, and
 *  better kept in a variable than repeated in a loop that must be fast.
 *
 *  Modes are compared by their text, not by their handle: any string with the same bytes names the same mode.
 *
 *  Deliberate differences from CFString
 *  ------------------------------------
 *  1. Ten encodings; CF knows some hundred. Half of a surrogate pair is no character: it is not taken, and not given.
 *  2. RLStringGetCStringPtr() always succeeds for UTF-8. In CF it may return NULL at any time.
 *  3. Equality, RLStringCompare() and RLStringFind() look at code points only, and know the case of ASCII letters
 *     alone. CF knows that of all, and finds no letter without the accent that follows it as a character of its own.
 *  4. RLStringGetByteCount() is new. RLStringGetLength() counts UTF-16 code units, as CFStringGetLength does.
 *  5. RLStringGetDoubleValue() also reads hexadecimal numbers, `inf` and `nan`, as strtod(3). CF gives 0 for them.
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
    kRLCompareNonliteral = 16      /**< Accepted, without effect. */
};

/** Tells the kind of strings, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLTypeID RLStringGetTypeID(void);

/** Makes a string from a C string.
 *  @param allocator  NULL.
 *  @param cString    0-terminated characters, not NULL; copied.
 *  @param encoding   one of the kRLStringEncoding constants.
 *  @return the string, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno EILSEQ if the bytes are not in the encoding (not reported: it is input, not a mistake),
 *  ENOMEM, EOVERFLOW from 4 GiB on; a NULL cString or an unknown encoding is reported and gives NULL.
 *  Cost: O(bytes), one allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLStringRef RLStringCreateWithCString(RLAllocatorRef allocator, const char *cString,
                                                RLStringEncoding encoding);

/** Makes a string from a number of bytes, which may include 0 bytes.
 *  @param allocator  NULL.
 *  @param bytes      the characters; copied. May be NULL if count is 0.
 *  @param count      number of bytes, not negative; 0 makes an empty string.
 *  @param encoding   one of the kRLStringEncoding constants.
 *  @param isExternalRepresentation  1: with kRLStringEncodingUTF16 and kRLStringEncodingUTF32 a byte-order mark decides
 *                    and is left out; without one it is big-endian. 0: the machine's order.
 *  @return the string, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno EILSEQ if the bytes are not in the encoding (not reported), ENOMEM, EOVERFLOW from 4 GiB on;
 *  a negative count, NULL bytes with a count, or an unknown encoding is reported and gives NULL.
 *  Cost: O(bytes), one allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLStringRef RLStringCreateWithBytes(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex count,
                                              RLStringEncoding encoding, RLBoolean isExternalRepresentation);

/** Makes a string from a number of bytes, and frees them if it is told to.
 *  @param allocator            NULL.
 *  @param bytes                the characters; they are copied in spite of the name. May be NULL if count is 0.
 *  @param count                number of bytes, not negative.
 *  @param encoding             one of the kRLStringEncoding constants.
 *  @param isExternalRepresentation  as for RLStringCreateWithBytes().
 *  @param contentsDeallocator  what becomes of bytes: NULL means that they are freed with free(), kRLAllocatorNull
 *                              that they stay yours.
 *  @return the string, or NULL; then bytes are still yours.
 *  Ownership: Create rule; unless contentsDeallocator is kRLAllocatorNull, bytes are freed before the function returns.
 *  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: as RLStringCreateWithBytes().
 *  Cost: O(bytes), one allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLStringRef RLStringCreateWithBytesNoCopy(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex count,
                                                    RLStringEncoding encoding, RLBoolean isExternalRepresentation,
                                                    RLAllocatorRef contentsDeallocator);

/** Gives the constant string with these characters: what RLSTR() calls.
 *  Equal texts give the same object, from every thread and library of the process. It is kept until the process ends:
 *  meant for literals, not for input.
 *  @param cString  0-terminated UTF-8, not NULL; copied.
 *  @return the string, or NULL.
 *  Ownership: Get rule; never freed, retaining and releasing it has no effect.  Thread: any.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno EILSEQ if the bytes are not UTF-8, ENOMEM; NULL is reported and gives NULL.
 *  Cost: O(bytes) for a look-up; the first call for a text allocates.  Since: 0.1.  Example: examples/modes.c */
RL_EXPORT RLStringRef RLStringMakeConstant(const char *cString);

/** The constant string of a literal, in an expression: RLSTR("a mode"). See RLStringMakeConstant(). */
#define RLSTR(literal) RLStringMakeConstant("" literal "")

/** Tells the length of a string in UTF-16 code units: what CFStringGetLength tells.
 *  A character above U+FFFF counts as two. For the number of bytes see RLStringGetByteCount().
 *  @param string  not NULL.
 *  @return the length, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: at most O(bytes), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLIndex RLStringGetLength(RLStringRef string);

/** Tells the length of a string in bytes of UTF-8, without the final 0.
 *  @param string  not NULL.
 *  @return the number of bytes, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLIndex RLStringGetByteCount(RLStringRef string);

/** Gives the characters of a string without copying.
 *  @param string    not NULL.
 *  @param encoding  kRLStringEncodingUTF8: always succeeds. Others of one byte per character: succeed if the string is
 *                   ASCII. The rest: never.
 *  @return the 0-terminated characters, or NULL. Characters after an embedded 0 byte are there, too:
 *  RLStringGetByteCount() of them.
 *  Ownership: Get rule: the bytes belong to the string and are valid as long as it.  Thread: any.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: NULL if the string cannot be written in the encoding (not reported); a NULL string, another kind of object
 *  or an unknown encoding is reported and gives NULL.
 *  Cost: at most O(bytes), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT const char *RLStringGetCStringPtr(RLStringRef string, RLStringEncoding encoding);

/** Copies the characters of a string, and a final 0, into a buffer: all of them or none.
 *  @param string      not NULL.
 *  @param buffer      not NULL; room for bufferSize bytes.
 *  @param bufferSize  size of buffer in bytes; at least RLStringGetByteCount() + 1 is needed.
 *  @param encoding    one of the kRLStringEncoding constants.
 *  @return 1 if everything was copied; 0 if it does not fit or cannot be written in the encoding: the buffer then holds
 *  an empty string, if it has room for one.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: 0 as above (not reported); a NULL argument, another kind of object or an unknown encoding is reported and
 *  gives 0.
 *  Cost: O(bytes), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLBoolean RLStringGetCString(RLStringRef string, char *buffer, RLIndex bufferSize, RLStringEncoding encoding);

/** Writes a part of a string into a buffer in an encoding, as far as it fits; no final 0.
 *  @param string      not NULL.
 *  @param range       which part, in UTF-16 code units: see RLStringGetLength().
 *  @param encoding    one of the kRLStringEncoding constants.
 *  @param lossByte    an ASCII character to write for each character that the encoding does not have; 0: stop there.
 *  @param isExternalRepresentation  1: UTF-16 and UTF-32 without a byte order in their name begin with a mark.
 *  @param buffer      room for maxBufLen bytes; NULL to learn how many are needed.
 *  @param maxBufLen   size of buffer in bytes; ignored if that is NULL.
 *  @param usedBufLen  gets the number of bytes; may be NULL.
 *  @return how many UTF-16 code units were written: less than range.length if something did not fit or the encoding
 *  does not have it. No character is written in part.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object, a range beyond the end, a negative maxBufLen or an unknown encoding is
 *  reported and gives 0.
 *  Cost: O(bytes), no allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLIndex RLStringGetBytes(RLStringRef string, RLRange range, RLStringEncoding encoding, uint8_t lossByte,
                                   RLBoolean isExternalRepresentation, uint8_t *buffer, RLIndex maxBufLen,
                                   RLIndex *usedBufLen);

/** Compares two strings code point by code point: an order that is the same everywhere, not one for people.
 *  @param string1  not NULL.
 *  @param string2  not NULL.
 *  @param options  0, or kRLCompareCaseInsensitive and kRLCompareNonliteral; others are reported and have no effect.
 *  @return kRLCompareLessThan, kRLCompareEqualTo or kRLCompareGreaterThan; kRLCompareEqualTo on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives kRLCompareEqualTo.
 *  Cost: O(bytes), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLComparisonResult RLStringCompare(RLStringRef string1, RLStringRef string2, RLOptionFlags options);

/** Makes a copy of a string: as strings never change that is the string itself, retained.
 *  @param allocator  NULL.
 *  @param string     not NULL.
 *  @return the string, or NULL on a mistake.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLStringRef RLStringCreateCopy(RLAllocatorRef allocator, RLStringRef string);

/** Makes a string from a C string, and frees that if it is told to.
 *  @param allocator            NULL.
 *  @param cString              0-terminated characters, not NULL; they are copied in spite of the name.
 *  @param encoding             one of the kRLStringEncoding constants.
 *  @param contentsDeallocator  what becomes of cString: NULL means that it is freed with free(), kRLAllocatorNull
 *                              that it stays yours.
 *  @return the string, or NULL; then cString is still yours.
 *  Ownership: Create rule; unless contentsDeallocator is kRLAllocatorNull, cString is freed before the function
 *  returns.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno EILSEQ or ENOMEM, as RLStringCreateWithCString(); a NULL cString or an unknown encoding
 *  is reported and gives NULL.
 *  Cost: O(bytes), one allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLStringRef RLStringCreateWithCStringNoCopy(RLAllocatorRef allocator, const char *cString,
                                                      RLStringEncoding encoding, RLAllocatorRef contentsDeallocator);

/** Makes a string as printf(3) would print it.
 *  @param allocator      NULL.
 *  @param formatOptions  NULL; ignored.
 *  @param format         as for printf(3), and %@ for an object: a string gives its characters, others what
 *                        RLCopyDescription() gives. Not NULL. Arguments have no numbers (no %1$d), and %n is not
 *                        taken.
 *  @return the string, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks; %@ may call copyDescription callbacks.
 *  Errors: NULL with errno ENOMEM, EINVAL if format has what is not known, or EILSEQ if a %s is not UTF-8; a NULL
 *  format or another kind of object is reported and gives NULL.
 *  Cost: O(bytes); allocates.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLStringRef RLStringCreateWithFormat(RLAllocatorRef allocator, RLDictionaryRef formatOptions,
                                               RLStringRef format, ...);

/** The same with a va_list.
 *  @param allocator      NULL.
 *  @param formatOptions  NULL; ignored.
 *  @param format         as for RLStringCreateWithFormat().
 *  @param arguments      what the format asks for; not to be used again after the call.
 *  @return the string, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks; %@ may call copyDescription callbacks.
 *  Errors: as RLStringCreateWithFormat().
 *  Cost: O(bytes); allocates.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLStringRef RLStringCreateWithFormatAndArguments(RLAllocatorRef allocator, RLDictionaryRef formatOptions,
                                                           RLStringRef format, va_list arguments);

/** Makes a string from the bytes of a data object.
 *  @param allocator  NULL.
 *  @param data       the characters; not NULL.
 *  @param encoding   one of the kRLStringEncoding constants.
 *  @return the string, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno EILSEQ if the bytes are not in the encoding, or ENOMEM; NULL, another kind of object or
 *  an unknown encoding is reported and gives NULL.
 *  Cost: O(bytes), one allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLStringRef RLStringCreateFromExternalRepresentation(RLAllocatorRef allocator, RLDataRef data,
                                                               RLStringEncoding encoding);

/** Makes a data object from the characters of a string, without a 0 behind them: for messages.
 *  @param allocator  NULL.
 *  @param string     not NULL.
 *  @param encoding   one of the kRLStringEncoding constants.
 *  @param lossByte   what to write for a character that is not in the encoding; 0: such a string gives NULL.
 *  @return the data, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno EILSEQ if a character is not in the encoding and lossByte is 0, or ENOMEM; NULL, another
 *  kind of object or an unknown encoding is reported and gives NULL.
 *  Cost: O(bytes), one allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLDataRef RLStringCreateExternalRepresentation(RLAllocatorRef allocator, RLStringRef string,
                                                         RLStringEncoding encoding, uint8_t lossByte);

/** Tells how many bytes a string of some length can need, without the 0 behind them.
 *  @param length    a number of UTF-16 code units, as RLStringGetLength() tells it; not negative.
 *  @param encoding  kRLStringEncodingUTF8 or kRLStringEncodingASCII.
 *  @return the number of bytes, or -1 on a mistake or if it is more than fits.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a negative length or an unknown encoding is reported and gives -1.
 *  Cost: O(1).  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLIndex RLStringGetMaximumSizeForEncoding(RLIndex length, RLStringEncoding encoding);

/** Tells the encoding that C strings have here.
 *  @return kRLStringEncodingUTF8.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLStringEncoding RLStringGetSystemEncoding(void);

/** Tells whether a string begins with the characters of another.
 *  @param string  not NULL.
 *  @param prefix  not NULL. As in CF no string begins with the empty one.
 *  @return 1 if it does, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(bytes), no allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLBoolean RLStringHasPrefix(RLStringRef string, RLStringRef prefix);

/** Tells whether a string ends with the characters of another.
 *  @param string  not NULL.
 *  @param suffix  not NULL. As in CF no string ends with the empty one.
 *  @return 1 if it does, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(bytes), no allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLBoolean RLStringHasSuffix(RLStringRef string, RLStringRef suffix);

/** Looks for a string in another.
 *  @param string        not NULL.
 *  @param stringToFind  not NULL. As in CF the empty string is in none.
 *  @param options       0, or kRLCompareCaseInsensitive, kRLCompareBackwards, kRLCompareAnchored, kRLCompareNonliteral;
 *                       others are reported and have no effect.
 *  @return where the first one is (the last one, backwards), in UTF-16 code units; {kRLNotFound, 0} if there is none.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives {kRLNotFound, 0}.
 *  Cost: O(bytes), as a rule; no allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLRange RLStringFind(RLStringRef string, RLStringRef stringToFind, RLOptionFlags options);

/** Splits a string where another one stands in it.
 *  @param allocator        NULL.
 *  @param string           not NULL.
 *  @param separatorString  not NULL. The empty string separates nothing.
 *  @return an array of the strings before, between and behind the separators, one at least, empty ones too; or NULL.
 *  Ownership: Create rule; the array retains the strings.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; NULL or another kind of object is reported and gives NULL.
 *  Cost: O(bytes), allocates.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT RLArrayRef RLStringCreateArrayBySeparatingStrings(RLAllocatorRef allocator, RLStringRef string,
                                                            RLStringRef separatorString);

/** Reads the decimal integer at the beginning of a string; spaces before it are skipped.
 *  @param string  not NULL.
 *  @return the number, INT32_MAX or INT32_MIN if it is beyond them, 0 if there is none.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(digits), no allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT int32_t RLStringGetIntValue(RLStringRef string);

/** Reads the number at the beginning of a string as strtod(3) does; spaces before it are skipped.
 *  @param string  not NULL.
 *  @return the number, or 0 if there is none.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(digits), no allocation.  Since: 0.1.  Example: examples/strings.c */
RL_EXPORT double RLStringGetDoubleValue(RLStringRef string);

RL_EXTERN_C_END
#endif
