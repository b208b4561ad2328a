/* Semantics 5: enabling a type that was not requested at creation does nothing, and neither does NoCallBack. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    add_pair(&s, READ);
    CFSocketEnableCallBacks(s.socket, WRITE | CONNECT);
    CFSocketEnableCallBacks(s.socket, 0);
    step("no write");
    CFSocketDisableCallBacks(s.socket, WRITE | CONNECT);
    CFSocketDisableCallBacks(s.socket, 0);
    say(s.far, "a");
    step("still reads");
    static Sock quiet;
    create_pair(&quiet, 0);
    CFRunLoopRemoveSource(HERE, s.source, MODE);
    add_to(&quiet, MODE);
    CFSocketEnableCallBacks(quiet.socket, READ | WRITE);
    say(quiet.far, "a");
    step("a socket without callbacks");
    check("valid", CFSocketIsValid(quiet.socket));
    show("it is");
}

int main(void) { return on_thread(test); }
