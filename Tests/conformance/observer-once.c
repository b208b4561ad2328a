/* Semantics 2: an observer that does not repeat is valid inside its only callback and invalid right after it. */
#include "trace.h"

static void say_valid(Item *item)
{
    check("valid", CFRunLoopObserverIsValid(item->observer));
    check("contained", CFRunLoopContainsObserver(HERE, item->observer, MODE));
}

static void test(void)
{
    static Item source = {.name = "S"}, once = {.name = "o", .action = say_valid};
    CFRunLoopSourceSignal(add_source(&source, 0));
    add_observer(&once, kCFRunLoopAllActivities, false, 1);
    watch(MODE);
    run("run", MODE, 0, false);
    say_valid(&once);
    show("afterwards");
}

int main(void) { return on_thread(test); }
