/** @file RLSet.h
 *  Sets: unordered collections of pointers without duplicates.
 *  Example: examples/objects.c
 *
 *  A set is a hash table whose values are retained, compared and hashed through callbacks: objects of the library with
 *  &kRLTypeSetCallBacks, plain pointers without callbacks, or your own.
 *
 *  An RLSetRef never changes. An RLMutableSetRef can change, and is used by one thread at a time; it can be passed
 *  wherever an RLSetRef is expected. The order of values is undefined. Through its callbacks, a set retains each value
 *  that is added, and releases it when it is removed or when the set is freed. Callbacks must not change the set that
 *  calls them: if they do, its contents are undefined, but nothing else is harmed. Values may be NULL if the callbacks
 *  allow it. Two sets are equal if they have the same number of values, and each value of one is in the other.
 *
 *  Deliberate differences from CFSet
 *  ---------------------------------
 *  1. Changing a set that is not mutable is reported and has no effect. CF crashes. */
#ifndef RUNLOOP_RLSET_H
#define RUNLOOP_RLSET_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** An unordered collection of values without duplicates. */
typedef const struct RLSet *RLSetRef;
/** A set that can change. */
typedef struct RLSet *RLMutableSetRef;

/** The callbacks by which a set handles its values. Copied when a set is created. Every callback may be NULL. */
typedef struct RLSetCallBacks {
    RLIndex version; /**< 0. */
    /** Called once for each value added; what it returns is stored. NULL: the value itself is stored. */
    const void *(*retain)(RLAllocatorRef allocator, const void *value);
    /** Called once for each value removed, also when the set is freed. NULL: nothing is called. */
    void (*release)(RLAllocatorRef allocator, const void *value);
    /** Ignored; the field makes the struct compatible with CF's. */
    RLStringRef (*copyDescription)(const void *value);
    /** Returns whether two values are equal. NULL: they are equal only if they are the same pointer. */
    RLBoolean (*equal)(const void *value1, const void *value2);
    /** Returns a hash; equal values must have equal hashes. NULL: derived from the pointer. */
    RLHashCode (*hash)(const void *value);
} RLSetCallBacks;

/** The callbacks for values that are objects of the library: RLRetain, RLRelease, RLCopyDescription, RLEqual,
 *  RLHash. */
RL_EXPORT const RLSetCallBacks kRLTypeSetCallBacks;
/** The callbacks for values that are strings. CF copies strings; since these never change, they are only retained. */
RL_EXPORT const RLSetCallBacks kRLCopyStringSetCallBacks;
/** Receives one value of a set from RLSetApplyFunction(). */
typedef void (*RLSetApplierFunction)(const void *value, void *context);

/** Returns the type ID of sets, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLSetGetTypeID(void);

/** Creates a set of pointers.
 *  @param values     count pointers; of several equal ones the first is used. May be NULL if count is 0.
 *  @param count      number of values, not negative.
 *  @param callBacks  NULL: the values are plain pointers. &kRLTypeSetCallBacks: they are objects. Or your own; copied.
 *  @return the set, or NULL.
 *  Re-entrancy: calls the retain, hash and equal callbacks.  Cost: O(count). */
RL_EXPORT RLSetRef RLSetCreate(RLAllocatorRef allocator, const void **values, RLIndex count,
                               const RLSetCallBacks *callBacks);

/** Creates an immutable set with the same values and callbacks. If the set is immutable, this retains and returns it.
 *  @return the copy, or NULL.
 *  Re-entrancy: calls the retain callback.  Cost: O(count); O(1) for an immutable set. */
RL_EXPORT RLSetRef RLSetCreateCopy(RLAllocatorRef allocator, RLSetRef set);

/** Creates a mutable set without values.
 *  @param capacity   expected number of values; a hint, 0 if unknown. Not negative.
 *  @param callBacks  NULL: the values are plain pointers. &kRLTypeSetCallBacks: they are objects. Or your own; copied.
 *  @return the set, or NULL.
 *  Cost: O(capacity). */
