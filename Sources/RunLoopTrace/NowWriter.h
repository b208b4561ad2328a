/* Writing states. Now.c has the threads, NowEvents.c the effects of events, Wakings.c which thread wakes which. */
#ifndef RUNLOOP_TRACE_NOWWRITER_H
#define RUNLOOP_TRACE_NOWWRITER_H
#include "Companion.h"
#include "Now.h"

/* The calling thread; NULL if it has no state. */
extern THREAD_LOCAL struct NowThread *mine;
/* Gives the calling thread a state, if it has none. Returns 0 if out of memory. Not in a signal handler. */
int nowIsReady(void);

/* NowEvents.c */
extern const struct ProbePart nowPart;

/* Wakings.c: all of these may be called in signal handlers. */

/* Records what the calling thread has sent, and to which loop; NULL stands for any. */
void wakingSent(const struct ProbeEvent *event, const void *loop);
/* Records that the calling thread wakes a loop. */
void wakingNote(const void *loop);
/* Reads which thread last woke a loop. Returns 0 if that is not known. */
int wakingTake(const void *loop, struct NowWaking *waking);

static inline void put(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }
static inline void putPointer(uint64_t *word, const void *value) { put(word, (uintptr_t)value); }

static inline void putWords(uint64_t *words, const void *from, size_t size)
{
    for (size_t index = 0; index < size / sizeof *words; index++)
        put(words + index, ((const uint64_t *)from)[index]);
}

static inline void beginChange(void)
{
    __atomic_store_n(&mine->sequence, mine->sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void endChange(void) { __atomic_store_n(&mine->sequence, mine->sequence + 1, __ATOMIC_RELEASE); }

#endif
