/* Writing states: Now.c has the threads, NowEvents.c what events change, Wakings.c who wakes whom. */
#ifndef RUNLOOP_TRACE_NOWWRITER_H
#define RUNLOOP_TRACE_NOWWRITER_H
#include "Companion.h"
#include "Now.h"

/* The calling thread, if it has a state. */
extern THREAD_LOCAL struct NowThread *mine;
/* Gives the calling thread a state, if it has none. 0 without memory. Not in a signal handler. */
int nowIsReady(void);

/* NowEvents.c */
extern const RLRunLoopProbe nowProbe;

/* Wakings.c; signal handlers may call these. */

/* Remembers what the calling thread has sent, and where to: NULL is anywhere. */
void wakingSent(const RLRunLoopProbeEvent *event, const void *loop);
/* Notes that the calling thread wakes a loop. */
void wakingNote(const void *loop);
/* Reads who has woken a loop last. 0 if that is not known. */
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
