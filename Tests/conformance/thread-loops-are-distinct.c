/* Semantics 1: each thread has one loop, always the same object; GetMain is the main thread's, from every thread. */
#include "trace.h"

static CFRunLoopRef of_main, of_first;

static void second(void)
{
    check("second=main", HERE == of_main);
    check("second=first", HERE == of_first);
    check("GetMain", CFRunLoopGetMain() == of_main);
}

static void first(void)
{
    of_first = HERE;
    check("stable", HERE == of_first);
    check("first=main", of_first == of_main);
    check("equal to itself", CFEqual(of_first, of_first));
    check("equal to another", CFEqual(of_first, of_main));
    check("type", CFGetTypeID(of_first) == CFRunLoopGetTypeID());
    on_thread(second);
}

int main(void)
{
    of_main = CFRunLoopGetMain();
    check("main=current", of_main == HERE);
    on_thread(first);
    show("loops");
    return 0;
}
