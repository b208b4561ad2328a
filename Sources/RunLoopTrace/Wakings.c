/* Which thread wakes which loop. The waking thread records it before the loop can be awake; the loop reads it. */
#include "NowWriter.h"
#include <unistd.h>

/* What this thread has sent last. */
static THREAD_LOCAL volatile struct {
    const void *loop;
    uint64_t kind, function;
} lastSent;

/* The last wake-up of each loop. A wake-up is not recorded if another thread, or code that the waking signal handler has interrupted, is
   writing the same slot. */
static struct {
    uint64_t loop;
    struct NowWaking waking;
    uint32_t sequence;
} wakings[64];

static unsigned slotOf(const void *loop) { return (unsigned)((uintptr_t)loop >> 6) % 64; }

void wakingNote(const void *loop)
{
    uint32_t *sequence = &wakings[slotOf(loop)].sequence, before = __atomic_load_n(sequence, __ATOMIC_RELAXED);
    if (before % 2 != 0 ||
        !__atomic_compare_exchange_n(sequence, &before, before + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    struct NowWaking *waking = &wakings[slotOf(loop)].waking;
    int isKnown = lastSent.kind != 0 && (lastSent.loop == NULL || lastSent.loop == loop);
    putPointer(&wakings[slotOf(loop)].loop, loop);
    put(&waking->when, clockNow());
    put(&waking->thread, (uint64_t)gettid());
    put(&waking->kind, isKnown ? lastSent.kind : 0);
    put(&waking->function, lastSent.function);
    __atomic_store_n(sequence, before + 2, __ATOMIC_RELEASE);
    lastSent.kind = 0;
}

int wakingTake(const void *loop, struct NowWaking *waking)
{
    const uint32_t *sequence = &wakings[slotOf(loop)].sequence;
    uint32_t before = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    uint64_t its = __atomic_load_n(&wakings[slotOf(loop)].loop, __ATOMIC_RELAXED);
    for (size_t index = 0; index < sizeof *waking / sizeof(uint64_t); index++)
        ((uint64_t *)waking)[index] =
            __atomic_load_n((uint64_t *)&wakings[slotOf(loop)].waking + index, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return before % 2 == 0 && before == __atomic_load_n(sequence, __ATOMIC_RELAXED) && its == (uintptr_t)loop;
}

void wakingSent(const struct ProbeEvent *event, const void *loop)
{
    lastSent.loop = loop;
    lastSent.kind = event->kind;
    lastSent.function = (uintptr_t)event->function;
}
