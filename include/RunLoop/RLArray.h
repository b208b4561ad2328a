/** @file RLArray.h
 *  Arrays: an immutable sequence of pointers.
 *
 *  Used for lists of modes: RLRunLoopCopyAllModes() returns one, and the functions of RLRunLoopPerform.h take one. The
 *  values are objects of the library if the array was made with &kRLTypeArrayCallBacks, which retains them; with other
 *  callbacks, or none, they are whatever the maker says.
 *
 *  Deliberate differences from CFArray
 *  -----------------------------------
 *  1. No mutable arrays.
 *  2. An index or range outside the array is reported; the result is NULL or 0. CF crashes or returns garbage. */
#ifndef RUNLOOP_RLARRAY_H
#define RUNLOOP_RLARRAY_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** An immutable sequence of pointers. */
typedef const struct RLArray *RLArrayRef;

/** What an array does with its values. Copied when an array is made. Every function may be NULL. */
typedef struct RLArrayCallBacks {
    RLIndex version; /**< 0. */
    /** Called once per value when the array is made; what it returns is stored. NULL: the value itself is stored. */
    const void *(*retain)(RLAllocatorRef allocator, const void *value);
    /** Called once per stored value when the array is freed, on the thread that frees it. NULL: nothing is done. */
    void (*release)(RLAllocatorRef allocator, const void *value);
    /** Describes a value for RLCopyDescription(); the library releases the result. NULL: the address is printed. */
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

RL_EXTERN_C_END
#endif
