/* Semantics 1: two loops pass a signal back and forth with Signal and WakeUp; none is lost, however they interleave. */
#include "trace.h"

enum { ROUNDS = 300 };
static CFRunLoopRef loops[2];
static Item sides[2];
static sem_t ready;

static void hit(Item *item)
{
    int other = item == &sides[0];
    CFRunLoopSourceSignal(sides[other].source);
    CFRunLoopWakeUp(loops[other]);
    if (item->calls == ROUNDS)
        CFRunLoopStop(HERE);
}

static void play(int side)
{
    loops[side] = HERE;
    sides[side].action = hit;
    add_source(&sides[side], 0);
}

static void other_player(void)
{
    play(1);
    sem_post(&ready);
    CFRunLoopRunInMode(MODE, AGES, false);
}

static void test(void)
{
    sem_init(&ready, 0, 0);
    play(0);
    pthread_t other = start_thread(other_player);
    sem_wait(&ready);
    CFRunLoopSourceSignal(sides[0].source);
    run("player", MODE, AGES, false);
    pthread_join(other, NULL);
    note("%d %d", sides[0].calls, sides[1].calls);
    show("hits");
}

int main(void) { return on_thread(test); }
