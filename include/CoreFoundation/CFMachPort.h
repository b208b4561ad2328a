/** @file CFMachPort.h
 *  Mach ports: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFMACHPORT__
#define __COREFOUNDATION_CFMACHPORT__ 1

#include <CoreFoundation/CFUnavailable.h>

#endif /* __COREFOUNDATION_CFMACHPORT__ */
