/* What explanations and reports of stalls have in common: the words. On any thread but not in a probe; they allocate and make system
   calls. */
#ifndef RUNLOOP_TRACE_WORDS_H
#define RUNLOOP_TRACE_WORDS_H
#include "Symbols.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes a text and a new line to stderr at once. Not by stdio: what dprintf has in its buffer is written twice if the process ends just then. */
void writeLine(const char *text);
void writeFormat(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A name that others may have chosen, with ? for what a terminal would obey. */
void sayName(FILE *text, const char *name);
/* 3.2 s, 40 ms, 7 us. */
void sayTime(FILE *text, uint64_t nanoseconds);
/* `tick`, or its address if it has no name. */
void sayFunction(FILE *text, struct Module *modules, uint64_t function);
/* The kind of a callback, with its function: the function tick of a timer. */
void sayCallback(FILE *text, struct Module *modules, uint64_t kind, uint64_t function, uint64_t descriptor);
/* thread 4711 (name) */
void sayThread(FILE *text, int thread);
/* process 4711 (name) */
void sayProcess(FILE *text, int process);
/* Peers.c: who serves the message port of this name, " of process 4711 (name)"; nothing if that is not known. */
void sayServer(FILE *text, const char *port);
/* The system call that a thread of this process is in, ", in the system call read of descriptor 7 (pipe)"; nothing if it is in none. */
void saySystemCall(FILE *text, int thread);
/* The letter by which the kernel says what a thread of this process does; 0 if it has ended. */
char stateOfThread(int thread);
/* What a descriptor of this process is. */
void sayDescriptor(FILE *text, int descriptor);

#endif
