/** @file RLString.h
 *  Strings: immutable text, used for the names of modes, in descriptions and as messages.
 *  Examples: examples/values.c, examples/strings.c, examples/modes.c
 *
 *  A string holds UTF-8 and never changes, so threads may share it freely. In memory it is always followed by a 0 byte:
 *  the result of RLStringGetCStringPtr() costs nothing and is valid as long as the string. A string created with
 *  RLStringCreateWithBytes() may contain 0 bytes itself.
 *
 *  RLSTR("text") is the string of a literal. There is one object per text in the process; it is never freed, and need
 *  not be retained or released. RLSTR() is a function call with a lookup: it cannot initialize a static variable, and
 *  in a fast loop the result is better kept in a variable.
 *
 *  Modes are compared by their text, not by their handle: any string with the same bytes names the same mode.
 *  `encoding` is one of the kRLStringEncoding constants; any other value is misuse. Bytes that are invalid in an
 *  encoding, and characters that an encoding lacks, are bad input but not misuse: functions that create an object set
 *  errno to EILSEQ; those that return 0, NULL or a count (RLStringGetCString() and so on) preserve errno. As in CF, an
 *  incomplete unit of two or four bytes after others is ignored, and so is a byte-order mark at the beginning of UTF-8.
 *
 *  Deliberate differences from CFString
 *  ------------------------------------
 *  1. There are ten encodings; CF has several hundred. Half of a surrogate pair is not a character: it is neither
 *     accepted nor produced. Each character is converted by itself; CF converts a letter and the combining accent that
 *     follows it together, to one byte.
 *  2. RLStringGetCStringPtr() always succeeds for UTF-8. In CF it may return NULL at any time.
 *  3. Equality, RLStringCompare() and RLStringFind() only consider code points, and know the case of ASCII letters
 *     alone. CF knows the case of all letters, and does not find a letter without the combining accent that follows it.
 *     With kRLCompareNumerically, numbers may have any length; in CF 2^64 and 0 are the same.
 *  4. RLStringGetByteCount() is new. RLStringGetLength() counts UTF-16 code units, as CFStringGetLength does.
 *  5. RLStringGetDoubleValue() also reads hexadecimal numbers, `inf` and `nan`, as strtod(3) does. CF returns 0 for
 *     them.
 *  6. For a format in which arguments have positions (`%1$d`), NULL is returned, with EINVAL. CF knows positions.
 *  As with CFString on Linux, but not on a Mac, numbers in formats and for RLStringGetDoubleValue() have the decimal
 *  point of the program's locale (LC_NUMERIC; a dot before setlocale(3)). */
#ifndef RUNLOOP_RLSTRING_H
#define RUNLOOP_RLSTRING_H
#include <RunLoop/RLArray.h>
#include <RunLoop/RLBase.h>
#include <RunLoop/RLData.h>
#include <RunLoop/RLDictionary.h>
#include <stdarg.h>
RL_EXTERN_C_BEGIN

/** An encoding of characters as bytes: one of the constants below. */
typedef uint32_t RLStringEncoding;
/** The known encodings; the values are those of CF. */
enum {
    kRLStringEncodingMacRoman = 0,         /**< One byte per character: Mac OS Roman. */
    kRLStringEncodingISOLatin1 = 0x0201,   /**< One byte per character: the first 256 of Unicode. */
    kRLStringEncodingASCII = 0x0600,       /**< One byte per character; as in CF, 0x80 to 0xFF are read as Latin 1. */
    kRLStringEncodingUTF8 = 0x08000100,    /**< UTF-8: no surrogates, no overlong forms, at most U+10FFFF. */
    kRLStringEncodingUTF16 = 0x0100,       /**< Units of two bytes; byte order: the machine's, or as a mark says. */
    kRLStringEncodingUTF16BE = 0x10000100, /**< Units of two bytes, high byte first. */
    kRLStringEncodingUTF16LE = 0x14000100, /**< Units of two bytes, low byte first. */
    kRLStringEncodingUTF32 = 0x0C000100,   /**< Four bytes per character; without a mark, read as big-endian. */
    kRLStringEncodingUTF32BE = 0x18000100, /**< Four bytes per character, highest byte first. */
    kRLStringEncodingUTF32LE = 0x1C000100  /**< Four bytes per character, lowest byte first. */
};

/** Options for comparing and searching; the values are those of CF. CF's other options are reported and have no
 *  effect. */
