/* Names of functions, for the command and for the companion's own thread. */
#ifndef RUNLOOP_TRACE_SYMBOLS_H
#define RUNLOOP_TRACE_SYMBOLS_H
#include <stdint.h>

struct Module;
/* Reads a copy of /proc/PID/maps. If the file does not exist or memory runs out, functions have no names. */
struct Module *readModules(const char *path);
void freeModules(struct Module *modules);
/* Returns the name of the function at an address, or NULL; valid until the modules are freed. `*isOurs`: it is one of
   librunloop's functions. */
const char *functionName(struct Module *modules, uint64_t address, int *isOurs);

#endif
