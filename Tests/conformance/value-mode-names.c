/* Values: a mode is identified by its characters: any equal string names it, and the loop keeps its own copy of the
 * name. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "A"}, b = {.name = "B"};
    note("%s %s", text(MODE), text(COMMON));
    show("constants");
    CFStringRef by_text = CFStringCreateWithCString(NULL, "kCFRunLoopDefaultMode", kCFStringEncodingUTF8);
    CFRunLoopSourceSignal(add_source(&a, 0));
    run("default mode by its text", by_text, 0, false);
    char name[] = "my mode";
    CFStringRef mine = CFStringCreateWithCString(NULL, name, kCFStringEncodingUTF8);
    CFRunLoopAddSource(HERE, create_source(&b, 0), mine);
    CFRelease(mine);
    memset(name, 'x', sizeof name - 1);
    CFRunLoopSourceSignal(b.source);
    run("equal string", CFSTR("my mode"), 0, false);
    run("another case", CFSTR("My mode"), 0, false);
}

int main(void) { return on_thread(test); }
