/* The first words of a kit object's memory, to which the info of its sources, descriptor objects and timers points.
   librunloop-trace.so reads them, too: it shows the client's callback in place of the kit's function that calls it
   (Sources/RunLoopTrace/KitCallbacks.c). */
#ifndef KITHEADER_H
#define KITHEADER_H
#include <stdint.h>

#define KIT_MARK 0x4F54494B /* "KITO" */

struct linux_kit_header {
    uint32_t mark;     /* KIT_MARK */
    uint32_t kind;     /* KitKind */
    uintptr_t callout; /* the client's callback; 0 if there is none */
};

static inline struct linux_kit_header linux_kit_header(uint32_t kind, uintptr_t callout)
{
    struct linux_kit_header header = {KIT_MARK, kind, callout};
    return header;
}

#endif
