/* Semantics 5: a socket that another thread invalidates while its loop sleeps is closed and not called again. */
#include "socket.h"

static CFSocketRef victim;

static void invalidate(CFRunLoopRef loop)
{
    (void)loop;
    CFSocketInvalidate(victim);
}

static void test(void)
{
    static Sock s;
    static Item keeper = {.name = "keeper"}, t = {.name = "T", .action = stop};
    add_source(&keeper, 0);
    add_pair(&s, READ);
    victim = s.socket;
    Helper helper;
    when_asleep(&helper, invalidate);
    add_timer(&t, SOON, 0);
    run("asleep", MODE, AGES, false);
    finish(&helper);
    check("valid", CFSocketIsValid(s.socket));
    take(s.far, 9);
    check("in the loop", CFRunLoopContainsSource(HERE, s.source, MODE));
    show("socket");
    step("nothing");
}

int main(void) { return on_thread(test); }
