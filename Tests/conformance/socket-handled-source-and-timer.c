/* Semantics 5: a socket callback counts as a handled source; a due timer fires in the same run. */
#include "socket.h"

static void test(void)
{
    static Sock s = {.takes = 9};
    static Item t = {.name = "T", .action = stop};
    add_pair(&s, READ);
    say(s.far, "abc");
    step("socket");
    add_timer(&t, 0, 0);
    run("timer", MODE, AGES, true);
    step("nothing");
}

int main(void) { return on_thread(test); }