enum {
    kRLCompareCaseInsensitive = 1, /**< Uppercase and lowercase ASCII letters are the same. */
    kRLCompareBackwards = 4,       /**< Searching: finds the last occurrence. */
    kRLCompareAnchored = 8,        /**< Searching: only at the beginning or, backwards, at the end. */
    kRLCompareNonliteral = 16,     /**< Accepted, but has no effect. */
    kRLCompareNumerically = 64     /**< Comparing: digits are compared as numbers, so a2 orders before a10. */
};

/** Returns the type ID of strings, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLStringGetTypeID(void);

/** Creates a string from a C string.
 *  @param cString   0-terminated characters, not NULL; copied.
 *  @param encoding  the encoding of cString.
 *  @return the string, or NULL.
 *  Errors: NULL with errno EILSEQ, ENOMEM, or EOVERFLOW from 4 GiB - 1 on.  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithCString(RLAllocatorRef allocator, const char *cString,
                                                RLStringEncoding encoding);

/** Creates a string from a number of bytes, which may include 0 bytes.
 *  @param bytes     the encoded characters; copied. May be NULL if count is 0.
 *  @param count     number of bytes, not negative; 0 creates an empty string.
 *  @param encoding  the encoding of bytes.
 *  @param isExternalRepresentation  1: with kRLStringEncodingUTF16 a byte-order mark determines the byte order and is
 *                                   removed; without a mark the order is big-endian. 0: the machine's byte order. As in
 *                                   CF, kRLStringEncodingUTF32 is always read as if this were 1.
 *  @return the string, or NULL.
 *  Errors: NULL with errno EILSEQ, ENOMEM, or EOVERFLOW from 4 GiB - 1 on.  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithBytes(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex count,
                                              RLStringEncoding encoding, RLBoolean isExternalRepresentation);

/** Creates a string from a number of bytes, and frees the bytes if requested.
 *  @param bytes     the encoded characters; despite the function's name they are copied. May be NULL if count is 0.
 *  @param count     number of bytes, not negative.
 *  @param encoding  the encoding of bytes.
 *  @param isExternalRepresentation  as for RLStringCreateWithBytes().
 *  @param contentsDeallocator  how bytes are freed: NULL means with free(), kRLAllocatorNull that they stay yours.
 *  @return the string, or NULL; then bytes are still yours.
 *  Ownership: unless contentsDeallocator is kRLAllocatorNull, bytes are freed before the function returns.
 *  Errors: those of RLStringCreateWithBytes().  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithBytesNoCopy(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex count,
                                                    RLStringEncoding encoding, RLBoolean isExternalRepresentation,
                                                    RLAllocatorRef contentsDeallocator);

/** Returns the constant string with these characters; RLSTR() calls this function.
 *  Equal texts yield the same object, in every thread and library of the process. The object exists until the process
 *  ends, so use this for literals, not for input.
 *  @param cString  0-terminated UTF-8, not NULL; copied.
 *  Ownership: Get rule; never freed, retaining and releasing it has no effect.
 *  Errors: NULL with errno EILSEQ or ENOMEM.  Cost: O(bytes) for a lookup; the first call for a text allocates. */
RL_EXPORT RLStringRef RLStringMakeConstant(const char *cString);

/** The constant string of a literal, for use in an expression: RLSTR("a mode"). See RLStringMakeConstant(). */
#define RLSTR(literal) RLStringMakeConstant("" literal "")

/** Returns the length of a string in UTF-16 code units, as CFStringGetLength does.
 *  A character above U+FFFF counts as two. For the number of bytes see RLStringGetByteCount().
 *  Cost: at most O(bytes). */
RL_EXPORT RLIndex RLStringGetLength(RLStringRef string);

/** Returns the length of a string in bytes of UTF-8, without the final 0. */
RL_EXPORT RLIndex RLStringGetByteCount(RLStringRef string);

/** Returns the 0-terminated characters of a string without copying, or NULL if they are not stored in this encoding.
 *  The bytes after an embedded 0 byte can be read, too: there are RLStringGetByteCount() bytes in all.
 *  @param encoding  kRLStringEncodingUTF8 always succeeds. Encodings with one byte per character succeed if the string
 *                   is ASCII. The others never do.
 *  Ownership: the bytes belong to the string and are valid as long as the string.  Cost: at most O(bytes). */
RL_EXPORT const char *RLStringGetCStringPtr(RLStringRef string, RLStringEncoding encoding);

