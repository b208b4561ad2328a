/* Semantics 1: CopyAllModes names every mode that something was added to; adding to a mode creates it permanently. */
#include "trace.h"

static int by_name(const void *one, const void *two) { return strcmp(one, two); }

static void show_modes(const char *label)
{
    char names[8][64];
    CFArrayRef modes = CFRunLoopCopyAllModes(HERE);
    CFIndex count = CFArrayGetCount(modes);
    for (CFIndex i = 0; i < count; i++)
        strcpy(names[i], text(CFArrayGetValueAtIndex(modes, i)));
    qsort(names, (size_t)count, sizeof names[0], by_name);
    for (CFIndex i = 0; i < count; i++)
        note("%s", names[i]);
    CFRelease(modes);
    show(label);
}

static void test(void)
{
    static Item a = {.name = "A"}, t = {.name = "T"}, o = {.name = "o"};
    show_modes("new loop");
    CFRunLoopAddSource(HERE, create_source(&a, 0), CFSTR("by source"));
    CFRunLoopAddTimer(HERE, create_timer(&t, 60, 0), CFSTR("by timer"));
    CFRunLoopAddObserver(HERE, create_observer(&o, kCFRunLoopEntry, true, 0), CFSTR("by observer"));
    show_modes("after adding");
    CFRunLoopRemoveSource(HERE, a.source, CFSTR("by source"));
    CFRunLoopTimerInvalidate(t.timer);
    show_modes("after removing");
    CFRunLoopAddSource(HERE, a.source, COMMON);
    CFRunLoopContainsSource(HERE, a.source, CFSTR("only asked"));
    CFRunLoopRemoveSource(HERE, a.source, CFSTR("only removed"));
    CFRunLoopGetNextTimerFireDate(HERE, CFSTR("only looked at"));
    show_modes("after asking");
}

int main(void) { return on_thread(test); }
