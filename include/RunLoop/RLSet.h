/** @file RLSet.h
 *  Sets: pointers without order, none of them twice.
 *
 *  A hash table whose values are held, compared and hashed through callbacks: objects of the library with
 *  &kRLTypeSetCallBacks, plain pointers without callbacks, or what the maker says.
 *
 *  An RLSetRef never changes. An RLMutableSetRef does, and belongs to one thread at a time; it can be passed
 *  wherever an RLSetRef is asked for. The order in which values are told is not defined. Callbacks may not change
 *  the set that calls them: if they do its contents are not defined, but nothing else is harmed. Two sets are
 *  equal if they have as many values, and each of one is in the other.
 *
 *  Deliberate differences from CFSet
 *  ---------------------------------
 *  1. Changing a set that is not mutable is reported and does nothing. CF crashes. */
#ifndef RUNLOOP_RLSET_H
#define RUNLOOP_RLSET_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** Values without order, none of them twice. */
typedef const struct RLSet *RLSetRef;
/** A set that can change. */
typedef struct RLSet *RLMutableSetRef;

/** What a set does with its values. Copied when a set is made. Every function may be NULL. */
typedef struct RLSetCallBacks {
    RLIndex version; /**< 0. */
    /** Called once per value that comes in; what it returns is stored. NULL: the value itself is stored. */
    const void *(*retain)(RLAllocatorRef allocator, const void *value);
    /** Called once per value that leaves, and when the set is freed. NULL: nothing is done. */
    void (*release)(RLAllocatorRef allocator, const void *value);
    /** Ignored: a description tells the number of elements. Here so that CF's struct fits. */
    RLStringRef (*copyDescription)(const void *value);
    /** Tells whether two are equal. NULL: only if they are the same pointer. */
    RLBoolean (*equal)(const void *value1, const void *value2);
    /** Gives equal ones the same number. NULL: the address. */
    RLHashCode (*hash)(const void *value);
} RLSetCallBacks;

/** The callbacks for values that are objects of the library: RLRetain, RLRelease, RLCopyDescription, RLEqual,
 *  RLHash. */
RL_EXPORT const RLSetCallBacks kRLTypeSetCallBacks;
/** The callbacks for strings. CF copies them; strings that never change need only be retained. */
RL_EXPORT const RLSetCallBacks kRLCopyStringSetCallBacks;
/** Gets one value of a set from RLSetApplyFunction(). */
typedef void (*RLSetApplierFunction)(const void *value, void *context);

