/* Semantics 5: two waiting clients cause two accept callbacks, each with a descriptor, in two passes. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    create_on(&s, listener(AF_UNIX), ACCEPT);
    int first = client_of(s.fd, AF_UNIX), second = client_of(s.fd, AF_UNIX);
    say(first, "first");
    say(second, "second");
    add_to(&s, MODE);
    step("first");
    take(s.accepted, 99);
    step("second");
    take(s.accepted, 99);
    step("nobody waits");
    int third = client_of(s.fd, AF_UNIX);
    step("third");
    say(s.accepted, "hello");
    take(third, 99);
    show("third");
}

int main(void) { return on_thread(test); }
