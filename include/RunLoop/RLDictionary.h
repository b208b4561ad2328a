/** @file RLDictionary.h
 *  Dictionaries: values by key, no key twice.
 *
 *  A hash table whose keys and values are held and compared through callbacks: objects of the library with
 *  &kRLTypeDictionaryKeyCallBacks and &kRLTypeDictionaryValueCallBacks, plain pointers without callbacks, or what
 *  the maker says. An example of the use is the user information of a notification (RLNotificationCenter.h).
 *
 *  An RLDictionaryRef never changes. An RLMutableDictionaryRef does, and belongs to one thread at a time; it can
 *  be passed wherever an RLDictionaryRef is asked for. The order in which pairs are told is not defined. Callbacks
 *  may not change the dictionary that calls them: if they do its contents are not defined, but nothing else is
 *  harmed. Two dictionaries are equal if they have as many keys, and each key of one has an equal value in the
 *  other.
 *
 *  Deliberate differences from CFDictionary
 *  ----------------------------------------
 *  1. Changing a dictionary that is not mutable is reported and does nothing. CF crashes. */
#ifndef RUNLOOP_RLDICTIONARY_H
#define RUNLOOP_RLDICTIONARY_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** Values by key. */
typedef const struct RLDictionary *RLDictionaryRef;
/** A dictionary that can change. */
typedef struct RLDictionary *RLMutableDictionaryRef;

/** What a dictionary does with its keys. Copied when a dictionary is made. Every function may be NULL. */
typedef struct RLDictionaryKeyCallBacks {
    RLIndex version; /**< 0. */
    /** Called once per key that comes in; what it returns is stored. NULL: the key itself is stored. */
    const void *(*retain)(RLAllocatorRef allocator, const void *value);
    /** Called once per key that leaves, and when the dictionary is freed. NULL: nothing is done. */
    void (*release)(RLAllocatorRef allocator, const void *value);
    /** Ignored: a description tells the number of elements. Here so that CF's struct fits. */
    RLStringRef (*copyDescription)(const void *value);
    /** Tells whether two are equal. NULL: only if they are the same pointer. */
    RLBoolean (*equal)(const void *value1, const void *value2);
    /** Gives equal ones the same number. NULL: the address. */
    RLHashCode (*hash)(const void *value);
} RLDictionaryKeyCallBacks;

/** What a dictionary does with its values. Copied when a dictionary is made. Every function may be NULL. */
typedef struct RLDictionaryValueCallBacks {
    RLIndex version; /**< 0. */
    /** Called once per value that comes in; what it returns is stored. NULL: the value itself is stored. */
    const void *(*retain)(RLAllocatorRef allocator, const void *value);
    /** Called once per value that leaves, and when the dictionary is freed. NULL: nothing is done. */
    void (*release)(RLAllocatorRef allocator, const void *value);
    /** Ignored: a description tells the number of elements. Here so that CF's struct fits. */
    RLStringRef (*copyDescription)(const void *value);
    /** Tells whether two are equal. NULL: only if they are the same pointer. */
    RLBoolean (*equal)(const void *value1, const void *value2);
} RLDictionaryValueCallBacks;

/** The callbacks for keys that are objects of the library: RLRetain, RLRelease, RLCopyDescription, RLEqual, RLHash. */
RL_EXPORT const RLDictionaryKeyCallBacks kRLTypeDictionaryKeyCallBacks;
/** The callbacks for keys that are strings. CF copies them; strings that never change need only be retained. */
RL_EXPORT const RLDictionaryKeyCallBacks kRLCopyStringDictionaryKeyCallBacks;
/** The callbacks for values that are objects of the library: RLRetain, RLRelease, RLCopyDescription, RLEqual. */
RL_EXPORT const RLDictionaryValueCallBacks kRLTypeDictionaryValueCallBacks;
/** Gets one pair of a dictionary from RLDictionaryApplyFunction(). */
typedef void (*RLDictionaryApplierFunction)(const void *key, const void *value, void *context);

