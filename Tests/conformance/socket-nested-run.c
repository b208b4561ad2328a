/* Semantics 5: a run nested in a read callback serves the other sockets; this one is called back again only
 * afterwards. */
#include "socket.h"

static Sock inner = {.name = "inner ", .takes = 9};

static void nest(Sock *sock, CFSocketCallBackType type)
{
    (void)sock, (void)type;
    say(inner.far, "abc");
    settle();
    run_nested(MODE, 0, false);
}

static void test(void)
{
    static Sock s = {.name = "outer ", .action = nest};
    add_pair(&s, READ);
    add_pair(&inner, READ);
    say(s.far, "abc");
    step("nested");
    step("again");
    s.action = NULL;
    s.takes = 9;
    step("not nested");
    step("nothing");
}

int main(void) { return on_thread(test); }
