/** @file RLData.h
 *  Data: an immutable run of bytes, with an owner count.
 *
 *  The bytes are copied when the object is made and never change, so data may be handed to another thread without
 *  copying it again: retain it there, release it here.
 *
 *  Deliberate differences from CFData
 *  ----------------------------------
 *  1. No mutable data, and none that takes over a buffer of the caller's.
 *  2. A range outside the data is reported and copies nothing. CF crashes or reads past the end. */
#ifndef RUNLOOP_RLDATA_H
#define RUNLOOP_RLDATA_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** An immutable run of bytes. */
typedef const struct RLData *RLDataRef;

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

RL_EXTERN_C_END
#endif
