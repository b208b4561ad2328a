/* The only door to Linux: the system's headers, and static inline shims for what Swift cannot import
   (variadic functions, macros, thread-local variables, constants that come in as enums or as
   integers of another width). Each shim says why it is here. No logic.

   What is a system call and nothing else goes through syscall(2), which is variadic: each function of glibc that the library
   names is a search through all libraries whenever a program starts, and 80 bytes. */
#ifndef CLINUX_H
#define CLINUX_H

/* Before the first of the system's headers. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "LinuxDescriptors.h"
#include "LinuxDirectories.h"
#include "LinuxMemory.h"
#include "LinuxPackets.h"
#include "LinuxProbes.h"
#include "LinuxProcess.h"
#include "LinuxProcessor.h"
#include "LinuxRaces.h"
#include "LinuxSockets.h"
#include "LinuxThreads.h"

/* For Swift alone. */
#include <pthread.h>

#endif
