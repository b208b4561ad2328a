/** @file RLArray.h
 *  Arrays: sequences of pointers.
 *  Examples: examples/values.c, examples/collections.c
 *
 *  Arrays serve as lists of modes: RLRunLoopCopyAllModes() returns one, and the functions of RLRunLoopPerform.h accept
 *  one. With &kRLTypeArrayCallBacks the values are objects of the library, which the array retains; with other
 *  callbacks, or none, they are whatever you put in.
 *
 *  An RLArrayRef never changes. An RLMutableArrayRef can change, and is used by one thread at a time; it can be passed
 *  wherever an RLArrayRef is expected. Two arrays are equal if they have the same equal callback and equal values in
 *  the same order. Through its callbacks, an array retains each value that is added, and releases it when it is removed
 *  or when the array is freed: the functions below call them. Callbacks must not change the array that calls them: if
 *  they do, its contents are undefined, but nothing else is harmed. While an array is being freed, changing it is
 *  reported and has no effect. A range must lie within the array: {0, count} is all of it. `context` is passed to the
 *  function beside it.
 *
 *  Deliberate differences from CFArray
 *  -----------------------------------
 *  1. An index or range outside the array is reported; the result is NULL, 0 or -1. CF crashes or returns garbage.
 *  2. Changing an array that is not mutable is reported and has no effect. CF crashes.
 *  3. Sorting is stable, and allocates. */
#ifndef RUNLOOP_RLARRAY_H
#define RUNLOOP_RLARRAY_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** A sequence of pointers. */
typedef const struct RLArray *RLArrayRef;
/** A sequence of pointers that can change. */
typedef struct RLArray *RLMutableArrayRef;

/** The callbacks by which an array handles its values. Copied when an array is created. Every callback may be NULL. */
typedef struct RLArrayCallBacks {
    RLIndex version; /**< 0. */
    /** Called once for each value added to the array; what it returns is stored. NULL: the value itself is stored. */
    const void *(*retain)(RLAllocatorRef allocator, const void *value);
    /** Called once for each value removed, also when the array is freed, on the thread that does this. NULL: nothing is
     *  called. */
    void (*release)(RLAllocatorRef allocator, const void *value);
    /** Ignored; the field makes the struct compatible with CF's. */
    RLStringRef (*copyDescription)(const void *value);
    /** Returns whether two values are equal. NULL: they are equal only if they are the same pointer. */
    RLBoolean (*equal)(const void *value1, const void *value2);
} RLArrayCallBacks;

/** The callbacks for values that are objects of the library: RLRetain, RLRelease, RLCopyDescription, RLEqual. */
RL_EXPORT const RLArrayCallBacks kRLTypeArrayCallBacks;

/** Returns the type ID of arrays, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLArrayGetTypeID(void);

/** Creates an array of pointers.
 *  @param values     count pointers. May be NULL if count is 0.
 *  @param count      number of values, not negative.
 *  @param callBacks  NULL: the values are plain pointers, neither retained nor released, and compared by identity.
 *                    &kRLTypeArrayCallBacks: they are objects, retained until the array is freed. Or your own; copied.
 *  @return the array, or NULL.
 *  Re-entrancy: calls the retain callback.  Cost: O(count). */
RL_EXPORT RLArrayRef RLArrayCreate(RLAllocatorRef allocator, const void **values, RLIndex count,
                                   const RLArrayCallBacks *callBacks);

/** Returns the number of values. */
RL_EXPORT RLIndex RLArrayGetCount(RLArrayRef array);

/** Returns one value. (NULL may also be a value of an array without callbacks.)
 *  @param index  from 0 to count - 1.
 *  Ownership: if the array retains its values, the value is valid as long as the array. */
RL_EXPORT const void *RLArrayGetValueAtIndex(RLArrayRef array, RLIndex index);

/** Returns whether a value is in a part of an array: the same pointer, or a value that the equal callback calls equal.
 *  @param range  the part to search.
 *  @param value  may be NULL in an array without callbacks.
 *  Re-entrancy: calls the equal callback.  Cost: O(range.length). */
RL_EXPORT RLBoolean RLArrayContainsValue(RLArrayRef array, RLRange range, const void *value);

/** Receives one value of an array from RLArrayApplyFunction(). */
typedef void (*RLArrayApplierFunction)(const void *value, void *context);
/** Returns the order of two values: negative, 0 or positive, like the kRLCompare… constants. */
typedef RLComparisonResult (*RLComparatorFunction)(const void *value1, const void *value2, void *context);

/** Creates an immutable array with the same values and callbacks. If the array is immutable, this retains and returns
 *  it.
 *  @return the copy, or NULL.
 *  Re-entrancy: calls the retain callback.  Cost: O(count). */
RL_EXPORT RLArrayRef RLArrayCreateCopy(RLAllocatorRef allocator, RLArrayRef array);

/** Creates a mutable array without values.
 *  @param capacity   expected number of values; a hint, 0 if unknown. Not negative.
 *  @param callBacks  as for RLArrayCreate(); copied.
 *  @return the array, or NULL. */
RL_EXPORT RLMutableArrayRef RLArrayCreateMutable(RLAllocatorRef allocator, RLIndex capacity,
                                                 const RLArrayCallBacks *callBacks);

/** Creates a mutable array with the values and callbacks of another array.
 *  @param capacity  expected number of values; a hint, 0 if unknown. Not negative.
 *  @return the array, or NULL.
 *  Re-entrancy: calls the retain callback.  Cost: O(count). */
RL_EXPORT RLMutableArrayRef RLArrayCreateMutableCopy(RLAllocatorRef allocator, RLIndex capacity, RLArrayRef array);

