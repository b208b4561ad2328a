/* random.h - random choices that are the same everywhere, and the main function that runs scripts. */
#ifndef RANDOM_H
#define RANDOM_H

#include "../trace.h"

#include <sys/wait.h>

static unsigned long long state;

/** Returns a number from 0 to below - 1. */
static inline unsigned pick(unsigned below)
{
    state += 0x9e3779b97f4a7c15ull;
    unsigned long long bits = state;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
    return (unsigned)((bits ^ (bits >> 31)) >> 33) % below;
}

/** Runs a script on the main thread of a new process. CoreFoundation must not have been used before, because it does
 * not survive a fork. */
static inline void run_in_process(unsigned long seed, void (*script)(unsigned long seed))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        state = seed;
        script(seed);
        fflush(stdout);
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        abort();
}

/** Runs the scripts of COUNT seeds; the arguments are PROGRAM FIRST COUNT. */
static inline int run_scripts(int count, char **arguments, void (*script)(unsigned long seed))
{
    unsigned long first = count > 1 ? strtoul(arguments[1], NULL, 10) : 1;
    unsigned long scripts = count > 2 ? strtoul(arguments[2], NULL, 10) : 1;
    for (unsigned long seed = first; seed < first + scripts; seed++) {
        state = seed;
        script(seed);
    }
    return 0;
}

#endif
