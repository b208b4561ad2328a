/* Semantics 2: sources of equal order are performed in the order in which they were first signalled, wherever they
 * were: one may have been removed before its signal, or another mode may have run since. */
#include "trace.h"

static Item away = {.name = "away"}, stays = {.name = "stays"};

static void come_back(const char *label)
{
    CFRunLoopAddSource(HERE, away.source, MODE);
    run(label, MODE, 0, false);
    CFRunLoopRemoveSource(HERE, away.source, MODE);
}

static void test(void)
{
    Item other = {.name = "other"};
    CFRunLoopAddSource(HERE, create_source(&other, 0), OTHER);
    add_source(&stays, 0);
    create_source(&away, 0);
    CFRunLoopSourceSignal(stays.source);
    CFRunLoopSourceSignal(away.source);
    come_back("never added, second");
    CFRunLoopSourceSignal(away.source);
    CFRunLoopSourceSignal(stays.source);
    come_back("removed, first");
    CFRunLoopSourceSignal(stays.source);
    CFRunLoopSourceSignal(away.source);
    come_back("removed, second");
    CFRunLoopSourceSignal(away.source);
    run("another mode", OTHER, 0, false);
    CFRunLoopSourceSignal(stays.source);
    come_back("first, in between another mode");
    CFRunLoopSourceSignal(stays.source);
    run("another mode", OTHER, 0, false);
    CFRunLoopSourceSignal(away.source);
    come_back("second, in between another mode");
}

int main(void) { return on_thread(test); }