/** Tells the kind of sets, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLTypeID RLSetGetTypeID(void);

/** Makes a set from pointers.
 *  @param allocator  NULL.
 *  @param values     count pointers; of equal ones the first is taken. May be NULL if count is 0.
 *  @param count      number of values, not negative.
 *  @param callBacks  NULL: plain pointers. &kRLTypeSetCallBacks: objects. Or your own; copied.
 *  @return the set, or NULL.
 *  Ownership: Create rule; values are retained through callBacks.  Thread: any.  Re-entrancy: allowed in callbacks;
 *  calls the retain, hash and equal callbacks.
 *  Errors: NULL with errno ENOMEM; a negative count, NULL values with a count, or an unknown version is reported
 *  and gives NULL.
 *  Cost: O(count), two allocations.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLSetRef RLSetCreate(RLAllocatorRef allocator, const void **values, RLIndex count,
                               const RLSetCallBacks *callBacks);

/** Makes an immutable set with the same values and callbacks. Of an immutable set that is the object itself,
 *  retained.
 *  @param allocator  NULL.
 *  @param set        not NULL.
 *  @return the copy, or NULL.
 *  Ownership: Create rule; values are retained through the callbacks.  Thread: any.  Re-entrancy: allowed in
 *  callbacks; calls the retain callbacks.
 *  Errors: NULL with errno ENOMEM; NULL or another kind of object is reported and gives NULL.
 *  Cost: O(count), two allocations; O(1) for an immutable set.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLSetRef RLSetCreateCopy(RLAllocatorRef allocator, RLSetRef set);

/** Makes a mutable set without values.
 *  @param allocator  NULL.
 *  @param capacity   how many values there will be; a hint, 0 if that is unknown. Not negative.
 *  @param callBacks  NULL: plain pointers. &kRLTypeSetCallBacks: objects. Or your own; copied.
 *  @return the set, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a negative capacity or an unknown version is reported and gives NULL.
 *  Cost: O(capacity), at most two allocations.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLMutableSetRef RLSetCreateMutable(RLAllocatorRef allocator, RLIndex capacity,
                                             const RLSetCallBacks *callBacks);

/** Makes a mutable set with the values and callbacks of another set.
 *  @param allocator  NULL.
 *  @param capacity   how many values there will be; a hint, 0 if that is unknown. Not negative.
 *  @param set        not NULL.
 *  @return the set, or NULL.
 *  Ownership: Create rule; values are retained through the callbacks.  Thread: any.  Re-entrancy: allowed in
 *  callbacks; calls the retain callbacks.
 *  Errors: NULL with errno ENOMEM; a negative capacity, a NULL set or another kind of object is reported and gives
 *  NULL.
 *  Cost: O(count), two allocations.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLMutableSetRef RLSetCreateMutableCopy(RLAllocatorRef allocator, RLIndex capacity, RLSetRef set);

/** Tells how many values there are.
 *  @param set  not NULL.
 *  @return the number of values, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLIndex RLSetGetCount(RLSetRef set);

/** Tells how often a value is in the set.
 *  @param set    not NULL.
 *  @param value  what to look for.
 *  @return 1 if it is there, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the hash and equal callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLIndex RLSetGetCountOfValue(RLSetRef set, const void *value);

/** Tells whether a value is in the set.
 *  @param set    not NULL.
 *  @param value  what to look for.
 *  @return 1 if it is there, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the hash and equal callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLBoolean RLSetContainsValue(RLSetRef set, const void *value);

/** Gives the value of the set that is equal to another.
 *  @param set    not NULL.
 *  @param value  what to look for.
 *  @return the value, or NULL if there is none. (NULL may also be a value.)
 *  Ownership: Get rule: the value is valid as long as the set holds it.  Thread: any.  Re-entrancy: allowed in
 *  callbacks; calls the hash and equal callbacks.
 *  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT const void *RLSetGetValue(RLSetRef set, const void *value);

/** Gives the value of the set that is equal to another, and tells whether there is one.
 *  @param set        not NULL.
 *  @param candidate  what to look for.
 *  @param value      receives the value of the set, if it is there; may be NULL.
 *  @return 1 if it is there, else 0.
 *  Ownership: Get rule: the value is valid as long as the set holds it.  Thread: any.  Re-entrancy: allowed in
 *  callbacks; calls the hash and equal callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLBoolean RLSetGetValueIfPresent(RLSetRef set, const void *candidate, const void **value);

/** Copies all values out of the set.
 *  @param set     not NULL.
 *  @param values  room for RLSetGetCount() pointers; not NULL.
 *  Ownership: Get rule: the values are valid as long as the set holds them.  Thread: any.  Re-entrancy: allowed in
 *  callbacks.
 *  Errors: a NULL argument or another kind of object is reported; nothing is copied.
 *  Cost: O(capacity), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLSetGetValues(RLSetRef set, const void **values);

/** Calls a function for each value.
 *  @param set      not NULL.
 *  @param applier  called for each value; not NULL.
 *  @param context  handed to applier.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls applier, which may not change
 *  the set.
 *  Errors: a NULL argument or another kind of object is reported; nothing is called.
 *  Cost: O(capacity), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLSetApplyFunction(RLSetRef set, RLSetApplierFunction applier, void *context);

/** Adds a value, unless one that is equal to it is there.
 *  @param set    not NULL, mutable.
 *  @param value  may be NULL if the callbacks allow it.
 *  Ownership: a value that is added is retained through the callbacks.  Thread: any, but nobody else may use the
 *  set meanwhile.  Re-entrancy: allowed in callbacks; calls the retain, hash and equal callbacks.
 *  Errors: Without memory errno is ENOMEM and nothing changes; NULL, another kind of object or a set that is not
 *  mutable is reported; nothing changes.
 *  Cost: amortised O(1); may allocate.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLSetAddValue(RLMutableSetRef set, const void *value);

/** Puts a value in the place of one that is equal to it. If there is none nothing is done.
 *  @param set    not NULL, mutable.
 *  @param value  may be NULL if the callbacks allow it.
 *  Ownership: the new value is retained, then the old one released, through the callbacks.  Thread: any, but nobody
 *  else may use the set meanwhile.  Re-entrancy: allowed in callbacks; calls the retain, release, hash and equal
 *  callbacks.
 *  Errors: NULL, another kind of object or a set that is not mutable is reported; nothing changes.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLSetReplaceValue(RLMutableSetRef set, const void *value);

/** Adds a value, or puts it in the place of one that is equal to it.
 *  @param set    not NULL, mutable.
 *  @param value  may be NULL if the callbacks allow it.
 *  Ownership: the new value is retained, then the old one released, through the callbacks.  Thread: any, but nobody
 *  else may use the set meanwhile.  Re-entrancy: allowed in callbacks; calls the retain, release, hash and equal
 *  callbacks.
 *  Errors: Without memory errno is ENOMEM and nothing changes; NULL, another kind of object or a set that is not
 *  mutable is reported; nothing changes.
 *  Cost: amortised O(1); may allocate.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLSetSetValue(RLMutableSetRef set, const void *value);

/** Takes a value out.
 *  @param set    not NULL, mutable.
 *  @param value  what to look for. If it is not there nothing is done.
 *  Ownership: the value is released through the callbacks.  Thread: any, but nobody else may use the set meanwhile.
 *  Re-entrancy: allowed in callbacks; calls the release, hash and equal callbacks.
 *  Errors: NULL, another kind of object or a set that is not mutable is reported; nothing changes.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLSetRemoveValue(RLMutableSetRef set, const void *value);

/** Takes all values out.
 *  @param set  not NULL, mutable.
 *  Ownership: the values are released through the callbacks.  Thread: any, but nobody else may use the set
 *  meanwhile.  Re-entrancy: allowed in callbacks; calls the release callbacks.
 *  Errors: NULL, another kind of object or a set that is not mutable is reported; nothing changes.
 *  Cost: O(capacity), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT void RLSetRemoveAllValues(RLMutableSetRef set);

RL_EXTERN_C_END
#endif
