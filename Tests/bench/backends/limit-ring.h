/*
 * limit-ring.h -- the limit of posting: Vyukov's bounded ring for many producers and one consumer. A producer that
 * finds the ring full yields the CPU. The consumer is woken only if it has announced that it sleeps.
 */

enum { RING_SIZE = 1 << 14 };

static struct cell { _Atomic uint64_t sequence; struct task task; } *ring;
static _Alignas(64) _Atomic uint64_t ring_tail;
static _Alignas(64) uint64_t ring_head;
static _Alignas(64) _Atomic bool ring_asleep;

static void ring_init(void)
{
    ring = allocate(RING_SIZE, sizeof *ring);
    for (uint64_t i = 0; i < RING_SIZE; i++)
        atomic_init(&ring[i].sequence, i);
    atomic_init(&ring_asleep, true);
}

/* Returns true if the consumer must be woken. */
static bool ring_push(task_function function, void *argument)
{
    uint64_t at = atomic_load_explicit(&ring_tail, memory_order_relaxed);
    for (;;) {
        struct cell *cell = &ring[at % RING_SIZE];
        uint64_t sequence = atomic_load_explicit(&cell->sequence, memory_order_acquire);
        if (sequence == at) {
            if (!atomic_compare_exchange_weak(&ring_tail, &at, at + 1))
                continue;
            cell->task = (struct task){ function, argument };
            atomic_store(&cell->sequence, at + 1);          /* before ring_asleep is read */
            return atomic_load(&ring_asleep) && atomic_exchange(&ring_asleep, false);
        }
        if ((int64_t)(sequence - at) < 0)
            sched_yield();
        at = atomic_load_explicit(&ring_tail, memory_order_relaxed);
    }
}

static void ring_drain(void)
{
    for (;;) {
        struct cell *cell = &ring[ring_head % RING_SIZE];
        if (atomic_load_explicit(&cell->sequence, memory_order_acquire) == ring_head + 1) {
            struct task task = cell->task;
            atomic_store_explicit(&cell->sequence, ring_head + RING_SIZE, memory_order_release);
            ring_head++;
            task.function(task.argument);
            continue;
        }
        atomic_store(&ring_asleep, true);                   /* then check once more */
        if (atomic_load(&cell->sequence) != ring_head + 1 || !atomic_exchange(&ring_asleep, false))
            return;
    }
}
