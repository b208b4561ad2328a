/** @file RLDictionary.h
 *  Dictionaries: values that are found by their keys, each key only once.
 *  Examples: examples/collections.c, examples/objects.c
 *
 *  A dictionary is a hash table whose keys and values are retained and compared through callbacks: objects of the
 *  library with &kRLTypeDictionaryKeyCallBacks and &kRLTypeDictionaryValueCallBacks, plain pointers without callbacks,
 *  or your own. The user information of a notification (RLNotificationCenter.h) is a dictionary.
 *
 *  An RLDictionaryRef never changes. An RLMutableDictionaryRef can change, and is used by one thread at a time; it can
 *  be passed wherever an RLDictionaryRef is expected. The order of pairs is undefined. Through its callbacks, a
 *  dictionary retains each key and value that is added, and releases it when it is removed or when the dictionary is
 *  freed. Callbacks must not change the dictionary that calls them: if they do, its contents are undefined, but nothing
 *  else is harmed. Keys and values may be NULL if the callbacks allow it. Two dictionaries are equal if they have the
 *  same number of keys, and each key of one has an equal value in the other.
 *
 *  Deliberate differences from CFDictionary
 *  ----------------------------------------
 *  1. Changing a dictionary that is not mutable is reported and has no effect. CF crashes. */
#ifndef RUNLOOP_RLDICTIONARY_H
#define RUNLOOP_RLDICTIONARY_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** A collection of pairs of a key and a value. */
typedef const struct RLDictionary *RLDictionaryRef;
/** A dictionary that can change. */
typedef struct RLDictionary *RLMutableDictionaryRef;

/** The callbacks by which a dictionary handles its keys. Copied when a dictionary is created. Every callback may be
 *  NULL. */
typedef struct RLDictionaryKeyCallBacks {
    RLIndex version; /**< 0. */
    /** Called once for each key added; what it returns is stored. NULL: the key itself is stored. */
    const void *(*retain)(RLAllocatorRef allocator, const void *value);
    /** Called once for each key removed, also when the dictionary is freed. NULL: nothing is called. */
    void (*release)(RLAllocatorRef allocator, const void *value);
    /** Ignored; the field makes the struct compatible with CF's. */
    RLStringRef (*copyDescription)(const void *value);
    /** Returns whether two keys are equal. NULL: they are equal only if they are the same pointer. */
    RLBoolean (*equal)(const void *value1, const void *value2);
    /** Returns a hash; equal keys must have equal hashes. NULL: derived from the pointer. */
    RLHashCode (*hash)(const void *value);
} RLDictionaryKeyCallBacks;

/** The callbacks by which a dictionary handles its values. Copied when a dictionary is created. Every callback may be
 *  NULL. */
typedef struct RLDictionaryValueCallBacks {
    RLIndex version; /**< 0. */
    /** Called once for each value added; what it returns is stored. NULL: the value itself is stored. */
    const void *(*retain)(RLAllocatorRef allocator, const void *value);
    /** Called once for each value removed, also when the dictionary is freed. NULL: nothing is called. */
    void (*release)(RLAllocatorRef allocator, const void *value);
    /** Ignored; the field makes the struct compatible with CF's. */
    RLStringRef (*copyDescription)(const void *value);
    /** Returns whether two values are equal. NULL: they are equal only if they are the same pointer. */
    RLBoolean (*equal)(const void *value1, const void *value2);
} RLDictionaryValueCallBacks;

/** The callbacks for keys that are objects of the library: RLRetain, RLRelease, RLCopyDescription, RLEqual, RLHash. */
RL_EXPORT const RLDictionaryKeyCallBacks kRLTypeDictionaryKeyCallBacks;
/** The callbacks for keys that are strings. CF copies strings; since these never change, they are only retained. */
RL_EXPORT const RLDictionaryKeyCallBacks kRLCopyStringDictionaryKeyCallBacks;
/** The callbacks for values that are objects of the library: RLRetain, RLRelease, RLCopyDescription, RLEqual. */
RL_EXPORT const RLDictionaryValueCallBacks kRLTypeDictionaryValueCallBacks;
/** Receives one pair of a dictionary from RLDictionaryApplyFunction(). */
typedef void (*RLDictionaryApplierFunction)(const void *key, const void *value, void *context);

