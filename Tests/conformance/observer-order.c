/* Semantics 2: observers are called in ascending order; those of equal order in the order in which they were added. */
#include "trace.h"

static void test(void)
{
    static Item a = {.name = "a"}, b = {.name = "b"}, c = {.name = "c"}, d = {.name = "d"}, source = {.name = "S"};
    add_source(&source, 0);
    add_observer(&c, kCFRunLoopEntry | kCFRunLoopExit, true, 7);
    add_observer(&a, kCFRunLoopEntry | kCFRunLoopExit, true, -1);
    add_observer(&d, kCFRunLoopEntry | kCFRunLoopExit, true, 7);
    add_observer(&b, kCFRunLoopEntry | kCFRunLoopExit, true, 0);
    run("run", MODE, 0, false);
}

int main(void) { return on_thread(test); }
