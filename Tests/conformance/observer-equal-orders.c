/* Semantics 2: observers of equal order are called in the order in which they were added to the mode, in each mode
 * separately. */
#include "trace.h"

static Item a = {.name = "a."}, b = {.name = "b."}, c = {.name = "c."}, d = {.name = "d."};

static void add(const Item *item, CFStringRef mode) { CFRunLoopAddObserver(HERE, item->observer, mode); }
static void take_out(const Item *item, CFStringRef mode) { CFRunLoopRemoveObserver(HERE, item->observer, mode); }

static void run_both(const char *label)
{
    CFRunLoopRunInMode(MODE, 0, false);
    note("|");
    CFRunLoopRunInMode(OTHER, 0, false);
    show(label);
}

static void test(void)
{
    static Item source = {.name = "source"};
    CFRunLoopAddSource(HERE, create_source(&source, 0), MODE);
    CFRunLoopAddSource(HERE, source.source, OTHER);
    create_observer(&a, kCFRunLoopEntry, true, 0);
    create_observer(&b, kCFRunLoopEntry, true, 0);
    create_observer(&c, kCFRunLoopEntry, true, 0);
    create_observer(&d, kCFRunLoopEntry, true, -1);

    add(&c, MODE);
    add(&a, MODE);
    add(&b, MODE);
    add(&d, MODE);
    add(&b, OTHER);
    add(&d, OTHER);
    add(&c, OTHER);
    add(&a, OTHER);
    run_both("each mode by itself");

    add(&c, MODE);
    take_out(&b, OTHER);
    add(&b, OTHER);
    run_both("removed from one and added again");

    take_out(&a, MODE);
    take_out(&a, OTHER);
    add(&a, OTHER);
    add(&a, MODE);
    run_both("removed from both and added again");

    take_out(&c, MODE);
    take_out(&c, OTHER);
    CFRunLoopAddCommonMode(HERE, OTHER);
    add(&c, COMMON);
    add(&b, COMMON);
    run_both("in the common modes");

    take_out(&c, OTHER);
    add(&c, OTHER);
    take_out(&b, COMMON);
    add(&b, MODE);
    run_both("in some of the common modes");
}

int main(void) { return on_thread(test); }
