/** @file RLArray.h
 *  Arrays: a sequence of pointers.
 *
 *  Used for lists of modes: RLRunLoopCopyAllModes() returns one, and the functions of RLRunLoopPerform.h take one. The
 *  values are objects of the library if the array was made with &kRLTypeArrayCallBacks, which retains them; with other
 *  callbacks, or none, they are whatever the maker says.
 *
 *  An RLArrayRef never changes. An RLMutableArrayRef does, and belongs to one thread at a time; it can be passed
 *  wherever an RLArrayRef is asked for. Two arrays are equal if they have the same equal callback and equal values
 *  in the same order. Callbacks may not change the array that calls them: if they do its contents are not defined,
 *  but nothing else is harmed.
 *
 *  Deliberate differences from CFArray
 *  -----------------------------------
 *  1. An index or range outside the array is reported; the result is NULL, 0 or -1. CF crashes or returns garbage.
 *  2. Changing an array that is not mutable is reported and does nothing. CF crashes.
 *  3. Sorting is stable, and allocates. */
#ifndef RUNLOOP_RLARRAY_H
#define RUNLOOP_RLARRAY_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** A sequence of pointers. */
typedef const struct RLArray *RLArrayRef;
/** A sequence of pointers that can change. */
typedef struct RLArray *RLMutableArrayRef;

/** What an array does with its values. Copied when an array is made. Every function may be NULL. */
typedef struct RLArrayCallBacks {
    RLIndex version; /**< 0. */
    /** Called once per value that comes into the array; what it returns is stored. NULL: the value itself is stored. */
    const void *(*retain)(RLAllocatorRef allocator, const void *value);
    /** Called once per stored value that leaves the array, and when the array is freed, on the thread that does it.
     *  NULL: nothing is done. */
    void (*release)(RLAllocatorRef allocator, const void *value);
    /** Ignored: a description of an array tells how many values there are. Here so that CF's struct fits. */
    RLStringRef (*copyDescription)(const void *value);
    /** Tells whether two values are equal. NULL: only if they are the same pointer. */
    RLBoolean (*equal)(const void *value1, const void *value2);
} RLArrayCallBacks;

/** The callbacks for values that are objects of the library: RLRetain, RLRelease, RLCopyDescription, RLEqual. */
RL_EXPORT const RLArrayCallBacks kRLTypeArrayCallBacks;

/** Tells the kind of arrays, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLTypeID RLArrayGetTypeID(void);

/** Makes an array from pointers.
 *  @param allocator  NULL.
 *  @param values     count pointers; copied. May be NULL if count is 0.
 *  @param count      number of values, not negative.
 *  @param callBacks  NULL: plain pointers, neither retained nor released, compared by identity. &kRLTypeArrayCallBacks:
 *                    objects, retained until the array is freed. Or your own; copied.
 *  @return the array, or NULL.
 *  Ownership: Create rule; values are retained through callBacks.  Thread: any.
 *  Re-entrancy: allowed in callbacks; calls the retain callback.
 *  Errors: NULL with errno ENOMEM; a negative count, NULL values with a count, or an unknown version is reported and
 *  gives NULL.
 *  Cost: O(count), one allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLArrayRef RLArrayCreate(RLAllocatorRef allocator, const void **values, RLIndex count,
                                   const RLArrayCallBacks *callBacks);

/** Tells how many values there are.
 *  @param array  not NULL.
 *  @return the number of values, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLIndex RLArrayGetCount(RLArrayRef array);

/** Gives one value.
 *  @param array  not NULL.
 *  @param index  from 0 to count - 1.
 *  @return the value, or NULL on a mistake. (NULL may also be a value of an array without callbacks.)
 *  Ownership: Get rule: the value is valid as long as the array, if the array retains it.  Thread: any.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: a NULL array, another kind of object, or an index out of range is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT const void *RLArrayGetValueAtIndex(RLArrayRef array, RLIndex index);

/** Tells whether a value is in a part of an array: the same pointer, or one that the equal callback calls equal.
 *  @param array  not NULL.
 *  @param range  where to look; must lie within the array. {0, count} is all of it.
 *  @param value  what to look for; may be NULL in an array without callbacks.
 *  @return 1 if it is there, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the equal callback.
 *  Errors: a NULL array, another kind of object, or a range outside the array is reported and gives 0.
 *  Cost: O(range.length), no allocation.  Since: 0.1.  Example: examples/values.c */
