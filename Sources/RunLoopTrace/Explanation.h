/* Shared declarations of Explain.c, ModeItems.c and Spinning.c, which write an explanation together. */
#ifndef RUNLOOP_TRACE_EXPLANATION_H
#define RUNLOOP_TRACE_EXPLANATION_H
#include "Now.h"
#include "Words.h"

/* What is being explained, and where the text goes. */
struct Explanation {
    FILE *text;
    struct Module *modules;
    const struct NowSnapshot *now;
    uint64_t time;
    int isOwn, mayWait; /* isOwn: the loop is the calling thread's. mayWait: see explain() */
};

static inline uint64_t since(const struct Explanation *it, uint64_t when)
{
    return it->time > when ? it->time - when : 0;
}

/* Whether a function is librunloop's own. */
static inline int isOfLibrary(const struct Explanation *it, uint64_t function)
{
    int isOurs;
    functionName(it->modules, function, &isOurs);
    return isOurs;
}

/* ModeItems.c */

/* Describes what keeps a run in a mode from ending. */
void sayWhatKeeps(struct Explanation *it, const char *mode);
/* Returns the descriptor of the source with this function in the mode of the last sleep, or -1. */
int descriptorOfSource(struct Explanation *it, uint64_t function);

/* Spinning.c */

/* Returns the callback that a loop which does not rest calls most; NULL if the loop rests. */
const struct NowCallee *spinningOn(const struct NowState *state, uint64_t time);
/* Describes that the loop does not rest, and why. */
void saySpinning(struct Explanation *it, const struct NowState *state, const struct NowCallee *most);

#endif
