/* What the parts of an explanation share: Explain.c, ModeItems.c, Spinning.c. */
#ifndef RUNLOOP_TRACE_EXPLANATION_H
#define RUNLOOP_TRACE_EXPLANATION_H
#include "Now.h"
#include "Words.h"

/* What is explained, and into what. */
struct Explanation {
    FILE *text;
    struct Module *modules;
    const struct NowSnapshot *now;
    uint64_t time;
    int isOwn, mayWait; /* the loop is that of the calling thread */
};

static inline uint64_t since(const struct Explanation *it, uint64_t when)
{
    return it->time > when ? it->time - when : 0;
}

/* Whether a function is one that the library calls for itself. */
static inline int isOfLibrary(const struct Explanation *it, uint64_t function)
{
    int isOurs;
    functionName(it->modules, function, &isOurs);
    return isOurs;
}

/* ModeItems.c */

/* Says why a run in a mode does not end. */
void sayWhatKeeps(struct Explanation *it, const char *mode);
/* The descriptor of the source that has this function in the mode of the last sleep, or -1. */
int descriptorOfSource(struct Explanation *it, uint64_t function);

/* Spinning.c */

/* What a loop that does not rest calls most; NULL if it rests. */
const struct NowCallee *spinningOn(const struct NowState *state, uint64_t time);
/* Says that it does, and why. */
void saySpinning(struct Explanation *it, const struct NowState *state, const struct NowCallee *most);

#endif
