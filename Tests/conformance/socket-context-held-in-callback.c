/* Semantics 5: a socket invalidated by its own callback releases its context, but only after the callback has
 * returned. */
#include "socket.h"

static int retained;

static const void *plus(const void *info)
{
    retained++;
    return info;
}

static void minus(const void *info)
{
    (void)info;
    retained--;
}

static void invalidate(Sock *sock, CFSocketCallBackType type)
{
    (void)type;
    CFSocketInvalidate(sock->socket);
    note("inside %d", retained);
}

static void test(void)
{
    static Sock s = {.action = invalidate};
    CFSocketContext context = {.info = &s, .retain = plus, .release = minus};
    make_pair(&s, SOCK_STREAM);
    s.socket = CFSocketCreateWithNative(NULL, s.fd, READ, sock_called, &context);
    add_to(&s, MODE);
    say(s.far, "abc");
    step("callback");
    note("after %d", retained);
    show("counts");
}

int main(void) { return on_thread(test); }
