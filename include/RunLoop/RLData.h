/** @file RLData.h
 *  Data: a sequence of bytes.
 *  Examples: examples/values.c, examples/objects.c
 *
 *  The bytes of an RLDataRef are copied when the object is created and never change, so data may be handed to another
 *  thread without copying it again: retain it there, release it here. An RLMutableDataRef grows and changes, and is
 *  used by one thread at a time; it can be passed wherever an RLDataRef is expected. Equality and hash are those of the
 *  bytes. A range must lie within the data.
 *
 *  Deliberate differences from CFData
 *  ----------------------------------
 *  1. A range outside the data is reported and nothing is done. CF crashes or reads past the end.
 *  2. Changing data that is not mutable is reported and does nothing. CF crashes.
 *  3. The capacity of mutable data is a hint. In CF one that is not 0 is a limit, and exceeding it crashes. */
#ifndef RUNLOOP_RLDATA_H
#define RUNLOOP_RLDATA_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** A sequence of bytes. */
typedef const struct RLData *RLDataRef;
/** A sequence of bytes that can change. */
typedef struct RLData *RLMutableDataRef;

/** Returns the kind of data objects, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLDataGetTypeID(void);

/** Creates a data object from bytes.
 *  @param bytes   copied; may be NULL if length is 0.
 *  @param length  number of bytes, not negative; 0 creates an empty object.
 *  @return the data, or NULL.
 *  Cost: O(length). */
RL_EXPORT RLDataRef RLDataCreate(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex length);

/** Returns the number of bytes. */
RL_EXPORT RLIndex RLDataGetLength(RLDataRef data);

/** Returns the bytes without copying, not followed by a 0; not NULL even if the length is 0.
 *  Ownership: the bytes belong to data and are valid as long as it. */
RL_EXPORT const uint8_t *RLDataGetBytePtr(RLDataRef data);

/** Copies a part of the bytes.
 *  @param range   which bytes.
 *  @param buffer  room for range.length bytes; may be NULL if that is 0.
 *  Cost: O(range.length). */
RL_EXPORT void RLDataGetBytes(RLDataRef data, RLRange range, uint8_t *buffer);

/** Creates a data object around bytes of the caller's.
 *  @param bytes             length bytes that must not change as long as the data lives. May be NULL if length is 0.
 *  @param length            number of bytes, not negative.
 *  @param bytesDeallocator  what frees bytes with the data: NULL means free(), so bytes must come from malloc();
 *                           kRLAllocatorNull means that they are not freed.
 *  @return the data, or NULL; then bytes are still the caller's.
 *  Ownership: unless bytesDeallocator is kRLAllocatorNull, bytes belong to the data. */
RL_EXPORT RLDataRef RLDataCreateWithBytesNoCopy(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex length,
                                                RLAllocatorRef bytesDeallocator);

/** Creates immutable data with the same bytes. For immutable data it returns the object itself, retained.
 *  @return the copy, or NULL.
 *  Cost: O(length); O(1) for immutable data. */
RL_EXPORT RLDataRef RLDataCreateCopy(RLAllocatorRef allocator, RLDataRef data);

/** Creates mutable data without bytes.
 *  @param capacity  how many bytes there will be; a hint, 0 if unknown. Not negative.
 *  @return the data, or NULL. */
RL_EXPORT RLMutableDataRef RLDataCreateMutable(RLAllocatorRef allocator, RLIndex capacity);

/** Creates mutable data with the bytes of other data.
 *  @param capacity  how many bytes there will be; a hint, 0 if unknown. Not negative.
 *  @return the data, or NULL.
 *  Cost: O(length). */
RL_EXPORT RLMutableDataRef RLDataCreateMutableCopy(RLAllocatorRef allocator, RLIndex capacity, RLDataRef data);

/** Returns the bytes, to be changed in place.
 *  Ownership: the bytes belong to data and are valid until its length changes. */
RL_EXPORT uint8_t *RLDataGetMutableBytePtr(RLMutableDataRef data);

/** Cuts bytes off at the end, or adds bytes that are 0.
 *  @param length  the new length, not negative.
 *  Cost: O(new bytes); may allocate. */
RL_EXPORT void RLDataSetLength(RLMutableDataRef data, RLIndex length);

/** Adds bytes that are 0 at the end.
 *  @param extraLength  how many bytes to add, not negative.
 *  Cost: O(extraLength); may allocate. */
RL_EXPORT void RLDataIncreaseLength(RLMutableDataRef data, RLIndex extraLength);

/** Adds bytes at the end.
 *  @param bytes   copied; may lie in data itself. May be NULL if length is 0.
 *  @param length  number of bytes, not negative.
 *  Cost: amortised O(length); may allocate. */
RL_EXPORT void RLDataAppendBytes(RLMutableDataRef data, const uint8_t *bytes, RLIndex length);

/** Replaces some bytes by others.
 *  @param range      the bytes to remove.
 *  @param newBytes   the bytes to insert; copied; may lie in data itself. NULL: bytes that are 0.
 *  @param newLength  number of bytes to insert, not negative.
 *  Cost: O(length); may allocate. */
RL_EXPORT void RLDataReplaceBytes(RLMutableDataRef data, RLRange range, const uint8_t *newBytes, RLIndex newLength);

/** Removes bytes.
 *  @param range  which bytes.
 *  Cost: O(length). */
RL_EXPORT void RLDataDeleteBytes(RLMutableDataRef data, RLRange range);

/** How RLDataFind() searches: bits of the two constants below. */
typedef RLOptionFlags RLDataSearchFlags;
/** Ways to search; the values are CF's. */
enum {
    kRLDataSearchBackwards = 1UL << 0, /**< From the end: finds the last occurrence. */
    kRLDataSearchAnchored = 1UL << 1   /**< Only at the beginning of the range, or with the other flag at its end. */
};

/** Finds bytes in bytes.
 *  @param dataToFind   without bytes it is found nowhere.
 *  @param searchRange  where to look.
 *  @param options      0 or kRLDataSearch… bits.
 *  @return where they are, or {-1, 0} if they are not there.
 *  Errors: misuse returns {-1, 0}.  Cost: O(searchRange.length × length of dataToFind). */
RL_EXPORT RLRange RLDataFind(RLDataRef data, RLDataRef dataToFind, RLRange searchRange, RLDataSearchFlags options);

RL_EXTERN_C_END
#endif
