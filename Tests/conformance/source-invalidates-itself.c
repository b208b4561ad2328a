/* Semantics 2: if a source invalidates itself in its perform, cancel is called immediately; Signal and Add then do
 * nothing. */
#include "trace.h"

static void die(Item *item)
{
    CFRunLoopSourceInvalidate(item->source);
    check("valid", CFRunLoopSourceIsValid(item->source));
    check("contained", CFRunLoopContainsSource(HERE, item->source, MODE));
}

static void test(void)
{
    static Item a = {.name = "A", .action = die}, idle = {.name = "I"};
    add_source(&idle, 1);
    CFRunLoopAddSource(HERE, create_scheduled_source(&a, 0), MODE);
    check("valid", CFRunLoopSourceIsValid(a.source));
    CFRunLoopSourceSignal(a.source);
    run("invalidated", MODE, 0, false);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopAddSource(HERE, a.source, MODE);
    check("contained", CFRunLoopContainsSource(HERE, a.source, MODE));
    run("signalled and added afterwards", MODE, 0, false);
    CFRunLoopSourceInvalidate(a.source);
    CFRunLoopRemoveSource(HERE, a.source, MODE);
    show("invalidated and removed again");
}

int main(void) { return on_thread(test); }
