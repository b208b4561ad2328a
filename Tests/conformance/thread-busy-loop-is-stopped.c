/* Semantics 1: Stop from another thread ends a loop that never sleeps, at the end of its pass. */
#include "trace.h"

static sem_t running;
static CFRunLoopRef loop;

static void again(Item *item)
{
    if (item->calls == 1)
        sem_post(&running);
    CFRunLoopSourceSignal(item->source);
}

static void work(void)
{
    sem_wait(&running);
    CFRunLoopStop(loop);
}

static void test(void)
{
    static Item busy = {.name = NULL, .action = again};
    sem_init(&running, 0, 0);
    loop = HERE;
    CFRunLoopSourceSignal(add_source(&busy, 0));
    pthread_t worker = start_thread(work);
    run("busy", MODE, AGES, false);
    pthread_join(worker, NULL);
}

int main(void) { return on_thread(test); }
