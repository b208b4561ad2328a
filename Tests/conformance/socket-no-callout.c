/* Semantics 5: a socket without a callback works silently: data is read, and the end of the stream invalidates it. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    make_pair(&s, SOCK_STREAM);
    s.socket = CFSocketCreateWithNative(NULL, s.fd, DATA | WRITE, NULL, NULL);
    say(s.far, "abc");
    add_to(&s, MODE);
    step("bytes");
    int waiting = -1;
    ioctl(s.fd, FIONREAD, &waiting);
    note("%d wait", waiting);
    show("read");
    close(s.far);
    step("end");
    check("valid", CFSocketIsValid(s.socket));
    show("after");
}

int main(void) { return on_thread(test); }
