/** @file RLStreamGroup.h
 *  Groups of streams: one call writes to every member.
 *  Examples: examples/chat.c, examples/rooms.c
 *
 *      RLStreamGroupRef members = RLStreamGroupCreate(NULL);
 *      RLStreamGroupAdd(members, stream);
 *      RLStreamGroupWrite(members, bytes, length, NULL);
 *
 *  A stream may be in several groups, and its group may have members in loops of other threads. A stream leaves its
 *  groups when it is closed or freed, so members need no clean-up.
 *
 *  Slow members
 *  ------------
 *  A member whose queue has reached its high-water mark (RLStreamSetHighWaterMark()) is too slow. RLStreamGroupWrite()
 *  does not write to it: both of its directions fail with ENOBUFS. Its own loop reports kRLStreamEventErrorOccurred,
 *  and the program closes it, as after every error. So no member misses anything without notice, and one that does not
 *  read costs at most its mark and one write in memory.
 *
 *  Threads, order, fork
 *  --------------------
 *  Any thread may call any function. Only one thread at a time writes to a group, and others wait for it: what several
 *  threads write reaches all members in the same order. In the child of a fork() a group has the same members, and
 *  writes to connections that parent and child share. The functions of a filter must not use groups.
 *
 *  Life
 *  ----
 *  A group does not keep its members alive. The members keep the group: it lives until it has been released and each of
 *  its members has been removed or freed. So a group may be the info of its members, without being retained: also in a
 *  callback after RLStreamClose(), in functions of RLStreamFlush(), and in the release of a context. */
#ifndef RUNLOOPKIT_RLSTREAMGROUP_H
#define RUNLOOPKIT_RLSTREAMGROUP_H
#include <RunLoopKit/RLStream.h>
RL_EXTERN_C_BEGIN

/** A number of streams. It is a source only so that it is an object: do not add it to a loop. */
typedef RLRunLoopSourceRef RLStreamGroupRef;

/** Creates a group without members.
 *  @return the group, or NULL. */
RL_EXPORT RLStreamGroupRef RLStreamGroupCreate(RLAllocatorRef allocator);

/** Adds a stream to a group. No effect if it is a member already.
 *  @return how many members the group has then; 0 if the stream is not a member.
 *  Ownership: the stream retains the group until it is removed or freed; the group does not retain the stream.
 *  Errors: 0 with errno EBADF if the stream is closed.  Cost: O(groups of the stream), one allocation. */
RL_EXPORT RLIndex RLStreamGroupAdd(RLStreamGroupRef group, RLStreamRef stream);

/** Removes a stream from a group.
 *  @return 1, or 0 if it was not a member.
 *  Thread: another thread that is writing to the group may still write to the stream.
 *  Cost: O(groups of the stream). */
RL_EXPORT RLBoolean RLStreamGroupRemove(RLStreamGroupRef group, RLStreamRef stream);

/** Returns how many members a group has: streams that have been added and are not closed. */
RL_EXPORT RLIndex RLStreamGroupGetCount(RLStreamGroupRef group);

/** Writes bytes to all members, in the order in which they joined, as RLStreamWrite() does.
 *  Members that are too slow fail: see "Slow members". So does one for which there is no memory, with ENOMEM. Members
 *  that cannot be written any more are skipped.
 *  @param bytes   NULL if there are none.
 *  @param length  how many; with 0 nothing is written.
 *  @param except  a stream that is skipped, for instance the one that sent the bytes; NULL: none.
 *  @return how many members have taken the bytes: they are written or queued.
 *  Thread: waits while another thread writes to the group.
 *  Errors: 0 with errno EDEADLK in a filter's function that was called by a write to this group.
 *  Cost: O(members); for each of them, that of RLStreamWrite(). 1024 bytes and more are copied once, for all members
 *  together; fewer are copied for each member that has to queue them. */
RL_EXPORT RLIndex RLStreamGroupWrite(RLStreamGroupRef group, const void *bytes, RLIndex length, RLStreamRef except);

RL_EXTERN_C_END
#endif
