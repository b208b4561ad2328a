/* Semantics 5: an invalid socket returns its address if that was asked for while it was valid, and no peer address. */
#include "socket.h"

static void test(void)
{
    Sock asked = {.socket = NULL}, silent = {.socket = NULL};
    create_pair(&asked, READ);
    create_pair(&silent, READ);
    check("address", CFSocketCopyAddress(asked.socket) != NULL);
    check("peer", CFSocketCopyPeerAddress(asked.socket) != NULL);
    show("valid");
    CFSocketInvalidate(asked.socket);
    CFSocketInvalidate(silent.socket);
    check("address", CFSocketCopyAddress(asked.socket) != NULL);
    check("peer", CFSocketCopyPeerAddress(asked.socket) != NULL);
    check("never asked: address", CFSocketCopyAddress(silent.socket) != NULL);
    check("peer", CFSocketCopyPeerAddress(silent.socket) != NULL);
    show("invalid");
}

int main(void) { return on_thread(test); }
