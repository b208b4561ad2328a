/* Semantics 1: if an observer removes the last source, the loop notices only at the end of the pass. */
#include "trace.h"

static Item a = {.name = "A"};

static void remove_a(Item *item)
{
    (void)item;
    CFRunLoopRemoveSource(HERE, a.source, MODE);
}

static void test(void)
{
    static Item o = {.name = "o", .action = remove_a}, p = {.name = "p", .action = remove_a};
    watch(MODE);
    add_source(&a, 0);
    add_observer(&o, kCFRunLoopBeforeSources, false, 1);
    run("BeforeSources", MODE, 0, false);
    run("empty", MODE, 0, false);
    CFRunLoopAddSource(HERE, a.source, MODE);
    add_observer(&p, kCFRunLoopEntry, false, 1);
    run("Entry", MODE, SOON, false);
}

int main(void) { return on_thread(test); }
