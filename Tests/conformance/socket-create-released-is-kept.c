/* Semantics 5: a valid socket is kept by its descriptor: after its release it is still found; Invalidate frees it. */
#include "socket.h"

static const void *plus(const void *info)
{
    ++*(int *)info;
    return info;
}

static void minus(const void *info) { --*(int *)info; }

static void test(void)
{
    static Sock s;
    int retained = 0;
    make_pair(&s, SOCK_STREAM);
    CFSocketContext context = {.info = &retained, .retain = plus, .release = minus};
    CFSocketRef first = CFSocketCreateWithNative(NULL, s.fd, READ, sock_called, &context);
    CFRelease(first);
    note("retained %d", retained);
    check("open", is_open(&s));
    CFSocketRef again = CFSocketCreateWithNative(NULL, s.fd, READ, sock_called, NULL);
    check("same", again == first);
    CFSocketInvalidate(again);
    note("retained %d", retained);
    check("open", is_open(&s));
    show("socket");
}

int main(void) { return on_thread(test); }
