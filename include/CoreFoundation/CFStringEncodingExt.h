/** @file CFStringEncodingExt.h
 *  Further string encodings: none are available besides those of CFString.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFSTRINGENCODINGEXT__
#define __COREFOUNDATION_CFSTRINGENCODINGEXT__ 1

#include <CoreFoundation/CFUnavailable.h>

#endif /* __COREFOUNDATION_CFSTRINGENCODINGEXT__ */
