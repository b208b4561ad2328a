/* Semantics 2: several threads signal sources of one loop: each one is performed, however the wake-ups coalesce. */
#include "trace.h"

enum { SIGNALLERS = 4 };
static Item items[SIGNALLERS];
static atomic_int next;
static CFRunLoopRef loop;
static int performed;

static void count(Item *item)
{
    (void)item;
    if (++performed == SIGNALLERS)
        CFRunLoopStop(loop);
}

static void signal_one(void)
{
    CFRunLoopSourceSignal(items[atomic_fetch_add(&next, 1)].source);
    CFRunLoopWakeUp(loop);
}

static void test(void)
{
    pthread_t threads[SIGNALLERS];
    loop = HERE;
    for (int i = 0; i < SIGNALLERS; i++) {
        items[i].action = count;
        add_source(&items[i], i);
    }
    for (int i = 0; i < SIGNALLERS; i++)
        threads[i] = start_thread(signal_one);
    run("run", MODE, AGES, false);
    for (int i = 0; i < SIGNALLERS; i++)
        pthread_join(threads[i], NULL);
    note("%d", performed);
    show("performed");
}

int main(void) { return on_thread(test); }
