/* Semantics 5: with the flag a write callback is repeated in each pass while there is room. */
#include "socket.h"

static void fill_it(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    fill(sock->fd);
}

static void test(void)
{
    static Sock s;
    create_pair(&s, WRITE);
    CFSocketSetSocketFlags(s.socket, CLOSES | WRITE);
    add_to(&s, MODE);
    step("room");
    step("room");
    s.action = fill_it;
    step("room, filled by the callback");
    step("no room");
    drain(s.far);
    s.action = NULL;
    step("room");
    step("room");
}

int main(void) { return on_thread(test); }
