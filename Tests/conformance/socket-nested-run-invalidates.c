/* Semantics 5: if a run nested in a read callback invalidates the socket, the write callback of the pass is not
 * made. */
#include "socket.h"

static Item *killer;
static Sock *victim;

static void invalidate(Item *item)
{
    (void)item;
    CFSocketInvalidate(victim->socket);
}

static void nest(Sock *sock, CFSocketCallBackType type)
{
    (void)sock, (void)type;
    CFRunLoopSourceSignal(killer->source);
    run_nested(MODE, 0, true);
}

static void test(void)
{
    static Sock s = {.action = nest};
    create_pair(&s, READ | WRITE);
    say(s.far, "abc");
    add_to(&s, MODE);
    Item item = {.name = "invalidates", .action = invalidate, .source = NULL};
    add_source(&item, 0);
    killer = &item;
    victim = &s;
    step("nested");
    check("valid", CFSocketIsValid(s.socket));
    show("after");
}

int main(void) { return on_thread(test); }
