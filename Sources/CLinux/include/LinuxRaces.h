/* Race detectors: telling those that watch a process what they cannot see. Part of CLinux.h. */
#ifndef CLINUX_RACES_H
#define CLINUX_RACES_H
#include <stddef.h>

/* Helgrind and DRD watch programs as they are. Before the first lock is made. */
void linux_look_for_valgrind(void);

/* What this thread did before a call of the first is before what another does after a call of the second with the same
   address. NULL if no tool watches. */
extern void (*linux_tell_before)(void *address) __attribute__((visibility("hidden")));
extern void (*linux_tell_after)(void *address) __attribute__((visibility("hidden")));

static inline __attribute__((always_inline)) int linux_is_watched(void)
{
    return __builtin_expect(linux_tell_before != NULL, 0);
}
static inline void linux_happens_before(const void *address) { linux_tell_before((void *)address); }
static inline void linux_happens_after(const void *address) { linux_tell_after((void *)address); }

#endif
