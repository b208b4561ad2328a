/* Which call belongs to which post, signal, message, request, reply or wake-up: what they have in common is in RLRunLoopProbe.h. */
#ifndef RUNLOOP_ARROWS_H
#define RUNLOOP_ARROWS_H
#include "Command.h"

/* The numbers of the arrows that end in one place. Of a source that was signalled a hundred times the last eight are enough. */
enum { ARRIVALS = 8 };
struct Arrivals {
    uint64_t numbers[ARRIVALS];
    size_t count;
};

struct Arrows;
struct Arrows *makeArrows(void);
void freeArrows(struct Arrows *arrows);
/* Something was sent. Returns the number of the arrow that begins here. */
uint64_t noteDeparture(struct Arrows *arrows, int process, const struct TraceRecord *record);
/* A call begins, a sleep has ended, or something was received: adds the numbers of the arrows that end here. */
void takeArrivals(struct Arrows *arrows, int process, const struct TraceRecord *record, struct Arrivals *arrived);
/* What was sent will not arrive. */
void forgetDeparture(struct Arrows *arrows, int process, const struct TraceRecord *record);
/* How many posts of a process have not arrived. */
size_t countPosts(const struct Arrows *arrows, int process);

#endif
