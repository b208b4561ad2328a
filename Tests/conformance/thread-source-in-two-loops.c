/* Semantics 2: a source in two loops has one signal: the first loop that checks it takes it. */
#include "trace.h"

static CFRunLoopRef other_loop;
static sem_t other_ready;
static Item a = {.name = NULL};

static void say_where(Item *item)
{
    (void)item;
    note(HERE == other_loop ? "performed-by-other" : "performed-here");
    CFRunLoopStop(HERE);
}

static void work(void)
{
    other_loop = HERE;
    CFRunLoopAddSource(HERE, a.source, MODE);
    sem_post(&other_ready);
    CFRunLoopRunInMode(MODE, AGES, false);
}

static void test(void)
{
    a.action = say_where;
    sem_init(&other_ready, 0, 0);
    CFRunLoopAddSource(HERE, create_source(&a, 0), MODE);
    pthread_t other = start_thread(work);
    sem_wait(&other_ready);
    while (!CFRunLoopIsWaiting(other_loop))
        usleep(500);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopWakeUp(other_loop);
    pthread_join(other, NULL);
    run("after the other took it", MODE, 0, false);
    CFRunLoopSourceSignal(a.source);
    run("signalled again", MODE, AGES, true);
}

int main(void) { return on_thread(test); }
