/** @file RLNotificationCenter.h
 *  Notifications: a program announces events by name, and calls the observers that registered for them.
 *  Example: examples/notifications.c
 *
 *  Observers register for a name, an object, or both; a notification is posted with both. Posting calls the observers'
 *  callbacks one after the other, on the thread that posts, before it returns: no run loop is needed. To notify another
 *  thread, post from a function that is performed there (RLRunLoopPerform.h).
 *
 *  Callbacks are called in the order in which the observers were added. An observer that is removed before its turn is
 *  not called any more; one that is added in a callback is called from the next notification on. A callback that
 *  another thread has begun may still run when a removal returns.
 *
 *  Deliberate differences from CFNotificationCenter
 *  ------------------------------------------------
 *  1. There is only the local centre: Linux has no counterpart of the distributed and the Darwin centre. */
#ifndef RUNLOOP_RLNOTIFICATIONCENTER_H
#define RUNLOOP_RLNOTIFICATIONCENTER_H
#include <RunLoop/RLBase.h>
#include <RunLoop/RLDictionary.h>
RL_EXTERN_C_BEGIN

/** A notification centre. */
typedef struct RLNotificationCenter *RLNotificationCenterRef;
/** The name of a notification. */
typedef RLStringRef RLNotificationName;

/** Receives a notification.
 *  @param center    the local centre.
 *  @param observer  as passed to RLNotificationCenterAddObserver().
 *  @param name      the name that was posted.
 *  @param object    the object that was posted.
 *  @param userInfo  what was posted with it; valid during the call. */
typedef void (*RLNotificationCallback)(RLNotificationCenterRef center, void *observer, RLNotificationName name,
                                       const void *object, RLDictionaryRef userInfo);

/** What happens while the process is suspended: one of the constants below. The local centre ignores it. */
typedef RLIndex RLNotificationSuspensionBehavior;
/** The behaviours; the names and values are CF's. */
enum {
    RLNotificationSuspensionBehaviorDrop = 1,              /**< Ignored. */
    RLNotificationSuspensionBehaviorCoalesce = 2,          /**< Ignored. */
    RLNotificationSuspensionBehaviorHold = 3,              /**< Ignored. */
    RLNotificationSuspensionBehaviorDeliverImmediately = 4 /**< What is always done. */
};

/** Options of RLNotificationCenterPostNotificationWithOptions(); the values are CF's. */
enum {
    kRLNotificationDeliverImmediately = 1UL << 0, /**< What is always done. */
    kRLNotificationPostToAllSessions = 1UL << 1   /**< Ignored: the local centre has one. */
};

/** Returns the kind of notification centres, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLNotificationCenterGetTypeID(void);

/** Returns the notification centre of the process.
 *  Ownership: Get rule; never freed. */
RL_EXPORT RLNotificationCenterRef RLNotificationCenterGetLocalCenter(void);

/** Adds an observer. One that is added twice is called twice.
 *  @param observer  identifies the observer and is passed to callBack; only compared. May be NULL.
 *  @param callBack  not NULL; called for each notification that matches.
 *  @param name      the name to observe; NULL: every name.
 *  @param object    the object to observe; NULL: every object. Only compared.
 *  @param suspensionBehavior  ignored.
 *  Ownership: observer and object are not retained: remove the observer before they are freed.
 *  Cost: amortised O(1); may allocate. */
RL_EXPORT void RLNotificationCenterAddObserver(RLNotificationCenterRef center, const void *observer,
                                               RLNotificationCallback callBack, RLStringRef name, const void *object,
                                               RLNotificationSuspensionBehavior suspensionBehavior);

/** Removes what was added for an observer. It has no effect if there is nothing to remove.
 *  @param observer  as passed to RLNotificationCenterAddObserver().
 *  @param name      only what was added for this name; NULL: for any.
 *  @param object    only what was added for this object; NULL: for any.
 *  Cost: O(observers). */
RL_EXPORT void RLNotificationCenterRemoveObserver(RLNotificationCenterRef center, const void *observer,
                                                  RLNotificationName name, const void *object);

/** Removes everything that was added for an observer.
 *  @param observer  as passed to RLNotificationCenterAddObserver().
 *  Cost: O(observers). */
RL_EXPORT void RLNotificationCenterRemoveEveryObserver(RLNotificationCenterRef center, const void *observer);

/** Calls all observers of this name and this object.
 *  @param object    what it is about; may be NULL.
 *  @param userInfo  more about it; may be NULL.
 *  @param deliverImmediately  ignored: delivery always is.
 *  Re-entrancy: calls the observers' callbacks, in which more notifications may be posted.  Cost: O(observers). */
RL_EXPORT void RLNotificationCenterPostNotification(RLNotificationCenterRef center, RLNotificationName name,
                                                    const void *object, RLDictionaryRef userInfo,
                                                    RLBoolean deliverImmediately);

/** RLNotificationCenterPostNotification() with CF's options.
 *  @param object    what it is about; may be NULL.
 *  @param userInfo  more about it; may be NULL.
 *  @param options   ignored.
 *  Re-entrancy: calls the observers' callbacks, in which more notifications may be posted.  Cost: O(observers). */
RL_EXPORT void RLNotificationCenterPostNotificationWithOptions(RLNotificationCenterRef center, RLNotificationName name,
                                                               const void *object, RLDictionaryRef userInfo,
                                                               RLOptionFlags options);

RL_EXTERN_C_END
#endif
