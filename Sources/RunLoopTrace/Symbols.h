/* Names of functions: for the command, and for the companion's own thread. */
#ifndef RUNLOOP_TRACE_SYMBOLS_H
#define RUNLOOP_TRACE_SYMBOLS_H
#include <stdint.h>

struct Module;
/* Reads a copy of /proc/PID/maps. Without the file, or without memory, it knows no function. */
struct Module *readModules(const char *path);
void freeModules(struct Module *modules);
/* The name of the function at an address, or NULL; valid until the modules are freed. `*isOurs`: it is a function of librunloop itself. */
const char *functionName(struct Module *modules, uint64_t address, int *isOurs);

#endif
