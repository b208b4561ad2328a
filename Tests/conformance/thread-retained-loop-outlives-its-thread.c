/* Semantics 2: a retained loop survives its thread: it is empty, and Stop and WakeUp are harmless. */
#include "trace.h"

static CFRunLoopRef loop;
static Item a = {.name = "A"};

static void work(void)
{
    loop = (CFRunLoopRef)CFRetain(HERE);
    add_source(&a, 0);
}

int main(void)
{
    pthread_join(start_thread(work), NULL);
    CFRunLoopStop(loop);
    CFRunLoopWakeUp(loop);
    check("waiting", CFRunLoopIsWaiting(loop));
    check("contained", CFRunLoopContainsSource(loop, a.source, MODE));
    check("no current mode", CFRunLoopCopyCurrentMode(loop) == NULL);
    check("type", CFGetTypeID(loop) == CFRunLoopGetTypeID());
    show("after the thread");
    CFRelease(loop);
    return 0;
}
