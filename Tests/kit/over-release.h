/* Helpers shared by the tests of objects that are released too often. */
#ifndef RUNLOOP_TESTS_KIT_OVER_RELEASE_H
#define RUNLOOP_TESTS_KIT_OVER_RELEASE_H
#include "kit.h"

/* What was released too often may stay allocated for ever, so nothing that is allocated from here on counts as a leak. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define IGNORE_LEAKS() __lsan_disable()
#endif
#endif
#ifndef IGNORE_LEAKS
#define IGNORE_LEAKS() ((void)0)
#endif

#define assert_over_release() assert_misuse("RLRelease", "object", "released more often than retained")

#endif
