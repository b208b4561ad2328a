/** @file RLDate.h
 *  Points in time as objects, for collections of objects.
 *
 *  A date is an RLAbsoluteTime that is counted and never changes. There are no calendars and no time zones: add
 *  kRLAbsoluteTimeIntervalSince1970 and use what <time.h> has. */
#ifndef RUNLOOP_RLDATE_H
#define RUNLOOP_RLDATE_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** A point in time. */
typedef const struct RLDate *RLDateRef;

/** Tells the kind of dates, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLTypeID RLDateGetTypeID(void);

/** Makes a date.
 *  @param allocator  NULL.
 *  @param at         seconds since 2001-01-01 00:00 UTC.
 *  @return the date, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM.
 *  Cost: O(1), one allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLDateRef RLDateCreate(RLAllocatorRef allocator, RLAbsoluteTime at);

/** Tells the time of a date.
 *  @param date  not NULL.
 *  @return seconds since 2001-01-01 00:00 UTC, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLAbsoluteTime RLDateGetAbsoluteTime(RLDateRef date);

/** Tells the time between two dates.
 *  @param date       not NULL.
 *  @param otherDate  not NULL.
 *  @return seconds from otherDate to date, negative if date is the earlier one; 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLTimeInterval RLDateGetTimeIntervalSinceDate(RLDateRef date, RLDateRef otherDate);

/** Compares two dates.
 *  @param date       not NULL.
 *  @param otherDate  not NULL.
 *  @param context    NULL. Here so that the function is an RLComparatorFunction in shape.
 *  @return kRLCompareLessThan if date is the earlier one, kRLCompareEqualTo or kRLCompareGreaterThan;
 *  kRLCompareEqualTo on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives kRLCompareEqualTo.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLComparisonResult RLDateCompare(RLDateRef date, RLDateRef otherDate, void *context);

RL_EXTERN_C_END
#endif
