/* Semantics 5: creating a second socket on a descriptor returns the first one and ignores the new arguments. After
 * Invalidate it creates a new one. */
#include "socket.h"

static const void *count(const void *info)
{
    ++*(int *)info;
    return info;
}

static void test(void)
{
    static Sock s, other = {.name = "other "};
    int retained = 0;
    CFSocketContext context = {.info = &retained, .retain = count};
    add_pair(&s, READ);
    CFSocketRef same = CFSocketCreateWithNative(NULL, s.fd, DATA | WRITE, sock_called, &context);
    check("same", same == s.socket);
    note("retained %d flags %#lx", retained, (unsigned long)CFSocketGetSocketFlags(same));
    CFSocketGetContext(same, &context);
    check("first context", context.info == &s);
    say(s.far, "abc");
    step("second");
    CFRelease(same);
    CFSocketSetSocketFlags(s.socket, 0);
    CFSocketInvalidate(s.socket);
    create_on(&other, s.fd, DATA);
    check("new", other.socket != s.socket);
    add_to(&other, MODE);
    step("after Invalidate");
}

int main(void) { return on_thread(test); }
