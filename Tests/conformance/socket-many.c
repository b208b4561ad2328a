/* Semantics 5: 400 sockets, each ready once, are each called once; the loop is empty once they are invalid. */
#include "socket.h"

enum { SOCKETS = 400 };
static int called;

static void count(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    Sock *sock = info;
    char byte;
    (void)socket, (void)type, (void)address, (void)data;
    require(read(sock->fd, &byte, 1) == 1);
    sock->calls++;
    if (++called == SOCKETS)
        CFRunLoopStop(HERE);
}

static void test(void)
{
    static Sock socks[SOCKETS];
    for (int i = 0; i < SOCKETS; i++) {
        make_pair(&socks[i], SOCK_DGRAM);
        CFSocketContext context = {.info = &socks[i]};
        socks[i].socket = CFSocketCreateWithNative(NULL, socks[i].fd, READ, count, &context);
        add_to(&socks[i], MODE);
        say(socks[i].far, "x");
    }
    run("all", MODE, AGES, false);
    int once = 0;
    for (int i = 0; i < SOCKETS; i++) {
        once += socks[i].calls == 1;
        CFSocketInvalidate(socks[i].socket);
        close(socks[i].far);
    }
    note("%d called, %d of them once", called, once);
    show("sockets");
    step("empty");
}

int main(void) { return on_thread(test); }
