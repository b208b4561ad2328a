/* Values: every type of object has a name, and so have allocators; an unknown type has none. */
#include "trace.h"

static void name_of(CFTypeID type)
{
    char text[64] = "";
    CFStringRef name = CFCopyTypeIDDescription(type);
    check("is a string", CFStringGetCString(name, text, sizeof text, kCFStringEncodingUTF8));
    note("%s", text);
    CFRelease(name);
}

static void test(void)
{
    CFTypeID types[] = {
        CFRunLoopGetTypeID(), CFRunLoopSourceGetTypeID(), CFRunLoopTimerGetTypeID(), CFRunLoopObserverGetTypeID(),
        CFSocketGetTypeID(),  CFStringGetTypeID(),        CFDataGetTypeID(),         CFDateGetTypeID(),
        CFArrayGetTypeID(),   CFDictionaryGetTypeID(),    CFSetGetTypeID(),          CFNumberGetTypeID(),
        CFBooleanGetTypeID(), CFNullGetTypeID(),          CFAllocatorGetTypeID(),    0};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        name_of(types[i]);
        for (size_t j = 0; j < i; j++)
            check("differs", types[i] != types[j]);
    }
    show("names of kinds");
    check("its argument", CFMakeCollectable(kCFNull) == kCFNull && CFMakeCollectable(NULL) == NULL);
    show("collectable");
}

int main(void) { return on_thread(test); }