/** Returns the type ID of dictionaries, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLDictionaryGetTypeID(void);

/** Creates a dictionary from keys and values.
 *  @param keys            count pointers; of several equal ones the first is used. May be NULL if count is 0.
 *  @param values          count pointers, the values of these keys. May be NULL if count is 0.
 *  @param count           number of pairs, not negative.
 *  @param keyCallBacks    NULL: the keys are plain pointers. &kRLTypeDictionaryKeyCallBacks: objects. Or your own;
 *                         copied.
 *  @param valueCallBacks  NULL: the values are plain pointers. &kRLTypeDictionaryValueCallBacks: objects. Or your own;
 *                         copied.
 *  @return the dictionary, or NULL.
 *  Re-entrancy: calls the retain, hash and equal callbacks.  Cost: O(count). */
RL_EXPORT RLDictionaryRef RLDictionaryCreate(RLAllocatorRef allocator, const void **keys, const void **values,
                                             RLIndex count, const RLDictionaryKeyCallBacks *keyCallBacks,
                                             const RLDictionaryValueCallBacks *valueCallBacks);

/** Creates an immutable dictionary with the same pairs and callbacks. If the dictionary is immutable, this retains and
 *  returns it.
 *  @return the copy, or NULL.
 *  Re-entrancy: calls the retain callbacks.  Cost: O(count); O(1) for an immutable dictionary. */
RL_EXPORT RLDictionaryRef RLDictionaryCreateCopy(RLAllocatorRef allocator, RLDictionaryRef dictionary);

/** Creates a mutable dictionary without pairs.
 *  @param capacity        expected number of pairs; a hint, 0 if unknown. Not negative.
 *  @param keyCallBacks    NULL: the keys are plain pointers. &kRLTypeDictionaryKeyCallBacks: objects. Or your own;
 *                         copied.
 *  @param valueCallBacks  NULL: the values are plain pointers. &kRLTypeDictionaryValueCallBacks: objects. Or your own;
 *                         copied.
 *  @return the dictionary, or NULL.
 *  Cost: O(capacity). */
RL_EXPORT RLMutableDictionaryRef RLDictionaryCreateMutable(RLAllocatorRef allocator, RLIndex capacity,
                                                           const RLDictionaryKeyCallBacks *keyCallBacks,
                                                           const RLDictionaryValueCallBacks *valueCallBacks);

/** Creates a mutable dictionary with the pairs and callbacks of another one.
 *  @param capacity  expected number of pairs; a hint, 0 if unknown. Not negative.
 *  @return the dictionary, or NULL.
 *  Re-entrancy: calls the retain callbacks.  Cost: O(count). */
RL_EXPORT RLMutableDictionaryRef RLDictionaryCreateMutableCopy(RLAllocatorRef allocator, RLIndex capacity,
                                                               RLDictionaryRef dictionary);

/** Returns the number of pairs. */
RL_EXPORT RLIndex RLDictionaryGetCount(RLDictionaryRef dictionary);

/** Returns how many times a key is in the dictionary: 1 or 0.
 *  @param key  the key to search for.
 *  Re-entrancy: calls the keys' hash and equal callbacks. */
RL_EXPORT RLIndex RLDictionaryGetCountOfKey(RLDictionaryRef dictionary, const void *key);

/** Returns how many keys have a given value.
 *  @param value  the value to search for.
 *  Re-entrancy: calls the values' equal callback.  Cost: O(capacity). */
RL_EXPORT RLIndex RLDictionaryGetCountOfValue(RLDictionaryRef dictionary, const void *value);

