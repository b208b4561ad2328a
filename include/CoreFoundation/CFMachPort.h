/** @file CFMachPort.h
 *  Mach ports: there are none. Each use of a name is an error that says what to use instead: CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFMACHPORT__
#define __COREFOUNDATION_CFMACHPORT__ 1

#include <CoreFoundation/CFUnavailable.h>

#endif /* __COREFOUNDATION_CFMACHPORT__ */
