#include "CLinuxKit.h"

pthread_mutex_t linux_kit_mutex = PTHREAD_MUTEX_INITIALIZER;
__thread uint64_t linux_kit_chained_signals __attribute__((tls_model("initial-exec"), visibility("hidden")));

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/* As in CLinux.c: Swift reports every inout use of a struct as a write to all of it. */
void __wrap___tsan_external_write(void *address, void *caller, void *tag);
void __wrap___tsan_external_write(void *address, void *caller, void *tag)
{
    (void)address;
    (void)caller;
    (void)tag;
}
#endif
#endif
