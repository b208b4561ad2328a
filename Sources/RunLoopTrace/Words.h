/* The wording that explanations and reports of stalls share. Any thread, but not in a probe: these functions allocate
   and make system calls. */
#ifndef RUNLOOP_TRACE_WORDS_H
#define RUNLOOP_TRACE_WORDS_H
#include "Symbols.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes a text and a newline to stderr in one call. Not by stdio: if the process exits just then, what is in the
   buffer of dprintf() is written twice. */
void writeLine(const char *text);
void writeFormat(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes a name that others may have chosen, with ? for characters that a terminal would obey. */
void sayName(FILE *text, const char *name);
/* Writes a duration: 3.2 s, 40 ms, 7 us. */
void sayTime(FILE *text, uint64_t nanoseconds);
/* Writes the name of a function, such as tick, or its address if it has no name. */
void sayFunction(FILE *text, struct Module *modules, uint64_t function);
/* Writes a callback with its function and kind: the timer callback tick. */
void sayCallback(FILE *text, struct Module *modules, uint64_t kind, uint64_t function, uint64_t descriptor);
/* Writes thread 4711 (name). */
void sayThread(FILE *text, int thread);
/* Writes process 4711 (name). */
void sayProcess(FILE *text, int process);
/* Peers.c: writes which process serves the message port of this name: " of process 4711 (name)". Writes nothing if that
   is not known. */
void sayServer(FILE *text, const char *port);
/* Writes the system call that a thread of this process is in: ", in the system call read on descriptor 7 (pipe)".
   Writes nothing if it is in none. */
void saySystemCall(FILE *text, int thread);
/* Returns the kernel's state letter for a thread of this process; 0 if the thread has exited. */
char stateOfThread(int thread);
/* Writes a descriptor of this process with what it refers to. */
void sayDescriptor(FILE *text, int descriptor);

#endif
