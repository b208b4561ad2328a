/* Semantics 5: when the peer closes, its data is delivered first, then data of length 0; after that callback the
 * socket is invalid. */
#include "socket.h"

static void look(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    check("valid", CFSocketIsValid(sock->socket));
}

static void test(void)
{
    static Sock s = {.action = look};
    create_pair(&s, DATA);
    say(s.far, "abc");
    close(s.far);
    add_to(&s, MODE);
    step("bytes");
    step("end");
    check("valid", CFSocketIsValid(s.socket));
    check("source valid", CFRunLoopSourceIsValid(s.source));
    check("open", is_open(&s));
    note("native %d", CFSocketGetNative(s.socket));
    show("after");
    run("empty", MODE, 0, false);
}

int main(void) { return on_thread(test); }
