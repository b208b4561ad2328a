/** @file RLData.h
 *  Data: a run of bytes, with an owner count.
 *
 *  The bytes of an RLDataRef are copied when the object is made and never change, so data may be handed to another
 *  thread without copying it again: retain it there, release it here. An RLMutableDataRef grows and changes, and
 *  belongs to one thread at a time; it can be passed wherever an RLDataRef is asked for. Equality and hash are
 *  those of the bytes.
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

/** A run of bytes. */
typedef const struct RLData *RLDataRef;
/** A run of bytes that can change. */
typedef struct RLData *RLMutableDataRef;

/** Tells the kind of data objects, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLTypeID RLDataGetTypeID(void);

/** Makes a data object from bytes.
 *  @param allocator  NULL.
 *  @param bytes      copied; may be NULL if length is 0.
 *  @param length     number of bytes, not negative; 0 makes an empty object.
 *  @return the data, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a negative length, or NULL bytes with a length, is reported and gives NULL.
 *  Cost: O(length), one allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLDataRef RLDataCreate(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex length);

/** Tells how many bytes there are.
 *  @param data  not NULL.
 *  @return the number of bytes, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLIndex RLDataGetLength(RLDataRef data);

/** Gives the bytes without copying.
 *  @param data  not NULL.
 *  @return the first of RLDataGetLength() bytes, not followed by a 0; not NULL even if the length is 0. NULL on a
 *  mistake.
 *  Ownership: Get rule: the bytes belong to data and are valid as long as it.  Thread: any.
 *  Re-entrancy: allowed in callbacks.  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT const uint8_t *RLDataGetBytePtr(RLDataRef data);

/** Copies a part of the bytes.
 *  @param data    not NULL.
 *  @param range   which bytes; must lie within the data.
 *  @param buffer  room for range.length bytes; may be NULL if that is 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a NULL argument, another kind of object, or a range that is not within the data is reported; nothing is
 *  copied.
 *  Cost: O(range.length), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT void RLDataGetBytes(RLDataRef data, RLRange range, uint8_t *buffer);

/** Makes a data object around bytes of the caller's.
 *  @param allocator         NULL.
 *  @param bytes             length bytes that must not change as long as the data lives. May be NULL if length is
 *                           0.
 *  @param length            number of bytes, not negative.
 *  @param bytesDeallocator  who frees bytes with the data: NULL means free(), so bytes must come from malloc();
 *                           kRLAllocatorNull means nobody.
 *  @return the data, or NULL; then bytes are still the caller's.
 *  Ownership: Create rule; unless bytesDeallocator is kRLAllocatorNull, bytes belong to the data.  Thread: any.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a negative length, or NULL bytes with a length, is reported and gives NULL.
 *  Cost: O(1), one allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLDataRef RLDataCreateWithBytesNoCopy(RLAllocatorRef allocator, const uint8_t *bytes, RLIndex length,
                                                RLAllocatorRef bytesDeallocator);

/** Makes immutable data with the same bytes. Of immutable data that is the object itself, retained.
 *  @param allocator  NULL.
 *  @param data       not NULL.
 *  @return the copy, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; NULL or another kind of object is reported and gives NULL.
 *  Cost: O(length), one allocation; O(1) for immutable data.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLDataRef RLDataCreateCopy(RLAllocatorRef allocator, RLDataRef data);

/** Makes mutable data without bytes.
 *  @param allocator  NULL.
 *  @param capacity   how many bytes there will be; a hint, 0 if that is unknown. Not negative.
 *  @return the data, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a negative capacity is reported and gives NULL.
 *  Cost: O(1), two allocations.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLMutableDataRef RLDataCreateMutable(RLAllocatorRef allocator, RLIndex capacity);

/** Makes mutable data with the bytes of other data.
 *  @param allocator  NULL.
 *  @param capacity   how many bytes there will be; a hint, 0 if that is unknown. Not negative.
 *  @param data       not NULL.
 *  @return the data, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a negative capacity, a NULL data or another kind of object is reported and gives
 *  NULL.
 *  Cost: O(length), two allocations.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLMutableDataRef RLDataCreateMutableCopy(RLAllocatorRef allocator, RLIndex capacity, RLDataRef data);

/** Gives the bytes, to be changed in place.
 *  @param data  not NULL, mutable.
 *  @return the first of RLDataGetLength() bytes, or NULL on a mistake.
 *  Ownership: Get rule: the bytes belong to data and are valid until its length changes.  Thread: any, but nobody
 *  else may use the data meanwhile.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL, another kind of object or data that is not mutable is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT uint8_t *RLDataGetMutableBytePtr(RLMutableDataRef data);

/** Cuts bytes off at the end, or adds bytes that are 0.
 *  @param data    not NULL, mutable.
 *  @param length  the new length, not negative.
 *  Ownership: none changes.  Thread: any, but nobody else may use the data meanwhile.  Re-entrancy: allowed in
 *  callbacks.
 *  Errors: Without memory errno is ENOMEM and nothing changes; a negative length, NULL, another kind of object or
 *  data that is not mutable is reported; nothing changes.
 *  Cost: O(new bytes); may allocate.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLDataSetLength(RLMutableDataRef data, RLIndex length);

/** Adds bytes that are 0 at the end.
 *  @param data         not NULL, mutable.
 *  @param extraLength  how many bytes to add, not negative.
 *  Ownership: none changes.  Thread: any, but nobody else may use the data meanwhile.  Re-entrancy: allowed in
 *  callbacks.
 *  Errors: Without memory errno is ENOMEM and nothing changes; a negative extraLength, NULL, another kind of object
 *  or data that is not mutable is reported; nothing changes.
 *  Cost: O(extraLength); may allocate.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLDataIncreaseLength(RLMutableDataRef data, RLIndex extraLength);

/** Adds bytes at the end.
 *  @param data    not NULL, mutable.
 *  @param bytes   copied; may lie in data itself. May be NULL if length is 0.
 *  @param length  number of bytes, not negative.
 *  Ownership: none changes.  Thread: any, but nobody else may use the data meanwhile.  Re-entrancy: allowed in
 *  callbacks.
 *  Errors: Without memory errno is ENOMEM and nothing changes; a negative length, NULL bytes with a length, NULL,
 *  another kind of object or data that is not mutable is reported; nothing changes.
 *  Cost: amortised O(length); may allocate.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLDataAppendBytes(RLMutableDataRef data, const uint8_t *bytes, RLIndex length);

/** Puts bytes in the place of others.
 *  @param data       not NULL, mutable.
 *  @param range      the bytes that go; must lie within the data.
 *  @param newBytes   the bytes that come; copied; may lie in data itself. NULL: bytes that are 0.
 *  @param newLength  number of bytes that come, not negative.
 *  Ownership: none changes.  Thread: any, but nobody else may use the data meanwhile.  Re-entrancy: allowed in
 *  callbacks.
 *  Errors: Without memory errno is ENOMEM and nothing changes; a range that is not within the data, a negative
 *  newLength, NULL, another kind of object or data that is not mutable is reported; nothing changes.
 *  Cost: O(length); may allocate.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLDataReplaceBytes(RLMutableDataRef data, RLRange range, const uint8_t *newBytes, RLIndex newLength);

/** Takes bytes out.
 *  @param data   not NULL, mutable.
 *  @param range  the bytes that go; must lie within the data.
 *  Ownership: none changes.  Thread: any, but nobody else may use the data meanwhile.  Re-entrancy: allowed in
 *  callbacks.
 *  Errors: a range that is not within the data, NULL, another kind of object or data that is not mutable is
 *  reported; nothing changes.
 *  Cost: O(length), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLDataDeleteBytes(RLMutableDataRef data, RLRange range);

/** How RLDataFind() looks: bits of the two constants below. */
typedef RLOptionFlags RLDataSearchFlags;
/** Ways to look; the values are CF's. */
enum {
    kRLDataSearchBackwards = 1UL << 0, /**< From the end: the last place is found. */
    kRLDataSearchAnchored = 1UL << 1   /**< Only at the beginning of the range, or with the other flag at its end. */
};

/** Finds bytes in bytes.
 *  @param data         not NULL.
 *  @param dataToFind   not NULL. Without bytes it is found nowhere.
 *  @param searchRange  where to look; must lie within the data.
 *  @param options      0 or kRLDataSearch… bits.
 *  @return where they are, or {-1, 0} if they are not there.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a range that is not within the data, NULL or another kind of object is reported and gives {-1, 0}.
 *  Cost: O(searchRange.length × length of dataToFind), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLRange RLDataFind(RLDataRef data, RLDataRef dataToFind, RLRange searchRange, RLDataSearchFlags options);

RL_EXTERN_C_END
#endif
