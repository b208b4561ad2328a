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
 *  1. Only UTF-8 and ASCII. CF knows some hundred encodings.
 *  2. RLStringGetCStringPtr() always succeeds for UTF-8. In CF it may return NULL at any time.
 *  3. Equality and RLStringCompare() look at code points only. CF does so too without options; it knows options.
 *  4. RLStringGetByteCount() is new. RLStringGetLength() counts UTF-16 code units, as CFStringGetLength does. */
#ifndef RUNLOOP_RLSTRING_H
#define RUNLOOP_RLSTRING_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** How characters are written as bytes: one of the two constants below. */
typedef uint32_t RLStringEncoding;
/** The known encodings; the values are CF's. */
enum {
    kRLStringEncodingASCII = 0x0600,   /**< One byte per character, all below 0x80. */
    kRLStringEncodingUTF8 = 0x08000100 /**< UTF-8: no surrogates, no overlong forms, at most U+10FFFF. */
};

/** Tells the kind of strings, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLTypeID RLStringGetTypeID(void);

/** Makes a string from a C string.
 *  @param allocator  NULL.
 *  @param cString    0-terminated characters, not NULL; copied.
 *  @param encoding   kRLStringEncodingUTF8 or kRLStringEncodingASCII.
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
 *  @param encoding   kRLStringEncodingUTF8 or kRLStringEncodingASCII.
 *  @param isExternalRepresentation  pass 0. Ignored: a byte-order mark at the start stays in the string.
 *  @return the string, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno EILSEQ if the bytes are not in the encoding (not reported), ENOMEM, EOVERFLOW from 4 GiB on;
 *  a negative count, NULL bytes with a count, or an unknown encoding is reported and gives NULL.
 *  Cost: O(bytes), one allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLStringRef RLStringCreateWithBytes(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex count,
                                              RLStringEncoding encoding, RLBoolean isExternalRepresentation);

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
 *  @param encoding  kRLStringEncodingUTF8: always succeeds. kRLStringEncodingASCII: succeeds if the string is ASCII.
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
 *  @param encoding    kRLStringEncodingUTF8 or kRLStringEncodingASCII.
 *  @return 1 if everything was copied; 0 if it does not fit or cannot be written in the encoding: the buffer then holds
 *  an empty string, if it has room for one.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: 0 as above (not reported); a NULL argument, another kind of object or an unknown encoding is reported and
 *  gives 0.
 *  Cost: O(bytes), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLBoolean RLStringGetCString(RLStringRef string, char *buffer, RLIndex bufferSize, RLStringEncoding encoding);

/** Compares two strings code point by code point: an order that is the same everywhere, not one for people.
 *  @param string1  not NULL.
 *  @param string2  not NULL.
 *  @param options  0; anything else is reported and treated as 0.
 *  @return kRLCompareLessThan, kRLCompareEqualTo or kRLCompareGreaterThan; kRLCompareEqualTo on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives kRLCompareEqualTo.
 *  Cost: O(bytes), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLComparisonResult RLStringCompare(RLStringRef string1, RLStringRef string2, RLOptionFlags options);

RL_EXTERN_C_END
#endif
