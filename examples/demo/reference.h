/* reference.h - counts the same bytes again, in one thread and by other means, to check the workers.
 *
 * The count receives the bytes as read() returns them, before they are split into batches and distributed to threads. It
 * shares no code with tally.c: one state machine, and a balanced tree instead of a hash table. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "tally.h"

typedef struct Reference Reference;

Reference *referenceCreate(void); /* NULL if out of memory */
void referenceAdd(Reference *reference, const unsigned char *bytes, size_t length);
void referenceFinish(Reference *reference);
/* Returns true if the tally equals this count in every respect; otherwise prints the differences to stderr. */
bool referenceAgrees(const Reference *reference, const Tally *tally);
void referenceDestroy(Reference *reference);

#endif
