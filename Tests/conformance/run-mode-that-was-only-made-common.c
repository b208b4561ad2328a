/* Semantics 1: making a mode common does not create it. It is created when something is added to it, by its name or
 * as one of the common modes. Until then a run is Finished, even on the main thread, and CopyAllModes does not list
 * the mode. */
#include "trace.h"

static void look(const char *label, CFStringRef mode)
{
    CFArrayRef modes = CFRunLoopCopyAllModes(HERE);
    note("%s", CFArrayContainsValue(modes, CFRangeMake(0, CFArrayGetCount(modes)), mode) ? "listed" : "unknown");
    CFRelease(modes);
    run(label, mode, 0, false);
}

static void test(void)
{
    Item s = {.name = "S"}, t = {.name = "T"}, o = {.name = "o"};
    create_source(&s, 0);
    create_observer(&o, kCFRunLoopExit, true, 0);
    CFRunLoopAddCommonMode(HERE, CFSTR("1"));
    look("made common", CFSTR("1"));
    CFRunLoopContainsSource(HERE, s.source, CFSTR("1"));
    CFRunLoopRemoveSource(HERE, s.source, CFSTR("1"));
    CFRunLoopGetNextTimerFireDate(HERE, CFSTR("1"));
    look("asked about", CFSTR("1"));
    CFRunLoopAddObserver(HERE, o.observer, COMMON);
    look("common observer added", CFSTR("1"));
    CFRunLoopAddCommonMode(HERE, CFSTR("2"));
    look("made common with an observer", CFSTR("2"));
    CFRunLoopRemoveObserver(HERE, o.observer, COMMON);
    look("observer removed", CFSTR("2"));
    CFRunLoopAddCommonMode(HERE, CFSTR("3"));
    look("made common without an observer", CFSTR("3"));
    CFRunLoopAddObserver(HERE, o.observer, CFSTR("3"));
    CFRunLoopRemoveObserver(HERE, o.observer, CFSTR("3"));
    look("observer added and removed", CFSTR("3"));
    CFRunLoopAddSource(HERE, s.source, COMMON);
    CFRunLoopAddCommonMode(HERE, CFSTR("4"));
    look("made common with a source", CFSTR("4"));
    CFRunLoopRemoveSource(HERE, s.source, COMMON);
    look("source removed", CFSTR("4"));
    CFRunLoopAddCommonMode(HERE, CFSTR("5"));
    look("made common without a source", CFSTR("5"));
    CFRunLoopAddTimer(HERE, create_timer(&t, 60, 0), COMMON);
    look("timer added", CFSTR("5"));
    CFRunLoopTimerInvalidate(t.timer);
    look("timer invalidated", CFSTR("5"));
    CFRunLoopSourceInvalidate(s.source);
    CFRunLoopAddCommonMode(HERE, CFSTR("6"));
    CFRunLoopAddSource(HERE, s.source, CFSTR("6"));
    CFRunLoopAddTimer(HERE, t.timer, CFSTR("6"));
    look("what is invalid was added", CFSTR("6"));
}

int main(void)
{
    test();
    return on_thread(test);
}
