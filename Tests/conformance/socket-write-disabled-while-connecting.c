/* Semantics 5: connect and write both wait for room to write. So before the connect callback, disabling one of them
 * stops both, and enabling one of them enables both. */
#include "socket.h"

static void test(const char *label, CFOptionFlags disabled, CFOptionFlags enabled)
{
    Sock s = {.takes = 1};
    make_pair(&s, SOCK_STREAM);
    fill(s.fd);
    create_on(&s, s.fd, WRITE | CONNECT);
    add_to(&s, MODE);
    step("no room");
    CFSocketDisableCallBacks(s.socket, disabled);
    CFSocketEnableCallBacks(s.socket, enabled);
    settle();
    drain(s.far);
    step(label);
    step("once");
    CFSocketInvalidate(s.socket);
}

static void all(void)
{
    test("as it is", 0, 0);
    test("write disabled", WRITE, 0);
    test("connect disabled", CONNECT, 0);
    test("both disabled", WRITE | CONNECT, 0);
    test("both disabled, write enabled", WRITE | CONNECT, WRITE);
    test("both disabled, connect enabled", WRITE | CONNECT, CONNECT);
}

int main(void) { return on_thread(all); }
