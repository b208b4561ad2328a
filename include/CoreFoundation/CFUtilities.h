/** @file CFUtilities.h
 *  Declares nothing, as on a Mac.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFUTILITIES__
#define __COREFOUNDATION_CFUTILITIES__ 1

#include <CoreFoundation/CFBase.h>

#endif /* __COREFOUNDATION_CFUTILITIES__ */
