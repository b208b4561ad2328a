#include "CLinux.h"

__thread void *linux_thread_slot_variable __attribute__((tls_model("initial-exec"), visibility("hidden")));

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/* Under ThreadSanitizer Swift reports every inout use of a struct as a write to the whole of it. Our structs lie in shared
   memory and each field has a rule of its own, so that would forbid what is meant. Builds with ThreadSanitizer link
   with --wrap=__tsan_external_write; loads and stores, which are what can race, stay instrumented. */
void __wrap___tsan_external_write(void *address, void *caller, void *tag);
void __wrap___tsan_external_write(void *address, void *caller, void *tag)
{
    (void)address;
    (void)caller;
    (void)tag;
}
#endif
#endif

/* Functions of ThreadSanitizer's runtime, which are there if the program was built with -fsanitize=thread: the dynamic linker
   writes their addresses, or NULL. A library that is instrumented itself has nothing to tell. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __tsan_release NULL
#define __tsan_acquire NULL
#endif
#endif
#ifndef __tsan_release
extern void __tsan_release(void *address) __attribute__((weak));
extern void __tsan_acquire(void *address) __attribute__((weak));
#endif
void (*linux_tell_before)(void *address) = __tsan_release;
void (*linux_tell_after)(void *address) = __tsan_acquire;
