/*
 * limit-wheel.h -- the limit of timers: a hierarchical timing wheel with ticks of 1.024 us and entries in one array. It
 * has no thread safety, no objects, and no order within a tick.
 */

struct entry { struct entry *next, **previous; uint64_t due; };          /* due in ticks */

enum { TICK_SHIFT = 10, LEVEL_BITS = 6, SLOTS = 1 << LEVEL_BITS, LEVELS = 9 };

static struct {
    struct entry *entries;
    uint64_t now;                           /* in ticks                                     */
    uint64_t occupied[LEVELS];              /* bits may be stale: a cancel leaves them      */
    struct entry *slot[LEVELS][SLOTS];
    size_t pending;
} wheel;

static void wheel_insert(struct entry *entry)
{
    int level = (63 - __builtin_clzll(entry->due ^ wheel.now)) / LEVEL_BITS;
    int slot = (int)(entry->due >> (level * LEVEL_BITS)) & (SLOTS - 1);
    struct entry **head = &wheel.slot[level][slot];
    entry->next = *head;
    entry->previous = head;
    if (entry->next)
        entry->next->previous = &entry->next;
    *head = entry;
    wheel.occupied[level] |= 1ull << slot;
}

static void wheel_remove(struct entry *entry)
{
    *entry->previous = entry->next;
    if (entry->next)
        entry->next->previous = entry->previous;
}

/* Finds the next tick at which an occupied slot must be examined; returns false if nothing is pending. */
static bool wheel_next(uint64_t *when, int *level, int *slot)
{
    for (int k = 0; k < LEVELS; k++) {
        uint64_t digit = (wheel.now >> (k * LEVEL_BITS)) & (SLOTS - 1);
        uint64_t bits = wheel.occupied[k] & ~((2ull << digit) - 1);
        for (; bits; bits &= bits - 1) {
            *slot = __builtin_ctzll(bits);
            if (wheel.slot[k][*slot]) {
                uint64_t above = wheel.now >> (k * LEVEL_BITS) & ~(uint64_t)(SLOTS - 1);
                *when = (above | (uint64_t)*slot) << (k * LEVEL_BITS);
                *level = k;
                return true;
            }
            wheel.occupied[k] &= ~(1ull << *slot);
        }
    }
    return false;
}

static void wheel_expire(uint64_t now_ns)
{
    uint64_t target = now_ns >> TICK_SHIFT, when;
    int level, slot;
    while (wheel_next(&when, &level, &slot) && when <= target) {
        struct entry *entry = wheel.slot[level][slot], *next;
        wheel.slot[level][slot] = NULL;
        wheel.occupied[level] &= ~(1ull << slot);
        wheel.now = when;
        for (; entry; entry = next) {
            next = entry->next;
            if (entry->due <= wheel.now) {
                wheel.pending--;
                on_timer((size_t)(entry - wheel.entries));
            } else {
                wheel_insert(entry);
            }
        }
    }
    if (wheel.now < target)
        wheel.now = target;
}

/* ---- the functions required by loop.h ------------------------------------------------------------ */

static uint64_t wheel_base;

static void timers_init(struct loop *l, size_t n)
{
    (void)l;
    wheel_base = now_ns();
    if (wheel.entries)
        return;
    wheel.entries = malloc(n * sizeof *wheel.entries);
    CHECK(wheel.entries != NULL);
    wheel.now = wheel_base >> TICK_SHIFT;
}

static void timer_add(struct loop *l, size_t i, uint64_t delay_ns)
{
    (void)l;
    wheel.entries[i].due = ((wheel_base + delay_ns) >> TICK_SHIFT) + 1;
    wheel.pending++;
    wheel_insert(&wheel.entries[i]);
}

static void timer_cancel(struct loop *l, size_t i)
{
    (void)l;
    wheel.pending--;
    wheel_remove(&wheel.entries[i]);
}

static void timer_rearm(struct loop *l, size_t i, uint64_t delay_ns)
{
    timer_cancel(l, i);
    timer_add(l, i, delay_ns);
}

static void timers_settle(struct loop *l) { (void)l; }
#define timer_once timer_add
