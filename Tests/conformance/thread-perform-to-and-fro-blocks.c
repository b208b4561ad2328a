/* Semantics 4: blocks posted between two loops, each with a WakeUp, run on the loop they were posted to, in order. */
#include "trace.h"

static CFRunLoopRef first, second;
static sem_t ready;

static void post(CFRunLoopRef loop, void (^block)(void))
{
    CFRunLoopPerformBlock(loop, MODE, block);
    CFRunLoopWakeUp(loop);
}

static void work(void)
{
    static Item idle = {.name = "I"};
    add_source(&idle, 0);
    second = HERE;
    sem_post(&ready);
    CFRunLoopRunInMode(MODE, AGES, false);
}

static void test(void)
{
    static Item idle = {.name = "I"};
    sem_init(&ready, 0, 0);
    add_source(&idle, 1);
    first = HERE;
    pthread_t other = start_thread(work);
    sem_wait(&ready);
    while (!CFRunLoopIsWaiting(second))
        usleep(500);
    post(second, ^{
        check("1 on second", HERE == second);
        post(first, ^{
            check("2 on first", HERE == first);
            post(second, ^{
                check("3 on second", HERE == second);
                CFRunLoopStop(HERE);
                post(first, ^{ CFRunLoopStop(HERE); });
            });
        });
    });
    run("first", MODE, AGES, false);
    pthread_join(other, NULL);
}

int main(void) { return on_thread(test); }
