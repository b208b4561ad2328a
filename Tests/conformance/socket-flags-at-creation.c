/* Semantics 5: callbacks for reading are re-enabled automatically, write and connect are not; invalidating closes
 * the descriptor. */
#include "socket.h"

static void test(void)
{
    static const CFOptionFlags types[] = {0,     READ,         ACCEPT,         DATA,         CONNECT,
                                          WRITE, READ | WRITE, ACCEPT | WRITE, DATA | WRITE, DATA | CONNECT | WRITE};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        Sock s = {0};
        create_pair(&s, types[i]);
        note("%#lx:%#lx", (unsigned long)types[i], (unsigned long)CFSocketGetSocketFlags(s.socket));
        CFSocketInvalidate(s.socket);
        CFRelease(s.socket);
        close(s.far);
    }
    show("types: flags");
}

int main(void) { return on_thread(test); }
