/* Semantics 5: a socket whose source another thread adds to a sleeping loop is called back. */
#include "socket.h"

static Sock *added;

static void add_it(CFRunLoopRef loop)
{
    added->source = CFSocketCreateRunLoopSource(NULL, added->socket, 0);
    CFRunLoopAddSource(loop, added->source, MODE);
}

static void stop_it(Sock *sock, CFSocketCallBackType type)
{
    (void)sock, (void)type;
    CFRunLoopStop(HERE);
}

static void test(void)
{
    static Sock s = {.takes = 9, .action = stop_it};
    static Item keeper = {.name = "keeper"};
    add_source(&keeper, 0);
    create_pair(&s, READ);
    say(s.far, "abc");
    added = &s;
    run_with_helper("asleep", AGES, false, add_it);
}

int main(void) { return on_thread(test); }
