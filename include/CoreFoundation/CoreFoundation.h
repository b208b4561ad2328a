/** @file CoreFoundation.h
 *  Source compatibility: a C program written for Apple's CFRunLoop compiles unchanged and links with -lrunloop.
 *
 *  These headers declare CF names for the functions of this library. A CF name is an assembler label on the RL symbol
 *  (`CFRunLoopRun` calls `RLRunLoopRun`), so the library exports no CF symbol and can live in one process with Apple's
 *  CoreFoundation. Constants, struct layouts and calling conventions are those of Apple's headers for Linux.
 *  What is here: all of CFRunLoop.h and CFFileDescriptor.h; CFSocket.h without its name registry; the C-string part of
 *  CFString.h; immutable CFData and CFArray; absolute times; CFRetain and its kin. What the library does not have is not
 *  declared, or declared as unavailable, so the compiler says so.
 *  Behaviour, and the differences from Apple's, are documented in RunLoop/RLRunLoop.h and its neighbours under the name
 *  with RL in place of CF. Both sets of headers may be included in one file; the handles are the same objects, of
 *  different C types, so a cast is needed to pass one to the other.
 *  CFSTR("…") is a function call here, not a constant expression. */
#ifndef __COREFOUNDATION_COREFOUNDATION__
#define __COREFOUNDATION_COREFOUNDATION__ 1
#define __COREFOUNDATION__ 1

/* Apple's umbrella includes these, and programs rely on it. */
#ifndef CF_EXCLUDE_CSTD_HEADERS
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#endif

#include <CoreFoundation/CFArray.h>
#include <CoreFoundation/CFBase.h>
#include <CoreFoundation/CFData.h>
#include <CoreFoundation/CFDate.h>
#include <CoreFoundation/CFFileDescriptor.h>
#include <CoreFoundation/CFRunLoop.h>
#include <CoreFoundation/CFSocket.h>
#include <CoreFoundation/CFString.h>

#endif /* __COREFOUNDATION_COREFOUNDATION__ */
