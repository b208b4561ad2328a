/* The files of librunloop-trace.so. All functions but the first may be called in signal handlers. */
#ifndef RUNLOOP_TRACE_FILES_H
#define RUNLOOP_TRACE_FILES_H
#include "TraceFile.h"
#include <stddef.h>
#include <sys/uio.h>

/* Sets the directory in which files are created; NULL or an empty path: none. */
void traceUseDirectory(const char *path);
int traceHasDirectory(void);

/* Creates the calling thread's file with a suffix, filled with zeros, and maps it. Returns NULL if that fails, which is
   reported once per process. */
void *traceMapFile(const char *suffix, size_t size);

/* Copies /proc/self/maps into the process's file, replacing an earlier copy. Does nothing if no library was loaded or
   unloaded since. */
void traceCopyMaps(void);

/* As writev(2), but without the signals for writing to a closed pipe or beyond the limit for files. They would kill the
   program, which may be able to handle the error. */
ssize_t writeQuietly(int fd, const struct iovec *parts, int count);

/* Reads the first line of a small file. Leaves `name` alone if the file cannot be opened. */
void traceReadName(const char *path, char name[TRACE_NAME_SIZE]);

#endif