RL_EXPORT RLBoolean RLArrayContainsValue(RLArrayRef array, RLRange range, const void *value);

/** Gets one value of an array from RLArrayApplyFunction(). */
typedef void (*RLArrayApplierFunction)(const void *value, void *context);
/** Tells the order of two values: negative, 0 or positive, as the constants kRLCompare… are. */
typedef RLComparisonResult (*RLComparatorFunction)(const void *value1, const void *value2, void *context);

/** Makes an immutable array with the same values and callbacks. Of an immutable array that is the object itself,
 *  retained.
 *  @param allocator  NULL.
 *  @param array      not NULL.
 *  @return the copy, or NULL.
 *  Ownership: Create rule; values are retained through the callbacks.  Thread: any.  Re-entrancy: allowed in
 *  callbacks; calls the retain callback.
 *  Errors: NULL with errno ENOMEM; NULL or another kind of object is reported and gives NULL.
 *  Cost: O(count), one allocation; O(1) for an immutable array.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLArrayRef RLArrayCreateCopy(RLAllocatorRef allocator, RLArrayRef array);

/** Makes a mutable array without values.
 *  @param allocator  NULL.
 *  @param capacity   how many values there will be; a hint, 0 if that is unknown. Not negative.
 *  @param callBacks  as for RLArrayCreate(); copied.
 *  @return the array, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a negative capacity or an unknown version is reported and gives NULL.
 *  Cost: O(1), two allocations.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLMutableArrayRef RLArrayCreateMutable(RLAllocatorRef allocator, RLIndex capacity,
                                                 const RLArrayCallBacks *callBacks);

/** Makes a mutable array with the values and callbacks of another array.
 *  @param allocator  NULL.
 *  @param capacity   how many values there will be; a hint, 0 if that is unknown. Not negative.
 *  @param array      not NULL.
 *  @return the array, or NULL.
 *  Ownership: Create rule; values are retained through the callbacks.  Thread: any.  Re-entrancy: allowed in
 *  callbacks; calls the retain callback.
 *  Errors: NULL with errno ENOMEM; a negative capacity, a NULL array or another kind of object is reported and
 *  gives NULL.
 *  Cost: O(count), two allocations.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLMutableArrayRef RLArrayCreateMutableCopy(RLAllocatorRef allocator, RLIndex capacity, RLArrayRef array);

/** Copies values out of the array.
 *  @param array   not NULL.
 *  @param range   where; must lie within the array. {0, count} is all of it.
 *  @param values  room for range.length pointers; may be NULL if that is 0.
 *  Ownership: Get rule: the values are valid as long as the array holds them.  Thread: any.  Re-entrancy: allowed
 *  in callbacks.
 *  Errors: a range outside the array, NULL values, a NULL array or another kind of object is reported; nothing is
 *  copied.
 *  Cost: O(range.length), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArrayGetValues(RLArrayRef array, RLRange range, const void **values);

/** Calls a function for each value of a part of the array.
 *  @param array    not NULL.
 *  @param range    where; must lie within the array. {0, count} is all of it.
 *  @param applier  called for each value, in order; not NULL.
 *  @param context  handed to applier.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls applier, which may not change
 *  the array.
 *  Errors: a NULL applier, a range outside the array, a NULL array or another kind of object is reported; nothing
 *  is called.
 *  Cost: O(range.length), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArrayApplyFunction(RLArrayRef array, RLRange range, RLArrayApplierFunction applier, void *context);

/** Finds the first place of a value in a part of the array.
 *  @param array  not NULL.
 *  @param range  where; must lie within the array. {0, count} is all of it.
 *  @param value  what to look for.
 *  @return its index in the array, or -1 if it is not there.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the equal callback.
 *  Errors: a range outside the array, NULL or another kind of object is reported and gives -1.
 *  Cost: O(range.length), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLIndex RLArrayGetFirstIndexOfValue(RLArrayRef array, RLRange range, const void *value);

/** Finds the last place of a value in a part of the array.
 *  @param array  not NULL.
 *  @param range  where; must lie within the array. {0, count} is all of it.
 *  @param value  what to look for.
 *  @return its index in the array, or -1 if it is not there.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the equal callback.
 *  Errors: a range outside the array, NULL or another kind of object is reported and gives -1.
 *  Cost: O(range.length), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLIndex RLArrayGetLastIndexOfValue(RLArrayRef array, RLRange range, const void *value);

/** Counts how often a value is in a part of the array.
 *  @param array  not NULL.
 *  @param range  where; must lie within the array. {0, count} is all of it.
 *  @param value  what to look for.
 *  @return the number of times, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the equal callback.
 *  Errors: a range outside the array, NULL or another kind of object is reported and gives 0.
 *  Cost: O(range.length), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLIndex RLArrayGetCountOfValue(RLArrayRef array, RLRange range, const void *value);

/** Finds the place of a value in a sorted part of the array.
 *  @param array       not NULL.
 *  @param range       where; must lie within the array. {0, count} is all of it.
 *  @param value       what to look for.
 *  @param comparator  the order by which the part is sorted; not NULL.
 *  @param context     handed to comparator.
 *  @return the index of a value that compares equal; else that of the first one that is greater, which may be the
 *  end of range. -1 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the comparator callback.
 *  Errors: a NULL comparator, a range outside the array, NULL or another kind of object is reported and gives -1.
 *  Cost: O(log range.length), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLIndex RLArrayBSearchValues(RLArrayRef array, RLRange range, const void *value,
                                       RLComparatorFunction comparator, void *context);

/** Adds a value at the end.
 *  @param array  not NULL, mutable.
 *  @param value  may be NULL in an array whose callbacks allow it.
 *  Ownership: the value is retained through the callbacks.  Thread: any, but nobody else may use the array
 *  meanwhile.  Re-entrancy: allowed in callbacks; calls the retain callback.
 *  Errors: Without memory errno is ENOMEM and nothing changes; NULL, another kind of object or an array that is not
 *  mutable is reported; nothing changes.
 *  Cost: amortised O(1); may allocate.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArrayAppendValue(RLMutableArrayRef array, const void *value);

/** Puts a value between others; those from index on move up.
 *  @param array  not NULL, mutable.
 *  @param index  from 0 to count: at count it is added at the end.
 *  @param value  may be NULL in an array whose callbacks allow it.
 *  Ownership: the value is retained through the callbacks.  Thread: any, but nobody else may use the array
 *  meanwhile.  Re-entrancy: allowed in callbacks; calls the retain callback.
 *  Errors: Without memory errno is ENOMEM and nothing changes; an index out of range, NULL, another kind of object
 *  or an array that is not mutable is reported; nothing changes.
 *  Cost: O(count); may allocate.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArrayInsertValueAtIndex(RLMutableArrayRef array, RLIndex index, const void *value);

/** Puts a value in the place of another.
 *  @param array  not NULL, mutable.
 *  @param index  from 0 to count: at count the value is added at the end.
 *  @param value  may be NULL in an array whose callbacks allow it.
 *  Ownership: the new value is retained, then the old one released, through the callbacks.  Thread: any, but nobody
 *  else may use the array meanwhile.  Re-entrancy: allowed in callbacks; calls the retain and release callbacks.
 *  Errors: Without memory errno is ENOMEM and nothing changes; an index out of range, NULL, another kind of object
 *  or an array that is not mutable is reported; nothing changes.
 *  Cost: O(1); at count it may allocate.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArraySetValueAtIndex(RLMutableArrayRef array, RLIndex index, const void *value);

/** Takes a value out; those behind it move down.
 *  @param array  not NULL, mutable.
 *  @param index  from 0 to count - 1.
 *  Ownership: the value is released through the callbacks.  Thread: any, but nobody else may use the array
 *  meanwhile.  Re-entrancy: allowed in callbacks; calls the release callback.
 *  Errors: an index out of range, NULL, another kind of object or an array that is not mutable is reported; nothing
 *  changes.
 *  Cost: O(count), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArrayRemoveValueAtIndex(RLMutableArrayRef array, RLIndex index);

/** Takes all values out.
 *  @param array  not NULL, mutable.
 *  Ownership: the values are released through the callbacks.  Thread: any, but nobody else may use the array
 *  meanwhile.  Re-entrancy: allowed in callbacks; calls the release callback.
 *  Errors: Without memory errno is ENOMEM and nothing changes; NULL, another kind of object or an array that is not
 *  mutable is reported; nothing changes.
 *  Cost: O(count); allocates for a moment if there are many.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArrayRemoveAllValues(RLMutableArrayRef array);

/** Puts values in the place of others.
 *  @param array      not NULL, mutable.
 *  @param range      the values that go; must lie within the array.
 *  @param newValues  the values that come; may be NULL if newCount is 0.
 *  @param newCount   number of values that come, not negative.
 *  Ownership: new values are retained, then the old ones released, through the callbacks.  Thread: any, but nobody
 *  else may use the array meanwhile.  Re-entrancy: allowed in callbacks; calls the retain and release callbacks.
 *  Errors: Without memory errno is ENOMEM and nothing changes; a range outside the array, a negative newCount, NULL
 *  newValues with a count, NULL, another kind of object or an array that is not mutable is reported; nothing
 *  changes.
 *  Cost: O(count); allocates.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArrayReplaceValues(RLMutableArrayRef array, RLRange range, const void **newValues, RLIndex newCount);

/** Lets two values change places.
 *  @param array   not NULL, mutable.
 *  @param index1  from 0 to count - 1.
 *  @param index2  from 0 to count - 1.
 *  Ownership: none changes.  Thread: any, but nobody else may use the array meanwhile.  Re-entrancy: allowed in
 *  callbacks.
 *  Errors: an index out of range, NULL, another kind of object or an array that is not mutable is reported; nothing
 *  changes.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArrayExchangeValuesAtIndices(RLMutableArrayRef array, RLIndex index1, RLIndex index2);

/** Sorts a part of the array; values that compare equal keep their order.
 *  @param array       not NULL, mutable.
 *  @param range       where; must lie within the array. {0, count} is all of it.
 *  @param comparator  tells the order; not NULL.
 *  @param context     handed to comparator.
 *  Ownership: none changes.  Thread: any, but nobody else may use the array meanwhile.  Re-entrancy: allowed in
 *  callbacks; calls comparator, which sees the array as it was.
 *  Errors: Without memory errno is ENOMEM and nothing changes; a NULL comparator, a range outside the array, NULL,
 *  another kind of object or an array that is not mutable is reported; nothing changes.
 *  Cost: O(n log n); allocates for a moment.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArraySortValues(RLMutableArrayRef array, RLRange range, RLComparatorFunction comparator,
                                 void *context);

/** Adds values of another array at the end.
 *  @param array       not NULL, mutable.
 *  @param otherArray  not NULL; may be array itself.
 *  @param otherRange  which of its values; must lie within it.
 *  Ownership: the values are retained through the callbacks of array.  Thread: any, but nobody else may use the
 *  array meanwhile.  Re-entrancy: allowed in callbacks; calls the retain callback.
 *  Errors: Without memory errno is ENOMEM and nothing changes; a range outside otherArray, NULL, another kind of
 *  object or an array that is not mutable is reported; nothing changes.
 *  Cost: O(otherRange.length); allocates.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLArrayAppendArray(RLMutableArrayRef array, RLArrayRef otherArray, RLRange otherRange);

RL_EXTERN_C_END
#endif