/** Returns whether a key is in the dictionary.
 *  @param key  the key to search for.
 *  Re-entrancy: calls the keys' hash and equal callbacks. */
RL_EXPORT RLBoolean RLDictionaryContainsKey(RLDictionaryRef dictionary, const void *key);

/** Returns whether any key has a given value.
 *  @param value  the value to search for.
 *  Re-entrancy: calls the values' equal callback.  Cost: O(capacity). */
RL_EXPORT RLBoolean RLDictionaryContainsValue(RLDictionaryRef dictionary, const void *value);

/** Returns the value of a key, or NULL if the key is not in the dictionary. (NULL may also be a value.)
 *  @param key  the key to search for.
 *  Ownership: the value is valid as long as the dictionary holds it.
 *  Re-entrancy: calls the keys' hash and equal callbacks. */
RL_EXPORT const void *RLDictionaryGetValue(RLDictionaryRef dictionary, const void *key);

/** Returns whether a key is in the dictionary, and copies its value.
 *  @param key    the key to search for.
 *  @param value  receives the value, if the dictionary has the key; may be NULL.
 *  Ownership: the value is valid as long as the dictionary holds it.
 *  Re-entrancy: calls the keys' hash and equal callbacks. */
RL_EXPORT RLBoolean RLDictionaryGetValueIfPresent(RLDictionaryRef dictionary, const void *key, const void **value);

/** Copies all keys and values to buffers.
 *  @param keys    room for RLDictionaryGetCount() pointers; may be NULL.
 *  @param values  room for the same number, in the order of the keys; may be NULL.
 *  Ownership: keys and values are valid as long as the dictionary holds them.  Cost: O(capacity). */
RL_EXPORT void RLDictionaryGetKeysAndValues(RLDictionaryRef dictionary, const void **keys, const void **values);

/** Calls a function for each pair.
 *  @param applier  not NULL.
 *  @param context  passed to applier.
 *  Re-entrancy: calls applier, which must not change the dictionary.  Cost: O(capacity). */
RL_EXPORT void RLDictionaryApplyFunction(RLDictionaryRef dictionary, RLDictionaryApplierFunction applier,
                                         void *context);

/** Adds a pair, unless the dictionary has an equal key.
 *  @param key    the key of the pair.
 *  @param value  the value of the pair.
 *  Re-entrancy: calls the retain, hash and equal callbacks.  Cost: amortized O(1); may allocate. */
RL_EXPORT void RLDictionaryAddValue(RLMutableDictionaryRef dictionary, const void *key, const void *value);

/** Adds a pair, or replaces the pair with an equal key.
 *  @param key    the key of the pair.
 *  @param value  the value of the pair.
 *  Ownership: the new key and value are retained, then the old ones released.
 *  Re-entrancy: calls the retain, release, hash and equal callbacks.  Cost: amortized O(1); may allocate. */
RL_EXPORT void RLDictionarySetValue(RLMutableDictionaryRef dictionary, const void *key, const void *value);

/** Replaces the pair with an equal key. If there is none, nothing happens.
 *  @param key    the key of the pair.
 *  @param value  the value of the pair.
 *  Ownership: the new key and value are retained, then the old ones released.
 *  Re-entrancy: calls the retain, release, hash and equal callbacks. */
RL_EXPORT void RLDictionaryReplaceValue(RLMutableDictionaryRef dictionary, const void *key, const void *value);

/** Removes a key and its value.
 *  @param key  the key to search for. If it is not in the dictionary, nothing happens.
 *  Re-entrancy: calls the release, hash and equal callbacks. */
RL_EXPORT void RLDictionaryRemoveValue(RLMutableDictionaryRef dictionary, const void *key);

/** Removes all pairs.
 *  Re-entrancy: calls the release callbacks.  Cost: O(capacity). */
RL_EXPORT void RLDictionaryRemoveAllValues(RLMutableDictionaryRef dictionary);

RL_EXTERN_C_END
#endif
