/* Semantics 1: other threads reach the main thread's loop through GetMain: they give it work and stop it. */
#include "trace.h"

static Item a = {.name = "A", .action = stop};

static void work(void)
{
    CFRunLoopRef loop = CFRunLoopGetMain();
    while (!CFRunLoopIsWaiting(loop))
        usleep(500);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopWakeUp(loop);
}

int main(void)
{
    add_source(&a, 0);
    pthread_t worker = start_thread(work);
    CFRunLoopRun();
    pthread_join(worker, NULL);
    show("CFRunLoopRun on the main thread");
    return 0;
}
