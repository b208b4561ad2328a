#include "CLinux.h"
#include <stdlib.h>

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

static int linux_thread_is_within(int thread, const struct linux_processors *set)
{
    struct linux_processors own = {{0}};
    uint64_t others = 0;
    if (syscall(SYS_sched_getaffinity, thread, sizeof own, &own) < 0)
        return errno == ESRCH;
    for (size_t word = 0; word < sizeof own.bits / sizeof *own.bits; word++)
        others |= own.bits[word] & ~set->bits[word];
    return others == 0;
}

int linux_threads_are_within(const struct linux_processors *set)
{
    char records[1024] __attribute__((aligned(8)));
    const char *name;
    int directory = linux_open_directory("/proc/self/task"), within = linux_thread_is_within(0, set);
    if (directory < 0)
        return within;
    for (long size; within && (size = linux_read_directory(directory, records, sizeof records)) > 0;)
        for (long offset = 0; within && offset < size;) {
            offset += linux_directory_entry(records + offset, &name);
            if (*name != '.')
                within = linux_thread_is_within(atoi(name), set);
        }
    syscall(SYS_close, directory);
    return within;
}
