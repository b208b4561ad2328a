/* Values: every type of object has its own type identifier, which its objects report. */
#include "trace.h"

static void test(void)
{
    static Item item = {.name = "x"};
    CFTypeRef objects[] = {
        HERE,       create_source(&item, 0),     create_timer(&item, 0, 0),         create_observer(&item, 0, true, 0),
        CFSTR("s"), CFDataCreate(NULL, NULL, 0), CFArrayCreate(NULL, NULL, 0, NULL)};
    CFTypeID types[] = {
        CFRunLoopGetTypeID(), CFRunLoopSourceGetTypeID(), CFRunLoopTimerGetTypeID(), CFRunLoopObserverGetTypeID(),
        CFStringGetTypeID(),  CFDataGetTypeID(),          CFArrayGetTypeID()};
    for (int i = 0; i < 7; i++) {
        int matches = 0;
        for (int j = 0; j < 7; j++)
            matches += CFGetTypeID(objects[i]) == types[j];
        note("%d", matches == 1 && CFGetTypeID(objects[i]) == types[i]);
    }
    show("own type, and only that");
}

int main(void) { return on_thread(test); }