/** Copies a range of values to a buffer.
 *  @param range   the values to copy.
 *  @param values  room for range.length pointers; may be NULL if that is 0.
 *  Ownership: Get rule: the values are valid as long as the array holds them.  Cost: O(range.length). */
RL_EXPORT void RLArrayGetValues(RLArrayRef array, RLRange range, const void **values);

/** Calls a function for each value in a range, in order.
 *  @param range    the values.
 *  @param applier  not NULL.
 *  @param context  passed to applier.
 *  Re-entrancy: calls applier, which must not change the array.  Cost: O(range.length). */
RL_EXPORT void RLArrayApplyFunction(RLArrayRef array, RLRange range, RLArrayApplierFunction applier, void *context);

/** Returns the first index of a value in a range, or -1 if it is not there.
 *  @param range  the range to search.
 *  @param value  the value to search for.
 *  Re-entrancy: calls the equal callback.  Errors: misuse returns -1.  Cost: O(range.length). */
RL_EXPORT RLIndex RLArrayGetFirstIndexOfValue(RLArrayRef array, RLRange range, const void *value);

/** Returns the last index of a value in a range, or -1 if it is not there.
 *  @param range  the range to search.
 *  @param value  the value to search for.
 *  Re-entrancy: calls the equal callback.  Errors: misuse returns -1.  Cost: O(range.length). */
RL_EXPORT RLIndex RLArrayGetLastIndexOfValue(RLArrayRef array, RLRange range, const void *value);

/** Returns how many times a value occurs in a range.
 *  @param range  the range to search.
 *  @param value  the value to search for.
 *  Re-entrancy: calls the equal callback.  Cost: O(range.length). */
RL_EXPORT RLIndex RLArrayGetCountOfValue(RLArrayRef array, RLRange range, const void *value);

/** Searches a sorted range for a value.
 *  @param range       the range to search.
 *  @param value       the value to search for.
 *  @param comparator  the order by which the range is sorted; not NULL.
 *  @param context     passed to comparator.
 *  @return the index of a value that compares equal; otherwise that of the first greater value, which may be the end of
 *  range.
 *  Re-entrancy: calls comparator.  Errors: misuse returns -1.  Cost: O(log range.length). */
RL_EXPORT RLIndex RLArrayBSearchValues(RLArrayRef array, RLRange range, const void *value,
                                       RLComparatorFunction comparator, void *context);

/** Appends a value.
 *  @param value  may be NULL in an array whose callbacks allow it.
 *  Re-entrancy: calls the retain callback.  Cost: amortized O(1); may allocate. */
RL_EXPORT void RLArrayAppendValue(RLMutableArrayRef array, const void *value);

/** Inserts a value; the values from index on move up.
 *  @param index  from 0 to count; at count the value is appended.
 *  @param value  may be NULL in an array whose callbacks allow it.
 *  Re-entrancy: calls the retain callback.  Cost: O(count); may allocate. */
RL_EXPORT void RLArrayInsertValueAtIndex(RLMutableArrayRef array, RLIndex index, const void *value);

/** Replaces a value.
 *  @param index  from 0 to count; at count the value is appended.
 *  @param value  may be NULL in an array whose callbacks allow it.
 *  Ownership: the new value is retained, then the old one released.
 *  Re-entrancy: calls the retain and release callbacks.  Cost: O(1); at count it may allocate. */
RL_EXPORT void RLArraySetValueAtIndex(RLMutableArrayRef array, RLIndex index, const void *value);

/** Removes a value; the values after it move down.
 *  @param index  from 0 to count - 1.
 *  Re-entrancy: calls the release callback.  Cost: O(count). */
RL_EXPORT void RLArrayRemoveValueAtIndex(RLMutableArrayRef array, RLIndex index);

/** Removes all values.
 *  Re-entrancy: calls the release callback.  Errors: if memory runs out, nothing is removed, and errno is ENOMEM.
 *  Cost: O(count); may allocate temporarily. */
RL_EXPORT void RLArrayRemoveAllValues(RLMutableArrayRef array);

/** Replaces a range of values by other values.
 *  @param range      the values to remove.
 *  @param newValues  the values to insert; may be NULL if newCount is 0.
 *  @param newCount   number of values to insert, not negative.
 *  Ownership: new values are retained, then the old ones released.
 *  Re-entrancy: calls the retain and release callbacks.  Cost: O(count); allocates. */
RL_EXPORT void RLArrayReplaceValues(RLMutableArrayRef array, RLRange range, const void **newValues, RLIndex newCount);

/** Exchanges two values.
 *  @param index1  from 0 to count - 1.
 *  @param index2  from 0 to count - 1. */
RL_EXPORT void RLArrayExchangeValuesAtIndices(RLMutableArrayRef array, RLIndex index1, RLIndex index2);

/** Sorts a range of values; values that compare equal keep their order.
 *  @param range       the values to sort.
 *  @param comparator  the order; not NULL.
 *  @param context     passed to comparator.
 *  Re-entrancy: calls comparator, which sees the array as it was.  Cost: O(n log n); allocates temporarily. */
RL_EXPORT void RLArraySortValues(RLMutableArrayRef array, RLRange range, RLComparatorFunction comparator,
                                 void *context);

/** Appends values of another array.
 *  @param otherArray  may be array itself.
 *  @param otherRange  the values of otherArray to append.
 *  Re-entrancy: calls the retain callback.  Cost: O(otherRange.length); allocates. */
RL_EXPORT void RLArrayAppendArray(RLMutableArrayRef array, RLArrayRef otherArray, RLRange otherRange);

RL_EXTERN_C_END
#endif
