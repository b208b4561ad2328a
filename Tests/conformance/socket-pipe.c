/* Semantics 5: pipes have read and write callbacks too. */
#include "socket.h"

static void read_it(Sock *sock, CFSocketCallBackType type)
{
    char buffer[9];
    (void)type;
    note("read %zd", read(sock->fd, buffer, sizeof buffer));
}

static void test(void)
{
    static Sock in = {.action = read_it}, out = {.name = "out "};
    int ends[2];
    require(pipe(ends) == 0);
    create_on(&in, ends[0], READ);
    create_on(&out, ends[1], WRITE);
    add_to(&in, MODE);
    step("empty");
    add_to(&out, MODE);
    step("room");
    say(ends[1], "abc");
    step("bytes");
    step("none");
    CFSocketSetSocketFlags(in.socket, CLOSES);
    CFSocketInvalidate(out.socket);
    step("end");
    check("valid", CFSocketIsValid(in.socket));
    check("address", CFSocketCopyAddress(in.socket) != NULL);
    show("after");
}

int main(void) { return on_thread(test); }
