/* Semantics 5: inside the context's release function the socket is already invalid and its descriptor closed. */
#include "socket.h"

static void look(const void *info)
{
    const Sock *s = info;
    check("valid", CFSocketIsValid(s->socket));
    check("open", is_open(s));
    note("native %d", CFSocketGetNative(s->socket));
}

static void test(void)
{
    static Sock s;
    CFSocketContext context = {.info = &s, .release = look};
    make_pair(&s, SOCK_STREAM);
    s.socket = CFSocketCreateWithNative(NULL, s.fd, READ, sock_called, &context);
    add_to(&s, MODE);
    CFSocketInvalidate(s.socket);
    show("release");
    check("valid", CFRunLoopSourceIsValid(s.source));
    show("source");
    CFSocketInvalidate(s.socket);
    CFRelease(s.source);
    CFRelease(s.socket);
    show("no second release");
}

int main(void) { return on_thread(test); }
