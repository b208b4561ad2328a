/* Semantics 2: the getters return the values given to Create. */
#include "trace.h"

static void show_attributes(const char *label, CFRunLoopObserverRef observer)
{
    note("activities %lx order %ld", (unsigned long)CFRunLoopObserverGetActivities(observer),
         (long)CFRunLoopObserverGetOrder(observer));
    check("repeats", CFRunLoopObserverDoesRepeat(observer));
    check("valid", CFRunLoopObserverIsValid(observer));
    check("type", CFGetTypeID(observer) == CFRunLoopObserverGetTypeID());
    show(label);
}

static void test(void)
{
    static Item a = {.name = "a"};
    show_attributes("repeating", create_observer(&a, kCFRunLoopEntry | kCFRunLoopExit, true, -3));
    show_attributes("once", create_observer(&a, kCFRunLoopAllActivities, false, 2000000));
    CFRunLoopObserverInvalidate(a.observer);
    show_attributes("invalidated", a.observer);
}

int main(void) { return on_thread(test); }
