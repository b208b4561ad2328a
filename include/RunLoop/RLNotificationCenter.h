/** @file RLNotificationCenter.h
 *  Notifications: telling everybody in the process who wants to know.
 *
 *  Observers ask for a name, an object, or both; whoever posts a notification names both. Posting calls the
 *  observers' callbacks one after the other, on the thread that posts, before it returns: a run loop is not
 *  needed. To tell another thread, post from a function that is performed there (RLRunLoopPerform.h).
 *
 *  Callbacks are called in the order in which the observers were added. Whoever is removed before its turn is not
 *  called any more; whoever is added in a callback is called from the next notification on. A callback that
 *  another thread has begun may still run when a removal returns.
 *
 *  Deliberate differences from CFNotificationCenter
 *  ------------------------------------------------
 *  1. There is the local centre only. Nothing on Linux stands behind the distributed and the Darwin one. */
#ifndef RUNLOOP_RLNOTIFICATIONCENTER_H
#define RUNLOOP_RLNOTIFICATIONCENTER_H
#include <RunLoop/RLBase.h>
#include <RunLoop/RLDictionary.h>
RL_EXTERN_C_BEGIN

/** A notification centre. */
typedef struct RLNotificationCenter *RLNotificationCenterRef;
/** The name of a notification. */
typedef RLStringRef RLNotificationName;

/** Hears of a notification.
 *  @param center    the local centre.
 *  @param observer  as it was given to RLNotificationCenterAddObserver().
 *  @param name      the name that was posted.
 *  @param object    the object that was posted.
 *  @param userInfo  what was posted with it; valid during the call. */
typedef void (*RLNotificationCallback)(RLNotificationCenterRef center, void *observer, RLNotificationName name,
                                       const void *object, RLDictionaryRef userInfo);

/** What happens while the process is suspended: one of the constants below. All are the same for the local centre. */
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

/** Tells the kind of notification centres, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/notifications.c */
RL_EXPORT RLTypeID RLNotificationCenterGetTypeID(void);

/** Gives the notification centre of the process.
 *  @return the centre; the same for the life of the process.
 *  Ownership: Get rule; never freed.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: none.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/notifications.c */
RL_EXPORT RLNotificationCenterRef RLNotificationCenterGetLocalCenter(void);

/** Adds an observer. One that is added twice is called twice.
 *  @param center              not NULL.
 *  @param observer            who wants to know; only compared and handed on. May be NULL.
 *  @param callBack            not NULL.
 *  @param name                the name to hear of; NULL: every name.
 *  @param object              the object to hear of; NULL: every object. Only compared.
 *  @param suspensionBehavior  ignored.
 *  Ownership: name is retained; observer and object are not: remove the observer before they go.  Thread: any.
 *  Re-entrancy: allowed in callbacks.
 *  Errors: errno ENOMEM, and nothing is added; a NULL center or callBack, or another kind of object, is reported;
 *  nothing is added.
 *  Cost: amortised O(1); may allocate.  Since: 0.1.  Example: examples/notifications.c */
RL_EXPORT void RLNotificationCenterAddObserver(RLNotificationCenterRef center, const void *observer,
                                               RLNotificationCallback callBack, RLStringRef name, const void *object,
                                               RLNotificationSuspensionBehavior suspensionBehavior);

/** Removes what was added for an observer. If there is nothing nothing is done.
 *  @param center    not NULL.
 *  @param observer  who does not want to know any more.
 *  @param name      only what was added for this name; NULL: for any.
 *  @param object    only what was added for this object; NULL: for any.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a NULL center or another kind of object is reported; nothing is removed.
 *  Cost: O(observers), no allocation.  Since: 0.1.  Example: examples/notifications.c */
RL_EXPORT void RLNotificationCenterRemoveObserver(RLNotificationCenterRef center, const void *observer,
                                                  RLNotificationName name, const void *object);

/** Removes everything that was added for an observer.
 *  @param center    not NULL.
 *  @param observer  who does not want to know any more.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a NULL center or another kind of object is reported; nothing is removed.
 *  Cost: O(observers), no allocation.  Since: 0.1.  Example: examples/notifications.c */
RL_EXPORT void RLNotificationCenterRemoveEveryObserver(RLNotificationCenterRef center, const void *observer);

/** Calls everybody who wants to hear of this name and this object.
 *  @param center              not NULL.
 *  @param name                not NULL.
 *  @param object              what it is about; may be NULL.
 *  @param userInfo            more about it; may be NULL.
 *  @param deliverImmediately  ignored: it always is.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks, also in those of notifications; calls
 *  the observers' callbacks.
 *  Errors: a NULL center or name, or another kind of object, is reported; nobody is called.
 *  Cost: O(observers), no allocation.  Since: 0.1.  Example: examples/notifications.c */
RL_EXPORT void RLNotificationCenterPostNotification(RLNotificationCenterRef center, RLNotificationName name,
                                                    const void *object, RLDictionaryRef userInfo,
                                                    RLBoolean deliverImmediately);

/** The same as RLNotificationCenterPostNotification().
 *  @param center    not NULL.
 *  @param name      not NULL.
 *  @param object    what it is about; may be NULL.
 *  @param userInfo  more about it; may be NULL.
 *  @param options   ignored.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks, also in those of notifications; calls
 *  the observers' callbacks.
 *  Errors: a NULL center or name, or another kind of object, is reported; nobody is called.
 *  Cost: O(observers), no allocation.  Since: 0.1.  Example: examples/notifications.c */
RL_EXPORT void RLNotificationCenterPostNotificationWithOptions(RLNotificationCenterRef center, RLNotificationName name,
                                                               const void *object, RLDictionaryRef userInfo,
                                                               RLOptionFlags options);

RL_EXTERN_C_END
#endif
