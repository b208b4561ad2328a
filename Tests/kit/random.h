/* Random numbers for tests: the same numbers for the same seed. */
#ifndef RUNLOOP_TESTS_KIT_RANDOM_H
#define RUNLOOP_TESTS_KIT_RANDOM_H
#include <stdint.h>

static uint64_t random_state; /* set it to the seed */

static inline uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(random_state >> 33) % limit;
}

#endif
