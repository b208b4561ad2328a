/* The kit's access to Linux, beside CLinux.h: signals, processes, threads, host names, sockets, and changes of files.
   It wraps what Swift cannot import (variadic functions, macros, unions, thread-local variables), and groups system
   calls that belong together. */
#ifndef CLINUXKIT_H
#define CLINUXKIT_H

/* Must precede the first system header. */
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

#include "KitHeader.h"
#include "LinuxChildren.h"
#include "LinuxFiles.h"
#include "LinuxHosts.h"
#include "LinuxListeners.h"
#include "LinuxSignals.h"
#include "LinuxStreams.h"
#include "LinuxWorkers.h"

/* Keeps the call before it from becoming a tail call, so that the caller's name appears in backtraces. `which` differs
   in each function, so that the linker does not fold two of them into one. */
static inline void linux_kit_callout_barrier(uint32_t which) { __asm__ volatile("" : : "r"(which) : "memory"); }

/* Sleeps briefly, so that other threads can run, including those of a lower priority. */
static inline void linux_kit_pause(void)
{
    struct timespec moment = {.tv_nsec = 50000};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL);
}

/* The kit's lock. Only functions access it, because Swift regards imported variables as unsafe to share. KitLock.swift
   says what may be done with it held. */
extern pthread_mutex_t linux_kit_mutex __attribute__((visibility("hidden")));
static inline void linux_kit_lock(void) { pthread_mutex_lock(&linux_kit_mutex); }
static inline void linux_kit_unlock(void) { pthread_mutex_unlock(&linux_kit_mutex); }

/* Held during registration with pthread_atfork(). No fork handler takes it. */
extern pthread_mutex_t linux_fork_handlers_mutex __attribute__((visibility("hidden")));
static inline void linux_lock_fork_handlers(void) { pthread_mutex_lock(&linux_fork_handlers_mutex); }
static inline void linux_unlock_fork_handlers(void) { pthread_mutex_unlock(&linux_fork_handlers_mutex); }
/* Counts a fork() and records the calling thread. Called in the child, on its only thread. */
void linux_kit_note_fork(void);

#endif
