/** @file RLNotificationCenter.h
 *  Notifications: a program announces events by name, and the observers that registered for them are called.
 *  Example: examples/notifications.c
 *
 *  Observers register for a name, an object, or both; a notification is posted with both. Posting calls the observers'
 *  callbacks one after the other, on the posting thread, before it returns: no run loop is needed. To notify another
 *  thread, post from a function that is performed there (RLRunLoopPerform.h).
 *
 *  Callbacks are called in the order in which the observers were added. An observer that is removed before its turn is
 *  not called; one that is added in a callback is called from the next notification on. A callback that another thread
 *  has begun may still be running when a removal returns.
 *
 *  Deliberate differences from CFNotificationCenter
 *  ------------------------------------------------
 *  1. There is only the local center: Linux has no counterpart of the distributed and Darwin centers. */
#ifndef RUNLOOP_RLNOTIFICATIONCENTER_H
#define RUNLOOP_RLNOTIFICATIONCENTER_H
#include <RunLoop/RLBase.h>
#include <RunLoop/RLDictionary.h>
RL_EXTERN_C_BEGIN

/** A notification center. */
typedef struct RLNotificationCenter *RLNotificationCenterRef;
/** The name of a notification. */
typedef RLStringRef RLNotificationName;

/** Receives a notification.
 *  @param center    the local center.
 *  @param observer  as passed to RLNotificationCenterAddObserver().
 *  @param name      the name that was posted.
 *  @param object    the object that was posted.
 *  @param userInfo  the dictionary that was posted with it; valid during the callback. */
typedef void (*RLNotificationCallback)(RLNotificationCenterRef center, void *observer, RLNotificationName name,
                                       const void *object, RLDictionaryRef userInfo);

/** What happens while the process is suspended: one of the constants below. The local center ignores it. */
typedef RLIndex RLNotificationSuspensionBehavior;
/** The suspension behaviors; the names and values are those of CF. */
enum {
    RLNotificationSuspensionBehaviorDrop = 1,              /**< Ignored. */
    RLNotificationSuspensionBehaviorCoalesce = 2,          /**< Ignored. */
    RLNotificationSuspensionBehaviorHold = 3,              /**< Ignored. */
    RLNotificationSuspensionBehaviorDeliverImmediately = 4 /**< This is always done. */
};

/** Options of RLNotificationCenterPostNotificationWithOptions(); the values are those of CF. */
enum {
    kRLNotificationDeliverImmediately = 1UL << 0, /**< This is always done. */
    kRLNotificationPostToAllSessions = 1UL << 1   /**< Ignored: the local center has one session. */
};

/** Returns the type ID of notification centers, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLNotificationCenterGetTypeID(void);

/** Returns the notification center of the process.
 *  Ownership: Get rule; never freed. */
RL_EXPORT RLNotificationCenterRef RLNotificationCenterGetLocalCenter(void);

/** Adds an observer. An observer that is added twice is called twice.
 *  @param observer  identifies the observer; it is only compared, and passed to callBack. May be NULL.
 *  @param callBack  not NULL; called for each matching notification.
 *  @param name      the name to observe; NULL: every name.
 *  @param object    the object to observe, which is only compared; NULL: every object.
 *  @param suspensionBehavior  ignored.
 *  Ownership: observer and object are not retained: remove the observer before they are freed.
 *  Cost: amortized O(1); may allocate. */
RL_EXPORT void RLNotificationCenterAddObserver(RLNotificationCenterRef center, const void *observer,
                                               RLNotificationCallback callBack, RLStringRef name, const void *object,
                                               RLNotificationSuspensionBehavior suspensionBehavior);

/** Removes registrations of an observer. It has no effect if there is nothing to remove.
 *  @param observer  as passed to RLNotificationCenterAddObserver().
 *  @param name      remove only registrations for this name; NULL: for any name.
 *  @param object    remove only registrations for this object; NULL: for any object.
 *  Cost: O(observers). */
RL_EXPORT void RLNotificationCenterRemoveObserver(RLNotificationCenterRef center, const void *observer,
                                                  RLNotificationName name, const void *object);

/** Removes all registrations of an observer.
 *  @param observer  as passed to RLNotificationCenterAddObserver().
 *  Cost: O(observers). */
RL_EXPORT void RLNotificationCenterRemoveEveryObserver(RLNotificationCenterRef center, const void *observer);

/** Calls all observers of this name and this object.
 *  @param object    the object that the notification is about; may be NULL.
 *  @param userInfo  further information; may be NULL.
 *  @param deliverImmediately  ignored: delivery is always immediate.
 *  Re-entrancy: calls the observers' callbacks, in which more notifications may be posted.  Cost: O(observers). */
RL_EXPORT void RLNotificationCenterPostNotification(RLNotificationCenterRef center, RLNotificationName name,
                                                    const void *object, RLDictionaryRef userInfo,
                                                    RLBoolean deliverImmediately);

/** Calls all observers of this name and this object: RLNotificationCenterPostNotification() with CF's options.
 *  @param object    the object that the notification is about; may be NULL.
 *  @param userInfo  further information; may be NULL.
 *  @param options   ignored.
 *  Re-entrancy: calls the observers' callbacks, in which more notifications may be posted.  Cost: O(observers). */
RL_EXPORT void RLNotificationCenterPostNotificationWithOptions(RLNotificationCenterRef center, RLNotificationName name,
                                                               const void *object, RLDictionaryRef userInfo,
                                                               RLOptionFlags options);

RL_EXTERN_C_END
#endif
