/* Semantics 5: a socket with read, write and connect callbacks is created on a connected descriptor; connect is
 * disabled, write enabled. The connect callback is still made once, with the first write. (Twisted's CFReactor
 * depends on it.) */
#include "socket.h"

static void test(void)
{
    Sock s = {.takes = 1};
    make_pair(&s, SOCK_STREAM);
    fill(s.fd);
    create_on(&s, s.fd, READ | WRITE | CONNECT);
    add_to(&s, MODE);
    step("no room");
    CFSocketDisableCallBacks(s.socket, READ | WRITE | CONNECT);
    CFSocketEnableCallBacks(s.socket, WRITE);
    drain(s.far);
    step("room");
    step("once");
    CFSocketEnableCallBacks(s.socket, WRITE);
    step("write enabled again");
    say(s.far, "x");
    step("read is disabled");
    CFSocketEnableCallBacks(s.socket, READ);
    step("read enabled");
    CFSocketEnableCallBacks(s.socket, CONNECT);
    step("connect enabled, which has come");
    CFSocketInvalidate(s.socket);
}

int main(void) { return on_thread(test); }
