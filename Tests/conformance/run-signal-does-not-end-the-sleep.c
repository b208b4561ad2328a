/* Semantics 1: a UNIX signal that interrupts the sleep has no effect: no extra pass, and the deadline is kept. */
#include "trace.h"

#include <signal.h>

static pthread_t loop_thread;
static atomic_int handled;

static void handler(int number)
{
    (void)number;
    atomic_fetch_add(&handled, 1);
}

static void interrupt(CFRunLoopRef loop)
{
    (void)loop;
    for (int i = 1; i <= 3; i++) {
        pthread_kill(loop_thread, SIGUSR1);
        while (atomic_load(&handled) < i)
            usleep(500);
    }
}

static void test(void)
{
    static Item a = {.name = "A"};
    struct sigaction action = {.sa_handler = handler}; /* no SA_RESTART */
    loop_thread = pthread_self();
    sigaction(SIGUSR1, &action, NULL);
    add_source(&a, 0);
    watch(MODE);
    double start = CFAbsoluteTimeGetCurrent();
    run_with_helper("interrupted", 0.3, false, interrupt);
    check("whole time", CFAbsoluteTimeGetCurrent() - start >= 0.299);
    show("slept");
}

int main(void) { return on_thread(test); }
