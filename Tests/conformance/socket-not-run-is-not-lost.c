/* Semantics 5: events that occur while no run serves the socket's mode are reported by the next run that does. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    create_pair(&s, READ | WRITE);
    add_to(&s, OTHER);
    say(s.far, "abc");
    step("default");
    Item timer = {.name = "T"};
    add_timer(&timer, 0, 0);
    run("default, awake", MODE, SOON, false);
    step_in(OTHER, "other");
    step_in(OTHER, "once");
}

int main(void) { return on_thread(test); }
