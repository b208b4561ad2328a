/** @file CFPlugInCOM.h
 *  The COM interface of plug-ins: not available.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFPLUGINCOM__
#define __COREFOUNDATION_CFPLUGINCOM__ 1

#include <CoreFoundation/CFUnavailable.h>

#endif /* __COREFOUNDATION_CFPLUGINCOM__ */
