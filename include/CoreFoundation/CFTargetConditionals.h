/** @file CFTargetConditionals.h
 *  Apple's name for TargetConditionals.h on Linux. Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFTARGETCONDITIONALS__
#define __COREFOUNDATION_CFTARGETCONDITIONALS__ 1

#include <TargetConditionals.h>

#endif /* __COREFOUNDATION_CFTARGETCONDITIONALS__ */
