/* Annotations for race detectors that watch the process. Part of CLinux.h. */
#ifndef CLINUX_RACES_H
#define CLINUX_RACES_H
#include <stddef.h>

/* Detects Helgrind and DRD, which watch unmodified programs. To be called before the first lock is created. */
void linux_detect_valgrind(void);

/* The functions that declare an order; NULL without a detector. All that a thread did before it calls the first one
   happens before what another thread does after it calls the second one with the same address. */
extern void (*linux_happens_before_hook)(void *address) __attribute__((visibility("hidden")));
extern void (*linux_happens_after_hook)(void *address) __attribute__((visibility("hidden")));

static inline __attribute__((always_inline)) int linux_is_watched(void)
{
    return __builtin_expect(linux_happens_before_hook != NULL, 0);
}
static inline void linux_happens_before(const void *address) { linux_happens_before_hook((void *)address); }
static inline void linux_happens_after(const void *address) { linux_happens_after_hook((void *)address); }

/* The order of locks. ThreadSanitizer knows pthread's locks; in a library that is built with it and with LINUX_NOTES_LOCKS, these two report
   the library's own locks, and it reports two that are taken in both orders, although the threads have never blocked each other. */
#ifdef LINUX_NOTES_LOCKS
void linux_note_lock(const void *address);
void linux_note_unlock(const void *address);
#else
static inline void linux_note_lock(const void *address) { (void)address; }
static inline void linux_note_unlock(const void *address) { (void)address; }
#endif

#endif