/** Copies the characters of a string, and a final 0, into a buffer: all of them or none.
 *  @param buffer      not NULL; room for bufferSize bytes.
 *  @param bufferSize  size of buffer in bytes; in UTF-8, RLStringGetByteCount() + 1 are needed.
 *  @param encoding    the encoding of the result.
 *  @return 1 if everything was copied; 0 if it does not fit or cannot be represented in the encoding: the buffer then
 *  holds an empty string, if it has room for one.
 *  Cost: O(bytes). */
RL_EXPORT RLBoolean RLStringGetCString(RLStringRef string, char *buffer, RLIndex bufferSize, RLStringEncoding encoding);

/** Copies a part of a string to a buffer in an encoding, as far as it fits, without a final 0.
 *  @param range       the part, in UTF-16 code units: see RLStringGetLength().
 *  @param encoding    the encoding of the result.
 *  @param lossByte    an ASCII character to write for each code unit (in Mac Roman: character) that the encoding lacks;
 *                     0: stop there.
 *  @param isExternalRepresentation  1: kRLStringEncodingUTF16 and kRLStringEncodingUTF32 begin with a byte-order mark.
 *  @param buffer      room for maxBufLen bytes; NULL: only count the bytes needed.
 *  @param maxBufLen   size of buffer in bytes; ignored if that is NULL.
 *  @param usedBufLen  receives the number of bytes; may be NULL.
 *  @return the number of UTF-16 code units converted: less than range.length if something did not fit or the encoding
 *  lacks it. Where the range splits a surrogate pair, the half is written only in UTF-16; UTF-8 stops there.
 *  Cost: O(bytes). */
RL_EXPORT RLIndex RLStringGetBytes(RLStringRef string, RLRange range, RLStringEncoding encoding, uint8_t lossByte,
                                   RLBoolean isExternalRepresentation, uint8_t *buffer, RLIndex maxBufLen,
                                   RLIndex *usedBufLen);

/** Compares two strings by code points: an order that is the same everywhere, but not the one that human readers
 *  expect.
 *  @param options  0, or kRLCompareCaseInsensitive, kRLCompareNumerically (leading zeros do not count) and
 *                  kRLCompareNonliteral; others are reported and have no effect.
 *  @return kRLCompareLessThan, kRLCompareEqualTo or kRLCompareGreaterThan.
 *  Cost: O(bytes). */
RL_EXPORT RLComparisonResult RLStringCompare(RLStringRef string1, RLStringRef string2, RLOptionFlags options);

/** Returns the string itself, retained, since strings never change. */
RL_EXPORT RLStringRef RLStringCreateCopy(RLAllocatorRef allocator, RLStringRef string);

/** Creates a string from a C string, and frees the C string if requested.
 *  @param cString   0-terminated characters, not NULL; despite the function's name they are copied.
 *  @param encoding  the encoding of cString.
 *  @param contentsDeallocator  how cString is freed: NULL means with free(), kRLAllocatorNull that it stays yours.
 *  @return the string, or NULL; then cString is still yours.
 *  Ownership: unless contentsDeallocator is kRLAllocatorNull, cString is freed before the function returns.
 *  Errors: those of RLStringCreateWithCString().  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithCStringNoCopy(RLAllocatorRef allocator, const char *cString,
                                                      RLStringEncoding encoding, RLAllocatorRef contentsDeallocator);

/** Creates a string from a format, as printf(3) would print it.
 *  @param formatOptions  NULL; ignored.
 *  @param format         as for printf(3), with %@ for an object: the characters of a string, the RLCopyDescription()
 *                        of any other object; %C for a UTF-16 code unit; %S for 0-terminated UTF-16. Not NULL. As in
 *                        CF, a %s whose text is not UTF-8 yields only its padding, an unknown conversion yields its own
 *                        character, %c takes a character of Latin 1, and %n stores nothing.
 *  @return the string, or NULL.
 *  Re-entrancy: %@ may call copyDescription callbacks.
 *  Errors: NULL with errno ENOMEM; EINVAL for a position, or for 48 or more characters before a conversion; EOVERFLOW
 *  if a width or the result is too large; EILSEQ if %ls or %' yields no UTF-8 in the locale.  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithFormat(RLAllocatorRef allocator, RLDictionaryRef formatOptions,
                                               RLStringRef format, ...);

/** Creates a string from a format: RLStringCreateWithFormat() with a va_list.
 *  @param formatOptions  NULL; ignored.
 *  @param format         as for RLStringCreateWithFormat().
 *  @param arguments      the arguments for the format; do not use them again after the call.
 *  @return the string, or NULL.
 *  Re-entrancy: %@ may call copyDescription callbacks.  Errors: those of RLStringCreateWithFormat().  Cost:
 *  O(bytes). */