/** Tells the kind of dictionaries, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLTypeID RLDictionaryGetTypeID(void);

/** Makes a dictionary from keys and values.
 *  @param allocator       NULL.
 *  @param keys            count pointers; of equal ones the first is taken. May be NULL if count is 0.
 *  @param values          count pointers, the values of these keys. May be NULL if count is 0.
 *  @param count           number of pairs, not negative.
 *  @param keyCallBacks    NULL: plain pointers. &kRLTypeDictionaryKeyCallBacks: objects. Or your own; copied.
 *  @param valueCallBacks  NULL: plain pointers. &kRLTypeDictionaryValueCallBacks: objects. Or your own; copied.
 *  @return the dictionary, or NULL.
 *  Ownership: Create rule; keys and values are retained through the callbacks.  Thread: any.  Re-entrancy: allowed
 *  in callbacks; calls the retain, hash and equal callbacks.
 *  Errors: NULL with errno ENOMEM; a negative count, NULL keys or values with a count, or an unknown version is
 *  reported and gives NULL.
 *  Cost: O(count), two allocations.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLDictionaryRef RLDictionaryCreate(RLAllocatorRef allocator, const void **keys, const void **values,
                                             RLIndex count, const RLDictionaryKeyCallBacks *keyCallBacks,
                                             const RLDictionaryValueCallBacks *valueCallBacks);

/** Makes an immutable dictionary with the same pairs and callbacks. Of an immutable dictionary that is the object
 *  itself, retained.
 *  @param allocator   NULL.
 *  @param dictionary  not NULL.
 *  @return the copy, or NULL.
 *  Ownership: Create rule; keys and values are retained through the callbacks.  Thread: any.  Re-entrancy: allowed
 *  in callbacks; calls the retain callbacks.
 *  Errors: NULL with errno ENOMEM; NULL or another kind of object is reported and gives NULL.
 *  Cost: O(count), two allocations; O(1) for an immutable dictionary.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLDictionaryRef RLDictionaryCreateCopy(RLAllocatorRef allocator, RLDictionaryRef dictionary);

/** Makes a mutable dictionary without pairs.
 *  @param allocator       NULL.
 *  @param capacity        how many pairs there will be; a hint, 0 if that is unknown. Not negative.
 *  @param keyCallBacks    NULL: plain pointers. &kRLTypeDictionaryKeyCallBacks: objects. Or your own; copied.
 *  @param valueCallBacks  NULL: plain pointers. &kRLTypeDictionaryValueCallBacks: objects. Or your own; copied.
 *  @return the dictionary, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a negative capacity or an unknown version is reported and gives NULL.
 *  Cost: O(capacity), at most two allocations.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLMutableDictionaryRef RLDictionaryCreateMutable(RLAllocatorRef allocator, RLIndex capacity,
                                                           const RLDictionaryKeyCallBacks *keyCallBacks,
                                                           const RLDictionaryValueCallBacks *valueCallBacks);

/** Makes a mutable dictionary with the pairs and callbacks of another one.
 *  @param allocator   NULL.
 *  @param capacity    how many pairs there will be; a hint, 0 if that is unknown. Not negative.
 *  @param dictionary  not NULL.
 *  @return the dictionary, or NULL.
 *  Ownership: Create rule; keys and values are retained through the callbacks.  Thread: any.  Re-entrancy: allowed
 *  in callbacks; calls the retain callbacks.
 *  Errors: NULL with errno ENOMEM; a negative capacity, a NULL dictionary or another kind of object is reported and
 *  gives NULL.
 *  Cost: O(count), two allocations.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLMutableDictionaryRef RLDictionaryCreateMutableCopy(RLAllocatorRef allocator, RLIndex capacity,
                                                               RLDictionaryRef dictionary);

/** Tells how many pairs there are.
 *  @param dictionary  not NULL.
 *  @return the number of pairs, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLIndex RLDictionaryGetCount(RLDictionaryRef dictionary);

/** Tells how often a key is in the dictionary.
 *  @param dictionary  not NULL.
 *  @param key         what to look for.
 *  @return 1 if it is there, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the keys' hash and equal
 *  callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLIndex RLDictionaryGetCountOfKey(RLDictionaryRef dictionary, const void *key);

/** Tells how many keys have a value.
 *  @param dictionary  not NULL.
 *  @param value       what to look for.
 *  @return the number of keys.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the values' equal callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(capacity), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLIndex RLDictionaryGetCountOfValue(RLDictionaryRef dictionary, const void *value);

/** Tells whether a key is in the dictionary.
 *  @param dictionary  not NULL.
 *  @param key         what to look for.
 *  @return 1 if it is there, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the keys' hash and equal
 *  callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLBoolean RLDictionaryContainsKey(RLDictionaryRef dictionary, const void *key);

/** Tells whether some key has a value.
 *  @param dictionary  not NULL.
 *  @param value       what to look for.
 *  @return 1 if one has, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls the values' equal callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(capacity), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLBoolean RLDictionaryContainsValue(RLDictionaryRef dictionary, const void *value);

/** Gives the value of a key.
 *  @param dictionary  not NULL.
 *  @param key         what to look for.
 *  @return the value, or NULL if the key is not there. (NULL may also be a value.)
 *  Ownership: Get rule: the value is valid as long as the dictionary holds it.  Thread: any.  Re-entrancy: allowed
 *  in callbacks; calls the keys' hash and equal callbacks.
 *  Errors: NULL or another kind of object is reported and gives NULL.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT const void *RLDictionaryGetValue(RLDictionaryRef dictionary, const void *key);

/** Gives the value of a key, and tells whether the key is there.
 *  @param dictionary  not NULL.
 *  @param key         what to look for.
 *  @param value       receives the value, if the key is there; may be NULL.
 *  @return 1 if it is there, else 0.
 *  Ownership: Get rule: the value is valid as long as the dictionary holds it.  Thread: any.  Re-entrancy: allowed
 *  in callbacks; calls the keys' hash and equal callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT RLBoolean RLDictionaryGetValueIfPresent(RLDictionaryRef dictionary, const void *key, const void **value);

/** Copies all keys and values out of the dictionary.
 *  @param dictionary  not NULL.
 *  @param keys        room for RLDictionaryGetCount() pointers; NULL: no keys are wanted.
 *  @param values      the same, for the values in the same order.
 *  Ownership: Get rule: keys and values are valid as long as the dictionary holds them.  Thread: any.  Re-entrancy:
 *  allowed in callbacks.
 *  Errors: a NULL dictionary or another kind of object is reported; nothing is copied.
 *  Cost: O(capacity), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLDictionaryGetKeysAndValues(RLDictionaryRef dictionary, const void **keys, const void **values);

/** Calls a function for each pair.
 *  @param dictionary  not NULL.
 *  @param applier     called for each pair; not NULL.
 *  @param context     handed to applier.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks; calls applier, which may not change
 *  the dictionary.
 *  Errors: a NULL argument or another kind of object is reported; nothing is called.
 *  Cost: O(capacity), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLDictionaryApplyFunction(RLDictionaryRef dictionary, RLDictionaryApplierFunction applier,
                                         void *context);

/** Adds a pair, unless the key is there.
 *  @param dictionary  not NULL, mutable.
 *  @param key         may be NULL if the callbacks allow it.
 *  @param value       may be NULL if the callbacks allow it.
 *  Ownership: a key and a value that are added are retained through the callbacks.  Thread: any, but nobody else
 *  may use the dictionary meanwhile.  Re-entrancy: allowed in callbacks; calls the retain, hash and equal
 *  callbacks.
 *  Errors: Without memory errno is ENOMEM and nothing changes; NULL, another kind of object or a dictionary that is
 *  not mutable is reported; nothing changes.
 *  Cost: amortised O(1); may allocate.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLDictionaryAddValue(RLMutableDictionaryRef dictionary, const void *key, const void *value);

/** Adds a pair, or puts it in the place of one with an equal key.
 *  @param dictionary  not NULL, mutable.
 *  @param key         may be NULL if the callbacks allow it.
 *  @param value       may be NULL if the callbacks allow it.
 *  Ownership: the new key and value are retained, then the old ones released, through the callbacks.
 *  Thread: any, but nobody else may use the dictionary meanwhile.
 *  Re-entrancy: allowed in callbacks; calls the retain, release, hash and equal callbacks.
 *  Errors: Without memory errno is ENOMEM and nothing changes; NULL, another kind of object or a dictionary that is
 *  not mutable is reported; nothing changes.
 *  Cost: amortised O(1); may allocate.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLDictionarySetValue(RLMutableDictionaryRef dictionary, const void *key, const void *value);

/** Puts a pair in the place of one with an equal key. If there is none nothing is done.
 *  @param dictionary  not NULL, mutable.
 *  @param key         may be NULL if the callbacks allow it.
 *  @param value       may be NULL if the callbacks allow it.
 *  Ownership: the new key and value are retained, then the old ones released, through the callbacks.
 *  Thread: any, but nobody else may use the dictionary meanwhile.
 *  Re-entrancy: allowed in callbacks; calls the retain, release, hash and equal callbacks.
 *  Errors: NULL, another kind of object or a dictionary that is not mutable is reported; nothing changes.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLDictionaryReplaceValue(RLMutableDictionaryRef dictionary, const void *key, const void *value);

/** Takes a key and its value out.
 *  @param dictionary  not NULL, mutable.
 *  @param key         what to look for. If it is not there nothing is done.
 *  Ownership: both are released through the callbacks.  Thread: any, but nobody else may use the dictionary
 *  meanwhile.  Re-entrancy: allowed in callbacks; calls the release, hash and equal callbacks.
 *  Errors: NULL, another kind of object or a dictionary that is not mutable is reported; nothing changes.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLDictionaryRemoveValue(RLMutableDictionaryRef dictionary, const void *key);

/** Takes all pairs out.
 *  @param dictionary  not NULL, mutable.
 *  Ownership: keys and values are released through the callbacks.  Thread: any, but nobody else may use the
 *  dictionary meanwhile.  Re-entrancy: allowed in callbacks; calls the release callbacks.
 *  Errors: NULL, another kind of object or a dictionary that is not mutable is reported; nothing changes.
 *  Cost: O(capacity), no allocation.  Since: 0.1.  Example: examples/collections.c */
RL_EXPORT void RLDictionaryRemoveAllValues(RLMutableDictionaryRef dictionary);

RL_EXTERN_C_END
#endif
