/* A group with three members, each of which has a pair of sockets, for tests of RLStreamGroup. */
#ifndef RUNLOOP_TESTS_KIT_STREAM_GROUP_H
#define RUNLOOP_TESTS_KIT_STREAM_GROUP_H
#include "stream-forward.h"

enum { count = 3 };
static RLStreamGroupRef group;
static struct spy spies[count];
static int peers[count];

static inline void make_members(void)
{
    group = RLStreamGroupCreate(NULL);
    ck_assert_ptr_nonnull(group);
    for (int i = 0; i < count; i++) {
        spies[i] = (struct spy){0};
        peers[i] = spy_on_pair(&spies[i]);
        ck_assert_int_eq(RLStreamGroupAdd(group, spies[i].stream), i + 1);
    }
}

/* Closes all members, which leaves the group empty, and releases it. */
static inline void end_members(void)
{
    for (int i = 0; i < count; i++) {
        if (spies[i].stream != NULL)
            end_spy(&spies[i]);
        close(peers[i]);
    }
    ck_assert_int_eq(RLStreamGroupGetCount(group), 0);
    RLRelease(group);
}

static inline RLIndex write_text(const char *text, RLStreamRef except)
{
    return RLStreamGroupWrite(group, text, (RLIndex)strlen(text), except);
}

/* What the peers of the members have received. */
static inline void assert_taken(const char *first, const char *second, const char *third)
{
    ck_assert_str_eq(take(peers[0]), first);
    ck_assert_str_eq(take(peers[1]), second);
    ck_assert_str_eq(take(peers[2]), third);
}

#endif
