/* Implements KitCallbacks.h.

   What the kit's functions get as their info begins with a header that contains the client's callback. That it is a function of the kit is
   known by its address. If the kit is in no library of its own, or was loaded after the probe had been set, its functions are shown. */
#include "KitCallbacks.h"
#include "../CLinuxKit/include/KitHeader.h"
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define FRAMES 32

/* The code of the kit; both are 0 if it is not loaded. It is never unloaded. */
static uintptr_t start, end;

/* The kit's callbacks that are running on this thread, outermost first. At its end a callback is found by what it was called with. */
static THREAD_LOCAL struct {
    KitFunction function, shown;
    const void *info;
} frames[FRAMES];
static THREAD_LOCAL int depth;

static int look(struct dl_phdr_info *library, size_t size, void *info)
{
    const char *name = strrchr(library->dlpi_name, '/');
    (void)size, (void)info;
    if (strncmp(name ? name + 1 : library->dlpi_name, "librunloop-kit.so", strlen("librunloop-kit.so")) != 0)
        return 0;
    for (int index = 0; index < library->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[index];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        __atomic_store_n(&start, library->dlpi_addr + part->p_vaddr, __ATOMIC_RELAXED);
        __atomic_store_n(&end, library->dlpi_addr + part->p_vaddr + part->p_memsz, __ATOMIC_RELEASE);
    }
    return 1;
}

void kitFind(void) { dl_iterate_phdr(look, NULL); }

static inline int isOfKit(uintptr_t function)
{
    return function < __atomic_load_n(&end, __ATOMIC_ACQUIRE) && function >= __atomic_load_n(&start, __ATOMIC_RELAXED);
}

/* The client's callback, or else the given function. */
static KitFunction clientFunction(const struct linux_kit_header *header, KitFunction function)
{
    return header->mark == KIT_MARK && header->callout != 0 ? (KitFunction)header->callout : function;
}

KitFunction kitFunctionWhenSent(const struct ProbeEvent *event)
{
    if (event->info == NULL || !isOfKit((uintptr_t)event->function))
        return event->function;
    return clientFunction(event->info, event->function);
}

KitFunction kitFunctionAtBegin(const struct ProbeEvent *event)
{
    KitFunction shown = kitFunctionWhenSent(event);
    if (shown == event->function || depth == FRAMES)
        return event->function;
    frames[depth].function = event->function;
    frames[depth].info = event->info;
    frames[depth].shown = shown;
    depth++;
    return shown;
}

/* Also removes the frames inside this callback, which never returned. */
KitFunction kitFunctionAtEnd(const struct ProbeEvent *event)
{
    if (depth == 0 || !isOfKit((uintptr_t)event->function))
        return event->function;
    for (int index = depth; index-- > 0;)
        if (frames[index].function == event->function && frames[index].info == event->info) {
            depth = index;
            return frames[index].shown;
        }
    return event->function;
}

/* Reads the header through the kernel, which returns an error where there is no memory any more. */
uint64_t kitFunctionOfSource(uint64_t function, uint64_t info)
{
    struct linux_kit_header header;
    int memory = isOfKit(function) ? open("/proc/self/mem", O_RDONLY | O_CLOEXEC) : -1;
    if (memory < 0)
        return function;
    ssize_t length = pread(memory, &header, sizeof header, (off_t)info);
    close(memory);
    if (length != (ssize_t)sizeof header)
        return function;
    return (uintptr_t)clientFunction(&header, (KitFunction)(uintptr_t)function);
}
