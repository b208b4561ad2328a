/* Semantics 5: when the thread of its loop exits, a socket stays valid and can be added to another loop. */
#include "socket.h"

static Sock *shared;

static void first_thread(void)
{
    say(shared->far, "abc");
    add_to(shared, MODE);
    step("first thread");
}

static void test(void)
{
    static Sock s = {.takes = 9};
    shared = &s;
    create_pair(&s, READ | WRITE);
    pthread_join(start_thread(first_thread), NULL);
    check("valid", CFSocketIsValid(s.socket));
    check("source valid", CFRunLoopSourceIsValid(s.source));
    check("open", is_open(&s));
    show("after its thread");
    say(s.far, "abc");
    add_to(&s, MODE);
    step("second thread");
    step("nothing");
}

int main(void) { return on_thread(test); }
