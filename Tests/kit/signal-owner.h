/* Helpers shared by the tests of RLSignal. */
#ifndef RUNLOOP_TESTS_KIT_SIGNAL_H
#define RUNLOOP_TESTS_KIT_SIGNAL_H
#include "kit.h"
#include <signal.h>

struct owner {
    RLSignalRef object;
    int calls;
    RLIndex count; /* total of all callbacks */
    RLSignalInfo last;
    siginfo_t siginfo;
    const char *name;
    void (*action)(struct owner *owner);
};

static inline void called(RLSignalRef signal, const RLSignalInfo *information, void *info)
{
    struct owner *owner = info;
    require(signal == owner->object);
    owner->calls++;
    owner->count += information->count;
    owner->last = *information;
    memcpy(&owner->siginfo, information->siginfo, sizeof owner->siginfo);
    if (owner->name)
        note(owner->name);
    if (owner->action)
        owner->action(owner);
}

static inline void make_owner(struct owner *owner, int number, RLIndex order)
{
    RLSignalContext context = {.info = owner};
    owner->object = RLSignalCreate(NULL, number, order, called, &context);
    ck_assert_ptr_nonnull(owner->object);
}

static inline void own(struct owner *owner, int number)
{
    make_owner(owner, number, 0);
    add(owner->object);
}

static inline bool is_caught(int number)
{
    struct sigaction action;
    require(sigaction(number, NULL, &action) == 0);
    return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

#endif
