/* Semantics 1: Stop in a UNIX signal handler ends a sleeping run (the handler runs on the sleeping thread). */
#include "trace.h"

#include <signal.h>

static CFRunLoopRef loop;
static pthread_t loop_thread;

static void handler(int number)
{
    (void)number;
    CFRunLoopStop(loop);
}

static void interrupt(CFRunLoopRef sleeping)
{
    (void)sleeping;
    pthread_kill(loop_thread, SIGUSR1);
}

static void test(void)
{
    static Item a = {.name = "A"};
    loop = HERE;
    loop_thread = pthread_self();
    signal(SIGUSR1, handler);
    add_source(&a, 0);
    watch(MODE);
    run_with_helper("stopped", AGES, false, interrupt);
}

int main(void) { return on_thread(test); }
