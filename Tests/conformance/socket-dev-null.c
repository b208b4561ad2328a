/* Semantics 5: /dev/null is always readable and writable, although epoll cannot watch it. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    create_on(&s, open("/dev/null", O_RDWR), READ | WRITE);
    add_to(&s, MODE);
    step("both");
    step("read again");
    CFSocketSetSocketFlags(s.socket, CLOSES);
    step("the last of the flag's");
    step("not enabled");
    CFSocketEnableCallBacks(s.socket, WRITE);
    step("write");
    step("once");
}

int main(void) { return on_thread(test); }
