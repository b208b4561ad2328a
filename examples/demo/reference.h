/* reference.h - counts the same bytes once more, in one thread and by other means, to check the workers.
 *
 * It sees the bytes as they come from read(), before they are cut into batches and spread over threads. It shares no
 * code with tally.c: one state machine, and a balanced tree instead of a hash table. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "tally.h"

typedef struct Reference Reference;

Reference *referenceCreate(void); /* NULL without memory */
void referenceAdd(Reference *reference, const unsigned char *bytes, size_t length);
void referenceFinish(Reference *reference);
/* True if the tally is the same in everything that was counted; else says on stderr what differs. */
bool referenceAgrees(const Reference *reference, const Tally *tally);
void referenceDestroy(Reference *reference);

#endif
