/* Semantics 5: SetAddress binds; CopyAddress returns the bound address, and CopyPeerAddress nothing, as there is no
 * peer. */
#include "socket.h"

static void test(void)
{
    static const int families[] = {PF_INET, PF_UNIX};
    for (int i = 0; i < 2; i++) {
        CFSocketRef socket = CFSocketCreate(NULL, families[i], SOCK_STREAM, 0, ACCEPT, NULL, NULL);
        note("set %ld", (long)CFSocketSetAddress(socket, i ? unix_address() : inet_address(0)));
        CFDataRef address = CFSocketCopyAddress(socket), real = address_of(CFSocketGetNative(socket));
        check("address", address && CFEqual(address, real));
        check("peer", CFSocketCopyPeerAddress(socket) != NULL);
        show(i ? "unix" : "inet");
        CFSocketInvalidate(socket);
    }
}

int main(void) { return on_thread(test); }
