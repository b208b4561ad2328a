/* The configuration that a seed selects. */
#include "fuzz.h"

struct config config = {.patience = 30, .theme = -1};
const char *const kind_names[KINDS] = {
    "source", "version-1 source", "timer", "observer", "descriptor", "socket", "port", "local", "remote"};
const char *const act_names[ACTS] = {"create",     "drop",    "add",    "remove",         "move",
                                     "invalidate", "signal",  "enable", "set date",       "send",
                                     "request",    "perform", "wait",   "cancel perform", "nest",
                                     "stop",       "wake",    "exit",   "cancel",         "point of cancellation",
                                     "fork",       "look",    "pause",  "answer",         "raise"};

uint64_t roll(struct dice *dice)
{
    uint64_t z = dice->state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

struct dice dice_of(uint64_t seed, unsigned who)
{
    struct dice dice = {seed * 0x2545f4914f6cdd1d + who};
    roll(&dice);
    return dice;
}

/* How often each act occurs in a mixture of all acts. Creating and adding has to keep up with ending. */
static const unsigned usual[ACTS] = {
    [CREATE] = 10,    [DROP] = 1,    [ADD] = 16,        [REMOVE] = 6,         [MOVE] = 6,
    [INVALIDATE] = 6, [SIGNAL] = 16, [ENABLE] = 4,      [SET_DATE] = 3,       [SEND] = 5,
    [REQUEST] = 5,    [PERFORM] = 6, [WAIT_FOR] = 1,    [CANCEL_PERFORM] = 1, [NEST] = 4,
    [STOP] = 1,       [WAKE] = 4,    [EXIT_THREAD] = 2, [CANCEL_THREAD] = 1,  [CANCELLATION_POINT] = 1,
    [FORK] = 1,       [LOOK] = 3,    [PAUSE] = 4,       [ANSWER] = 1,         [RAISE] = 1,
};

/* Past defects. Each one needs some kinds, few objects, and many of some acts. Half of all seeds use one of these
 * themes. */
static const struct theme {
    const char *about;
    unsigned kinds;
    int slots, loops;
    enum act often[5];
    enum act never[3];
} themes[] = {
    {"a source in several loops is invalidated by two threads",
     1U << SOURCE1,
     2,
     MOST_LOOPS,
     {ADD, ADD, SIGNAL, INVALIDATE, INVALIDATE},
     {DROP}},
    {"timers and observers move while they are called",
     1U << TIMER | 1U << OBSERVER,
     3,
     3,
     {MOVE, ADD, INVALIDATE, EXIT_THREAD, PAUSE},
     {DROP}},
    {"a message port is added and removed at once",
     1U << LOCAL | 1U << REMOTE,
     3,
     1,
     {ADD, REMOVE, REMOVE, REQUEST, ADD},
     {INVALIDATE, DROP, MOVE}},
    {"a thread ends while it asks",
     1U << LOCAL | 1U << REMOTE | 1U << SOURCE0,
     4,
     3,
     {REQUEST, REQUEST, EXIT_THREAD, CANCEL_THREAD, ADD},
     {INVALIDATE}},
    {"threads end in callbacks", (1U << KINDS) - 1, 8, 3, {EXIT_THREAD, SIGNAL, ADD, SEND, INVALIDATE}, {DROP}},
    {"threads end in batches",
     1U << SOURCE0 | 1U << OBSERVER | 1U << SOURCE1,
     6,
     2,
     {EXIT_THREAD, SIGNAL, ADD, NEST, REMOVE},
     {DROP}},
    {"forks", (1U << KINDS) - 1, 8, 3, {FORK, FORK, SIGNAL, ADD, ENABLE}, {DROP}},
};

static void decide_theme(struct dice *dice)
{
    unsigned chosen = below(dice, sizeof themes / sizeof *themes);
    const struct theme *theme =
        &themes[config.theme < 0 ? chosen : (unsigned)config.theme % (sizeof themes / sizeof *themes)];
    config.kinds = theme->kinds;
    config.slots = 2 + (int)below(dice, (unsigned)theme->slots);
    config.mutators = 2 + (int)below(dice, MOST_MUTATORS - 1);
    config.steps = 300 + (int)below(dice, 900);
    config.loops = 1 + (int)below(dice, (unsigned)theme->loops);
    config.lingers = true;
    config.lonely = false;
    for (int act = 0; act < ACTS; act++)
        config.weights[act] = usual[act] * (act == CREATE ? 1 : 4);
    for (size_t index = 0; index < sizeof theme->never / sizeof *theme->never && theme->never[index] != 0; index++)
        config.weights[theme->never[index]] = 0;
    for (size_t index = 0; index < sizeof theme->often / sizeof *theme->often; index++)
        config.weights[theme->often[index]] += 40 * (1 + below(dice, 2));
}

/* Keeps each act as it is, makes it rare or frequent, or omits it. Without some of the acts nothing would happen. */
static void decide_acts(struct dice *dice)
{
    for (int act = 0; act < ACTS; act++) {
        unsigned usually = usual[act] * 4, part = below(dice, 6);
        bool is_needed = act == CREATE || act == ADD || act == SIGNAL;
        config.weights[act] = part == 0   ? (is_needed ? usually : 0)
                              : part == 1 ? usually * 4
                              : part == 2 ? (usually + 3) / 4
                                          : usually;
    }
}

/* Omits what the options exclude. */
static void leave_out(void)
{
    if (config.without & WITHOUT_EXIT)
        config.weights[EXIT_THREAD] = 0;
    if (config.without & WITHOUT_CANCEL)
        config.weights[CANCEL_THREAD] = config.weights[CANCELLATION_POINT] = 0;
    if (config.without & WITHOUT_FORK)
        config.weights[FORK] = 0;
    if (config.without & WITHOUT_MOVE)
        config.weights[MOVE] = 0;
    /* A fork is as expensive as a hundred other acts. */
    config.weights[FORK] = (config.weights[FORK] + 3) / 4;
    config.total = 0;
    for (int act = 0; act < ACTS; act++)
        config.total += config.weights[act];
}

void decide(uint64_t seed)
{
    struct dice dice = dice_of(seed, 0);
    config.seed = seed;
    config.loops = 1 + (int)below(&dice, MOST_LOOPS);
    config.mutators = 1 + (int)below(&dice, MOST_MUTATORS);
    config.slots = one_in(&dice, 3) ? 1 + (int)below(&dice, 3) : 3 + (int)below(&dice, MOST_SLOTS - 2);
    config.steps = 100 + (int)below(&dice, 300);
    /* One kind, two kinds, or any. */
    unsigned some = below(&dice, 3);
    config.kinds = some == 0   ? 1U << below(&dice, KINDS)
                   : some == 1 ? 1U << below(&dice, KINDS) | 1U << below(&dice, KINDS)
                               : (unsigned)roll(&dice) & ((1U << KINDS) - 1);
    if (config.kinds & 1U << REMOTE)
        config.kinds |= 1U << LOCAL;
    if (config.kinds & 1U << LOCAL && !one_in(&dice, 4))
        config.kinds |= 1U << REMOTE;
    if (config.kinds == 0)
        config.kinds = (1U << KINDS) - 1;
    config.lonely = one_in(&dice, 3) && !(config.without & WITHOUT_LONELY);
    config.forker = one_in(&dice, 3) && !(config.without & WITHOUT_FORK);
    config.peer = one_in(&dice, 4);
    config.denies_membarrier = one_in(&dice, 16) && !(config.without & WITHOUT_SECCOMP);
    decide_acts(&dice);
    if (one_in(&dice, 2) || config.theme >= 0)
        decide_theme(&dice);
    leave_out();
}
