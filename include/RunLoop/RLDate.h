/** @file RLDate.h
 *  Points in time as objects, for collections of objects.
 *  Example: examples/objects.c
 *
 *  A date is an object that holds an RLAbsoluteTime, and never changes. There are no calendars and no time zones: add
 *  kRLAbsoluteTimeIntervalSince1970 and use <time.h>. */
#ifndef RUNLOOP_RLDATE_H
#define RUNLOOP_RLDATE_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** A point in time. */
typedef const struct RLDate *RLDateRef;

/** Returns the type ID of dates, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLDateGetTypeID(void);

/** Creates a date.
 *  @param at  seconds since 2001-01-01 00:00 UTC. NaN is accepted, as in CF: such a date is equal only to itself, while
 *             RLDateCompare() calls it equal to every date.
 *  @return the date, or NULL. */
RL_EXPORT RLDateRef RLDateCreate(RLAllocatorRef allocator, RLAbsoluteTime at);

/** Returns the time of a date in seconds since 2001-01-01 00:00 UTC. */
RL_EXPORT RLAbsoluteTime RLDateGetAbsoluteTime(RLDateRef date);

/** Returns the seconds from otherDate to date; negative if date is the earlier one. */
RL_EXPORT RLTimeInterval RLDateGetTimeIntervalSinceDate(RLDateRef date, RLDateRef otherDate);

/** Compares two dates.
 *  @param context  NULL; gives the function the form of an RLComparatorFunction.
 *  @return kRLCompareLessThan if date is the earlier one, kRLCompareEqualTo or kRLCompareGreaterThan. */
RL_EXPORT RLComparisonResult RLDateCompare(RLDateRef date, RLDateRef otherDate, void *context);

RL_EXTERN_C_END
#endif
