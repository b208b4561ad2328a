/* Semantics 5: if two sockets are ready, a run that returns after a source handles one, and the next run the other. */
#include "socket.h"

static void test(void)
{
    static Sock a = {.name = "A ", .takes = 9}, b = {.name = "B ", .takes = 9};
    add_pair(&a, READ);
    add_pair(&b, READ);
    say(a.far, "abc");
    step("A");
    say(b.far, "abc");
    step("B");
    a.name = b.name = NULL;
    say(a.far, "abc");
    say(b.far, "abc");
    step("one");
    note("%d", a.calls + b.calls);
    step("the other");
    note("%d", a.calls + b.calls);
    check("both", a.calls == b.calls);
    step("none");
}

int main(void) { return on_thread(test); }
