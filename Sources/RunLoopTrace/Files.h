/* The files of librunloop-trace.so. All of these functions may be called in signal handlers, but for the first. */
#ifndef RUNLOOP_TRACE_FILES_H
#define RUNLOOP_TRACE_FILES_H
#include "TraceFile.h"
#include <stddef.h>
#include <sys/uio.h>

/* Remembers where files are made; NULL or an empty path: nowhere. */
void traceUseDirectory(const char *path);
int traceHasDirectory(void);

/* Makes the calling thread's file with a suffix, of zeros, and maps it. NULL if that fails, which is reported once for the process. */
void *traceMapFile(const char *suffix, size_t size);

/* Copies /proc/self/maps into the process's file, in place of an earlier copy; nothing if no library has come or gone since that. */
void traceCopyMaps(void);

/* As writev(2), but for the signals that it sends to a thread that writes into a closed pipe or too large a file: the program, which might have
   handled the error, would die of them. */
ssize_t writeQuietly(int fd, const struct iovec *parts, int count);

/* The first line of a small file. */
void traceReadName(const char *path, char name[TRACE_NAME_SIZE]);

#endif
