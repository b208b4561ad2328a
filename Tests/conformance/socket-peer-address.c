/* Semantics 5: a connected socket has an address and a peer address; after Invalidate it has no peer address. */
#include "socket.h"

static void test(void)
{
    int listening = listener(AF_INET), client = client_of(listening, AF_INET);
    Sock s = {.socket = NULL}, pair = {.socket = NULL};
    create_on(&s, accept(listening, NULL, NULL), READ);
    CFDataRef here = CFSocketCopyAddress(s.socket), peer = CFSocketCopyPeerAddress(s.socket);
    check("address", CFEqual(here, address_of(listening)));
    check("peer", CFEqual(peer, address_of(client)));
    note("%ld %ld bytes", (long)CFDataGetLength(here), (long)CFDataGetLength(peer));
    CFSocketInvalidate(s.socket);
    check("peer of invalid", CFSocketCopyPeerAddress(s.socket) != NULL);
    show("inet");
    create_pair(&pair, READ);
    here = CFSocketCopyAddress(pair.socket), peer = CFSocketCopyPeerAddress(pair.socket);
    note("%ld %ld bytes", (long)CFDataGetLength(here), (long)CFDataGetLength(peer));
    show("unix");
    CFSocketInvalidate(pair.socket);
}

int main(void) { return on_thread(test); }
