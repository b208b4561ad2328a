/* Semantics 5: SetSocketFlags replaces all flags; they can be read and set after Invalidate. */
#include "socket.h"

static void test(void)
{
    static const CFOptionFlags flags[] = {0, 1, 2, 3, 8, 64, 128, 0x81, 0x83, 0x88, 0xcb};
    static Sock s;
    create_pair(&s, READ);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        CFSocketSetSocketFlags(s.socket, flags[i]);
        note("%#lx", (unsigned long)CFSocketGetSocketFlags(s.socket));
    }
    show("flags");
    CFSocketInvalidate(s.socket);
    note("%#lx", (unsigned long)CFSocketGetSocketFlags(s.socket));
    CFSocketSetSocketFlags(s.socket, 0x80);
    note("%#lx", (unsigned long)CFSocketGetSocketFlags(s.socket));
    show("invalid");
}

int main(void) { return on_thread(test); }
