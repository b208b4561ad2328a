/* The kit's door to Linux, beside CLinux.h: signals, processes, threads, names of hosts, sockets and changes of files. Shims for what
   Swift cannot import (variadic functions, macros, unions, thread-local variables). Each says why it is here. No logic. */
#ifndef CLINUXKIT_H
#define CLINUXKIT_H

/* Before the first of the system's headers. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "LinuxChildren.h"
#include "LinuxFiles.h"
#include "LinuxHosts.h"
#include "LinuxListeners.h"
#include "LinuxSignals.h"
#include "LinuxStreams.h"
#include "LinuxWorkers.h"

/* A call through a pointer is not to become the last jump of a function whose name a backtrace is to show; the number keeps
   the linker from folding two such functions into one. */
static inline void linux_kit_callout_barrier(uint32_t which) { __asm__ volatile("" : : "r"(which) : "memory"); }

/* Lets other threads run, for a moment: also those of a lower priority. */
static inline void linux_kit_pause(void)
{
    struct timespec moment = {.tv_nsec = 50000};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL);
}

/* The lock of the kit: static, as Swift's imported variables are not safe to share. KitLock.swift says what may be done under it. */
extern pthread_mutex_t linux_kit_mutex __attribute__((visibility("hidden")));
static inline void linux_kit_lock(void) { pthread_mutex_lock(&linux_kit_mutex); }
static inline void linux_kit_unlock(void) { pthread_mutex_unlock(&linux_kit_mutex); }

/* Held while functions are registered with pthread_atfork(), and not taken by any of them. */
extern pthread_mutex_t linux_fork_handlers_mutex __attribute__((visibility("hidden")));
static inline void linux_lock_fork_handlers(void) { pthread_mutex_lock(&linux_fork_handlers_mutex); }
static inline void linux_unlock_fork_handlers(void) { pthread_mutex_unlock(&linux_fork_handlers_mutex); }
/* In the child of a fork(), on its only thread. */
void linux_kit_note_fork(void);

#endif