RL_EXPORT RLStringRef RLStringCreateWithFormatAndArguments(RLAllocatorRef allocator, RLDictionaryRef formatOptions,
                                                           RLStringRef format, va_list arguments);

/** Creates a string from the bytes of a data object.
 *  In kRLStringEncodingUTF16 and kRLStringEncodingUTF32 a byte-order mark determines the byte order and is removed;
 *  without a mark the order is big-endian.
 *  @param data      the encoded characters.
 *  @param encoding  the encoding of data.
 *  @return the string, or NULL.
 *  Errors: NULL with errno EILSEQ or ENOMEM.  Cost: O(bytes). */
RL_EXPORT RLStringRef RLStringCreateFromExternalRepresentation(RLAllocatorRef allocator, RLDataRef data,
                                                               RLStringEncoding encoding);

/** Creates a data object from the characters of a string, without a final 0, for use in messages.
 *  In kRLStringEncodingUTF16 and kRLStringEncodingUTF32 the data begins with a byte-order mark.
 *  @param encoding  the encoding of the data.
 *  @param lossByte  an ASCII character to write for each UTF-16 code unit (in Mac Roman: character) that the encoding
 *                   lacks; with 0, or 0x80 and more, NULL is returned for such a string.
 *  @return the data, or NULL.
 *  Errors: NULL with errno EILSEQ if the encoding lacks a character and lossByte is 0 or not ASCII; or ENOMEM.  Cost:
 *  O(bytes). */
RL_EXPORT RLDataRef RLStringCreateExternalRepresentation(RLAllocatorRef allocator, RLStringRef string,
                                                         RLStringEncoding encoding, uint8_t lossByte);

/** Returns the maximum number of bytes for a string of a given length, without a final 0 or byte-order mark; -1 if that
 *  overflows.
 *  @param length    a number of UTF-16 code units, as returned by RLStringGetLength(); not negative.
 *  @param encoding  the encoding of the bytes.
 *  Errors: misuse returns -1. */
RL_EXPORT RLIndex RLStringGetMaximumSizeForEncoding(RLIndex length, RLStringEncoding encoding);

/** Returns the encoding of C strings on this system: kRLStringEncodingUTF8. */
RL_EXPORT RLStringEncoding RLStringGetSystemEncoding(void);

/** Returns whether a string begins with the characters of another.
 *  @param prefix  as in CF, no string begins with the empty string.
 *  Cost: O(bytes). */
RL_EXPORT RLBoolean RLStringHasPrefix(RLStringRef string, RLStringRef prefix);

/** Returns whether a string ends with the characters of another.
 *  @param suffix  as in CF, no string ends with the empty string.
 *  Cost: O(bytes). */
RL_EXPORT RLBoolean RLStringHasSuffix(RLStringRef string, RLStringRef suffix);

/** Searches a string for another.
 *  @param stringToFind  as in CF, the empty string is never found.
 *  @param options       0, or kRLCompareCaseInsensitive, kRLCompareBackwards, kRLCompareAnchored, kRLCompareNonliteral;
 *                       others are reported and have no effect.
 *  @return the range of the first occurrence (backwards: the last one), in UTF-16 code units; {kRLNotFound, 0} if there
 *  is none.
 *  Errors: misuse returns {kRLNotFound, 0}.  Cost: usually O(bytes). */
RL_EXPORT RLRange RLStringFind(RLStringRef string, RLStringRef stringToFind, RLOptionFlags options);

/** Splits a string at each occurrence of another.
 *  @param separatorString  the separator; the empty string separates nothing.
 *  @return an array of the strings before, between and after the separators, at least one, including empty ones; or
 *  NULL.
 *  Cost: O(bytes). */
RL_EXPORT RLArrayRef RLStringCreateArrayBySeparatingStrings(RLAllocatorRef allocator, RLStringRef string,
                                                            RLStringRef separatorString);

/** Returns the decimal integer at the beginning of a string; 0 if there is none. As in CF, spaces (also those of
 *  Unicode, and control characters) may precede it, and follow its sign.
 *  A number out of range yields INT32_MAX or INT32_MIN.
 *  Cost: O(digits). */
RL_EXPORT int32_t RLStringGetIntValue(RLStringRef string);

/** Returns the number at the beginning of a string, as strtod(3) does; 0 if there is none. Spaces may precede it, as
 *  for RLStringGetIntValue().
 *  Cost: O(digits). */
RL_EXPORT double RLStringGetDoubleValue(RLStringRef string);

RL_EXTERN_C_END
#endif
