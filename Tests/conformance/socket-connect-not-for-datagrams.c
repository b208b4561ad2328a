/* Semantics 5: datagram sockets and accepting sockets have no connect callback. */
#include "socket.h"

static void test(void)
{
    static Sock d, a;
    make_pair(&d, SOCK_DGRAM);
    create_on(&d, d.fd, CONNECT | READ | WRITE);
    add_to(&d, MODE);
    step("datagrams");
    step("once");
    create_on(&a, listener(AF_UNIX), CONNECT | ACCEPT);
    add_to(&a, MODE);
    step("accepting");
}

int main(void) { return on_thread(test); }
