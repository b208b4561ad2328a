/** @file RLData.h
 *  Data: sequences of bytes.
 *  Examples: examples/values.c, examples/objects.c
 *
 *  The bytes of an RLDataRef are copied when the object is created and never change, so data may be handed to another
 *  thread without copying it again: retain it there, release it here. An RLMutableDataRef can grow and change, and is
 *  used by one thread at a time; it can be passed wherever an RLDataRef is expected. Data objects are compared and
 *  hashed by their bytes. A range must lie within the data.
 *
 *  Deliberate differences from CFData
 *  ----------------------------------
 *  1. A range outside the data is reported and nothing is done. CF crashes or reads past the end.
 *  2. Changing data that is not mutable is reported and has no effect. CF crashes.
 *  3. The capacity of mutable data is a hint. In CF a nonzero capacity is a limit, and exceeding it crashes. */
#ifndef RUNLOOP_RLDATA_H
#define RUNLOOP_RLDATA_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** A sequence of bytes. */
typedef const struct RLData *RLDataRef;
/** A sequence of bytes that can change. */
typedef struct RLData *RLMutableDataRef;

/** Returns the type ID of data objects, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLDataGetTypeID(void);

/** Creates a data object from bytes.
 *  @param bytes   copied; may be NULL if length is 0.
 *  @param length  number of bytes, not negative; 0 creates an empty object.
 *  @return the data, or NULL.
 *  Cost: O(length). */
RL_EXPORT RLDataRef RLDataCreate(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex length);

/** Returns the number of bytes. */
RL_EXPORT RLIndex RLDataGetLength(RLDataRef data);

/** Returns the bytes without copying them. They are not followed by a 0 byte. The result is not NULL even if the length
 *  is 0.
 *  Ownership: the bytes belong to data and are valid as long as data. */
RL_EXPORT const uint8_t *RLDataGetBytePtr(RLDataRef data);

/** Copies a range of bytes to a buffer.
 *  @param range   the bytes to copy.
 *  @param buffer  room for range.length bytes; may be NULL if that is 0.
 *  Cost: O(range.length). */
RL_EXPORT void RLDataGetBytes(RLDataRef data, RLRange range, uint8_t *buffer);

/** Creates a data object around the caller's bytes, without copying them.
 *  @param bytes             length bytes that must not change as long as the data object lives. May be NULL if length
 *                           is 0.
 *  @param length            number of bytes, not negative.
 *  @param bytesDeallocator  how bytes are freed with the data: NULL means by free(), so bytes must come from malloc();
 *                           kRLAllocatorNull means that they are not freed.
 *  @return the data, or NULL; bytes then still belong to the caller.
 *  Ownership: unless bytesDeallocator is kRLAllocatorNull, bytes belong to the data. */
RL_EXPORT RLDataRef RLDataCreateWithBytesNoCopy(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex length,
                                                RLAllocatorRef bytesDeallocator);

/** Creates immutable data with the same bytes. If the data is immutable, this retains and returns it.
 *  @return the copy, or NULL.
 *  Cost: O(length); O(1) for immutable data. */
RL_EXPORT RLDataRef RLDataCreateCopy(RLAllocatorRef allocator, RLDataRef data);

/** Creates mutable data without bytes.
 *  @param capacity  expected number of bytes; a hint, 0 if unknown. Not negative.
 *  @return the data, or NULL. */
RL_EXPORT RLMutableDataRef RLDataCreateMutable(RLAllocatorRef allocator, RLIndex capacity);

/** Creates mutable data with the bytes of other data.
 *  @param capacity  expected number of bytes; a hint, 0 if unknown. Not negative.
 *  @return the data, or NULL.
 *  Cost: O(length). */
RL_EXPORT RLMutableDataRef RLDataCreateMutableCopy(RLAllocatorRef allocator, RLIndex capacity, RLDataRef data);

/** Returns the bytes, for changing them in place.
 *  Ownership: the bytes belong to data and are valid until its length changes. */
RL_EXPORT uint8_t *RLDataGetMutableBytePtr(RLMutableDataRef data);

/** Sets the length, by removing bytes at the end or appending bytes that are 0.
 *  @param length  the new length, not negative.
 *  Cost: O(new bytes); may allocate. */
RL_EXPORT void RLDataSetLength(RLMutableDataRef data, RLIndex length);

/** Appends bytes that are 0.
 *  @param extraLength  the number of bytes to append, not negative.
 *  Cost: O(extraLength); may allocate. */
RL_EXPORT void RLDataIncreaseLength(RLMutableDataRef data, RLIndex extraLength);

/** Appends bytes.
 *  @param bytes   copied; may be part of data itself. May be NULL if length is 0.
 *  @param length  number of bytes, not negative.
 *  Cost: amortized O(length); may allocate. */
RL_EXPORT void RLDataAppendBytes(RLMutableDataRef data, const uint8_t *bytes, RLIndex length);

/** Replaces a range of bytes by other bytes.
 *  @param range      the bytes to remove.
 *  @param newBytes   the bytes to insert; copied; may be part of data itself. NULL: bytes that are 0.
 *  @param newLength  number of bytes to insert, not negative.
 *  Cost: O(length); may allocate. */
RL_EXPORT void RLDataReplaceBytes(RLMutableDataRef data, RLRange range, const uint8_t *newBytes, RLIndex newLength);

/** Removes a range of bytes.
 *  @param range  the bytes to remove.
 *  Cost: O(length). */
RL_EXPORT void RLDataDeleteBytes(RLMutableDataRef data, RLRange range);

/** How RLDataFind() searches: the two constants below, as bits. */
typedef RLOptionFlags RLDataSearchFlags;
/** The search options; the values are those of CF. */
enum {
    kRLDataSearchBackwards = 1UL << 0, /**< From the end: finds the last occurrence. */
    kRLDataSearchAnchored = 1UL << 1   /**< Only at the beginning of the range or, with the other flag, at its end. */
};

/** Searches a range of bytes for other bytes.
 *  @param dataToFind   the bytes to search for; empty data is never found.
 *  @param searchRange  the range to search.
 *  @param options      0 or kRLDataSearch… bits.
 *  @return the range of the occurrence, or {-1, 0} if there is none.
 *  Errors: misuse returns {-1, 0}.  Cost: O(searchRange.length × length of dataToFind). */
RL_EXPORT RLRange RLDataFind(RLDataRef data, RLDataRef dataToFind, RLRange searchRange, RLDataSearchFlags options);

RL_EXTERN_C_END
#endif