RL_EXPORT RLMutableSetRef RLSetCreateMutable(RLAllocatorRef allocator, RLIndex capacity,
                                             const RLSetCallBacks *callBacks);

/** Creates a mutable set with the values and callbacks of another set.
 *  @param capacity  expected number of values; a hint, 0 if unknown. Not negative.
 *  @return the set, or NULL.
 *  Re-entrancy: calls the retain callback.  Cost: O(count). */
RL_EXPORT RLMutableSetRef RLSetCreateMutableCopy(RLAllocatorRef allocator, RLIndex capacity, RLSetRef set);

/** Returns the number of values. */
RL_EXPORT RLIndex RLSetGetCount(RLSetRef set);

/** Returns how many times a value is in the set: 1 or 0.
 *  @param value  the value to search for.
 *  Re-entrancy: calls the hash and equal callbacks. */
RL_EXPORT RLIndex RLSetGetCountOfValue(RLSetRef set, const void *value);

/** Returns whether a value is in the set.
 *  @param value  the value to search for.
 *  Re-entrancy: calls the hash and equal callbacks. */
RL_EXPORT RLBoolean RLSetContainsValue(RLSetRef set, const void *value);

/** Returns the value in the set that is equal to another value, or NULL if there is none. (NULL may also be a value.)
 *  @param value  the value to search for.
 *  Ownership: the value is valid as long as the set holds it.  Re-entrancy: calls the hash and equal callbacks. */
RL_EXPORT const void *RLSetGetValue(RLSetRef set, const void *value);

/** Returns whether the set has a value that is equal to another value, and copies it.
 *  @param candidate  the value to search for.
 *  @param value      receives the value in the set, if there is one; may be NULL.
 *  Ownership: the value is valid as long as the set holds it.  Re-entrancy: calls the hash and equal callbacks. */
RL_EXPORT RLBoolean RLSetGetValueIfPresent(RLSetRef set, const void *candidate, const void **value);

/** Copies all values to a buffer.
 *  @param values  room for RLSetGetCount() pointers; not NULL.
 *  Ownership: the values are valid as long as the set holds them.  Cost: O(capacity). */
RL_EXPORT void RLSetGetValues(RLSetRef set, const void **values);

/** Calls a function for each value.
 *  @param applier  not NULL.
 *  @param context  passed to applier.
 *  Re-entrancy: calls applier, which must not change the set.  Cost: O(capacity). */
RL_EXPORT void RLSetApplyFunction(RLSetRef set, RLSetApplierFunction applier, void *context);

/** Adds a value, unless the set has an equal one.
 *  @param value  the value to add.
 *  Re-entrancy: calls the retain, hash and equal callbacks.  Cost: amortized O(1); may allocate. */
RL_EXPORT void RLSetAddValue(RLMutableSetRef set, const void *value);

/** Replaces the value that is equal to this one. If there is none, nothing happens.
 *  @param value  the new value.
 *  Ownership: the new value is retained, then the old one released.
 *  Re-entrancy: calls the retain, release, hash and equal callbacks. */
RL_EXPORT void RLSetReplaceValue(RLMutableSetRef set, const void *value);

/** Adds a value, or replaces the one that is equal to it.
 *  @param value  the new value.
 *  Ownership: the new value is retained, then the old one released.
 *  Re-entrancy: calls the retain, release, hash and equal callbacks.  Cost: amortized O(1); may allocate. */
RL_EXPORT void RLSetSetValue(RLMutableSetRef set, const void *value);

/** Removes a value.
 *  @param value  the value to search for. If it is not in the set, nothing happens.
 *  Re-entrancy: calls the release, hash and equal callbacks. */
RL_EXPORT void RLSetRemoveValue(RLMutableSetRef set, const void *value);

/** Removes all values.
 *  Re-entrancy: calls the release callback.  Cost: O(capacity). */
RL_EXPORT void RLSetRemoveAllValues(RLMutableSetRef set);

RL_EXTERN_C_END
#endif
