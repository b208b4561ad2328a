/* Matches calls with the posts, signals, messages, requests, replies and wake-ups that led to them. RLRunLoopProbe.h
   says what they have in common. */
#ifndef RUNLOOP_ARROWS_H
#define RUNLOOP_ARROWS_H
#include "Command.h"

/* The numbers of the arrows that end in one place. For a source that was signalled a hundred times, the last eight
   suffice. */
enum { ARRIVALS = 8 };
struct Arrivals {
    uint64_t numbers[ARRIVALS];
    size_t count;
};

struct Arrows;
struct Arrows *makeArrows(void);
void freeArrows(struct Arrows *arrows);
/* Records that something was sent. Returns the number of the arrow that starts here. */
uint64_t noteDeparture(struct Arrows *arrows, int process, const struct TraceRecord *record);
/* Called when a call begins, a sleep has ended, or something was received: adds the numbers of the arrows that end
   here. */
void takeArrivals(struct Arrows *arrows, int process, const struct TraceRecord *record, struct Arrivals *arrived);
/* Removes what was sent last, because it will not arrive. */
void forgetDeparture(struct Arrows *arrows, int process, const struct TraceRecord *record);
/* Returns how many posts of a process have not arrived. */
size_t countPosts(const struct Arrows *arrows, int process);

#endif
