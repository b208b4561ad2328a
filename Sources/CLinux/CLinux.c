#include "CLinux.h"

__thread void *linux_thread_slot_variable __attribute__((tls_model("initial-exec"), visibility("hidden")));

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/* Under ThreadSanitizer, Swift reports every inout use of a struct as a write to all of it. This library's structs are
   in shared memory, and each field has its own rule, so most of these reports would be wrong. Builds with
   ThreadSanitizer link with --wrap=__tsan_external_write; loads and stores, which are what can race, stay
   instrumented. */
void __wrap___tsan_external_write(void *address, void *caller, void *tag);
void __wrap___tsan_external_write(void *address, void *caller, void *tag)
{
    (void)address;
    (void)caller;
    (void)tag;
}
#endif
#endif

const void *linux_probe_variable;
uint8_t linux_probe_is_set;

uint8_t linux_lacks_epoll_pwait2;
