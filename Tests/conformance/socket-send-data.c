/* Semantics 5: SendData returns 0 for success, and -1 for no data, an invalid socket, a closed peer, or no room; the
 * socket stays valid. */
#include "socket.h"

static void test(void)
{
    static Sock s;
    CFDataRef hello = CFDataCreate(NULL, (const UInt8 *)"hello", 5), empty = CFDataCreate(NULL, NULL, 0);
    signal(SIGPIPE, SIG_IGN);
    create_pair(&s, 0);
    note("%ld", (long)CFSocketSendData(s.socket, NULL, hello, 0));
    take(s.far, 9);
    note("%ld", (long)CFSocketSendData(s.socket, empty, hello, 1));
    take(s.far, 9);
    note("empty %ld", (long)CFSocketSendData(s.socket, NULL, empty, 0));
    take(s.far, 9);
    show("sent");
    fill(s.fd);
    note("full %ld", (long)CFSocketSendData(s.socket, NULL, hello, SOON));
    close(s.far);
    note("closed %ld", (long)CFSocketSendData(s.socket, NULL, hello, 1));
    check("valid", CFSocketIsValid(s.socket));
    CFSocketInvalidate(s.socket);
    note("invalid %ld", (long)CFSocketSendData(s.socket, NULL, hello, 1));
    show("failed");
}

int main(void) { return on_thread(test); }
