/* The library's only access to Linux: system headers, and static inline shims for what Swift does not import (variadic
   functions, macros, thread-local variables, constants that are imported as enums or as integers of another width).
   Comments say why a shim is here. Shims contain as little logic as possible.

   A shim that is nothing but a system call uses syscall(2), which is variadic. For each glibc function that the library
   references, the dynamic linker would search all libraries at program start, and the library would grow by 80
   bytes. */
#ifndef CLINUX_H
#define CLINUX_H

/* Must precede the first of the system's headers. */
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

/* Needed by Swift only. */
#include <pthread.h>

#endif
